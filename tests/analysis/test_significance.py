"""p-values against brute force, theory and simulation, on the numbers of `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from keywright import protocols
from keywright.analysis.significance import (
    METRICS,
    Comparison,
    Design,
    Difference,
    compare,
    compare_rows,
    holm,
    pairs,
)
from keywright.errors import DataError, KeywrightError
from keywright.evaluate import Plan, evaluate
from keywright.metric import Array, Metric
from keywright.types import Document
from tests.analysis.toy import DOCUMENTS, A, B, C, plain

CHAN19 = protocols.load("chan19")
Score = Callable[[list[Array]], float]


def plan(*metrics: str, protocol: str = "chan19") -> Plan:
    return Plan(protocols.load(protocol), [Metric.parse(name) for name in metrics])


# Three metrics, each with its columns in order and a plain Python reading of its definition.
def macro_recall(rows: list[Array]) -> float:
    return sum(row[0] for row in rows) / len(rows)


def macro_f1(rows: list[Array]) -> float:
    p, r = (sum(row[i] for row in rows) / len(rows) for i in (0, 1))
    return 2 * p * r / (p + r) if p + r else 0.0


def micro_f1(rows: list[Array]) -> float:
    hits, made, gold = (sum(row[i] for row in rows) for i in (0, 1, 2))
    return 2 * hits / (made + gold) if hits else 0.0


def random_rows(metric: str, documents: int, random: np.random.Generator) -> Array:
    if metric == "present.micro.F1@M":
        made = random.integers(1, 6, documents)
        gold = np.arange(documents) % 4 + 1  # the same gold for every system
        return np.column_stack([random.integers(0, np.minimum(made, gold) + 1), made, gold]).astype(
            float
        )
    columns = 1 if metric == "present.R@M" else 2
    scores = random.integers(0, 5, (documents, columns)) / 4
    return np.column_stack([scores, np.ones(documents)])


ORACLES: dict[str, Score] = {
    "present.R@M": macro_recall,
    "present.F1@M": macro_f1,
    "present.micro.F1@M": micro_f1,
}


def brute_permutation(a: Array, b: Array, score: Score) -> float:
    observed = abs(score(list(a)) - score(list(b)))
    beyond = 0
    for swaps in product((False, True), repeat=len(a)):
        test = [b[i] if swap else a[i] for i, swap in enumerate(swaps)]
        other = [a[i] if swap else b[i] for i, swap in enumerate(swaps)]
        beyond += abs(score(test) - score(other)) >= observed - 1e-12
    return beyond / 2 ** len(a)


def brute_bootstrap(a: Array, b: Array, score: Score) -> float:
    """The share over all n^n equally likely resamples."""
    observed = score(list(a)) - score(list(b))
    beyond = 0
    for draw in product(range(len(a)), repeat=len(a)):
        difference = score([a[i] for i in draw]) - score([b[i] for i in draw])
        beyond += abs(difference - observed) >= abs(observed) - 1e-12
    return beyond / len(a) ** len(a)


@pytest.mark.parametrize("metric", ORACLES)
@pytest.mark.parametrize("seed", range(3))
def test_permutation_p_is_exact_on_small_samples(metric: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = {name: random_rows(metric, 8, random) for name in "ab"}
    found = compare_rows(plan(metric), rows, Design()).differences[0]
    assert found.exact
    assert found.p["permutation"] == pytest.approx(
        brute_permutation(rows["a"], rows["b"], ORACLES[metric]), abs=1e-12
    )


@pytest.mark.parametrize("metric", ORACLES)
def test_sampled_permutation_p_agrees_with_all_permutations(metric: str) -> None:
    random = np.random.default_rng(5)
    rows = {name: random_rows(metric, 13, random) for name in "ab"}
    found = compare_rows(plan(metric), rows, Design(resamples=200)).differences[0]
    assert not found.exact
    expected = brute_permutation(rows["a"], rows["b"], ORACLES[metric])
    error = math.sqrt(expected * (1 - expected) / 200)
    assert found.p["permutation"] == pytest.approx(expected, abs=4 * error + 1 / 200)


@pytest.mark.parametrize("metric", ORACLES)
@pytest.mark.parametrize("seed", range(3))
def test_bootstrap_p_agrees_with_all_resamples(metric: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = {name: random_rows(metric, 5, random) for name in "ab"}
    found = compare_rows(plan(metric), rows, Design(resamples=20_000)).differences[0]
    expected = brute_bootstrap(rows["a"], rows["b"], ORACLES[metric])
    error = math.sqrt(expected * (1 - expected) / 20_000)
    assert found.p["bootstrap"] == pytest.approx(expected, abs=4 * error + 1 / 20_000)


@pytest.mark.parametrize(("wins", "losses"), [(7, 1), (6, 4), (9, 0), (5, 5)])
def test_equal_steps_give_the_sign_test(wins: int, losses: int) -> None:
    """Differences of one size: the permutation test is the two-sided sign test."""
    documents = wins + losses + 3  # three ties, which the sign test leaves out
    a, b = np.zeros((2, documents, 2))
    a[:wins, 0] = 0.25
    b[wins : wins + losses, 0] = 0.25
    a[:, 1] = b[:, 1] = 1
    found = compare_rows(plan("present.R@M"), {"a": a, "b": b}, Design()).differences[0]
    trials, most = wins + losses, max(wins, losses)
    tail = sum(math.comb(trials, k) for k in range(most, trials + 1)) / 2**trials
    assert found.p["permutation"] == pytest.approx(min(1.0, 2 * tail))
    assert (found.higher, found.equal, found.lower) == (wins, 3, losses)


def simulated_p(test: str, documents: int, trials: int) -> Array:
    """p-values of systems that are exchangeable by construction."""
    random = np.random.default_rng(11)
    design = Design(tests=(test,), resamples=199, correction="none")  # type: ignore[arg-type]
    found = []
    for _ in range(trials):
        rows = {
            name: np.column_stack([random.random((documents, 2)), np.ones(documents)])
            for name in "ab"
        }
        found.append(compare_rows(plan("present.F1@M"), rows, design).differences[0].p[test])
    return np.array(found)


@pytest.mark.parametrize(("test", "documents"), [("permutation", 30), ("bootstrap", 150)])
def test_p_is_uniform_if_systems_do_not_differ(test: str, documents: int) -> None:
    """Kolmogorov's distance to the uniform distribution stays below its 0.1% point."""
    p = np.sort(simulated_p(test, documents, trials=400))
    steps = np.arange(1, len(p) + 1) / len(p)
    distance = max(np.abs(steps - p).max(), np.abs(steps - 1 / len(p) - p).max())
    assert distance < 1.95 / math.sqrt(len(p)) + 1 / 200


def test_a_real_difference_is_found() -> None:
    random = np.random.default_rng(2)
    a = np.column_stack([random.random((200, 2)), np.ones(200)])
    b = a.copy()
    b[:, :2] -= random.random((200, 2)) / 5
    found = compare_rows(plan("present.F1@M"), {"a": a, "b": b}, Design()).differences[0]
    assert found.p == {"bootstrap": 1 / 10_001, "permutation": 1 / 10_001}
    assert 0 < found.interval[0] < found.difference < found.interval[1]
    assert found.better == "a"


def test_effect_of_a_mean_is_cohens_d() -> None:
    random = np.random.default_rng(3)
    a, b = (np.column_stack([random.random(300), np.ones(300)]) for _ in "ab")
    found = compare_rows(plan("present.R@M"), {"a": a, "b": b}, Design()).differences[0]
    gap = a[:, 0] - b[:, 0]
    assert found.effect == pytest.approx(gap.mean() / gap.std(), rel=0.05, abs=0.01)
    assert found.effect_interval is not None
    assert found.effect_interval[0] < found.effect < found.effect_interval[1]


def test_intervals_cover_the_true_value_as_often_as_stated() -> None:
    random = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        a, b = (np.column_stack([random.random(80), np.ones(80)]) for _ in "ab")
        a[:, 0] += 0.1  # the true difference
        found = compare_rows(
            plan("present.R@M"), {"a": a, "b": b}, Design(tests=("bootstrap",), resamples=400)
        ).differences[0]
        covered += found.interval[0] <= 0.1 <= found.interval[1]
    assert 178 <= covered <= 199  # 95% of 200, four standard errors either way


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_corrects_within_the_chosen_family() -> None:
    def corrected(family: str) -> Comparison:
        systems = {"a": plain(A), "b": plain(B), "c": plain(C)}
        return compare(
            DOCUMENTS,
            systems,
            metrics=["present.F1@M", "all.F1@M"],
            design=Design(family=family),  # type: ignore[arg-type]
        )

    everything = corrected("all").differences
    raw = [test.p["bootstrap"] for test in everything]
    assert [test.corrected["bootstrap"] for test in everything] == holm(raw)
    by_metric = [test for test in corrected("metric").differences if test.metric == "all.F1@M"]
    assert [test.corrected["bootstrap"] for test in by_metric] == holm(
        [test.p["bootstrap"] for test in by_metric]
    )
    by_pair = [test for test in corrected("pair").differences if (test.a, test.b) == ("a", "c")]
    assert [test.corrected["permutation"] for test in by_pair] == holm(
        [test.p["permutation"] for test in by_pair]
    )
    assert len(by_metric) == 3
    assert len(by_pair) == 2


@pytest.mark.parametrize("protocol", ["chan19", "yuan20", "kpdrop", "exhird", "fg"])
def test_scores_are_those_of_evaluate(protocol: str) -> None:
    judge = protocols.load(protocol)
    found = compare(
        DOCUMENTS,
        {"a": plain(A), "b": plain(B)},
        metrics=["all"],
        protocol=judge,
        design=Design(resamples=100),
    )
    for name, lists in (("a", A), ("b", B)):
        expected = evaluate(DOCUMENTS, plain(lists), protocol=judge).scores
        assert found.scores[name] == pytest.approx(expected, abs=1e-12)
    for test in found.differences:
        assert test.difference == test.score_a - test.score_b


def test_identical_systems_have_p_1() -> None:
    found = compare(
        DOCUMENTS,
        {"a": plain(A), "again": plain(A)},
        design=Design(tests=("bootstrap", "permutation", "classical")),
    )
    for test in found.differences:
        assert test.difference == 0
        assert test.interval == (0, 0)
        assert set(test.p.values()) == {1.0}
        assert test.effect is None
        assert test.better is None
        assert (test.higher, test.lower) == (0, 0)


def test_a_lower_error_is_better_and_a_number_of_phrases_is_neither() -> None:
    found = compare(
        DOCUMENTS,
        {"a": plain(A), "b": plain(B)},
        metrics=["absent.MAE", "all.Predicted", "present.R@M"],
    )
    error, number, recall = found.differences
    assert error.difference < 0
    assert error.better == "a"
    assert number.better is None
    assert recall.difference > 0
    assert recall.better == "a"


def test_documents_outside_the_average_do_not_count_as_ties() -> None:
    """Only d1 and d2 have absent gold."""
    found = compare(
        DOCUMENTS,
        {"a": plain(A), "b": plain(B)},
        metrics=["absent.R@M"],
        protocol="chan19:average_over=with_targets",
    ).differences[0]
    assert found.higher + found.equal + found.lower == 2


def test_all_pairs_or_each_with_the_baseline() -> None:
    assert pairs(["a", "b", "c"]) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs(["a", "b", "c"], "b") == [("a", "b"), ("c", "b")]


def test_other_systems_do_not_change_the_test_of_a_pair() -> None:
    two = compare(DOCUMENTS, {"a": plain(A), "b": plain(B)}, design=Design(correction="none"))
    three = compare(
        DOCUMENTS,
        {"a": plain(A), "b": plain(B), "c": plain(C)},
        design=Design(correction="none"),
    )
    for metric in METRICS:
        assert two.between("a", "b", metric) == three.between("a", "b", metric)


def test_the_seed_decides_the_resamples() -> None:
    random = np.random.default_rng(6)
    rows = {name: np.column_stack([random.random(40), np.ones(40)]) for name in "ab"}
    first, again, other = (
        compare_rows(plan("present.R@M"), rows, Design(seed=seed)).differences[0].p
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_one_document_is_refused() -> None:
    test = DOCUMENTS[:1]
    with pytest.raises(KeywrightError, match="at least 2 documents"):
        compare(test, {"a": plain(A)[:1], "b": plain(B)[:1]})


def test_one_system_is_refused() -> None:
    with pytest.raises(KeywrightError, match="at least 2 systems"):
        compare(DOCUMENTS, {"a": plain(A)})


def test_predictions_for_other_documents_are_an_error() -> None:
    with pytest.raises(DataError, match="no prediction for document 'd2'"):
        compare(DOCUMENTS, {"a": plain(A), "b": [plain(B)[0], plain(B)[2]]})


def test_unknown_names_suggest_the_nearest() -> None:
    systems = {"a": plain(A), "b": plain(B)}
    with pytest.raises(KeywrightError, match=r"unknown measure .* 'F2'.*F1"):
        compare(DOCUMENTS, systems, metrics=["present.F2@5"])
    with pytest.raises(KeywrightError, match="unknown baseline 'd'"):
        compare(DOCUMENTS, systems, design=Design(baseline="d"))


def test_documents_without_any_gold_are_refused() -> None:
    bare = [Document(id=d.id, title=d.title, body=d.body, keyphrases=()) for d in DOCUMENTS]
    with pytest.raises(KeywrightError, match="none of the documents has a gold keyphrase"):
        compare(bare, {"a": plain(A), "b": plain(B)})


@pytest.mark.parametrize(
    ("p", "corrected", "worst", "stars"),
    [
        ({"bootstrap": 1e-4, "permutation": 0.2}, {}, 0.2, ""),
        ({"bootstrap": 1e-4, "permutation": 0.02}, {}, 0.02, "*"),
        ({"bootstrap": 1e-4, "permutation": 5e-4}, {}, 5e-4, "***"),
        ({"bootstrap": 1e-4}, {"bootstrap": 3e-3}, 3e-3, "**"),
    ],
)  # fmt: skip
def test_the_stars_are_those_of_the_largest_p_value(
    p: dict[str, float], corrected: dict[str, float], worst: float, stars: str
) -> None:
    found = Difference(
        metric="present.F1@M", a="a", b="b", score_a=0.2, score_b=0.1, difference=0.1,
        interval=(0.0, 0.2), effect=None, effect_interval=None, higher=1, equal=0, lower=0,
        p=p, corrected=corrected,
    )  # fmt: skip
    assert (found.worst_p, found.stars) == (worst, stars)


def test_the_effect_of_few_documents_is_cohens_d() -> None:
    """n and n - 1 differ by a seventh here; 10,000 resamples are exact to about a hundredth."""
    a = np.column_stack([[0.9, 0.5, 0.7, 0.2], np.ones(4)])
    b = np.column_stack([[0.1, 0.4, 0.3, 0.3], np.ones(4)])
    found = compare_rows(plan("present.R@M"), {"a": a, "b": b}, Design()).differences[0]
    gap = a[:, 0] - b[:, 0]
    assert found.effect == pytest.approx(gap.mean() / gap.std(), rel=0.03)


def test_less_repetition_is_better() -> None:
    repeats = tuple((*texts, *texts) for texts in A)
    found = compare(DOCUMENTS, {"a": plain(A), "b": plain(repeats)}, metrics=["all.Dup"])
    assert found.differences[0].difference < 0
    assert found.differences[0].better == "a"
