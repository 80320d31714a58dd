"""Rows per second of `keywright generate` on large tables, beside the plain call.

    python -m bench.tables documents.jsonl --rows 20000 --model rake

A table of the documents, repeated, is written as CSV or Parquet (`keywright[tables]`). Then:

- the command on the first `--whole` rows, without interruption. It is stopped now and then for a
  part of the plain call (`Keywright.stream` over the same texts), so that both have the same share
  of a busy machine;
- the command on all rows, killed with `kill -9` several times on the way and resumed. The output
  has to be that of the uninterrupted run: byte for byte if `--whole` is all rows, otherwise its
  first rows.

Seconds are those of CPU, so that other work on the machine counts less; memory is the largest of
the command. Numbers appear in the texts, so that none is equal to another one.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

from keywright import Keywright
from keywright.data.documents import read_documents
from keywright.errors import KeywrightError
from keywright.tables import Row, titled

KINDS = ("csv", "parquet")
PAUSES = 10  # of the uninterrupted run, for the plain call
KILLED = -signal.SIGKILL


class Used(NamedTuple):
    """What a command used, and how it ended."""

    seconds: float  # of CPU
    memory: float  # the largest, in MB
    code: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--whole", type=int, help="rows of the uninterrupted run (default: all)")
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--titles", action="store_true", help="take only titles: short rows")
    parser.add_argument("--model", default="default")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    texts = list(texts_of(options.documents, options.rows, options.titles))
    whole = min(options.whole or options.rows, options.rows)
    rows = []
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder), kind, options.model)
            rows.append(bench.measured(texts, whole, options.kills))
    title = f"{options.rows:,} rows, model {options.model}, seconds of CPU"
    print(titled([(title, rows)], "markdown" if options.markdown else "table"))


def texts_of(path: Path, count: int, titles: bool) -> Iterator[str]:
    """Texts that all differ, because equal ones might be remembered."""
    documents = [each.title if titles else each.text for each in read_documents(path)]
    for number, text in enumerate(islice(cycle(documents), count)):
        yield f"{' '.join(text.split())} Row {number}."


class Bench:
    def __init__(self, folder: Path, kind: str, model: str):
        self._folder = folder
        self._kind = kind
        self._model = model

    def measured(self, texts: Sequence[str], whole: int, kills: int) -> Row:
        first, every = self._file("first"), self._file("every")
        write(first, texts[:whole])
        write(every, texts)
        used, plain = self._beside_plain(first, texts[:whole])
        resumed = self._killed(every, len(texts), kills)
        same = self._compared(whole == len(texts), whole)
        return {
            "": self._kind,
            "plain, rows/s": f"{plain:.1f}",
            "rows/s": f"{whole / used.seconds:.1f}",
            "of plain": f"{100 * whole / used.seconds / plain:.0f}%",
            f"MB of {whole:,}": f"{used.memory:.0f}",
            "kills": str(kills),
            "rows/s, killed": f"{len(texts) / resumed.seconds:.1f}",
            f"MB of {len(texts):,}, killed": f"{resumed.memory:.0f}",
            "resumed": same,
        }

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.{self._kind}"

    def _output(self, table: Path) -> Path:
        return table.with_name(f"{table.stem}-out{table.suffix}")

    def _start(self, table: Path) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "keywright", "generate", str(table), "--column", "text"]
        words += ["--model", self._model, "--output", str(self._output(table)), "--resume"]
        return subprocess.Popen(words, stderr=subprocess.DEVNULL)

    def _beside_plain(self, table: Path, texts: Sequence[str]) -> tuple[Used, float]:
        """The command without a kill, and the rows per second of a plain call in its pauses."""
        engine = Keywright(self._model)
        each = len(texts) // (2 * PAUSES)  # half of the rows suffice for the plain call
        process = self._start(table)
        seconds = 0.0
        for pause in range(PAUSES):
            self._wait(process, table, int(len(texts) * (pause + 0.5) / PAUSES))
            process.send_signal(signal.SIGSTOP)
            seconds += plain_call(engine, texts[pause * 2 * each :][:each])
            process.send_signal(signal.SIGCONT)
        return ended(process, 0), PAUSES * each / seconds

    def _killed(self, table: Path, rows: int, kills: int) -> Used:
        """What all attempts used together."""
        attempts = []
        for kill in range(kills):
            process = self._start(table)
            self._wait(process, table, int(rows * (kill + 0.5) / kills))
            memory = largest_memory(process)
            process.kill()
            attempts.append(ended(process, KILLED)._replace(memory=memory))
        attempts.append(ended(self._start(table), 0))
        return Used(sum(a.seconds for a in attempts), max(a.memory for a in attempts), 0)

    def _wait(self, process: subprocess.Popen[bytes], table: Path, rows: int) -> None:
        """Wait until this many rows are done."""
        output = self._output(table)
        part = output.with_name(f"{output.name}.part")
        while not part.exists() or part.read_bytes().count(b"\n") < rows:
            if has_ended(process):
                raise KeywrightError(f"{table}: was complete before {rows:,} rows were seen")
            time.sleep(0.05)

    def _compared(self, complete: bool, whole: int) -> str:
        first, every = self._output(self._file("first")), self._output(self._file("every"))
        if complete and first.read_bytes() == every.read_bytes():
            return "the same bytes"
        if not complete and rows_of(every)[:whole] == rows_of(first):
            return f"the same first {whole:,} rows"
        raise KeywrightError(f"{every}: differs from the table that was not interrupted")


def plain_call(engine: Keywright, texts: Sequence[str]) -> float:
    """Seconds of CPU."""
    began = time.process_time()
    for _ in engine.stream(texts):
        pass
    return time.process_time() - began


def ended(process: subprocess.Popen[bytes], code: int) -> Used:
    """Wait for the end of a command that is expected to end with this code."""
    memory = 0.0
    while not has_ended(process):
        memory = max(memory, largest_memory(process))
        time.sleep(0.05)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        raise KeywrightError(f"{process.args!r}: ended with {process.returncode}")
    return Used(used.ru_utime + used.ru_stime, memory, code)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Not `poll`, which would collect the process before its times are read."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def largest_memory(process: subprocess.Popen[bytes]) -> float:
    """In MB, up to now. (`ru_maxrss` would count that of this process, which starts the other.)"""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0  # nothing is left of it at the end


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


if __name__ == "__main__":
    main()
