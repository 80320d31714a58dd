"""Beam search against brute force over all sequences and against a beam search with lists."""

import math

import pytest
import torch

from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies import beam, exhaustive, greedy
from keywright.decoding.strategies._rows import Hypothesis
from tests.decoding.fake import (
    EOS,
    NULL,
    SEP,
    SPECIAL,
    A,
    B,
    C,
    FakeGenerator,
    Table,
    batch,
    fixed,
    random,
    sequences,
)

ALPHAS = [0.0, 0.6, 1.0]


def score(sequence: tuple[tuple[int, ...], float], alpha: float) -> float:
    tokens, log_prob = sequence
    return log_prob / len(tokens) ** alpha


def found(hypotheses: list[Hypothesis]) -> list[tuple[int, ...]]:
    return [tuple(hypothesis.tokens) for hypothesis in hypotheses]


def run(strategy, table: Table, *bodies: str, paradigm="one2seq", slots=1, **options):
    config = strategy.Config(**options)
    return strategy.search(
        config,
        FakeGenerator(table, slots),
        batch(*bodies),
        DecodingRules(config, paradigm, SPECIAL),
    )


def reference(table: Table, body: str, width: int, alpha: float, length: int, slot: int = 0):
    """Beam search by its definition, with lists."""
    beams = [((), 0.0, False)]
    for _ in range(length):
        candidates = []
        for tokens, total, ended in beams:
            if ended:
                candidates.append((tokens, total, True))
                continue
            for token, probability in sorted(table(body, slot, tokens).items()):
                candidates.append(((*tokens, token), total + math.log(probability), token == EOS))
        candidates.sort(key=lambda c: -score(c[:2], alpha))
        beams = candidates[:width]
    return beams


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_beam_as_wide_as_the_space_finds_every_sequence_in_order(alpha):
    table = random([A, B, EOS], seed=3)
    oracle = sorted(sequences(table, "x", 0, 4), key=lambda s: -score(s, alpha))
    [hypotheses] = run(exhaustive, table, "x", width=100, length_normalisation=alpha, max_length=4)
    assert found(hypotheses) == [tokens for tokens, _ in oracle]
    assert [h.score for h in hypotheses] == pytest.approx([score(s, alpha) for s in oracle])
    for hypothesis, (_, log_prob) in zip(hypotheses, oracle, strict=True):
        assert math.fsum(hypothesis.log_probs) == pytest.approx(log_prob)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(5))
def test_stopping_early_does_not_change_the_best_sequence(alpha, seed):
    table = random([A, B, C, EOS], seed)
    oracle = max(sequences(table, "x", 0, 4), key=lambda s: score(s, alpha))
    [[best]] = run(beam, table, "x", width=400, length_normalisation=alpha, max_length=4)
    assert tuple(best.tokens) == oracle[0]
    assert best.score == pytest.approx(score(oracle, alpha))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_a_narrow_beam_equals_the_definition(alpha, width):
    table = random([A, B, C, SEP, EOS], seed=width)
    bodies = [f"document {i}" for i in range(6)]
    together = run(
        exhaustive, table, *bodies, width=width, length_normalisation=alpha, max_length=6
    )
    for body, hypotheses in zip(bodies, together, strict=True):
        expected = reference(table, body, width, alpha, 6)
        assert found(hypotheses) == [tokens for tokens, _, _ in expected]


def test_slots_are_searched_independently():
    table = random([A, B, NULL, EOS], seed=11)
    rows = run(exhaustive, table, "x", "y", paradigm="one2set", slots=3, width=200, max_length=4)
    for row, (body, slot) in zip(rows, [(b, s) for b in "xy" for s in range(3)], strict=True):
        oracle = sorted(sequences(table, body, slot, 4, (EOS, NULL)), key=lambda s: -s[1])
        assert found(row) == [tokens for tokens, _ in oracle]


def test_a_beam_of_one_is_greedy():
    table = random([A, B, C, SEP, EOS], seed=5)
    bodies = [f"document {i}" for i in range(10)]
    for alpha in ALPHAS:
        narrow = run(beam, table, *bodies, width=1, length_normalisation=alpha)
        plain = run(greedy, table, *bodies)
        assert [h.tokens for [h] in narrow] == [h.tokens for [h] in plain]
        assert [h.log_probs for [h] in narrow] == [h.log_probs for [h] in plain]


def test_length_normalisation_prefers_the_longer_sequence():
    table = fixed({(): {A: 0.6, EOS: 0.4}, (A,): {B: 0.6, EOS: 0.4}, (A, B): {EOS: 1.0}})
    by_probability, by_mean = (
        run(beam, table, "x", width=3, length_normalisation=alpha)[0][0] for alpha in (0.0, 1.0)
    )
    assert by_probability.tokens == [EOS]  # 0.4 against 0.36
    assert by_mean.tokens == [A, B, EOS]
    assert by_mean.score == pytest.approx(math.log(0.36) / 3)


def test_equally_good_sequences_are_sorted_by_their_tokens():
    equal = {A: 0.25, B: 0.25, C: 0.25, EOS: 0.25}
    [hypotheses] = run(exhaustive, lambda *_: equal, "x", width=6, max_length=2)
    # <eos> alone is the most likely; of equal pairs, first the first beam, then smaller ids.
    assert found(hypotheses) == [(EOS,), (A, EOS), (A, A), (A, B), (A, C), (B, EOS)]
    [few] = run(exhaustive, lambda *_: equal, "x", width=2, max_length=1)
    assert found(few) == [(EOS,), (A,)]


def test_impossible_sequences_are_not_hypotheses():
    [hypotheses] = run(exhaustive, fixed({(): {A: 1.0}}), "x", width=50)
    assert found(hypotheses) == [(A, EOS)]


def test_finished_searches_and_idle_lanes_are_removed():
    # Document "long" certainly has eight tokens, "short" ends at once.
    def table(body: str, slot: int, prefix: tuple[int, ...]) -> dict[int, float]:
        if body == "short" or len(prefix) == 8:
            return {EOS: 1.0}
        return {A: 1.0}

    model = FakeGenerator(table)
    config = beam.Config(width=4)
    beam.search(config, model, batch("short", "long"), DecodingRules(config, "one2seq", SPECIAL))
    assert model.steps == [2, *[1] * 8]


def test_first_best_returns_the_first_of_equal_values():
    scores = torch.tensor([[1.0, 3.0, 2.0, 3.0, 3.0, 0.0], [0.0, -math.inf, 0.0, 5.0, 0.0, 0.0]])
    values, places = beam.first_best(scores, 2)
    assert places.tolist() == [[1, 3], [3, 0]]
    assert values.tolist() == [[3.0, 3.0], [5.0, 0.0]]


def test_attended_positions_follow_their_beams():
    """The position attended to after a prefix is a number that depends on the prefix."""

    def attend(prefix: tuple[int, ...]) -> int:
        return sum(7 * token + place for place, token in enumerate(prefix, 1)) % 11

    table = random([A, B, C, EOS], seed=8)
    config = exhaustive.Config(width=5, max_length=5)
    model = FakeGenerator(table, attention=attend)
    source = batch(" ".join("abcabcabcabc"), "b")
    rules = DecodingRules(config, "one2seq", SPECIAL)
    crossed = 0
    for hypotheses in exhaustive.search(config, model, source, rules):
        for hypothesis in hypotheses:
            tokens = tuple(hypothesis.tokens)
            expected = [attend(tokens[:place]) for place in range(len(tokens))]
            assert hypothesis.attended == expected
            crossed += len(set(expected)) > 1
    assert crossed
