"""The differences between the recurrent models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import torch

from keywright import parts
from keywright.data.targets import Targets
from keywright.errors import ConfigError
from keywright.lexicons.words import Vocabulary
from keywright.nn.copy import GeneratorSizes, PointerGenerator
from keywright.nn.model import Model
from tests.models.conftest import DOCUMENTS, MODELS, Case, vocabulary


def case(name: str, **targets: Any) -> Case:
    module = parts.module(MODELS, name)
    return Case(name, module, vocabulary(), Targets(module.build.paradigm, **targets))


def test_copy_rnn_learns_every_phrase_separately() -> None:
    """The loss of a document is the sum of the losses of its phrases, each with the document."""
    model = case("copy_rnn").build().eval()
    with torch.inference_mode():
        whole = model.loss(case("copy_rnn").batch(*DOCUMENTS))
        total, divisor = 0.0, 0
        for document in DOCUMENTS:
            for phrase in document.keyphrases or ():
                single = msgspec.structs.replace(document, keyphrases=(phrase,))
                loss = model.loss(case("copy_rnn").batch(single))
                total, divisor = total + float(loss.total), divisor + int(loss.divisor)
    assert int(whole.divisor) == divisor
    assert float(whole.total) == pytest.approx(total, rel=1e-5)


def test_copy_rnn_scores_phrases_in_the_order_of_the_targets() -> None:
    """It computes the longest first."""
    model = case("copy_rnn", order="length").build().eval()
    batch = case("copy_rnn", order="length").batch(DOCUMENTS[1])
    lengths = batch.targets[1][0].sum(dim=1)
    assert lengths[0] < lengths[-1]
    assert torch.equal((model.score(batch) < 0).sum(dim=1), lengths)


def test_cat_seq_tg_reads_the_title_separately() -> None:
    model = case("cat_seq_tg").build().eval()
    original = DOCUMENTS[0]
    untitled = msgspec.structs.replace(original, title="", body=f"{original.title} {original.body}")
    titled, plain = (case("cat_seq_tg").batch(d, targets=False) for d in (original, untitled))
    assert torch.equal(titled.source, plain.source)
    assert not torch.allclose(model.encode(titled).states, model.encode(plain).states)
    cat_seq = case("cat_seq").build().eval()
    assert torch.equal(cat_seq.encode(titled).states, cat_seq.encode(plain).states)


def test_cat_seq_tg_without_merging_encodes_as_cat_seq_does() -> None:
    model = case("cat_seq_tg").build(unmerged=1.0).eval()
    plain = case("cat_seq").build().eval()
    plain.load_state_dict({k: v for k, v in model.state_dict().items() if k in plain.state_dict()})
    batch = case("cat_seq").batch(*DOCUMENTS, targets=False)
    assert torch.allclose(model.encode(batch).states, plain.encode(batch).states)


def test_cat_seq_corr_reviews_its_own_states() -> None:
    """The next word depends on the earlier states and on the coverage."""
    model = case("cat_seq_corr").build().eval()
    batch = case("cat_seq_corr").batch(DOCUMENTS[0], targets=False)
    with torch.inference_mode():
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        state = model.step(tokens, state, memory).state
        assert state.written.shape[1] == 1
        assert torch.allclose(state.coverage.sum(), torch.ones(()))
        other_states = type(state)(state.hidden, state.coverage, state.written + 1)
        no_coverage = type(state)(state.hidden, state.coverage * 0, state.written)
        expected, without_states, without_coverage = (
            model.step(tokens, s, memory).log_probs for s in (state, other_states, no_coverage)
        )
    assert not torch.allclose(expected, without_states)
    assert not torch.allclose(expected, without_coverage)


def test_different_vocabularies_for_input_and_output_are_an_error() -> None:
    class Subwords(Vocabulary):
        @property
        def input_ids(self) -> Sequence[int]:
            return [99] * self.size

    module = parts.module(MODELS, "cat_seq")
    with pytest.raises(ConfigError, match=r"data\.vocabulary"):
        module.build(module.Config(), Subwords(["a"]))


# The networks of Chan et al. (2019): `bridge` and `output`.

CHAN = {"bridge": "copy", "output": "pointer_generator", "encoder": 16, "decoder": 32}


def test_a_copied_initial_state_is_the_backward_and_then_the_forward_final_state() -> None:
    model = case("cat_seq").build(**CHAN).eval()
    memory = model.encode(case("cat_seq").batch(*DOCUMENTS, targets=False))
    _, state = model.start(memory)
    assert torch.equal(state.hidden[:, :16], memory.final[:, 16:])
    assert torch.equal(state.hidden[:, 16:], memory.final[:, :16])


def test_a_copied_initial_state_needs_a_decoder_of_its_size() -> None:
    with pytest.raises(ValueError, match="needs a decoder of 2 \\* encoder = 32 units, not 30"):
        case("cat_seq").build(**{**CHAN, "decoder": 30})


def test_the_pointer_generator_by_hand() -> None:
    """p_gen sees context, state and the last token; producing has no nonlinearity."""
    output = PointerGenerator(GeneratorSizes(state=2, memory=1, embedding=1), vocabulary_size=2)
    with torch.no_grad():
        output.hidden.weight.copy_(torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
        output.hidden.bias.copy_(torch.tensor([0.5, 0.0]))
        output.switch.weight.copy_(torch.tensor([[1.0, -1.0, 0.5, 2.0]]))
        output.switch.bias.fill_(0.25)
    state, context, embedded = (torch.tensor([x]) for x in ([3.0, 5.0], [7.0], [11.0]))
    features, gate = output(state, context, embedded)
    assert features.tolist() == [[7 + 2 * 3 + 0.5, 3 * 5.0]]
    assert gate.tolist() == [7 - 3 + 0.5 * 5 + 2 * 11 + 0.25]


@pytest.mark.parametrize("name", ["cat_seq", "cat_seq_d", "cat_seq_corr", "cat_seq_tg"])
def test_steps_and_scores_agree_in_the_networks_of_chan(name: str) -> None:
    model = case(name).build(**CHAN).eval()
    batch = case(name).batch(*DOCUMENTS)
    assert model.graphs is None  # there are none for these networks
    by_steps = Model.score(model, batch)
    assert torch.allclose(model.score(batch), by_steps, atol=1e-5)
    total, expected = model.loss(batch).total.item(), -by_steps.sum().item()
    assert total == pytest.approx(expected, rel=1e-4)
    model.train().loss(batch).total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
