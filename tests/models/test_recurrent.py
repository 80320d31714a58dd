"""What sets the recurrent models apart from each other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import torch

from keywright import parts
from keywright.data.targets import Targets
from keywright.data.vocab import Vocabulary
from keywright.errors import ConfigError
from tests.models.conftest import DOCUMENTS, MODELS, Case, vocabulary


def case(name: str, **targets: Any) -> Case:
    module = parts.module(MODELS, name)
    return Case(name, module, vocabulary(), Targets(module.PARADIGM, **targets))


def test_copy_rnn_learns_every_phrase_by_itself() -> None:
    """The loss of a document is the sum over its phrases, each alone after the same document."""
    model = case("copy_rnn").build().eval()
    with torch.inference_mode():
        whole = model.loss(case("copy_rnn").batch(*DOCUMENTS))
        total, count = 0.0, 0
        for document in DOCUMENTS:
            for phrase in document.keyphrases or ():
                single = msgspec.structs.replace(document, keyphrases=(phrase,))
                loss = model.loss(case("copy_rnn").batch(single))
                total, count = total + float(loss.total), count + int(loss.count)
    assert int(whole.count) == count
    assert float(whole.total) == pytest.approx(total, rel=1e-5)


def test_target_log_probs_lie_where_the_targets_do() -> None:
    model = case("cat_seq").build().eval()
    batch = case("cat_seq").batch(*DOCUMENTS)
    with torch.inference_mode():
        log_probs, loss = model.target_log_probs(batch), model.loss(batch)
    _, mask = batch.targets
    assert log_probs.shape == mask.shape
    assert (log_probs[mask] < 0).all()
    assert (log_probs[~mask] == 0).all()
    assert float(-log_probs.sum()) == pytest.approx(float(loss.total))


def test_cat_seq_tg_reads_the_title_apart() -> None:
    model = case("cat_seq_tg").build().eval()
    original = DOCUMENTS[0]
    untitled = msgspec.structs.replace(original, title="", body=f"{original.title} {original.body}")
    one, other = (case("cat_seq_tg").batch(d, targets=False) for d in (original, untitled))
    assert torch.equal(one.source, other.source)
    assert not torch.allclose(model.encode(one).states, model.encode(other).states)
    plain = case("cat_seq").build().eval()
    assert torch.equal(plain.encode(one).states, plain.encode(other).states)


def test_cat_seq_tg_that_merges_nothing_reads_as_cat_seq_does() -> None:
    model = case("cat_seq_tg").build(unmerged=1.0).eval()
    plain = case("cat_seq").build().eval()
    plain.load_state_dict({k: v for k, v in model.state_dict().items() if k in plain.state_dict()})
    batch = case("cat_seq").batch(*DOCUMENTS, targets=False)
    assert torch.allclose(model.encode(batch).states, plain.encode(batch).states)


def test_cat_seq_corr_reviews_its_own_states() -> None:
    """After the same history but for what was written, the next word differs."""
    model = case("cat_seq_corr").build().eval()
    batch = case("cat_seq_corr").batch(DOCUMENTS[0], targets=False)
    with torch.inference_mode():
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        state = model.step(tokens, state, memory).state
        assert state.written.shape[1] == 1
        assert torch.allclose(state.coverage.sum(), torch.ones(()))
        forgetful = type(state)(state.hidden, state.coverage, state.written + 1)
        uncovered = type(state)(state.hidden, state.coverage * 0, state.written)
        step, other, third = (
            model.step(tokens, s, memory).log_probs for s in (state, forgetful, uncovered)
        )
    assert not torch.allclose(step, other)
    assert not torch.allclose(step, third)


def test_a_vocabulary_that_reads_and_writes_differently_is_refused() -> None:
    class Subwords(Vocabulary):
        input_size = 99

    module = parts.module(MODELS, "cat_seq")
    with pytest.raises(ConfigError, match=r"data\.vocabulary"):
        module.build(module.Config(), Subwords(["a"]))
