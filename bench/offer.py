"""What a generator could add to the default model: trees over the confidences of both.

    keywright predict --model runs/cat_seq --documents valid.jsonl --output shares.jsonl \\
        --decode expected_f1 --set all_phrases=true --set unknown=replace
    python -m bench.offer --documents valid.jsonl --shares shares.jsonl

The candidates are the phrases of both. Trees see the confidence of the default model, the share of
samples, or both, each also as a rank and relative to the document's best, and are fitted and tested
by cross-validation. The phrases with the largest expected F1 are chosen, present and absent ones
apart. A generator that does not help here would not help as a part of the model.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from keywright import protocols
from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from keywright.evaluate import evaluate
from keywright.predictor import load
from keywright.text.stem import stems
from keywright.types import Document, Prediction, ScoredPhrase

METRICS = ("present.F1@5", "present.F1@M", "absent.F1@M")
FEATURES = {"default": (0, 1, 3, 5), "generator": (0, 2, 4, 6), "both": (0, 1, 2, 3, 4, 5, 6)}
FOLDS = 5
LEAST_ABSENT = 0.02
SMALLEST = np.array([1e-3, 5e-3])  # keeps logarithms of missing confidences finite

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """The phrases of one document: what they are, what both models think, what is correct."""

    document: Document
    texts: list[str]
    present: NDArray[np.bool_]
    features: Array  # [N, 7]
    correct: NDArray[np.bool_]


def candidates(document: Document, ours: Prediction, theirs: Prediction) -> Candidates:
    known: dict[str, str] = {}
    scores: list[dict[str, float]] = []
    for prediction in (ours, theirs):
        found: dict[str, float] = {}
        for phrase in prediction.phrases:
            key = " ".join(stems(phrase.text.lower().split()))
            known.setdefault(key, phrase.text)
            found.setdefault(key, phrase.confidence or phrase.score or 0.0)
        scores.append(found)
    keys = list(known)
    judged = protocols.load("chan19").judge(document, [known[key] for key in keys])
    kept = [entry for entry in judged.phrases if entry.dropped is None and entry.index is not None]
    chosen = [keys[entry.index] for entry in kept if entry.index is not None]
    both = np.array([[one.get(key, 0.0) for one in scores] for key in chosen]).reshape(-1, 2)
    present = np.array([entry.present for entry in kept], dtype=bool)
    correct = np.array([entry.correct for entry in kept], dtype=bool)
    return Candidates(
        document, [known[key] for key in chosen], present, _features(present, both), correct
    )


def _features(present: NDArray[np.bool_], both: Array) -> Array:
    best = both.max(axis=0) if len(both) else np.zeros(2)
    ranks = (-both).argsort(axis=0).argsort(axis=0)
    logs = np.log(both + SMALLEST)
    return np.column_stack([present, logs, both - best, ranks])


def predictions(found: Sequence[Candidates], used: tuple[int, ...]) -> list[Prediction]:
    """Every document by trees that were fitted to the other folds."""
    folds = np.random.default_rng(0).permutation(len(found)) % FOLDS
    made: dict[int, Prediction] = {}
    for fold in range(FOLDS):
        others = [one for one, part in zip(found, folds, strict=True) if part != fold]
        trees = HistGradientBoostingClassifier(
            max_iter=150, learning_rate=0.05, max_leaf_nodes=15, min_samples_leaf=50, random_state=0
        ).fit(
            np.concatenate([one.features[:, used] for one in others]),
            np.concatenate([one.correct for one in others]),
        )
        for place in np.flatnonzero(folds == fold).tolist():
            one = found[place]
            likely = trees.predict_proba(one.features[:, used])[:, 1]
            texts = tuple(one.texts[i] for i in _best(one.present, likely))
            made[place] = Prediction(
                document_id=one.document.id, phrases=tuple(ScoredPhrase(text=t) for t in texts)
            )
    return [made[place] for place in range(len(found))]


def _best(present: NDArray[np.bool_], likely: Array) -> Iterator[int]:
    """The phrases of each part with the largest expected F1, if they were independent."""
    for part in (True, False):
        places = np.flatnonzero(present == part)
        order = places[(-likely[places]).argsort(kind="stable")]
        if not len(order):
            continue
        sums = likely[order].cumsum()
        expected = 2 * sums / (np.arange(1, len(order) + 1) + sums[-1])
        for place in order[: int(expected.argmax()) + 1].tolist():
            if part or likely[place] > LEAST_ABSENT:
                yield place


def main() -> None:
    parser = argparse.ArgumentParser(description="What a generator could add to the default model.")
    parser.add_argument("--documents", type=Path, nargs="+", required=True)
    parser.add_argument("--shares", type=Path, nargs="+", required=True)
    chosen = parser.parse_args()
    documents: list[Path] = chosen.documents
    shares: list[Path] = chosen.shares
    default = load("default", settings=["top=60"]).predictor
    files: list[list[Candidates]] = []
    for path, predicted in zip(documents, shares, strict=True):
        read = list(read_documents(path))
        pairs = zip(read, default.predict(read), read_predictions(predicted), strict=True)
        files.append([candidates(*pair) for pair in pairs])
    everything = [one for file in files for one in file]
    print("| trees see | documents | " + " | ".join(METRICS) + " |")
    print("| --- | --- |" + " ---: |" * len(METRICS))
    for name, used in FEATURES.items():
        made = iter(predictions(everything, used))
        for path, file in zip(documents, files, strict=True):
            mine = [next(made) for _ in file]
            scores = evaluate([one.document for one in file], mine, metrics=METRICS, match="line")
            figures = " | ".join(f"{100 * scores[metric]:.1f}" for metric in METRICS)
            print(f"| {name} | {path.name} | {figures} |")


if __name__ == "__main__":
    main()
