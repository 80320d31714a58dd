"""Greedy decoding with both backends over a table: literal ids, shrinking batches, slots."""

import math

import pytest

from tests.decoding.fake import EOS, NULL, SEARCHES, SEP, A, B, C, Search, fixed, random

TABLE = fixed(
    {
        (): {A: 0.5, B: 0.4, EOS: 0.1},
        (A,): {SEP: 0.6, C: 0.3, EOS: 0.1},
        (A, SEP): {A: 0.2, B: 0.7, EOS: 0.1},
        (A, SEP, B): {C: 0.9, EOS: 0.1},
        (A, SEP, B, C): {EOS: 1.0},
    }
)


@pytest.fixture(params=SEARCHES)
def search(request: pytest.FixtureRequest) -> Search:
    return SEARCHES[request.param]


def test_literal_tokens_and_their_conditional_probabilities(search):
    [[found]] = search(TABLE, "x")
    assert found.tokens == [A, SEP, B, C, EOS]
    assert found.log_probs == pytest.approx([math.log(p) for p in (0.5, 0.6, 0.7, 0.9, 1.0)])


def test_of_equally_likely_tokens_the_first_is_generated(search):
    [[found]] = search(fixed({(): {C: 0.4, B: 0.4, A: 0.2}}), "x")
    assert found.tokens == [B, EOS]


def test_a_sequence_stops_at_the_length_limit(search):
    [[found]] = search(lambda *_: {A: 1.0}, "x", max_length=7)
    assert found.tokens == [A] * 7


@pytest.mark.parametrize("slots", [1, 3])
def test_a_document_is_decoded_the_same_way_alone_and_in_a_batch(search, slots):
    table = random([A, B, C, SEP, EOS], seed=slots)
    bodies = [f"document {i}" for i in range(8)]
    together = search(table, *bodies, slots=slots)
    alone = [rows for body in bodies for rows in search(table, body, slots=slots)]
    assert together == alone
    assert len({len(row[0].tokens) for row in together}) > 2  # they end at different times


def test_rows_that_have_ended_are_no_longer_computed(search):
    steps: list[int] = []
    found = search(random([A, B, EOS]), *(str(i) for i in range(20)), steps=steps)
    lengths = [len(row[0].tokens) for row in found]
    assert steps == [sum(n > t for n in lengths) for t in range(max(lengths))]


def test_every_slot_of_a_set_model_generates_its_phrase_or_null(search):
    def table(body: str, slot: int, prefix: tuple[int, ...]) -> dict[int, float]:
        if prefix:
            return {EOS: 1.0}
        return [{A: 0.9, NULL: 0.1}, {NULL: 0.8, B: 0.2}, {B: 0.6, NULL: 0.4}][slot]

    found = search(table, "x", paradigm="one2set", slots=3)
    assert [row[0].tokens for row in found] == [[A, EOS], [NULL], [B, EOS]]
