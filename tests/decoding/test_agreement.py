"""Expected F1: the chosen set is the best of all sets, and shares are probabilities."""

import itertools
import math
import random as rng

import pytest

from keywright.config import Part
from keywright.data.batch import make_batch
from keywright.decoding.agreement import best_set, shares
from keywright.decoding.decoder import Decoder
from keywright.errors import ConfigError
from keywright.lexicons.words import Vocabulary
from keywright.types import Document, Prediction
from tests.decoding.fake import (
    EOS,
    NULL,
    SEP,
    VOCABULARY,
    A,
    B,
    C,
    FakeGenerator,
    Table,
    batch,
    fixed,
    random,
)


def f1(chosen, sample) -> float:
    both = len(chosen & sample)
    return 2 * both / (len(chosen) + len(sample)) if both else 0.0


def mean_f1(chosen, samples) -> float:
    return math.fsum(f1(set(chosen), set(sample)) for sample in samples) / len(samples)


@pytest.mark.parametrize("seed", range(30))
def test_no_other_set_has_a_larger_mean_f1(seed):
    draw = rng.Random(seed)
    phrases = "abcdefg"
    chances = [draw.random() ** 2 for _ in phrases]
    samples = [
        [p for p, chance in zip(phrases, chances, strict=True) if draw.random() < chance]
        for _ in range(9)
    ]
    candidates = list(shares(samples))
    if not candidates:
        pytest.fail("no sample has a phrase; choose another seed")
    found = best_set(samples, candidates)
    best = max(
        mean_f1(some, samples)
        for size in range(1, len(candidates) + 1)
        for some in itertools.combinations(candidates, size)
    )
    assert mean_f1(found, samples) == pytest.approx(best, abs=1e-12)


def test_a_likely_phrase_alone_can_beat_the_likeliest_sequence():
    # "x" alone is the most frequent sample, but "a" is in more of them.
    samples = [["x"]] * 4 + [["a", "b"]] * 3 + [["a", "c"]] * 3
    assert "a" in best_set(samples, list(shares(samples)))


def test_candidates_limit_the_set_but_not_the_sizes_of_samples():
    samples = [["a", "b"], ["a", "b"]]
    assert best_set(samples, ["a"]) == {"a"}
    assert best_set(samples, []) == frozenset()
    assert best_set([[], []], []) == frozenset()


def test_of_equally_good_sets_the_smallest_is_chosen():
    # {a}: (1 + 2/3) / 2; {a, b}: (2/3 + 1) / 2, in an order of summation that rounds differently.
    assert best_set([["a"], ["a", "b"]], ["a", "b"]) == {"a"}
    assert best_set([["a", "b"], ["a"]], ["b", "a"]) == {"a"}
    assert best_set([["a"], ["b"]], ["a", "b"]) == {"a", "b"}  # 2/3 instead of 1/2


def test_of_equal_phrases_the_first_candidates_are_chosen():
    # Alone or with "a", "b" and "c" are worth the same, and both of them are too many.
    samples = [["a", "b"], ["a", "c"], ["a", "b", "c", "d", "e", "f"], ["a"], ["a"]]
    assert best_set(samples, ["a", "b", "c"]) == {"a"}
    assert best_set([["b"], ["c"], ["b", "x"], ["c", "x"]], ["b"]) == {"b"}


def test_a_phrase_counts_once_in_a_sample():
    assert shares([["a", "a"], ["b"]]) == {"a": 0.5, "b": 0.5}
    assert list(shares([["b"], ["a"], ["a"]])) == ["a", "b"]


def decode(table: Table, body="a x b", paradigm="one2seq", slots=1, **options) -> Prediction:
    decoder = Decoder(Part("expected_f1", options), VOCABULARY, paradigm)
    document = Document(id="d", title="", body=body, tokenised=True)
    [prediction] = decoder(FakeGenerator(table, slots), make_batch([document], VOCABULARY))
    return prediction


# "a" 0.4, "b; c" 0.3, "b b" 0.3 (the first phrase of each: a, b, b b)
TABLE = fixed({(): {A: 0.4, B: 0.6}, (B,): {SEP: 0.5, B: 0.5}, (B, SEP): {C: 1.0}})


def test_shares_of_samples_estimate_the_probability_that_a_phrase_is_written():
    found = decode(TABLE, samples=4000, all_phrases=True)
    assert found.texts[0] == "a"
    known = {phrase.text: phrase.confidence for phrase in found.phrases}
    # 4 standard deviations of a share among 4,000 samples are at most 0.032.
    assert known == pytest.approx({"a": 0.4, "b": 0.3, "c": 0.3, "b b": 0.3}, abs=0.032)
    assert [phrase.score for phrase in found.phrases] == [p.confidence for p in found.phrases]
    assert {p.text: p.token_log_probs for p in found.phrases}["a"] == pytest.approx([math.log(0.4)])


def test_with_another_temperature_shares_are_scores_only():
    found = decode(TABLE, samples=50, temperature=0.5)
    assert all(phrase.confidence is None for phrase in found.phrases)
    assert all(0 < phrase.score <= 1 for phrase in found.phrases)


def test_present_and_absent_phrases_are_chosen_apart():
    # "c" is absent and in a third of the samples: beside the present phrases it would be left out.
    rows = {(): {A: 1.0}, (A,): {SEP: 0.3, EOS: 0.7}, (A, SEP): {C: 1.0}}
    assert decode(fixed(rows), samples=400).texts == ("a", "c")
    assert decode(fixed(rows), body="a x c", samples=400).texts == ("a",)


def test_rare_phrases_are_left_out():
    rows = {(): {A: 0.9, C: 0.1}}
    assert decode(fixed(rows), samples=400, min_share=0.3).texts == ("a",)
    assert decode(fixed(rows), samples=400, min_share=0.01).texts == ("a", "c")


@pytest.mark.parametrize(
    "setting",
    [{"min_phrases": 1}, {"max_phrase": 5}, {"unique_tokens": True}, {"unique_starts": True}],
)
def test_samples_that_rules_have_changed_state_no_confidence(setting):
    assert all(phrase.confidence is None for phrase in decode(TABLE, **setting).phrases)
    assert all(phrase.confidence is not None for phrase in decode(TABLE).phrases)


def test_a_limit_of_phrases_does_not_shorten_samples():
    # "c" always comes second; with samples of one phrase it would never be seen.
    rows = {(): {A: 0.5, B: 0.5}, (A,): {SEP: 1.0}, (B,): {SEP: 1.0}}
    table = fixed(rows | {(A, SEP): {C: 1.0}, (B, SEP): {C: 1.0}})
    found = decode(table, samples=50, max_phrases=1)
    assert [(phrase.text, phrase.confidence) for phrase in found.phrases] == [("c", 1.0)]


def test_a_phrase_has_the_probability_of_its_first_occurrence():
    # Once written, "a" is nearly always repeated.
    rows = {(): {A: 0.25, B: 0.75}, (A,): {SEP: 1.0}, (A, SEP): {A: 0.99, EOS: 0.01}}
    found = decode(fixed(rows), samples=200, all_phrases=True)
    known = {phrase.text: phrase.log_prob for phrase in found.phrases}
    assert known["a"] == pytest.approx(math.log(0.25))


def test_of_several_spellings_the_most_frequent_is_kept():
    words = Vocabulary(["networks", "network", "x"])
    table = fixed({(): {A: 0.8, B: 0.2}, (B,): {EOS: 1.0}})  # the ids of the first two words
    decoder = Decoder(Part("expected_f1", {"samples": 100}), words, "one2seq")
    [prediction] = decoder(FakeGenerator(table), batch("x"))
    [phrase] = prediction.phrases
    assert (phrase.text, phrase.confidence) == ("networks", 1.0)


def test_many_rows_are_drawn_in_portions_with_the_same_result(monkeypatch):
    table = random([A, B, C, SEP, EOS])
    options = {"samples": 20, "max_length": 9, "all_phrases": True}
    whole = decode(table, slots=3, paradigm="one2set", **options)
    monkeypatch.setattr("keywright.decoding.draws.ROWS", 7)
    model = FakeGenerator(table, 3)
    decoder = Decoder(Part("expected_f1", options), VOCABULARY, "one2set")
    document = Document(id="d", title="", body="a x b", tokenised=True)
    assert decoder(model, make_batch([document], VOCABULARY)) == [whole]
    assert max(model.steps) == 6  # two samples of three slots


def test_slots_are_drawn_together():
    def table(body: str, slot: int, prefix: tuple[int, ...]) -> dict[int, float]:
        first = [{A: 0.9, NULL: 0.1}, {A: 0.5, B: 0.5}][slot]
        return {EOS: 1.0} if prefix else first

    found = decode(table, paradigm="one2set", slots=2, samples=2000, all_phrases=True)
    known = {phrase.text: phrase.confidence for phrase in found.phrases}
    # Twice the same phrase in a sample is one: 1 - 0.1 * 0.5.
    assert known == pytest.approx({"a": 0.95, "b": 0.5}, abs=0.045)


def test_a_document_has_the_same_prediction_alone_and_in_a_batch():
    decoder = Decoder(Part("expected_f1", {"samples": 8, "max_length": 9}), VOCABULARY, "one2seq")
    model = FakeGenerator(random([A, B, C, SEP, EOS]))
    together = decoder(model, batch("x", "y", "z"))
    alone = [decoder(model, batch(body))[0] for body in "xyz"]
    assert together == alone
    assert len({prediction.texts for prediction in alone}) > 1


def test_the_seed_decides():
    table = random([A, B, C, SEP, EOS])
    assert decode(table, samples=4) == decode(table, samples=4)
    scores = {tuple(p.score for p in decode(table, samples=4, seed=s).phrases) for s in range(9)}
    assert len(scores) > 1


def test_phrases_can_be_limited_and_a_document_may_have_none():
    assert len(decode(TABLE, samples=100, all_phrases=True, max_phrases=2).phrases) == 2
    assert decode(fixed({(): {EOS: 1.0}}), samples=10).phrases == ()


def test_models_of_single_phrases_are_refused():
    with pytest.raises(ConfigError, match=r"expected_f1.*One2One.*exhaustive"):
        decode(TABLE, paradigm="one2one")
