"""Speed compared with other systems: documents per second, start-up, memory, size.

    python -m bench.speed                                     # the model of the package
    python -m bench.speed --model runs/a --venv fresh/.venv   # and the size of a base install

For every number of threads, length of documents and size of batches, each system has its own
process, reads the same documents and takes turns with the others. Every round has different
documents, because some systems cache results. Speeds are medians over rounds; "times" are medians
of the ratios of each round, which load on the machine affects less. Requires
`pip install 'keywright[bench]'`.

Without --all, threads are combined with batches on medium documents, and the other lengths are
measured on one thread with the largest batch.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from bench.systems import DATA, reported
from keywright.errors import KeywrightError
from keywright.tables import Row, titled

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = DATA / "test" / "kp20k-1k.jsonl.xz"
WORDS = {"short": 60, "medium": 170, "long": 400}  # all models here read at least 400 words
PEERS = ("yake", "keybert")
INSTALLERS = ("pip", "setuptools", "wheel", "_distutils_hack")
FIRST = """
from keywright.predictor import load
from keywright.types import Document
body = "Slow rivers carry sand to the sea. We model sediment transport by random walks."
next(load({system!r}).predict([Document(title="Sand in slow rivers", body=body)]))
"""


class Cell(NamedTuple):
    threads: int
    length: str
    batch: int


class Took(NamedTuple):
    """A round of one system: seconds for all documents, and its peak of memory so far in MB."""

    wall: float
    cpu: float
    memory: float


def main() -> None:
    options = arguments()
    if options.work:
        work(**json.loads(options.work))
        return
    options.model = options.model or ["default"]
    systems = [*options.model, *options.peers]
    form = "markdown" if options.markdown else "table"
    print(f"{options.count} documents per round, {options.rounds} rounds.\n", flush=True)
    for cell in cells(options):
        title = f"threads: {cell.threads}; {cell.length} documents ({WORDS[cell.length]} words); "
        rows = speed_rows(systems, measure(systems, cell, options), options.count)
        print(titled([(f"{title}batches of {cell.batch}", rows)], form), "\n", flush=True)
    tables = [("Start-up: from a new process to its first document", startup(systems, options))]
    tables.append(("Size", [*model_sizes(systems), *install_sizes(options.venv)]))
    print(titled(tables, form))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", action="append", help="default or a folder; may be repeated")
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument("--documents", type=Path, help="texts to read; made-up words by default")
    parser.add_argument("--count", type=int, default=32, help="documents per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--lengths", nargs="+", choices=WORDS, default=tuple(WORDS))
    parser.add_argument("--batches", type=int, nargs="+", default=(1, 8, 32))
    parser.add_argument("--all", action="store_true", help="measure every combination")
    parser.add_argument("--startups", type=int, default=3)
    parser.add_argument("--venv", type=Path, help="a fresh base install whose size is measured")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)  # the task of a worker process
    return parser.parse_args()


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    if options.all:
        yield from map(Cell._make, product(options.threads, options.lengths, options.batches))
        return
    usual = "medium" if "medium" in options.lengths else options.lengths[0]
    for threads, batch in product(options.threads, options.batches):
        yield Cell(threads, usual, batch)
    for length in options.lengths:
        if length != usual:
            yield Cell(min(options.threads), length, max(options.batches))


def measure(
    systems: Sequence[str], cell: Cell, options: argparse.Namespace
) -> dict[str, list[Took]]:
    """The rounds of every system. Systems take turns, so that load affects all alike."""
    took: dict[str, list[Took]] = {system: [] for system in systems}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        file = write_documents(Path(folder), options, WORDS[cell.length])
        workers = {
            system: stack.enter_context(worker(system, cell, file, options.count))
            for system in systems
        }
        for _, (system, process) in product(range(options.rounds), workers.items()):
            took[system].append(Took(**ask(system, process)))
    return took


def write_documents(folder: Path, options: argparse.Namespace, words: int) -> Path:
    """The documents of all rounds and of the warm-up before them."""
    import msgspec

    file = folder / "documents.json"
    wanted = options.count * (1 + options.rounds)
    file.write_bytes(msgspec.json.encode(documents(options.documents, words, wanted)))
    return file


def documents(path: Path | None, words: int, count: int) -> list[Any]:
    """Texts of exactly `words` words, made from the documents of a file one after another."""
    from bench import corpus
    from keywright.data.documents import read_documents
    from keywright.types import Document

    path = path or (DOCUMENTS if DOCUMENTS.exists() else None)
    texts = map(corpus.document_of, corpus.generated(500)) if path is None else read_documents(path)
    pool = list(texts)
    made, at = [], 0
    for _ in range(count):
        first, text = pool[at % len(pool)], list[str]()
        while len(text) < words:
            text += pool[at % len(pool)].text.split()
            at += 1
        body = " ".join(text[:words])
        made.append(Document(title="", body=body, tokenised=first.tokenised))
    return made


@contextmanager
def worker(system: str, cell: Cell, file: Path, count: int) -> Iterator[subprocess.Popen[str]]:
    told = {"system": system, "threads": cell.threads, "batch": cell.batch}
    told |= {"file": str(file), "count": count}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.speed", "--work", json.dumps(told)],
        env=environment(cell.threads),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        answer(system, process)  # loaded, and warmed up
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def environment(threads: int) -> dict[str, str]:
    libraries = ("OMP", "OPENBLAS", "MKL", "RAYON")
    return {
        **os.environ,
        **{f"{library}_NUM_THREADS": str(threads) for library in libraries},
        "PYTHONPATH": str(ROOT / "src"),
        "HF_HUB_OFFLINE": "1",  # the speed of the network is not measured
    }


def ask(system: str, process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return answer(system, process)


def answer(system: str, process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise KeywrightError(f"{system} failed; its message is above")
    result: dict[str, float] = json.loads(line)
    return result


def work(system: str, threads: int, batch: int, file: str, count: int) -> None:
    """A worker process: load, warm up, and then run a round for every line of input."""
    import msgspec

    from keywright.types import Document

    predictor = load(system, threads, batch)
    texts = msgspec.json.decode(Path(file).read_bytes(), type=list[Document])
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not be taken for an answer
    at = 0
    while True:
        wall, cpu = perf_counter(), process_time()
        made = list(predictor.predict(texts[at : at + count]))
        wall, cpu = perf_counter() - wall, process_time() - cpu
        assert len(made) == count
        at += count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(Took(wall, cpu, peak)._asdict()), file=answers, flush=True)
        if not sys.stdin.readline():
            return


def load(system: str, threads: int, batch: int) -> Any:
    from keywright import parts, predictor

    if system == "keybert":
        return predictor.load(system, settings=[f"batch={batch}"])
    if system in parts.names(predictor.EXTRACTORS):
        return predictor.load(system)  # always one document after another, on one thread
    return predictor.load(system, batch=batch, threads=threads)


def speed_rows(systems: Sequence[str], every: dict[str, list[Took]], count: int) -> list[Row]:
    base = every[systems[0]]
    rows: list[Row] = []
    for system in systems:
        rounds = every[system]
        times = [other.wall / own.wall for own, other in zip(base, rounds, strict=True)]
        cpu_times = [other.cpu / own.cpu for own, other in zip(base, rounds, strict=True)]
        rows.append(
            {
                "system": system,
                "documents/s": f"{count / median(took.wall for took in rounds):.1f}",
                "CPU ms/document": f"{1000 * median(took.cpu for took in rounds) / count:.1f}",
                f"{Path(systems[0]).name}, times as fast": f"{median(times):.2f}",
                "in CPU time": f"{median(cpu_times):.2f}",
                "peak MB": f"{max(took.memory for took in rounds):.0f}",
            }
        )
    return rows


def startup(systems: Sequence[str], options: argparse.Namespace) -> list[Row]:
    took: dict[str, list[tuple[float, float]]] = {system: [] for system in systems}
    for _, system in product(range(options.startups), systems):
        took[system].append(first_document(system))
    return [
        {
            "system": system,
            "seconds": f"{median(wall for wall, _ in times):.2f}",
            "CPU seconds": f"{median(cpu for _, cpu in times):.2f}",
        }
        for system, times in took.items()
        if times
    ]


def first_document(system: str) -> tuple[float, float]:
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", FIRST.format(system=system)], env=environment(1), check=False
    )
    wall = perf_counter() - wall
    if done.returncode:
        raise KeywrightError(f"{system} failed; its message is above")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def model_sizes(systems: Sequence[str]) -> Iterator[Row]:
    from keywright import predictor
    from keywright.data import minilm

    for system in systems:
        named = {predictor.DEFAULT: predictor.DEFAULT_FOLDER}
        folder = minilm.folder() if system == "keybert" else named.get(system, Path(system))
        if folder.is_dir():
            yield {"": f"model of {system}", "MB": f"{size(folder):.1f}"}


def install_sizes(venv: Path | None) -> Iterator[Row]:
    if venv is None:
        return
    found = [*venv.glob("lib/python*/site-packages"), *venv.glob("Lib/site-packages")]
    if not found:
        raise KeywrightError(f"{venv}: is not a virtual environment (it has no site-packages)")
    parts = {path.name: size(path) for path in found[0].iterdir()}
    package = ROOT / "src" / "keywright"
    if "keywright" not in parts:  # installed in place
        parts["keywright"] = size(package)
    own = {name: mb for name, mb in parts.items() if not name.startswith(INSTALLERS)}
    yield {"": "base install, without pip", "MB": f"{sum(own.values()):.1f}"}
    for name in sorted(own, key=lambda name: -own[name])[:6]:
        yield {"": f"of these, {name}", "MB": f"{own[name]:.1f}"}


def size(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


if __name__ == "__main__":
    reported(main)
