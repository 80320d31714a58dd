"""The scores of trained runs: every model on every test set, and the effect of decoding.

    python -m bench.results runs/* --cache build/results --markdown
    python -m bench.results runs/one2set runs/kpdrop --cache build/results --decoding
    python -m bench.results runs/cat_seq runs/cat_seq_d --cache build/results --diversity

Scores are chan19's, times 100. Without a flag, each run decodes as in its own config. `--decoding`
compares greedy decoding with beams as in tables 3 and 4 of Thomas and Vajjala (2024), `--diversity`
counts unique phrases under exhaustive decoding as in section 6.2 of Yuan et al. (2020).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.systems import (
    CORPORA,
    DATA,
    Corpus,
    System,
    model_key,
    predictions,
    read_corpora,
    reported,
)
from keywright import predictor
from keywright.evaluate import evaluate
from keywright.tables import titled
from keywright.types import Prediction

SCORES = tuple(
    f"{part}.{metric}" for part in ("present", "absent") for metric in ("F1@5", "F1@M", "F1@O")
)
COUNTS = ("all.Dup", "all.Unique")


Cells = tuple[str, ...]
"""A row of a table; the first row has the names of the columns."""


class Decoding(NamedTuple):
    name: str
    strategy: str | None = None  # None: the run's own
    settings: tuple[str, ...] = ()


OWN = Decoding("own")
SEARCHES = (
    Decoding("greedy", "greedy", ("max_length=6",)),
    Decoding("beam 5", "beam", ("width=5", "max_length=6")),
    Decoding("beam 50", "exhaustive", ("width=50", "max_length=6")),
)
DIVERSE = Decoding("exhaustive 50", "exhaustive", ("width=50", "max_length=40"))


def main() -> None:
    options = arguments()
    corpora = read_corpora(options.data, options.corpora, options.documents)
    if options.decoding:
        tables = decoding_tables(options.runs, corpora, options.cache)
    elif options.diversity:
        tables = [diversity_table(options.runs, corpora, options.cache)]
    else:
        tables = [training_table(options.runs), *score_tables(options.runs, corpora, options.cache)]
    named = [
        (title, [dict(zip(head, row, strict=True)) for row in rows])
        for title, (head, *rows) in tables
    ]
    print(titled(named, "markdown" if options.markdown else "table"))


def system(run: Path, decoding: Decoding) -> System:
    def make() -> predictor.Predictor:
        return predictor.load(run, decode=decoding.strategy, settings=decoding.settings)

    key = {"decoding": [decoding.strategy, *decoding.settings], **model_key(str(run))}
    return System(f"{run.name}-{decoding.name.replace(' ', '')}", make, key)


def scored(
    corpus: Corpus, made: Sequence[Prediction], metrics: Sequence[str]
) -> Mapping[str, float]:
    return evaluate(
        corpus.documents, made, protocol=corpus.protocol, metrics=metrics, match="line"
    ).scores


def score_tables(
    runs: Sequence[Path], corpora: Sequence[Corpus], cache: Path
) -> list[tuple[str, list[Cells]]]:
    made = {run.name: predictions(system(run, OWN), corpora, cache) for run in runs}
    tables = []
    for corpus in corpora:
        rows: list[Cells] = [("run", *SCORES, "duplicates", "phrases")]
        for name, found in made.items():
            scores = scored(corpus, found[corpus.name], (*SCORES, *COUNTS))
            rows.append(
                (
                    name,
                    *(f"{100 * scores[metric]:.2f}" for metric in SCORES),
                    *(f"{scores[metric]:.2f}" for metric in COUNTS),
                )
            )
        tables.append((f"{corpus.name}, {len(corpus.documents):,} documents", rows))
    return tables


def decoding_tables(
    runs: Sequence[Path], corpora: Sequence[Corpus], cache: Path
) -> list[tuple[str, list[Cells]]]:
    tables = []
    for run in runs:
        found = {d.name: predictions(system(run, d), corpora, cache) for d in SEARCHES}
        for part in ("present", "absent"):
            rows: list[Cells] = [("set", *(decoding.name for decoding in SEARCHES))]
            names = (f"{part}.F1@M", f"{part}.R@M")
            for corpus in corpora:
                cells = []
                for made in found.values():
                    scores = scored(corpus, made[corpus.name], names)
                    cells.append("{:.2f} ({:.2f})".format(*(100 * scores[n] for n in names)))
                rows.append((corpus.name, *cells))
            tables.append((f"{run.name}, {part}: F1@M (R@M)", rows))
    return tables


def diversity_table(
    runs: Sequence[Path], corpora: Sequence[Corpus], cache: Path
) -> tuple[str, list[Cells]]:
    rows: list[Cells] = [("run", "set", "decoding", "phrases", "unique", "present F1@O", "R@50")]
    for run in runs:
        for decoding in (OWN, DIVERSE):
            found = predictions(system(run, decoding), corpora, cache)
            for corpus in corpora:
                names = ("all.Predicted", "all.Unique", "present.F1@O", "present.R@50")
                scores = scored(corpus, found[corpus.name], names)
                rows.append(
                    (
                        run.name,
                        corpus.name,
                        "greedy" if decoding is OWN else decoding.name,
                        f"{scores['all.Predicted']:.2f}",
                        f"{scores['all.Unique']:.2f}",
                        f"{100 * scores['present.F1@O']:.2f}",
                        f"{100 * scores['present.R@50']:.2f}",
                    )
                )
    return "Unique phrases per document", rows


def training_table(runs: Sequence[Path]) -> tuple[str, list[Cells]]:
    rows: list[Cells] = [("run", "documents read", "minutes", "documents/s", "validation loss")]
    for run in runs:
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        last = lines[-1]
        losses = [line["loss"] for line in lines if line["kind"] == "valid"]
        rows.append(
            (
                run.name,
                f"{last['documents']:,}",
                f"{last['seconds'] / 60:.1f}",
                f"{last['documents'] / last['seconds']:.1f}",
                f"{min(losses):.3f}" if losses else "",
            )
        )
    return "Training", rows


def arguments() -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="folders of trained runs")
    parser.add_argument("--cache", type=Path, required=True, help="folder for predictions")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with test/")
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--documents", type=int, help="use only the first documents of each set")
    parser.add_argument("--decoding", action="store_true", help="compare greedy with beams")
    parser.add_argument("--diversity", action="store_true", help="count unique phrases")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    reported(main)
