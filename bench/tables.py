"""Rows per second of `keywright generate` on large tables, beside the plain call.

    python -m bench.tables documents.jsonl --rows 20000 --model rake

A table of the documents, repeated, is written as CSV and as Parquet (`keywright[tables]`). In one
run: the plain call (`Keywright.stream` over the texts), then the command on each table, once
without interruption, and once killed with `kill -9` on the way and resumed; both outputs have to
be the same. Seconds are those of CPU, so that other work on the machine counts less; memory is
the largest of the command.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from keywright import Keywright
from keywright.data.documents import read_documents
from keywright.errors import KeywrightError
from keywright.tables import Row, titled

OTHERS = ("of the plain call", "MB", "killed after", "resumed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--model", default="default")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    texts = list(texts_of(options.documents, options.rows))
    plain = plain_call(texts, options.model)
    rows: list[Row] = [{"": "plain call", "rows/s": f"{plain:.0f}", **dict.fromkeys(OTHERS, "")}]
    for suffix in (".csv", ".parquet"):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measured(Path(folder), suffix, texts, options.model, plain))
    title = f"{options.rows:,} rows, model {options.model}, seconds of CPU"
    print(titled([(title, rows)], "markdown" if options.markdown else "table"))


def texts_of(path: Path, count: int) -> Iterator[str]:
    """Texts that all differ, because equal ones might be remembered."""
    documents = [document.text for document in read_documents(path)]
    for number, text in enumerate(islice(cycle(documents), count)):
        yield f"{' '.join(text.split())} Row {number}."


def plain_call(texts: Sequence[str], model: str) -> float:
    """Rows per second of CPU."""
    engine = Keywright(model)
    began = time.process_time()
    for _ in engine.stream(texts):
        pass
    return len(texts) / (time.process_time() - began)


def measured(folder: Path, suffix: str, texts: Sequence[str], model: str, plain: float) -> Row:
    table = folder / f"in{suffix}"
    write(table, texts)
    whole, killed = folder / f"whole{suffix}", folder / f"killed{suffix}"
    seconds, memory = run(command(table, whole, model))
    done = kill_on_the_way(command(table, killed, model), killed, len(texts))
    run([*command(table, killed, model), "--resume"])
    if rows_of(killed) != rows_of(whole):
        raise KeywrightError(f"{killed}: differs from the table that was not interrupted")
    speed = len(texts) / seconds
    others = (f"{100 * speed / plain:.0f}%", f"{memory:.0f}", f"{100 * done:.0f}%", "the same rows")
    return {
        "": suffix[1:],
        "rows/s": f"{speed:.0f}",
        **dict(zip(OTHERS, others, strict=True)),
    }


def write(path: Path, texts: Sequence[str]) -> None:
    import pyarrow
    from pyarrow import csv, parquet

    table = pyarrow.table({"id": range(len(texts)), "text": list(texts)})
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)


def rows_of(path: Path) -> list[dict[str, object]]:
    from pyarrow import csv, parquet

    table = csv.read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)
    return table.to_pylist()  # type: ignore[no-any-return]


def command(table: Path, output: Path, model: str) -> list[str]:
    words = [sys.executable, "-m", "keywright", "generate", str(table), "--column", "text"]
    return [*words, "--model", model, "--output", str(output)]


def run(words: Sequence[str]) -> tuple[float, float]:
    """Seconds of CPU and the largest memory in MB."""
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise KeywrightError(f"{' '.join(words)}: ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def kill_on_the_way(words: Sequence[str], output: Path, rows: int) -> float:
    """Kill a command when a third of the rows is there; returns the share that is kept."""
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    part = output.with_name(f"{output.name}.part")
    while process.poll() is None:
        if part.exists() and part.read_bytes().count(b"\n") > rows / 3:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return part.read_bytes().count(b"\n") / rows
        time.sleep(0.1)
    raise KeywrightError(f"{output}: was complete before it could be killed; take more --rows")


if __name__ == "__main__":
    main()
