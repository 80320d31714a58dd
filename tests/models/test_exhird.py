"""What is special about ExHiRD."""

from __future__ import annotations

import math

import pytest
import torch

from keywright.data.targets import Targets
from keywright.lexicon import BOS, EOS, PEOS, SEP, SpecialIds
from keywright.models import exhird
from keywright.models.exhird import previous_starts
from tests.models.conftest import DOCUMENTS, Case, vocabulary


@pytest.fixture
def case() -> Case:
    return Case("exhird", exhird, vocabulary(), Targets("one2seq", mark_absent=True))


def test_the_phrase_level_takes_a_step_only_at_the_start_of_a_phrase(case: Case) -> None:
    model = case.build().eval()
    memory = model.encode(case.batch(*DOCUMENTS, targets=False))
    _, state = model.start(memory)
    with torch.inference_mode():
        for token, moves in ((BOS, True), (8, False), (9, False), (SEP, True), (PEOS, True)):
            _, following = model.read(torch.tensor([token, 8]), state, memory)
            for level in ("phrase", "energies"):
                before, after = getattr(state, level), getattr(following, level)
                assert torch.equal(before[1], after[1])
                assert torch.equal(before[0], after[0]) != moves
            state = following


def test_a_phrase_starts_from_the_phrase_level_alone(case: Case) -> None:
    """After a delimiter, words of earlier phrases matter only through the phrase level."""
    model = case.build().eval()
    memory = model.encode(case.batch(DOCUMENTS[0], targets=False))
    with torch.inference_mode():
        _, state = model.start(memory)
        _, state = model.read(torch.tensor([BOS]), state, memory)
        other = exhird.State(state.phrase, state.energies, torch.randn_like(state.word), state.feed)
        assert not torch.equal(state.word, other.word)
        ours = model.step(torch.tensor([SEP]), state, memory).log_probs
        theirs = model.step(torch.tensor([SEP]), other, memory).log_probs
    assert torch.equal(ours, theirs)


def test_the_attention_of_a_word_is_rescaled_by_that_of_its_phrase(case: Case) -> None:
    model = case.build().eval()
    memory = model.encode(case.batch(DOCUMENTS[0], targets=False))
    with torch.inference_mode():
        _, state = model.start(memory)
        step = model.step(torch.tensor([BOS]), state, memory)
        state = step.state
        word = (memory.states @ model.word_attention(state.word)[0]).softmax(-1)
        phrase = (memory.states @ model.phrase_attention(state.phrase)[0]).softmax(-1)
    product = word * phrase
    assert torch.allclose(step.attention, product / product.sum(), atol=1e-6)


def test_previous_starts_are_those_within_the_window() -> None:
    #        a b <sep> c <sep> a d <peos> e <eos>
    target = torch.tensor([[10, 11, SEP, 12, SEP, 10, 13, PEOS, 14, EOS], [15, EOS] + [0] * 8])
    mask = target != 0

    def found(window: int) -> list[tuple[int, int, int]]:
        columns = (
            column.tolist()
            for column in previous_starts(target, mask, window, SpecialIds().delimiters)
        )
        return list(zip(*columns, strict=True))

    assert found(1) == [(0, 3, 10), (0, 5, 12), (0, 8, 10)]
    # The third phrase correctly starts like the first one, so that start is not excluded.
    assert found(2) == [(0, 3, 10), (0, 5, 12), (0, 8, 12), (0, 8, 10)]


def test_soft_exclusion_equals_the_loss_computed_step_by_step(case: Case) -> None:
    model = case.build(soft_exclusion=0.5, window=4).eval()
    batch = case.batch(DOCUMENTS[1])
    target = batch.target
    assert target is not None
    expected = 0.0
    starts: list[int] = []
    with torch.inference_mode():
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        for t, token in enumerate(target[0].tolist()):
            step = model.step(tokens, state, memory)
            begins = int(tokens[0]) in (BOS, SEP, PEOS)
            if begins and token not in (SEP, PEOS, EOS):
                for before in set(starts[-4:]) - {token}:
                    expected -= math.log1p(-float(step.log_probs[0, before].exp()))
                starts.append(token)
            tokens, state = target[:, t], step.state
        loss = model.loss(batch)
        plain = case.build(soft_exclusion=0.0).eval().loss(batch)
    assert len(starts) == 4
    assert float(loss.parts["exclusion"]) == pytest.approx(expected, rel=1e-4)
    assert float(loss.total) == pytest.approx(float(plain.total) + 0.5 * expected, rel=1e-5)


def test_soft_exclusion_teaches_phrases_to_start_differently(case: Case) -> None:
    model = case.build(soft_exclusion=100.0)
    batch = case.batch(*DOCUMENTS)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(15):
        loss = model.loss(batch)
        losses.append(float(loss.parts["exclusion"]))
        optimiser.zero_grad()
        loss.mean.backward()
        optimiser.step()
    assert losses[-1] < 0.5 * losses[0]


def test_the_word_level_forgets_its_feed_at_the_start_of_a_phrase(case: Case) -> None:
    model = case.build().eval()
    memory = model.encode(case.batch(DOCUMENTS[0], targets=False))
    with torch.inference_mode():
        _, state = model.start(memory)
        _, state = model.read(torch.tensor([BOS]), state, memory)
        assert state.feed.abs().min() > 0
        assert torch.equal(model.begin_phrases(torch.tensor([8]), state, memory).feed, state.feed)
        for delimiter in (SEP, PEOS):
            begun = model.begin_phrases(torch.tensor([delimiter]), state, memory)
            assert not begun.feed.any()
