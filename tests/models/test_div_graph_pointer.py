"""DivGraphPointer: the graph, the spelling of targets, coverage and context, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from keywright import parts
from keywright.data.targets import Targets
from keywright.errors import ConfigError
from keywright.lexicon import BOS, EOS, SEP
from keywright.models import div_graph_pointer
from keywright.models.div_graph_pointer import GatedConvolution, adjacency, normalised
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, Case, vocabulary


@pytest.fixture
def case() -> Case:
    module = parts.module("keywright.models", "div_graph_pointer")
    return Case("div_graph_pointer", module, vocabulary(), Targets("one2seq", generated="present"))


def test_nodes_are_connected_by_the_inverse_of_their_distances() -> None:
    """The text a b a, and padding: a occurs 1 after b and 2 after a, b occurs 1 after a."""
    first = torch.tensor([[0, 1, 0, 3]])
    found = adjacency(first, torch.tensor([[True, True, True, False]]))
    assert found.tolist() == [[[0.5, 1, 0, 0], [1, 0, 0, 0], [0] * 4, [0] * 4]]


def test_matrices_are_normalised_with_loops() -> None:
    found = normalised(torch.tensor([[[0.0, 3.0], [0.0, 0.0]]]))
    # Rows of A + I sum to 4 and 1.
    assert found.tolist() == [[[1 / 4, 3 / math.sqrt(4)], [0.0, 1.0]]]


def test_a_gated_convolution_by_hand() -> None:
    layer = GatedConvolution(1)
    layer.own.weight.data = torch.tensor([[1.0], [0.0]])
    layer.own.bias.data = torch.tensor([0.5, math.log(3)])  # a gate of 3/4
    layer.forwards.weight.data = torch.tensor([[10.0], [0.0]])
    layer.backwards.weight.data = torch.tensor([[100.0], [0.0]])
    states = torch.tensor([[[1.0], [2.0]]])
    before = torch.tensor([[[0.0, 1.0], [0.0, 0.0]]])
    after = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]])
    found = layer(states, before, after).flatten().tolist()
    assert found == pytest.approx([1 + 0.75 * (1 + 0.5 + 20), 2 + 0.75 * (2 + 0.5 + 100)])


def test_targets_are_present_phrases_as_the_text_has_them() -> None:
    document = Document(
        title="Slow rivers", body="We measure rivers.", keyphrases=("river", "sea", "slow river")
    )
    targets = Targets("one2seq", generated="present")
    found = targets.phrases(document, np.random.default_rng(0))
    assert [(phrase.words, phrase.position) for phrase in found] == [
        (("slow", "rivers"), 0),
        (("rivers",), 1),
    ]
    with pytest.raises(ConfigError, match="generates present phrases"):
        Targets("one2seq", mark_absent=True, generated="present")


def test_only_words_of_the_document_and_ends_are_likely(case: Case) -> None:
    model = case.build(floor=1e-6).eval()
    batch = case.batch(DOCUMENTS[0])
    memory = model.encode(batch)
    log_probs = model.step(*model.start(memory), memory).log_probs[0]
    inside = {*batch.source_extended[0].tolist(), SEP, EOS}
    outside = [i for i in range(case.vocabulary.size) if i not in inside]
    assert log_probs[outside].exp().tolist() == pytest.approx(
        [1e-6 / case.vocabulary.size] * len(outside)
    )
    assert float(log_probs[sorted(inside)].detach().exp().sum()) == pytest.approx(1, abs=1e-5)


def test_coverage_and_context_change_with_the_phrases_before(case: Case) -> None:
    model = case.build().eval()
    batch = case.batch(DOCUMENTS[0])
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    assert tokens.tolist() == [BOS]
    first = model.step(tokens, state, memory)
    word = batch.source_extended[0, 3:4]
    second = model.step(word, first.state, memory)
    assert first.attention is not None
    assert second.attention is not None
    summed = first.attention + second.attention
    assert torch.allclose(second.state.attention, summed)
    assert not second.state.coverage.any()
    assert torch.allclose(second.state.said, memory.states[:, 3])
    third = model.step(torch.tensor([SEP]), second.state, memory)
    assert torch.allclose(third.state.coverage, summed)
    assert torch.allclose(third.state.attention, third.attention)
    # A phrase starts from the document and the words before it, not from the last hidden state.
    other = div_graph_pointer.State(**{**vars(second.state), "hidden": second.state.hidden + 1})
    assert torch.equal(model.step(torch.tensor([SEP]), other, memory).log_probs, third.log_probs)
    unsaid = div_graph_pointer.State(**{**vars(second.state), "said": second.state.said + 1})
    changed = model.step(torch.tensor([SEP]), unsaid, memory).log_probs
    assert not torch.allclose(changed, third.log_probs)


def test_a_phrase_that_was_cut_off_has_a_finite_loss(case: Case) -> None:
    from keywright.data.batch import make_batch

    batch = make_batch(DOCUMENTS, case.vocabulary, 6, case.targets)
    loss = case.build().loss(batch, smoothing=0.1)
    loss.total.backward()
    assert torch.isfinite(loss.total)
