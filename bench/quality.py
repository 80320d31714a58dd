"""How good the keyphrases are: our models and what others use, on the same test documents.

    python -m bench.quality --cache build/quality                    # the model of the package
    python -m bench.quality --cache build/quality --model runs/a --model runs/b --markdown

Scores are chan19's, times 100, of the five test sets (`--data FOLDER`, its `test/`). Every model is
compared with every other system by paired tests on the documents; published figures are listed
under the measured ones, with their source. Needs `pip install 'keywright[bench,extractors]'`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.published import PUBLISHED
from bench.systems import (
    CORPORA,
    COUNTED,
    DATA,
    PEERS,
    Corpus,
    System,
    models,
    peers,
    predictions,
    read_corpora,
    reported,
)
from keywright.analysis.significance import Comparison, Design, Difference, compare
from keywright.cli._table import Row, titled
from keywright.evaluate import evaluate
from keywright.predictor import DEFAULT
from keywright.types import Prediction

METRICS = ("present.F1@5", "present.F1@M", "absent.F1@5", "absent.F1@M", "absent.R@10")
# Extractors find no absent phrases, so only on present ones is there anything to win.
DECISIVE = ("present.F1@5", "present.F1@M")
LEVEL = 0.01
MEASURED = "measured here"

Made = Mapping[str, Sequence[Prediction]]
"""The predictions of every system for one corpus."""


def main() -> None:
    options = arguments()
    corpora = read_corpora(options.data, options.corpora, options.documents)
    ours = models(options.model or [DEFAULT])
    systems = [*ours, *peers(options.peers, options.data, options.counted)]
    made: dict[str, dict[str, list[Prediction]]] = {corpus.name: {} for corpus in corpora}
    for system in systems:
        for name, found in predictions(system, corpora, options.cache).items():
            made[name][system.name] = found
    compared = {
        corpus.name: list(comparisons(corpus, made[corpus.name], ours)) for corpus in corpora
    }
    tables: list[tuple[str, Sequence[Row]]] = []
    for corpus in corpora:
        tables.append((_title(corpus), scores(corpus, made[corpus.name])))
        tables += [
            (f"{corpus.name}: {model} minus the others", differences(found))
            for model, found in compared[corpus.name]
        ]
    print(titled(tables, "markdown" if options.markdown else "table"))
    print(f"\nDifferences: * p < 0.05, ** p < {LEVEL}: the larger of paired bootstrap and paired")
    print("permutation, two-sided, after Holm's correction over the tests of a table.\n")
    for model in ours:
        print(*verdicts(model.name, options.peers, compared), sep="\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", action="append", help="default, or a folder; may be repeated")
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--documents", type=int, help="the first so many of each test set")
    parser.add_argument(
        "--counted", type=int, default=COUNTED, help="training documents for TfIdf's frequencies"
    )
    parser.add_argument("--cache", type=Path, help="a folder that keeps predictions")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


def _title(corpus: Corpus) -> str:
    return f"{corpus.name}: {len(corpus.documents):,} documents, {corpus.protocol}"


def scores(corpus: Corpus, made: Made) -> list[Row]:
    """Measured first, then published."""
    rows: list[Row] = []
    for name, found in made.items():
        result = evaluate(
            corpus.documents, found, protocol=corpus.protocol, metrics=METRICS, match="line"
        )
        points = {metric: f"{100 * result[metric]:.1f}" for metric in METRICS}
        rows.append({"system": name, **points, "source": MEASURED})
    for one in PUBLISHED.get(corpus.name, ()):
        points = {
            metric: f"{one.scores[metric]:.1f}" if metric in one.scores else ""
            for metric in METRICS
        }
        rows.append({"system": one.system, **points, "source": f"published: {one.source}"})
    return rows


def comparisons(
    corpus: Corpus, made: Made, ours: Sequence[System]
) -> Iterator[tuple[str, Comparison]]:
    """Every model of ours with all other systems."""
    if len(made) < 2:
        return
    for model in ours:
        yield (
            model.name,
            compare(
                corpus.documents,
                made,
                metrics=METRICS,
                protocol=corpus.protocol,
                design=Design(baseline=model.name),
                match="line",
            ),
        )


def differences(found: Comparison) -> list[Row]:
    """The model's score minus the other's, with stars."""
    rows: dict[str, dict[str, str]] = {}
    for one in found.differences:
        rows.setdefault(one.a, {"against": one.a})[one.metric] = _starred(one)
    return list(rows.values())


def _starred(one: Difference) -> str:
    stars = "**" if one.worst_p < LEVEL else "*" if one.worst_p < 0.05 else ""
    return f"{100 * (one.score_b - one.score_a):+.1f}{stars}"  # b is the baseline, the model


def verdicts(
    model: str, others: Sequence[str], compared: Mapping[str, Sequence[tuple[str, Comparison]]]
) -> Iterator[str]:
    """Corpus by corpus, whether a model is ahead of every peer, and of which it is not."""
    for corpus, found in compared.items():
        for name, comparison in found:
            if name != model:
                continue
            unbeaten = [
                f"{one.a} in {one.metric} ({_starred(one)}, p = {one.worst_p:.4f})"
                for one in comparison.differences
                if one.a in others and one.metric in DECISIVE
                if not (one.better == model and one.worst_p < LEVEL)
            ]
            ahead = f"ahead in {' and '.join(DECISIVE)} (p < {LEVEL}) of every peer"
            but = f", but for {'; '.join(unbeaten)}" if unbeaten else ""
            yield f"{corpus}: {model} is {ahead}{but}."


if __name__ == "__main__":
    reported(main)
