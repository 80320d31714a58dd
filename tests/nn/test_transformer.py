from __future__ import annotations

import pytest
import torch

from keywright.nn.rows import Sharing
from keywright.nn.transformer import Cache, Decoder, Encoder, Shape, SinusoidalPositions

SHAPES = [
    Shape(width=12, heads=3, inner=20, layers=2, dropout=0.0, norm=norm, activation=activation)
    for norm, activation in (("pre", "relu"), ("post", "gelu"))
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.norm)
def test_padding_does_not_change_the_encoding(shape: Shape) -> None:
    torch.manual_seed(0)
    encoder = Encoder(shape).eval()
    x = torch.randn(1, 4, 12)
    padded = torch.cat([x, torch.randn(1, 3, 12)], dim=1)
    mask = torch.tensor([[True] * 4 + [False] * 3])
    alone = encoder(x, mask[:, :4])
    assert torch.allclose(encoder(padded, mask)[:, :4], alone, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.norm)
def test_decoding_step_by_step_equals_reading_all_at_once(shape: Shape) -> None:
    torch.manual_seed(0)
    decoder = Decoder(shape).eval()
    source = decoder.read_source(torch.randn(2, 5, 12))
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    x = torch.randn(2, 4, 12)
    each = Sharing.of(torch.arange(2), 2)
    states, _, scores = decoder(x, Cache(), source, mask, each)
    cache = Cache()
    for t in range(4):
        state, cache, score = decoder(x[:, t : t + 1], cache, source, mask, each)
        assert torch.allclose(state[:, 0], states[:, t], atol=1e-5)
        assert torch.allclose(score[:, 0], scores[:, t], atol=1e-5)
    assert cache.length == 4


@pytest.mark.parametrize("owner", [[0, 0, 0, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 2], [2, 2]], ids=str)
def test_rows_of_one_document_share_its_source(owner: list[int]) -> None:
    torch.manual_seed(0)
    decoder = Decoder(SHAPES[0]).eval()
    encoded = torch.randn(3, 5, 12)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] * 5])
    x = torch.randn(len(owner), 3, 12)
    rows = torch.tensor(owner)
    shared = decoder(x, Cache(), decoder.read_source(encoded), mask, Sharing.of(rows, 3))
    copied = decoder.read_source(encoded[rows])
    alone = Sharing.of(torch.arange(len(owner)), len(owner))
    states, _, scores = decoder(x, Cache(), copied, mask[rows], alone)
    assert torch.allclose(shared[0], states, atol=1e-6)
    assert torch.allclose(shared[2], scores, atol=1e-6)


def test_cached_rows_can_be_reordered() -> None:
    torch.manual_seed(0)
    decoder = Decoder(SHAPES[0]).eval()
    source = decoder.read_source(torch.randn(1, 5, 12))
    mask = torch.ones(1, 5, dtype=torch.bool)
    rows = Sharing.of(torch.zeros(3, dtype=torch.long), 1)
    _, cache, _ = decoder(torch.randn(3, 1, 12), Cache(), source, mask, rows)
    chosen = cache.select(torch.tensor([2, 0, 2]))
    assert torch.equal(chosen.layers[1].key, cache.layers[1].key[[2, 0, 2]])
    assert torch.equal(chosen.layers[0].value, cache.layers[0].value[[2, 0, 2]])


def test_positions_follow_the_formula() -> None:
    positions = SinusoidalPositions(4)(3, 5)
    expected = torch.tensor(
        [
            [torch.tensor(p / r).sin(), torch.tensor(p / r).cos()]
            for p in (3.0, 4.0)
            for r in (1, 100)
        ]
    ).view(2, 4)
    assert torch.allclose(positions, expected, atol=1e-6)


def test_a_width_that_heads_cannot_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="multiple of 5 heads"):
        Shape(width=12, heads=5, inner=4, layers=1)
