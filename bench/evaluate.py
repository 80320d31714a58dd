"""The speed and memory of the evaluator, compared with a straightforward implementation.

    python bench/evaluate.py

Prints documents per second for every chan19 metric on 20,000 documents, the ratio to
`plain_chan19` in the same run, and time and peak memory for ten times as many documents. Seconds
are CPU seconds of one thread, so that other processes disturb the numbers less.
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

import corpus
from keywright import evaluate
from keywright.tables import Row, titled
from plain_chan19 import PlainChan19

ROUNDS = 5
TOLERANCE = 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--sample", type=int, default=500, help="documents for plain Python")
    parser.add_argument("--growth", type=int, default=10, help="factor of the second, larger run")
    parser.add_argument("--stream", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stream:
        print(json.dumps(stream(options.stream)))
        return
    name, lines = corpus.load()
    print(f"All chan19 metrics; {name}, repeated. CPU seconds of one thread.\n")
    compare(lines, options.documents, options.sample)
    grow(options.documents, options.growth)


def compare(lines: list[corpus.Lines], count: int, sample: int) -> None:
    sample = min(sample, len(lines))
    check_same(lines[:sample])
    plain, ours = [], []
    for number in range(ROUNDS):  # alternating, so that both see the same disturbances
        start, end = (number * sample // ROUNDS, (number + 1) * sample // ROUNDS)
        plain.append(plain_seconds(lines[start:end]))
        ours.append(memory_seconds(lines, count // ROUNDS))
    base = statistics.median(plain)
    rows: list[Row] = [
        {
            "": label,
            "µs per document": f"{1e6 * seconds:,.0f}",
            "documents per second": f"{1 / seconds:,.0f}",
            "times as fast": f"{base / seconds:.1f}",
        }
        for label, seconds in (
            ("plain Python", base),
            ("keywright", statistics.median(ours)),
            ("keywright with reading", file_seconds(lines, count)),
        )
    ]
    print(titled([(f"{count:,} documents", rows)], "table"))
    print(f"Both implementations agree to {TOLERANCE:g} on every metric.\n")


def check_same(lines: list[corpus.Lines]) -> None:
    judge = PlainChan19()
    for line in lines:
        judge.add(*line)
    expected = judge.scores()
    got = evaluate(map(corpus.document_of, lines), map(corpus.prediction_of, lines)).scores
    wrong = [name for name in expected if not abs(got[name] - expected[name]) <= TOLERANCE]
    if wrong:
        sys.exit(f"keywright and plain_chan19 differ: {wrong}")


def plain_seconds(lines: list[corpus.Lines]) -> float:
    """CPU seconds per document."""
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


def grow(count: int, growth: int) -> None:
    """Each size runs in its own process, because peak memory never shrinks."""
    runs = [in_subprocess(size) for size in (count, count * growth)]
    rows: list[Row] = [
        {
            "documents": run["documents"],
            "CPU seconds": f"{run['seconds']:.1f}",
            "µs per document": f"{1e6 * run['seconds'] / run['documents']:,.0f}",
            "peak memory": f"{run['peak'] / 2**20:.0f} MiB",
        }
        for run in runs
    ]
    print(titled([("Streaming, with 1,000 bootstrap resamples", rows)], "table"))
    few, many = runs
    print(
        f"{growth} times the documents: {many['seconds'] / few['seconds']:.1f} times the time, "
        f"{many['peak'] / few['peak']:.2f} times the memory."
    )


def in_subprocess(count: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--stream", str(count)]
    # The bootstrap multiplies matrices, which would use every core.
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def stream(count: int) -> dict[str, Any]:
    """Documents come from a generator, one chunk at a time; with bootstrap intervals."""
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
