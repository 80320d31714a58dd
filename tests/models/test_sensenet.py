"""SenSeNet: sentences, labels and the straight-through gradient, by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from keywright import parts
from keywright.data.batch import Batch
from keywright.data.targets import Targets
from keywright.models import sensenet
from keywright.models.sensenet import Sentences, SentenceSelector
from tests.models.conftest import DOCUMENTS, Case, vocabulary


@pytest.fixture
def case() -> Case:
    module = parts.module("keywright.models", "sensenet")
    return Case("sensenet", module, vocabulary(), Targets("one2seq"))


def split(model: Any, batch: Batch) -> Sentences:
    return Sentences.of(batch, model.marks)


def texts(batch: Batch, sentences: Sentences) -> list[str]:
    words = vocabulary().words
    found = [""] * len(sentences)
    for row, column in sentences.mask.nonzero().tolist():
        found[sentences.number[row, column]] += f" {words[batch.source[row, column]]}"
    return [text.strip() for text in found]


def test_titles_and_marks_end_sentences(case: Case) -> None:
    batch = case.batch(*DOCUMENTS)
    found = texts(batch, split(case.build(), batch))
    assert [text.split()[0] for text in found] == ["folding", "we", "the", "slow", "rivers", "we"]
    assert [text.split()[-1] for text in found] == ["robots", ".", ".", "rivers", ".", "."]


def test_sentences_are_padded_and_places_count_from_their_start() -> None:
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    number = torch.tensor([[0, 0, 1, 1, 1], [2, 2, 2, 2, 2]])
    place = torch.tensor([[0, 1, 0, 1, 2], [0, 1, 2, 3, 4]])
    states = torch.arange(1.0, 11.0).view(2, 5, 1)
    padded, real = Sentences(number, place, mask).split(states)
    assert padded.squeeze(2).tolist() == [[1, 2, 0], [3, 4, 5], [6, 7, 0]]
    assert real.tolist() == [[True, True, False], [True] * 3, [True, True, False]]


def test_a_sentence_with_a_present_phrase_should_be_selected(case: Case) -> None:
    batch, model = case.batch(*DOCUMENTS), case.build()
    labels = split(model, batch).containing(model.present(batch))
    # "robot arms" and "zygofold planner"; "quartzsand" and "meandering river".
    assert labels.tolist() == [0, 1, 1, 0, 1, 1]


def test_the_selector_by_hand() -> None:
    """A convolution that sums three words, the maximum, and a score of 2 (max) - 9."""
    selector = SentenceSelector(1, 1, 3)
    for parameter, value in (
        (selector.convolution.weight, 1.0),
        (selector.convolution.bias, 0.0),
        (selector.hidden.weight, 1.0),
        (selector.hidden.bias, 0.0),
        (selector.score.weight, 2.0),
        (selector.score.bias, -9.0),
    ):
        torch.nn.init.constant_(parameter, value)
    selector.meaning.data = torch.tensor([[10.0], [20.0]])
    sentences = Sentences(
        torch.tensor([[0, 0, 1, 1, 1]]), torch.tensor([[0, 1, 0, 1, 2]]), torch.ones(1, 5).bool()
    )
    states = torch.tensor([[[1.0], [2.0], [1.0], [2.0], [3.0]]])
    logits, added = selector(states, sentences)
    # Sums 3, 3 and 3, 6, 5: words of the neighbouring sentence do not count.
    assert logits.tolist() == [-3.0, 3.0]
    assert added.flatten().tolist() == [10, 10, 20, 20, 20]


def test_gradients_pass_the_decision_unchanged() -> None:
    torch.manual_seed(0)
    selector = SentenceSelector(2, 4, 3)
    sentences = Sentences(torch.zeros(1, 3).long(), torch.arange(3)[None], torch.ones(1, 3).bool())
    logits, added = selector(torch.randn(1, 3, 2), sentences)
    logits.retain_grad()
    added[0, 0, 0].backward()
    likely = logits.detach().sigmoid()
    step = selector.meaning[1, 0] - selector.meaning[0, 0]
    assert logits.grad is not None
    assert torch.allclose(logits.grad, likely * (1 - likely) * step)


def test_the_selection_is_a_part_of_the_loss(case: Case) -> None:
    batch = case.batch(*DOCUMENTS)
    without = case.build(selection=0.0).eval().loss(batch)
    with_it = case.build(selection=2.0).eval().loss(batch)
    expected = without.total + 2 * without.parts["selection"]
    assert torch.allclose(with_it.total, expected)
    assert torch.allclose(without.total, without.parts["nll"])


def test_it_learns_to_select(case: Case) -> None:
    torch.manual_seed(0)
    model, batch = case.build(), case.batch(*DOCUMENTS)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        optimiser.zero_grad()
        model.loss(batch).mean.backward()
        optimiser.step()
    sentences = split(model, batch)
    logits = model.eval().encode(batch).logits[(sentences.place == 0) & sentences.mask]
    assert (logits > 0).tolist() == [False, True, True, False, True, True]


def test_an_even_kernel_has_no_middle() -> None:
    with pytest.raises(ValueError, match="must be odd"):
        sensenet.Config(kernel=2)
