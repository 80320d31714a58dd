"""What a model gains from a user's own documents: scores on a test set by their number.

    python -m bench.adapt TRAIN TEST --sizes 200 500 1000 4945

Each adapted model is scored on all test documents, and so is the model that was adapted. The
cross-validated scores that `keywright adapt` prints are shown beside them: they should agree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from keywright.adaptation.adapt import adapt
from keywright.adaptation.judge import METRICS
from keywright.data.documents import read_documents
from keywright.evaluate import evaluate
from keywright.predictor import DEFAULT, load
from keywright.types import Document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--model", default=DEFAULT)
    given = parser.parse_args()
    train, test = (list(read_documents(path)) for path in (given.train, given.test))
    print(f"{len(test):,} test documents")
    print(f"{'':>6} {'CPU s':>6}  " + "  ".join(f"{metric:>22}" for metric in METRICS))
    print(f"{0:>6} {0:>6}  " + "  ".join(_scores(given.model, test)), flush=True)
    for size in given.sizes:
        print(_line(train[:size], test, given.model), flush=True)


def _line(train: Sequence[Document], test: Sequence[Document], model: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        verdict = adapt(islice(train, None), Path(folder) / "adapted", model, lambda text: None)
        spent = time.process_time() - start
        scores = _scores(str(Path(folder) / "adapted"), test)
    validated = [f"{100 * change.after:.1f}" for change in verdict.changes]
    cells = [f"{score} (CV {own:>4})" for score, own in zip(scores, validated, strict=True)]
    return f"{len(train):>6} {spent:>6.0f}  " + "  ".join(f"{cell:>22}" for cell in cells)


def _scores(model: str, test: Sequence[Document]) -> list[str]:
    # Not filled up for readers, like the adapted models.
    settings = ["fill=false"] if model == DEFAULT else []
    predictions = load(model, settings=settings).predict(test)
    found = evaluate(test, predictions, metrics=METRICS, resamples=1000, match="line")
    return [
        f"{100 * found[metric]:.1f} ±{50 * (high - low):.1f}"
        for metric in METRICS
        for low, high in [found.intervals[metric]]
    ]


if __name__ == "__main__":
    main()
