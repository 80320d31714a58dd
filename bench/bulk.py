"""Documents per second of `keywright bulk`, by engine and workers, beside a plain loop.

    python -m bench.bulk documents.jsonl --documents 2000 --engines local ray spark --workers 1 2
    python -m bench.bulk documents.jsonl --memory 20000 200000 --model rake
    python -m bench.bulk documents.jsonl --documents 256 --parts

The documents are repeated. Every row is measured in every round, in turn with the others; speeds
are those after the first shard, when all workers are started, and "times" are medians of the ratios
to the plain loop (`Keywright.stream` in one thread) of the same round. `start-up` is the time until
the first shard is there. `--memory` gives the time and the largest memory of the local engine for
several numbers of documents; `--parts` says where the processor time of a shard goes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

from bench.bulk_kills import repeat_documents, request
from keywright import Keywright, Selection
from keywright.bulk import shard
from keywright.bulk.engines import Resources
from keywright.bulk.plan import ColumnNames, plan
from keywright.bulk.run import Status, run
from keywright.generation.engine import _document
from keywright.generation.job import Job, engine

LOOP = "plain loop"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--shard-size", type=int, default=100)
    parser.add_argument("--model", default="default")
    parser.add_argument("--engines", nargs="+", default=["local"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", nargs="*", type=int, default=[], metavar="DOCUMENTS")
    parser.add_argument("--parts", action="store_true", help="where the time goes")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.one is not None:
            run(request(arguments, arguments.one, Path(folder) / "out", "local", Resources(2)))
        elif arguments.parts:
            measure_parts(arguments, Path(folder))
        elif arguments.memory:
            for count in arguments.memory:
                measure_memory(arguments, count, Path(folder))
        else:
            measure_speed(arguments, Path(folder))


def measure_speed(arguments: argparse.Namespace, folder: Path) -> None:
    table = folder / "documents.jsonl"
    repeat_documents(arguments.files, arguments.documents, table, titles=False)
    rows = [(engine, workers) for engine in arguments.engines for workers in arguments.workers]
    speeds: dict[tuple[str, int], list[float]] = {row: [] for row in [(LOOP, 1), *rows]}
    starts: dict[tuple[str, int], list[float]] = {row: [] for row in rows}
    for turn in range(arguments.rounds):
        speeds[LOOP, 1].append(loop_speed(table, arguments.model))
        for row in rows:
            start, speed = bulk_speed(arguments, table, folder / f"{row[0]}-{row[1]}-{turn}", *row)
            starts[row].append(start)
            speeds[row].append(speed)
    print(f"| engine | workers | documents/s | times {LOOP} | start-up s |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for row, values in speeds.items():
        ratios = [a / b for a, b in zip(values, speeds[LOOP, 1], strict=True)]
        start = f"{median(starts[row]):.1f}" if row in starts else ""
        print(f"| {row[0]} | {row[1]} | {median(values):.1f} | {median(ratios):.2f} | {start} |")


def loop_speed(table: Path, model: str) -> float:
    with table.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    keywright = Keywright(model, threads=1)
    list(keywright.stream(texts[:32]))
    began = time.perf_counter()
    count = sum(1 for _ in keywright.stream(texts))
    return count / (time.perf_counter() - began)


def bulk_speed(
    arguments: argparse.Namespace, table: Path, out: Path, engine: str, workers: int
) -> tuple[float, float]:
    """Seconds until the first shard, and documents per second after it."""
    moments: list[tuple[float, int]] = []

    def note(status: Status) -> None:
        moments.append((time.perf_counter(), status.documents_done))

    run(request(arguments, table, out, engine, Resources(workers)), note)
    (begin, _), (first, some), (last, all_done) = moments[0], moments[1], moments[-1]
    return first - begin, (all_done - some) / (last - first)


def measure_parts(arguments: argparse.Namespace, folder: Path) -> None:
    """Processor time per document of the steps of one shard, which has all documents."""
    count, table = arguments.documents, folder / "documents.jsonl"
    repeat_documents(arguments.files, count, table, titles=False)
    job = Job(arguments.model, Selection(), 1)
    model = engine(job)
    shard._encoded([], "parquet")  # imports pyarrow
    model.generate(["Heat pumps warm old houses."])
    times = {}
    began = time.process_time()

    def step(name: str) -> None:
        nonlocal began
        times[name] = (time.process_time() - began) * 1000 / count
        began = time.process_time()

    manifest = plan([str(table)], ColumnNames(), count, {"format": "jsonl"}, 1)
    step("plan, digest")
    pieces = shard.shard_of(manifest, 0)
    read = [item for span in pieces.spans for item in shard._documents(*span, manifest.columns)]
    step("read")
    found = shard._keyphrases(job, [text for _, text in read])
    step("keyphrases")
    rows = [shard._row(key, phrases) for (key, _), phrases in zip(read, found, strict=True)]
    shard._encoded(rows, "jsonl")
    step("encode as JSON lines")
    shard._encoded(rows, "parquet")
    step("encode as Parquet")
    documents = [_document(text) for _, text in read]
    began = time.process_time()
    list(model._loaded.predictor.predict(documents))
    step("of `keyphrases`: the model")
    for name, value in times.items():
        print(f"{name}: {value:.3f} ms")
    print(f"{3_600_000 / sum(list(times.values())[:4]):,.0f} documents per core-hour")


def measure_memory(arguments: argparse.Namespace, count: int, folder: Path) -> None:
    table = folder / f"documents-{count}.jsonl"
    repeat_documents(arguments.files, count, table, titles=False)
    command = [sys.executable, "-m", "bench.bulk", "x", "--one", str(table)]
    command += ["--model", arguments.model, "--shard-size", str(arguments.shard_size)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = (
        "import os, resource, subprocess, sys\n"
        f"subprocess.run({command!r}, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{count:,} documents: {seconds:.0f} s of processor time, largest process "
        f"{int(done.stdout) / 1024:.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
