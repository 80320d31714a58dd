"""The speed of the significance tests, compared with the same tests as loops over documents.

    python bench/compare.py

Both get the same per-document rows and make the same two tests, paired bootstrap and paired
permutation of macro F1@M; the loops do what scripts usually do, one resample and one document at a
time. Seconds are CPU seconds of one thread, the best of several runs; the loops make fewer
resamples, and the ratio is per resample. The p-values of both are printed too: they differ only by
chance.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before numpy is imported: both use one core

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from keywright import protocols
from keywright.analysis.resampling import bootstrap_sums, swapped_sums
from keywright.analysis.significance import (
    METRICS,
    Design,
    bootstrap_p,
    compare_rows,
    permutation_p,
)
from keywright.evaluate import Plan, resolve
from keywright.metric import Array, Metric

METRIC = "present.F1@M"
Row = Sequence[float]  # precision and recall of a document


def f1(rows: Sequence[Row]) -> float:
    precision = sum(row[0] for row in rows) / len(rows)
    recall = sum(row[1] for row in rows) / len(rows)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def loop_bootstrap(a: Sequence[Row], b: Sequence[Row], resamples: int) -> float:
    observed = f1(a) - f1(b)
    beyond = 0
    for _ in range(resamples):
        drawn = random.choices(range(len(a)), k=len(a))
        difference = f1([a[i] for i in drawn]) - f1([b[i] for i in drawn])
        beyond += abs(difference - observed) >= abs(observed)
    return (beyond + 1) / (resamples + 1)


def loop_permutation(a: Sequence[Row], b: Sequence[Row], resamples: int) -> float:
    observed = abs(f1(a) - f1(b))
    beyond = 0
    for _ in range(resamples):
        first, second = [], []
        for row_a, row_b in zip(a, b, strict=True):
            if random.random() < 0.5:
                row_a, row_b = row_b, row_a
            first.append(row_a)
            second.append(row_b)
        beyond += abs(f1(first) - f1(second)) >= observed
    return (beyond + 1) / (resamples + 1)


def systems(documents: int) -> dict[str, Array]:
    """Two random systems, the second slightly better on average."""
    chance = np.random.default_rng(0)
    scores = chance.integers(0, 6, (documents, 2)) / 5
    other = np.clip(scores + chance.integers(-1, 2, scores.shape) / 5, 0, 1)
    other[:, 0] += 0.3 / np.sqrt(documents)
    ones = np.ones((documents, 1))
    return {"a": np.hstack([scores, ones]), "b": np.hstack([other, ones])}


def seconds(work: Callable[[], float], repeats: int) -> tuple[float, float]:
    """The best CPU time, and the result."""
    best, result = float("inf"), 0.0
    for _ in range(repeats):
        start = process_time()
        result = work()
        best = min(best, process_time() - start)
    return best, result


def fast_bootstrap(plan: Plan, a: Array, b: Array, resamples: int) -> float:
    sums = bootstrap_sums(np.hstack([a, b]), resamples, seed=0)
    drawn = [plan.scores(part)[METRIC] for part in np.split(sums, 2, axis=1)]
    return bootstrap_p(difference(plan, a, b), drawn[0] - drawn[1])


def fast_permutation(plan: Plan, a: Array, b: Array, resamples: int) -> float:
    swapped = swapped_sums(a, b, resamples, seed=0)
    permuted = plan.scores(swapped.a)[METRIC] - plan.scores(swapped.b)[METRIC]
    return permutation_p(difference(plan, a, b), permuted, swapped.exact)


def difference(plan: Plan, a: Array, b: Array) -> float:
    return float(plan.scores(a.sum(axis=0))[METRIC] - plan.scores(b.sum(axis=0))[METRIC])


TESTS: dict[str, tuple[Callable[..., float], Callable[..., float]]] = {
    "paired bootstrap": (fast_bootstrap, loop_bootstrap),
    "paired permutation": (fast_permutation, loop_permutation),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop-resamples", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    judge = protocols.load("chan19")
    plan = Plan(judge, [Metric.parse(METRIC)])
    rows = systems(options.documents)
    plain = [[tuple(row[:2]) for row in rows[name].tolist()] for name in "ab"]
    print(f"{options.documents:,} documents, {METRIC}, CPU seconds of one thread")
    for name, (fast, loop) in TESTS.items():
        ours, p = seconds(partial(fast, plan, *rows.values(), options.resamples), options.repeats)
        random.seed(0)
        theirs, loop_p = seconds(partial(loop, *plain, options.loop_resamples), 1)
        ratio = (theirs / options.loop_resamples) / (ours / options.resamples)
        print(
            f"{name}: {options.resamples:,} resamples in {ours:.2f} s (p = {p:.4f}); loops: "
            f"{options.loop_resamples:,} in {theirs:.2f} s (p = {loop_p:.4f}); "
            f"ratio per resample {ratio:,.0f}"
        )
    six = Plan(judge, resolve(METRICS, judge))
    wide = {
        name: np.random.default_rng(i).random((options.documents, len(six.columns)))
        for i, name in enumerate("ab")
    }
    design = Design(resamples=options.resamples)
    everything, _ = seconds(
        lambda: compare_rows(six, wide, design).differences[0].difference, options.repeats
    )
    print(f"both tests of {len(METRICS)} metrics, with intervals: {everything:.2f} s")


if __name__ == "__main__":
    main()
