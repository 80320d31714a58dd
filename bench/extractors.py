"""Extractors on the test sets: scores under two protocols, and documents per second.

    python -m bench.extractors --cache build/extractors --markdown
    python -m bench.extractors --names kea maui --fitted kea=kea.json --fitted maui=maui.json
    python -m bench.extractors --beside --documents 100    # speed beside pke and YAKE, nothing else

Scores are present ones, times 100. Speed is that of one process over the documents of the first
set, in CPU time, after their words have been stemmed once; compare only figures of one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time

from bench.systems import CORPORA, DATA, Corpus, System, predictions, read_corpora, reported
from keywright import parts, predictor
from keywright.errors import KeywrightError
from keywright.evaluate import evaluate
from keywright.predictor import EXTRACTORS
from keywright.tables import Row, titled
from keywright.types import Prediction

METRICS = ("present.F1@5", "present.F1@10", "present.F1@O")
PROTOCOLS = ("chan19", "yuan20")
MOST = 50  # phrases of a document, enough for F1@O
ROUNDS = 3  # the best one is reported
SLOW = ("keybert", "yake")  # libraries of others, only by name


def main() -> None:
    options = arguments()
    corpora = read_corpora(options.data, options.corpora, options.documents)
    if options.beside:
        rows = beside(corpora[0])
        title = f"{len(corpora[0].documents):,} documents of {corpora[0].name}, documents/s"
        print(titled([(title, rows)], "markdown" if options.markdown else "table"))
        return
    if options.cache is None:
        raise KeywrightError("--cache is missing: the folder for predictions")
    fitted = dict(pair.split("=", 1) for pair in options.fitted)
    names = options.names or [name for name in parts.names(EXTRACTORS) if _runs(name, fitted)]
    made: dict[str, Mapping[str, list[Prediction]]] = {}
    speeds: list[Row] = []
    for name in names:
        system = _system(name, fitted)
        made[name] = predictions(system, corpora, options.cache)
        if options.speed:
            speeds.append({"extractor": name, "documents/s": f"{_speed(system, corpora[0]):.0f}"})
    tables: list[tuple[str, Sequence[Row]]] = [
        (f"{corpus.name}, {len(corpus.documents):,} documents", scores(corpus, made))
        for corpus in corpora
    ]
    if speeds:
        tables.append((f"Speed on {corpora[0].name}, CPU time of one process", speeds))
    print(titled(tables, "markdown" if options.markdown else "table"))


def _runs(name: str, fitted: Mapping[str, str]) -> bool:
    learns = "fit" in vars(parts.module(EXTRACTORS, name))
    return name in fitted if learns else name not in SLOW


def _system(name: str, fitted: Mapping[str, str]) -> System:
    settings = [f"max_phrases={MOST}"]
    if name in fitted:
        settings.append(f"fitted={fitted[name]}")

    def make() -> predictor.Predictor:
        return predictor.load(name, settings=settings)

    return System(name, make, {"extractor": name, "settings": settings})


def _speed(system: System, corpus: Corpus) -> float:
    made = system.make()
    began = process_time()
    count = sum(1 for _ in made.predict(corpus.documents))
    return count / (process_time() - began)


def beside(corpus: Corpus) -> list[Row]:
    """Our rankers and pke's on the same documents, in turns, with the same tagger."""
    from bench import pke_rankers

    pke = pke_rankers.load()
    rows: list[Row] = []
    for name in pke_rankers.RANKERS:
        system = _system(name, {})
        _speed(system, corpus)  # words are stemmed once before anything is measured
        ours = max(_speed(system, corpus) for _ in range(ROUNDS))
        theirs = max(pke_rankers.speed(pke, name, corpus.documents) for _ in range(ROUNDS))
        ratio = f"{ours / theirs:.1f}"
        rows.append(
            {"ranker": name, "keywright": f"{ours:.0f}", "other": f"{theirs:.0f}", "ratio": ratio}
        )
    yake = max(_speed(_system("yake", {}), corpus) for _ in range(ROUNDS))
    ours = max(_speed(_system("statistical", {}), corpus) for _ in range(ROUNDS))
    rows.append(
        {
            "ranker": "statistical, beside YAKE",
            "keywright": f"{ours:.0f}",
            "other": f"{yake:.0f}",
            "ratio": f"{ours / yake:.1f}",
        }
    )
    return rows


def scores(corpus: Corpus, made: Mapping[str, Mapping[str, Sequence[Prediction]]]) -> list[Row]:
    rows: list[Row] = []
    stemmed = ":targets_stemmed=true" if corpus.name == "semeval" else ""
    for name, found in made.items():
        row: dict[str, str] = {"extractor": name}
        for protocol in PROTOCOLS:
            result = evaluate(
                corpus.documents,
                found[corpus.name],
                protocol=protocol + (stemmed if protocol == "chan19" else ""),
                metrics=METRICS,
                match="line",
            )
            for metric in METRICS:
                column = f"{protocol} {metric.removeprefix('present.')}"
                row[column] = f"{100 * result[metric]:.1f}"
        rows.append(row)
    return rows


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", nargs="+", help="default: all that need no fitted file")
    parser.add_argument("--fitted", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--cache", type=Path, help="folder for predictions")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with test/")
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--documents", type=int, help="use only the first documents of each set")
    parser.add_argument("--speed", action="store_true", help="measure documents per second, too")
    parser.add_argument("--beside", action="store_true", help="only the speed, beside pke and YAKE")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    reported(main)
