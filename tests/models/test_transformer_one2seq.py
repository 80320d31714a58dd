from __future__ import annotations

import pytest
import torch

from keywright.data.targets import Targets
from keywright.models import transformer_one2seq
from tests.models.conftest import DOCUMENTS, Case, vocabulary


def test_a_width_that_heads_cannot_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="multiple of 7 heads"):
        transformer_one2seq.Config(heads=7)


def test_words_are_copied_by_the_first_head_or_by_an_attention_of_their_own() -> None:
    case = Case("transformer_one2seq", transformer_one2seq, vocabulary(), Targets("one2seq"))
    batch = case.batch(*DOCUMENTS)

    def spread(own_pointer: bool) -> float:
        """By how much the copy attention differs between words if the first head is blind."""
        model = case.build(own_pointer=own_pointer).eval()
        query = model.decoder.layers[-1].cross_attention.query
        first_head = slice(0, query.out_features // model.decoder.layers[-1].cross_attention.heads)
        with torch.no_grad():
            query.weight[first_head] = 0.0
            query.bias[first_head] = 0.0
            memory = model.encode(batch)
            attention = model.step(*model.start(memory), memory).attention
        copied = attention[0][attention[0] > 0]
        return float(copied.max() - copied.min())

    assert spread(own_pointer=False) < 1e-6
    assert spread(own_pointer=True) > 1e-3
