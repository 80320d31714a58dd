"""ParaNetT+CoAtt: the joining cell, tags and the parts of the loss, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from keywright import parts
from keywright.data.targets import Targets
from keywright.models.para_net import END, KINDS, NO_WORD, JoinCell
from keywright.text.speech import Kind
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, Case, vocabulary

NOUN, ADJECTIVE, OTHER = (KINDS[kind] for kind in ("noun", "adjective", "other"))


@pytest.fixture
def case() -> Case:
    module = parts.module("keywright.models", "para_net")
    return Case("para_net", module, vocabulary(), Targets("one2one"))


def tagged(model: Any) -> Any:
    def kinds(words: Sequence[str]) -> list[Kind]:
        known: dict[str, Kind] = {"slow": "adjective", "rivers": "noun", "sea": "noun"}
        return [known.get(word, "other") for word in words]

    model.kinds = kinds
    return model


def test_the_cell_by_hand() -> None:
    """Gates of 1/2, 1/4, 3/4 and 1/5 and an update of tanh(1), whatever the states are."""
    cell = JoinCell(1)
    torch.nn.init.zeros_(cell.gates.weight)
    cell.gates.bias.data = torch.tensor([0.0, -math.log(3), math.log(3), -math.log(4), 1.0])
    found = float(cell(torch.tensor([2.0]), torch.tensor([10.0])).detach())
    memory = 0.5 * math.tanh(1) + 0.75 * 2 + 0.2 * 10
    assert found == pytest.approx(0.25 * math.tanh(memory))


def test_sources_and_targets_are_tagged(case: Case) -> None:
    model = tagged(case.build())
    document = Document(title="Slow rivers", body="to the sea", keyphrases=("slow sea", "rivers"))
    batch = case.batch(document, Document(title="sea", body="", keyphrases=("sea",)))
    assert model.source_tags(batch).tolist() == [
        [ADJECTIVE, NOUN, OTHER, OTHER, NOUN],
        [NOUN, NO_WORD, NO_WORD, NO_WORD, NO_WORD],
    ]
    # Present phrases come first; what is beyond a phrase is never looked at.
    assert model.target_tags(batch)[0].tolist() == [[NOUN, END, END], [ADJECTIVE, NOUN, END]]


def test_tags_change_what_is_read(case: Case) -> None:
    model, batch = case.build().eval(), case.batch(*DOCUMENTS)
    before = model.encode(batch).states
    model.kinds = lambda words: ["adjective"] * len(words)
    assert not torch.allclose(model.encode(batch).states, before)


def test_coverage_is_the_attention_so_far(case: Case) -> None:
    model, batch = case.build().eval(), case.batch(DOCUMENTS[0], targets=False)
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    first = model.step(tokens, state, memory)
    second = model.step(tokens, first.state, memory)
    assert first.attention is not None
    assert second.attention is not None
    assert torch.allclose(first.state.coverage, first.attention, atol=1e-6)
    assert torch.allclose(second.state.coverage, first.attention + second.attention, atol=1e-6)


def test_the_loss_has_three_parts(case: Case) -> None:
    batch = case.batch(*DOCUMENTS)
    plain = case.build(tag_weight=0.0, coverage_weight=0.0).eval().loss(batch)
    loss = case.build(tag_weight=2.0, coverage_weight=3.0).eval().loss(batch)
    assert torch.allclose(plain.total, plain.parts["nll"])
    expected = plain.parts["nll"] + 2 * plain.parts["tags"] + 3 * plain.parts["coverage"]
    assert torch.allclose(loss.total, expected)
    assert float(plain.parts["coverage"]) > 0


def test_every_step_covers_one_more(case: Case) -> None:
    steps = case.build().eval()._read_targets(case.batch(*DOCUMENTS))
    covered = [coverage.sum(dim=1).detach() for _, coverage, _ in steps]
    for step, total in enumerate(covered):
        assert torch.allclose(total, torch.full_like(total, float(step)), atol=1e-4)
