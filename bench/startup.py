"""What the command line costs before it works: CPU seconds of short commands, and of the stemmer.

    python -m bench.startup                       # median of 5 runs each
    python -m bench.startup --runs 9 --documents docs.jsonl

Measured are `keywright --help`, `keywright evaluate` of up to 1,000 documents with the standard
metrics, and `keywright generate` of one title, in user and system CPU seconds of the whole process.
Bytecode is cached: the first run of each command fills a cache in a temporary folder and does not
count. If nltk is installed, its Porter stemmer and ours take turns on the same words.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from time import process_time

from bench import corpus
from bench.systems import DATA, reported
from keywright.data.documents import read_documents
from keywright.data.writers import write_documents, write_predictions
from keywright.errors import KeywrightError
from keywright.predictor import load
from keywright.text import porter
from keywright.text.reading import Reading
from keywright.types import Document

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = DATA / "test" / "kp20k-1k.jsonl.xz"
MOST_DOCUMENTS = 1_000
TITLE = "Heat pumps in old houses\n"
NO_CACHE = "PYTHONDONTWRITEBYTECODE"
# CPU seconds that a command should not exceed on an idle machine.
TARGETS = {"--help": 0.3, "evaluate": 0.9, "generate": 1.0}


def main() -> None:
    options = arguments()
    documents = read(options.documents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, documents)
        print(f"CPU seconds, median of {options.runs} runs (all runs), with {sys.executable}")
        for verb, target in TARGETS.items():
            took = sorted(runs(command(folder, verb), folder, options.runs))
            every = ", ".join(f"{seconds:.2f}" for seconds in took)
            print(f"{verb:>9}: {median(took):.2f}  ({every}); target {target}", flush=True)
    for line in stemmers(documents, options.runs):
        print(line)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command that count")
    parser.add_argument(
        "--documents", type=Path, help="documents with gold keyphrases; generated ones by default"
    )
    return parser.parse_args()


def read(path: Path | None) -> list[Document]:
    path = path or (DOCUMENTS if DOCUMENTS.exists() else None)
    if path is None:
        return [corpus.document_of(lines) for lines in corpus.generated(MOST_DOCUMENTS)]
    return list(islice(read_documents(path), MOST_DOCUMENTS))


def prepare(folder: Path, documents: Sequence[Document]) -> None:
    """What the commands read: documents, predictions of TfIdf, and a title."""
    write_documents(documents, folder / "documents.jsonl")
    write_predictions(load("tfidf").predict(documents), folder / "predictions.jsonl")
    (folder / "title.txt").write_text(TITLE, encoding="utf-8")


def command(folder: Path, verb: str) -> list[str]:
    files = {
        "--help": (),
        "evaluate": (
            *("--documents", str(folder / "documents.jsonl")),
            *("--predictions", str(folder / "predictions.jsonl")),
        ),
        "generate": (str(folder / "title.txt"),),
    }
    return [sys.executable, "-m", "keywright", verb, *files[verb]]


def runs(arguments: Sequence[str], folder: Path, count: int) -> list[float]:
    """CPU seconds of every run after the first, which fills the cache of bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != NO_CACHE}
    environment["PYTHONPATH"] = str(ROOT / "src")
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    return [cpu_seconds(arguments, environment) for _ in range(count + 1)][1:]


def cpu_seconds(arguments: Sequence[str], environment: dict[str, str]) -> float:
    process = subprocess.Popen(arguments, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise KeywrightError(f"{' '.join(arguments)} failed; its message is above")
    return used.ru_utime + used.ru_stime


def stemmers(documents: Sequence[Document], rounds: int) -> list[str]:
    """Words per second of both stemmers over the word types of the documents, taking turns."""
    types = sorted({word for document in documents for word in Reading.of(document).words})
    try:
        from nltk.stem.porter import PorterStemmer
    except ModuleNotFoundError:
        return ["nltk is not installed: there is no stemmer to compare with"]
    pairs = [(rate(porter.stem, types), rate(PorterStemmer().stem, types)) for _ in range(rounds)]
    ours, others = median(own for own, _ in pairs), median(other for _, other in pairs)
    times = median(own / other for own, other in pairs)
    return [
        f"stemmer, {len(types):,} word types: {ours:,.0f} words per CPU second, "
        f"nltk {others:,.0f}, {times:.1f} times as fast"
    ]


def rate(stem: Callable[[str], str], words: Sequence[str]) -> float:
    begin = process_time()
    for word in words:
        stem(word)
    return len(words) / (process_time() - begin)


if __name__ == "__main__":
    reported(main)
