"""How far the predicted probabilities can be trusted: calibration error on every test set.

    python -m bench.calibration --cache build/quality                  # the default model
    python -m bench.calibration --cache build/quality --model runs/a --plot build/plots --markdown
    python -m bench.calibration --corpora valid/news valid/web valid/qa --skip 400

The errors are those of `keywright calibrate`, in points, with 95% intervals: 10 bins of equal
width, present and absent phrases separately, every distinct phrase of a document once. The
probability of a phrase is its `confidence`, or 1/KPP if the model states none. "Adapted" is the
error that remains after a logistic curve is fitted on other documents of the same test set (5-fold
cross-validation over documents). The last rows are for all test sets together, under plain chan19,
which stems SemEval's stems once more.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bench.systems import CORPORA, DATA, models, pairs, predictions, read_corpora, reported
from keywright.analysis.calibration_plots import reliability, save
from keywright.calibration.calibrate import (
    Calibration,
    PartCalibration,
    Recalibration,
    gather,
    measure,
    recalibration,
)
from keywright.calibration.fit import cross_validate
from keywright.evaluate import Pair
from keywright.predictor import DEFAULT
from keywright.protocol import Protocol
from keywright.protocols import DEFAULT as DEFAULT_PROTOCOL
from keywright.tables import Row, titled

PARTS = ("present", "absent")
EVERYTHING = "all of them"


def main() -> None:
    options = arguments()
    corpora = read_corpora(options.data, options.corpora, options.documents, options.skip)
    tables = []
    for model in models(options.model or [DEFAULT]):
        made = predictions(model, corpora, options.cache)
        paired = {corpus.name: list(pairs(corpus, made[corpus.name])) for corpus in corpora}
        found = {
            corpus.name: measured(paired[corpus.name], corpus.protocol, options.resamples)
            for corpus in corpora
        }
        if len(corpora) > 1:
            everything = chain.from_iterable(paired.values())
            found[EVERYTHING] = measured(everything, DEFAULT_PROTOCOL, options.resamples)
        tables.append((model.name, list(rows(found))))
        if options.plot is not None:
            draw(found, options.plot / model.name)
    print(titled(tables, "markdown" if options.markdown else "table"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", action="append", help="default, or a folder (may be repeated)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--documents", type=int, help="documents per test set")
    parser.add_argument("--skip", type=int, default=0, help="documents to leave out before them")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--cache", type=Path, help="folder that keeps predictions")
    parser.add_argument("--plot", type=Path, help="folder for reliability diagrams")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


class Measured(NamedTuple):
    stated: Calibration
    adapted: Recalibration


def measured(pairs: Iterable[Pair], protocol: str | Protocol, resamples: int) -> Measured:
    found = gather(pairs, protocol)
    probability = cross_validate(found.sample)
    return Measured(
        measure(found, resamples=resamples),
        recalibration(found.sample, probability, resamples=resamples),
    )


def rows(found: dict[str, Measured]) -> Iterator[Row]:
    for name, (calibration, adapted) in found.items():
        for part in PARTS:
            measured = calibration[part]
            yield {
                "test set": f"{name}, {part}",
                "probability": "stated" if calibration.confidence == "stated" else "1/KPP",
                "phrases": f"{measured.phrases:,}",
                "mean probability": _points(measured.confidence),
                "right": _points(measured.accuracy),
                "ECE": _with_interval(measured),
                "adapted": _with_interval(adapted.after[part]),
            }


def _points(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _with_interval(measured: PartCalibration) -> str:
    limits = measured.intervals.get("ECE")
    shown = _points(measured.scores["ECE"])
    return shown if limits is None else f"{shown} ({_points(limits[0])}–{_points(limits[1])})"


def draw(found: dict[str, Measured], folder: Path) -> None:
    figures = {}
    for name, (calibration, _) in found.items():
        parts = {part: calibration[part] for part in PARTS if calibration[part].phrases}
        if parts:
            figures[name.replace(" ", "-")] = reliability(parts, name)
    save(figures, folder)


if __name__ == "__main__":
    reported(main)
