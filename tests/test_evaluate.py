"""Documents and predictions to scores."""

from __future__ import annotations

import importlib
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import keywright
from keywright import protocols
from keywright.data.readers.chan import split_phrases
from keywright.errors import DataError, KeywrightError
from keywright.evaluate import Bootstrap, Evaluation, Plan, evaluate, pair, resolve
from keywright.metric import COUNT, Array, Metric, measures
from keywright.types import Document, Prediction, ScoredPhrase
from tests.protocols.lines import corpora, free_corpora
from tests.protocols.scoring import Case, document

MODULE = importlib.import_module("keywright.evaluate")  # `keywright.evaluate` is the function
COUNTS = tuple(name for name, measure in measures().items() if measure.unit == COUNT)
EVERY_WAY = [str(protocol) for protocol in (*protocols.side_by_side(), protocols.load("fg"))]
any_protocol = st.sampled_from(EVERY_WAY)
few = settings(deadline=None, max_examples=25)  # each scores some 200 metrics, several times
GOLD: Case = ("a <eos> b", "a", "a")
"""A document that ensures there is something to score."""


def scored(corpus: Sequence[Case], protocol: str = "chan19", **options: Any) -> Evaluation:
    documents = [document(source, target) for source, target, _ in corpus]
    made = [split_phrases(prediction) for _, _, prediction in corpus]
    return evaluate(documents, made, protocol=protocol, **options)


def rows_of(corpus: Sequence[Case], protocol: str) -> tuple[Plan, Array]:
    judge = protocols.load(protocol)
    plan = Plan(judge, judge.metrics())
    found = [judge.match(document(case[0], case[1]), split_phrases(case[2])) for case in corpus]
    return plan, plan.rows(found)


def made_up_corpus(count: int, seed: int = 0) -> list[Case]:
    """Documents with a few present and absent phrases, some of them predicted."""
    chance = random.Random(seed)
    letters = list("abcdefghijklmnopqrst")
    corpus = []
    for _ in range(count):
        chance.shuffle(letters)
        source = f"{' '.join(letters[:4])} <eos> {' '.join(letters[4:10])}"
        gold = chance.sample(letters[:14], 4)
        made = chance.sample(letters[:14], chance.randint(0, 7))
        corpus.append((source, ";".join(gold), ";".join(made)))
    return corpus


# Properties that hold for any data.


@given(any_protocol, corpora | free_corpora)
@few
def test_scores_are_from_0_to_1(protocol: str, corpus: list[Case]) -> None:
    result = scored([*corpus, GOLD], protocol)
    # chan19's ideal AlphaNDCG is greedy, not optimal, and can be slightly exceeded.
    greedy = protocols.load(protocol).rules.alpha == "substring"
    for name, value in result.scores.items():
        measure = Metric.parse(name).measure
        assert math.isfinite(value), name
        assert value >= 0, name
        if measure == "AlphaNDCG" and greedy:
            assert value <= 1.5, name
        elif measure not in COUNTS:
            assert value <= 1 + 1e-12, name


@given(any_protocol, corpora, st.randoms(use_true_random=False))
@few
def test_the_order_of_documents_is_irrelevant(
    protocol: str, corpus: list[Case], chance: random.Random
) -> None:
    corpus = [*corpus, GOLD]
    shuffled = corpus.copy()
    chance.shuffle(shuffled)
    assert scored(shuffled, protocol).scores == pytest.approx(scored(corpus, protocol).scores)


@given(any_protocol, corpora | free_corpora, st.data())
@few
def test_repeating_a_prediction_changes_only_the_duplicate_ratio(
    protocol: str, corpus: list[Case], data: st.DataObject
) -> None:
    corpus = [*corpus, GOLD]
    place = data.draw(st.integers(0, len(corpus) - 1))
    documents = [document(source, target) for source, target, _ in corpus]
    made = [split_phrases(prediction) for _, _, prediction in corpus]
    before = evaluate(documents, made, protocol=protocol).scores
    if made[place]:
        made[place] = (*made[place], data.draw(st.sampled_from(made[place])))
    after = evaluate(documents, made, protocol=protocol).scores
    for name, value in after.items():
        if name.endswith(".Dup"):
            assert value >= before[name] - 1e-12, name
        else:
            assert value == pytest.approx(before[name]), name


@given(any_protocol, corpora)
@few
def test_corpus_scores_are_means_of_documents_scores(protocol: str, corpus: list[Case]) -> None:
    corpus = [*corpus, GOLD]
    plan, rows = rows_of(corpus, protocol)
    rules = plan.protocol.rules
    per_document, whole = plan.scores(rows), plan.scores(rows.sum(axis=0))
    for metric in plan.metrics:
        name = str(metric)
        of_means = metric.measure == "F1" and rules.f1 == "of_means"
        over_phrases = metric.measure in ("Dup", "TokenP", "TokenR", "TokenF1")
        if metric.average == "micro" or of_means or over_phrases:
            continue
        values = per_document[name]
        counted = np.ones(len(corpus), dtype=bool)
        if rules.average_over == "with_targets" and not (
            metric.measure in COUNTS or metric.measure.startswith("FG")
        ):
            counted = per_document[f"{metric.part}.Gold"] > 0
        expected = values[counted].mean() if counted.any() else 0.0
        assert float(whole[name]) == pytest.approx(float(expected)), name


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_chunks_are_irrelevant(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = made_up_corpus(20)
    usual = scored(corpus, "yuan20")
    monkeypatch.setattr(MODULE, "CHUNK", chunk)
    assert scored(corpus, "yuan20").scores == pytest.approx(usual.scores)


def test_documents_are_read_one_chunk_at_a_time() -> None:
    read = 0
    most_ahead = 0
    written = 0

    def documents() -> Iterator[Document]:
        nonlocal read, most_ahead
        for _ in range(5 * MODULE.CHUNK):
            read += 1
            most_ahead = max(most_ahead, read - written)
            yield document("a <eos> b", "a")

    def sink(batch: Sequence[Document], scores: dict[str, Array]) -> None:
        nonlocal written
        written += len(batch)

    predictions = (["a"] for _ in range(5 * MODULE.CHUNK))
    result = evaluate(documents(), predictions, metrics=["present.F1@5"], per_document=sink)
    assert result.documents == written == 5 * MODULE.CHUNK
    assert most_ahead <= MODULE.CHUNK + 1


# Pairing.


def with_ids(corpus: Sequence[Case]) -> tuple[list[Document], list[Prediction]]:
    documents, predictions = [], []
    for number, (source, target, prediction) in enumerate(corpus):
        name = f"doc{number}"
        documents.append(replace(document(source, target), id=name, tokenised=False))
        phrases = tuple(ScoredPhrase(text=text) for text in split_phrases(prediction))
        predictions.append(Prediction(document_id=name, phrases=phrases))
    return documents, predictions


@given(st.permutations(range(6)))
@few
def test_matching_by_id_does_not_depend_on_the_order(order: list[int]) -> None:
    documents, predictions = with_ids(made_up_corpus(6))
    metrics = ["standard"]
    by_line = evaluate(documents, predictions, match="line", metrics=metrics)
    shuffled = [predictions[place] for place in order]
    assert evaluate(documents, shuffled, metrics=metrics) == by_line
    assert evaluate(documents, shuffled, match="id", metrics=metrics) == by_line


def test_one_side_without_ids_is_matched_by_line() -> None:
    documents, predictions = with_ids(made_up_corpus(3))
    lists = [list(prediction.texts) for prediction in predictions]
    assert evaluate(documents, lists) == evaluate(documents, predictions)
    with pytest.raises(DataError, match="predictions: has no ids to match by; use --match"):
        evaluate(documents, lists, match="id")


def named(*names: str | None) -> list[Prediction]:
    return [Prediction(document_id=name, phrases=()) for name in names]


def numbered(*names: str | None) -> list[Document]:
    return [Document(id=name, title="a", body="b", keyphrases=("a",)) for name in names]


@pytest.mark.parametrize(
    ("documents", "predictions", "words"),
    [
        (numbered("1", "2"), named("1"), "no prediction for document '2' (number 2 in documents)"),
        (numbered("1"), named("1", "2"), "a prediction for '2', which is not among the documents"),
        (numbered("1", "2"), named("1", "3"), "no prediction for document '2'"),
        (numbered("1", "2"), named("2", "2", "1"), "prediction 2 repeats the id '2'"),
        (numbered("1", None), named("1", "2"), "document 2 has no id, but those before it"),
        (numbered("1", "2"), named("1", None), "prediction 2 has no id, but those before it"),
        (
            numbered(None, None, None),
            named(None),
            "has 1 predictions for 3 documents in documents; document 2 is the first without one",
        ),
        (
            numbered(None),
            named(None, None, None),
            "has 3 predictions for 1 documents in documents; prediction 2 is the first without a",
        ),
        (numbered(), named("1"), "there are no documents"),
        (numbered("1"), named(), "there are no predictions"),
    ],
)
def test_a_mismatch_names_the_first_difference(
    documents: list[Document], predictions: list[Prediction], words: str
) -> None:
    with pytest.raises(DataError) as caught:
        evaluate(documents, predictions)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pairs_keep_the_order_of_documents() -> None:
    found = list(pair(numbered("1", "2", "3"), named("3", "1", "2")))
    assert [(document.id, prediction.document_id) for document, prediction in found] == [
        ("1", "1"),
        ("2", "2"),
        ("3", "3"),
    ]


# Gold.


def test_documents_without_gold_are_counted_and_scored() -> None:
    corpus = [GOLD, ("a <eos> b", "", "a"), ("a <eos> b", " ; ", "")]
    result = scored(corpus)
    assert (result.documents, result.documents_without_gold) == (3, 2)
    assert result["present.R@5"] == pytest.approx(1 / 3)
    left_out = scored(corpus, "chan19:average_over=with_targets")
    assert left_out["present.R@5"] == 1


def test_no_gold_at_all_is_an_error() -> None:
    with pytest.raises(KeywrightError, match="none of the 2 documents has a gold keyphrase"):
        scored([("a <eos> b", "", "a")] * 2)
    unknown = [Document(title="a", body="b", id="x1")]
    with pytest.raises(DataError, match="document x1 has no gold keyphrases"):
        evaluate(unknown, [["a"]])


# Metrics by name.


def test_metrics_are_scored_once_in_the_requested_order() -> None:
    names = ["all.MAE", "present.F1@7", "all.MAE", "present.micro.P@M"]
    assert list(scored([GOLD], metrics=names).scores) == [
        "all.MAE",
        "present.F1@7",
        "present.micro.P@M",
    ]


def test_lists_of_metrics() -> None:
    judge = protocols.load("kpdrop")
    assert resolve(None, judge) == list(judge.metrics())
    assert [str(metric) for metric in resolve(["standard"], judge)] == list(judge.standard)
    assert resolve(["all.MAE", "all"], judge)[0] == Metric.parse("all.MAE")
    with pytest.raises(KeywrightError, match="no metric was given"):
        resolve([], judge)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metrics": ["present.F2@5"]}, "did you mean 'F1'?"),
        ({"protocol": "chan20"}, "did you mean 'chan19'?"),
        ({"protocol": "chan19:unks=valid"}, "did you mean 'unk'?"),
    ],
)
def test_unknown_names_suggest_the_nearest(options: dict[str, Any], words: str) -> None:
    with pytest.raises(KeywrightError) as caught:
        evaluate([document("a <eos> b", "a")], [["a"]], **options)
    assert words in str(caught.value)


# Results.


def test_results_describe_themselves() -> None:
    result = scored([GOLD], "chan19:unk=valid", metrics=["present.F1@M"])
    assert result.protocol == "chan19:unk=valid"
    assert result.signature == protocols.load("chan19:unk=valid").signature()
    assert result.explanation == protocols.load("chan19:unk=valid").explanation
    assert result.scores == {"present.F1@M": 1.0}
    assert result["present.F1@M"] == 1.0
    assert result.intervals == {}
    assert all(type(value) is float for value in result.scores.values())


def test_evaluate_is_exported_by_the_package() -> None:
    assert keywright.evaluate is evaluate
    assert keywright.evaluate([document("a <eos> b", "a")], [["a"]])["present.F1@M"] == 1


def test_a_prediction_is_a_list_of_phrases() -> None:
    with pytest.raises(TypeError, match="a prediction is a list of phrases, not one string"):
        evaluate([document("a <eos> b", "a")], ["a"])


def test_files_and_values_give_the_same_scores(tmp_path: Path) -> None:
    corpus = made_up_corpus(12)
    for column, name in enumerate(("test_src.txt", "test_trg.txt", "pred.txt")):
        text = "".join(case[column] + "\n" for case in corpus)
        (tmp_path / name).write_text(text, encoding="utf-8")
    from_files = evaluate(tmp_path / "test_src.txt", str(tmp_path / "pred.txt"))
    assert from_files == scored(corpus)


def test_scores_of_documents_come_in_order() -> None:
    corpus = made_up_corpus(7)
    found: dict[str, list[float]] = {}

    def sink(batch: Sequence[Document], scores: dict[str, Array]) -> None:
        for name, values in scores.items():
            found.setdefault(name, []).extend(values.tolist())

    scored(corpus, per_document=sink)
    for place, case in enumerate(corpus):
        if case[1]:
            alone = scored([case]).scores
            assert {name: values[place] for name, values in found.items()} == pytest.approx(alone)


# Intervals.


def test_intervals_contain_the_scores() -> None:
    result = scored(made_up_corpus(200), resamples=500)
    assert result.intervals.keys() == result.scores.keys()
    for name, (low, high) in result.intervals.items():
        assert low <= result[name] <= high, name


def test_intervals_narrow_with_more_documents() -> None:
    few = scored(made_up_corpus(50), resamples=500).intervals["present.F1@5"]
    many = scored(made_up_corpus(1000), resamples=500).intervals["present.F1@5"]
    assert many[1] - many[0] < (few[1] - few[0]) / 2


def test_intervals_depend_on_the_seed_only() -> None:
    corpus = made_up_corpus(30)
    one, again = (scored(corpus, resamples=200, seed=1).intervals for _ in range(2))
    assert one == again
    assert one != scored(corpus, resamples=200, seed=2).intervals


@pytest.mark.parametrize("metric", ["present.F1@5", "present.micro.F1@5", "all.MAP@10", "all.Dup"])
def test_intervals_agree_with_a_plain_bootstrap(metric: str) -> None:
    """Poisson weights are the limit of drawing with replacement."""
    corpus = made_up_corpus(400)
    corpus = [(source, gold, f"{made};{made}") for source, gold, made in corpus]
    low, high = scored(corpus, metrics=[metric], resamples=4000).intervals[metric]
    plan, rows = rows_of(corpus, "chan19")
    chance = np.random.default_rng(7)
    drawn = chance.multinomial(len(corpus), np.full(len(corpus), 1 / len(corpus)), size=4000)
    values = plan.scores(drawn @ rows)[metric]
    expected = np.quantile(values, [0.025, 0.975])
    # Two estimates of the ends of an interval from 4000 resamples each: a tenth of its width.
    assert [low, high] == pytest.approx(list(expected), abs=(expected[1] - expected[0]) / 10)


def test_the_bootstrap_draws_poisson_weights() -> None:
    bootstrap = Bootstrap(resamples=2000, columns=1, seed=0)
    bootstrap.add(np.eye(50)[:, :1])  # one document of weight 1 among 50
    weights = bootstrap._sums[:, 0]
    assert weights.mean() == pytest.approx(1, abs=0.1)
    assert weights.var() == pytest.approx(1, abs=0.15)
    assert (weights == 0).mean() == pytest.approx(math.exp(-1), abs=0.04)


def test_empty_resamples_are_left_out() -> None:
    result = scored([GOLD], metrics=["present.F1@M"], resamples=100)
    assert result.intervals["present.F1@M"] == (1.0, 1.0)


@few
@given(corpora)
def test_intervals_are_within_0_and_1(corpus: list[Case]) -> None:
    result = scored([*corpus, GOLD], metrics=["standard"], resamples=50)
    for name, (low, high) in result.intervals.items():
        assert 0 <= low <= high, name
        if Metric.parse(name).measure not in COUNTS:
            assert high <= 1 + 1e-12, name
