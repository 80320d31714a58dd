"""How fast the evaluator is, against the same metrics written the plain way, and what it needs.

    python bench/evaluate.py

Prints documents per second for every chan19 metric on 20,000 documents, the ratio to
`plain_chan19` in the same run, and time and peak memory of ten times as many documents. Seconds are
CPU seconds of one thread, so that a busy machine disturbs the numbers less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from rich.console import Console
from rich.table import Table

import corpus
from keywright import evaluate
from plain_chan19 import PlainChan19

ROUNDS = 5
TOLERANCE = 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--sample", type=int, default=500, help="documents for the plain way")
    parser.add_argument("--growth", type=int, default=10, help="how many times more documents")
    parser.add_argument("--stream", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stream:
        print(json.dumps(stream(options.stream)))
        return
    console = Console()
    name, lines = corpus.load()
    console.print(f"All chan19 metrics; {name}, repeated. CPU seconds of one thread.\n")
    compare(console, lines, options.documents, options.sample)
    grow(console, options.documents, options.growth)


def compare(console: Console, lines: list[corpus.Lines], count: int, sample: int) -> None:
    sample = min(sample, len(lines))
    check_same(lines[:sample])
    plain, ours = [], []
    for number in range(ROUNDS):  # taking turns, so that both see the same disturbances
        start, end = (number * sample // ROUNDS, (number + 1) * sample // ROUNDS)
        plain.append(plain_seconds(lines[start:end]))
        ours.append(memory_seconds(lines, count // ROUNDS))
    from_files = file_seconds(lines, count)
    table = Table(title=f"{count:,} documents", title_justify="left")
    for column in ("", "µs a document", "documents a second", "times as fast"):
        table.add_column(column, justify="left" if not column else "right")
    base = statistics.median(plain)
    for label, seconds in (
        ("plain Python", base),
        ("keywright", statistics.median(ours)),
        ("keywright with reading", from_files),
    ):
        table.add_row(
            label, f"{1e6 * seconds:,.0f}", f"{1 / seconds:,.0f}", f"{base / seconds:.1f}"
        )
    console.print(table)
    console.print(f"Both ways agree to {TOLERANCE:g} on every metric.\n")


def check_same(lines: list[corpus.Lines]) -> None:
    judge = PlainChan19()
    for line in lines:
        judge.add(*line)
    expected = judge.scores()
    got = evaluate(map(corpus.document_of, lines), map(corpus.prediction_of, lines)).scores
    wrong = [name for name in got if not abs(got[name] - expected[name]) <= TOLERANCE]
    if wrong or got.keys() != expected.keys():
        sys.exit(f"keywright and plain_chan19 differ: {wrong or got.keys() ^ expected.keys()}")


def plain_seconds(lines: list[corpus.Lines]) -> float:
    """CPU seconds a document."""
    judge = PlainChan19()
    start = process_time()
    for line in lines:
        judge.add(*line)
    judge.scores()
    return (process_time() - start) / len(lines)


def memory_seconds(lines: list[corpus.Lines], count: int) -> float:
    chosen = list(corpus.repeated(lines, count))
    documents = [corpus.document_of(line) for line in chosen]
    predictions = [corpus.prediction_of(line) for line in chosen]
    start = process_time()
    evaluate(documents, predictions)
    return (process_time() - start) / count


def file_seconds(lines: list[corpus.Lines], count: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for column, file in enumerate(("test_src.txt", "test_trg.txt", "pred.txt")):
            with (folder / file).open("w", encoding="utf-8") as out:
                out.writelines(line[column] + "\n" for line in corpus.repeated(lines, count))
        start = process_time()
        evaluate(folder / "test_src.txt", folder / "pred.txt")
        return (process_time() - start) / count


def grow(console: Console, count: int, growth: int) -> None:
    """Each size in a process of its own, because peak memory never shrinks."""
    table = Table(title="Streaming, with 1,000 bootstrap resamples", title_justify="left")
    for column in ("documents", "CPU seconds", "µs a document", "peak memory"):
        table.add_column(column, justify="right")
    runs = [in_subprocess(size) for size in (count, count * growth)]
    for run in runs:
        size, seconds, peak = run["documents"], run["seconds"], run["peak"]
        each = f"{1e6 * seconds / size:,.0f}"
        table.add_row(f"{size:,}", f"{seconds:.1f}", each, f"{peak / 2**20:.0f} MiB")
    console.print(table)
    few, many = runs
    console.print(
        f"{growth} times the documents: {many['seconds'] / few['seconds']:.1f} times the time, "
        f"{many['peak'] / few['peak']:.2f} times the memory."
    )


def in_subprocess(count: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--stream", str(count)]
    # The bootstrap multiplies matrices, which would take every core there is.
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def stream(count: int) -> dict[str, Any]:
    """Documents come from a generator and exist a chunk at a time; bootstrap intervals too."""
    _, lines = corpus.load()
    start = process_time()
    evaluate(
        map(corpus.document_of, corpus.repeated(lines, count)),
        map(corpus.prediction_of, corpus.repeated(lines, count)),
        resamples=1000,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"documents": count, "seconds": process_time() - start, "peak": peak}


if __name__ == "__main__":
    main()
