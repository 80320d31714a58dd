"""Sampling: frequencies are the probabilities, and a document's sample is its own."""

from collections import Counter

import pytest
import torch

from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies import sample
from tests.decoding.fake import EOS, SEP, SPECIAL, A, B, C, FakeGenerator, batch, fixed, random

TABLE = fixed({(): {A: 0.5, B: 0.3, C: 0.15, EOS: 0.05}})
BODIES = [f"document {i}" for i in range(4000)]


def first_tokens(**options) -> Counter[int]:
    return Counter(row[0].tokens[0] for row in search(TABLE, *BODIES, **options))


def search(table, *bodies, slots=1, **options):
    config = sample.Config(**options)
    return sample.search(
        config,
        FakeGenerator(table, slots),
        batch(*bodies),
        DecodingRules(config, "one2seq", SPECIAL),
    )


def frequencies(probabilities: dict[int, float]):
    total = sum(probabilities.values())
    # 4 standard deviations of a share among 4,000 draws are at most 0.032.
    return pytest.approx({token: p / total for token, p in probabilities.items()}, abs=0.032)


@pytest.mark.parametrize(
    ("options", "probabilities"),
    [
        ({}, {A: 0.5, B: 0.3, C: 0.15, EOS: 0.05}),
        ({"temperature": 0.5}, {A: 0.25, B: 0.09, C: 0.0225, EOS: 0.0025}),
        ({"top_k": 2}, {A: 0.5, B: 0.3}),
        ({"top_p": 0.6}, {A: 0.5, B: 0.3}),  # A alone is less than 0.6
        ({"top_p": 0.45}, {A: 0.5}),
        ({"top_k": 3, "top_p": 0.85}, {A: 0.5, B: 0.3, C: 0.15}),  # 0.8 / 0.95 is still too little
        ({"top_k": 3, "top_p": 0.8}, {A: 0.5, B: 0.3}),
    ],
)
def test_tokens_are_drawn_as_often_as_their_probability_says(options, probabilities):
    counts = first_tokens(**options)
    assert {token: n / len(BODIES) for token, n in counts.items()} == frequencies(probabilities)


def test_log_probabilities_are_the_models_whatever_the_temperature():
    [[found]] = search(TABLE, "x", temperature=0.01)
    assert found.tokens == [A, EOS]
    assert found.log_probs == pytest.approx([-0.6931472, 0.0])


def test_a_document_gets_the_same_sample_alone_and_in_a_batch():
    table = random([A, B, C, SEP, EOS])
    together = search(table, *BODIES[:20], slots=2)
    alone = [row for body in BODIES[:20] for row in search(table, body, slots=2)]
    assert together == alone


def test_another_seed_gives_another_sample():
    table = random([A, B, C, SEP, EOS])
    first, again, other = (search(table, *BODIES[:20], seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_slots_of_one_document_draw_independently():
    rows = search(TABLE, *BODIES[:1000], slots=2)
    pairs = Counter(
        (rows[i][0].tokens[0], rows[i + 1][0].tokens[0]) for i in range(0, len(rows), 2)
    )
    assert pairs[A, A] / 1000 == pytest.approx(0.25, abs=0.06)


def test_what_is_impossible_is_not_drawn_even_at_the_edge():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]).repeat(3, 1)
    edge = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
    assert sample.draw(logits, edge).tolist() == [1, 3, 3]
