"""Quality of keyphrases: our models and other systems on the same test documents.

    python -m bench.quality --cache build/quality                    # the model of the package
    python -m bench.quality --cache build/quality --model runs/a --model runs/b --markdown
    python -m bench.quality --cache build/quality --genres --documents 300 --model default:top=10

Scores are those of chan19, times 100, on five test sets (`--data FOLDER`, its `test/`), or, with
`--genres`, on news, web pages, questions and further abstracts, present phrases only. Every model
is compared with every other system by paired tests on the documents; published figures are listed
below the measured ones, with their source. Requires `pip install 'keywright[bench,extractors]'`.
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
    GENRE_PEERS,
    GENRES,
    PEERS,
    TRAINING,
    Corpus,
    System,
    models,
    peers,
    predictions,
    read_corpora,
    reported,
)
from keywright.analysis.significance import Comparison, Design, Difference, compare
from keywright.evaluate import evaluate
from keywright.predictor import DEFAULT
from keywright.tables import Row, titled
from keywright.types import Prediction

METRICS = ("present.F1@5", "present.F1@M", "absent.F1@5", "absent.F1@M", "absent.R@10")
# Extractors find no absent phrases, so only present ones are compared.
DECISIVE = ("present.F1@5", "present.F1@M")
GENRE_METRICS = ("present.F1@5", "present.F1@10", "present.F1@M")
LEVEL = 0.01
MEASURED = "measured here"

Made = Mapping[str, Sequence[Prediction]]
"""The predictions of every system for one corpus."""


def main() -> None:
    options = arguments()
    genres = options.genres
    metrics = GENRE_METRICS if genres else METRICS
    decisive = GENRE_METRICS if genres else DECISIVE
    others = (GENRE_PEERS if genres else PEERS) if options.peers is None else options.peers
    names = options.corpora or (GENRES if genres else CORPORA)
    corpora = read_corpora(options.data, names, options.documents)
    ours = models(options.model or [DEFAULT])
    training = TRAINING if genres else TRAINING[:1]
    systems = [*ours, *peers(others, options.data, options.counted, training)]
    made: dict[str, dict[str, list[Prediction]]] = {corpus.name: {} for corpus in corpora}
    for system in systems:
        for name, found in predictions(system, corpora, options.cache).items():
            made[name][system.name] = found
    compared = {
        corpus.name: list(comparisons(corpus, made[corpus.name], ours, metrics))
        for corpus in corpora
    }
    tables: list[tuple[str, Sequence[Row]]] = []
    for corpus in corpora:
        tables.append((_title(corpus), scores(corpus, made[corpus.name], metrics)))
        tables += [
            (f"{corpus.name}: {model} minus the others", differences(found))
            for model, found in compared[corpus.name]
        ]
    print(titled(tables, "markdown" if options.markdown else "table"))
    print(f"\nDifferences: * p < 0.05, ** p < {LEVEL}: the larger of paired bootstrap and paired")
    print("permutation, two-sided, after Holm's correction over the tests of a table.\n")
    for model in ours:
        print(*verdicts(model.name, others, compared, decisive), sep="\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", action="append", help="default or a folder; may be repeated")
    parser.add_argument("--peers", nargs="*")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpora", nargs="+", help="such as kp20k-1k or valid/news")
    parser.add_argument("--genres", action="store_true", help="news, web pages, questions, ...")
    parser.add_argument("--documents", type=int, help="only the first N documents of each test set")
    parser.add_argument(
        "--counted", type=int, default=COUNTED, help="training documents for TfIdf's frequencies"
    )
    parser.add_argument("--cache", type=Path, help="a folder that keeps predictions")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


def _title(corpus: Corpus) -> str:
    return f"{corpus.name}: {len(corpus.documents):,} documents, {corpus.protocol}"


def scores(corpus: Corpus, made: Made, metrics: Sequence[str] = METRICS) -> list[Row]:
    """Measured scores, then published ones."""
    rows: list[Row] = []
    for name, found in made.items():
        result = evaluate(
            corpus.documents, found, protocol=corpus.protocol, metrics=metrics, match="line"
        )
        points = {metric: f"{100 * result[metric]:.1f}" for metric in metrics}
        rows.append({"system": name, **points, "source": MEASURED})
    for published in PUBLISHED.get(corpus.name, ()):
        points = {
            metric: f"{published.scores[metric]:.1f}" if metric in published.scores else ""
            for metric in metrics
        }
        source = f"published: {published.source}"
        rows.append({"system": published.system, **points, "source": source})
    return rows


def comparisons(
    corpus: Corpus, made: Made, ours: Sequence[System], metrics: Sequence[str]
) -> Iterator[tuple[str, Comparison]]:
    """The comparison of each of our models with all other systems."""
    if len(made) < 2:
        return
    for model in ours:
        yield (
            model.name,
            compare(
                corpus.documents,
                made,
                metrics=metrics,
                protocol=corpus.protocol,
                design=Design(baseline=model.name),
                match="line",
            ),
        )


def differences(found: Comparison) -> list[Row]:
    """The model's score minus the other's, with stars."""
    rows: dict[str, dict[str, str]] = {}
    for pair in found.differences:
        row = rows.setdefault(pair.a, {"against": pair.a})
        row[pair.metric] = _starred(pair)
    return list(rows.values())


def _starred(difference: Difference) -> str:
    stars = "**" if difference.worst_p < LEVEL else "*" if difference.worst_p < 0.05 else ""
    # b is the baseline: the model.
    return f"{100 * (difference.score_b - difference.score_a):+.1f}{stars}"


def verdicts(
    model: str,
    others: Sequence[str],
    compared: Mapping[str, Sequence[tuple[str, Comparison]]],
    decisive: Sequence[str] = DECISIVE,
) -> Iterator[str]:
    """For each corpus, whether a model is better than every peer, and the exceptions."""
    for corpus, found in compared.items():
        for name, comparison in found:
            if name != model:
                continue
            unbeaten = [
                f"{other.a} in {other.metric} ({_starred(other)}, p = {other.worst_p:.4f})"
                for other in comparison.differences
                if other.a in others and other.metric in decisive
                if not (other.better == model and other.worst_p < LEVEL)
            ]
            better = f"better in {' and '.join(decisive)} (p < {LEVEL}) than every peer"
            exceptions = f", except {'; '.join(unbeaten)}" if unbeaten else ""
            yield f"{corpus}: {model} is {better}{exceptions}."


if __name__ == "__main__":
    reported(main)
