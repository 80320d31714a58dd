"""Who sees whom, and reading a target step by step."""

from __future__ import annotations

import torch

from keywright.nn.bert import BertEncoder
from keywright.nn.prefix_lm import Context, PrefixEncoder, prediction_mask, prefix_mask
from keywright.nn.rows import Sharing
from keywright.nn.transformer import KeyValue, Shape


def test_the_mask_of_three_source_and_two_target_positions() -> None:
    source, target = torch.tensor([[1, 1, 1]]).bool(), torch.tensor([[1, 1]]).bool()
    assert prefix_mask(source, target)[0].int().tolist() == [
        [1, 1, 1, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1],
    ]


def test_nothing_sees_padding() -> None:
    source, target = torch.tensor([[1, 1, 0]]).bool(), torch.tensor([[1, 0]]).bool()
    mask = prefix_mask(source, target)[0].int().tolist()
    assert mask[0] == mask[2] == [1, 1, 0, 0, 0]
    assert mask[3] == mask[4] == [1, 1, 0, 1, 0]


def test_a_mask_sees_the_target_before_it_and_itself() -> None:
    source, target = torch.tensor([[1, 0]]).bool(), torch.tensor([[1, 1]]).bool()
    #                 source, target, masks
    assert prediction_mask(source, target)[0].int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0],
        [1, 0, 1, 1, 0, 0],
        [1, 0, 0, 0, 1, 0],
        [1, 0, 1, 0, 0, 1],
    ]


def test_a_target_read_in_steps_has_the_states_of_one_pass() -> None:
    """Three rows read two documents, of different lengths."""
    torch.manual_seed(0)
    shape = Shape(8, 2, 16, 2, dropout=0.0, norm="post", activation="gelu")
    encoder = PrefixEncoder(BertEncoder(shape, 20, 16)).eval()
    torch.nn.init.normal_(encoder.segment)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]]).bool()
    source, owner = torch.randint(1, 20, (2, 3)), torch.tensor([0, 1, 0])
    target = torch.randint(1, 20, (3, 4))
    places = mask.sum(1)[owner, None] + torch.arange(4)
    states, memory = encoder.read_source(source, mask, 16)
    past = KeyValue(*(tensor.new_zeros(3, 2, 2, 0, 4) for tensor in memory))
    read = []
    for start, end in ((0, 1), (1, 3), (3, 4)):
        own = torch.ones(end - start, end, dtype=torch.bool).tril(start)
        x = encoder.embed(target[:, start:end], places[:, start:end], own.new_ones(end - start))
        context = Context(mask, own, Sharing.of(owner, 2))
        x, added = encoder.extend(x, memory, past, context)
        past = KeyValue(*(torch.cat(pair, dim=3) for pair in zip(past, added, strict=True)))
        read.append(x)
    ids = torch.cat([source[owner], target], dim=1)
    together = encoder(
        ids,
        torch.cat([torch.arange(3).expand(3, -1), places], dim=1),
        torch.arange(7) >= 3,
        prefix_mask(mask[owner], torch.ones_like(target).bool()),
    )
    assert torch.allclose(together[:, 3:], torch.cat(read, dim=1), atol=1e-6)
    assert torch.allclose(together[mask[owner].nonzero(as_tuple=True)],
                          states[owner][mask[owner]], atol=1e-6)  # fmt: skip
