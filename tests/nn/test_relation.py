"""The stacked relation layer, by hand."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from keywright.nn.relation import RelationLayer, Streams


def test_without_weights_a_layer_normalises_mixtures() -> None:
    layer = RelationLayer(2, dropout=0.0)
    for linear in (layer.present, layer.absent):
        torch.nn.init.zeros_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
    present, absent = (
        torch.tensor([[[3.0, 1.0], [0.0, 4.0]]]),
        torch.tensor([[[2.0, 5.0], [9.0, 1.0]]]),
    )
    # LN of two numbers is (1, -1) or (-1, 1): P' = [(1, -1), (-1, 1)], A' = [(-1, 1), (1, -1)].
    first, second = torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1.0])
    mask = torch.tensor([[[1, 0], [1, 1]]]).bool()
    got = layer(Streams(present, absent), mask)
    # Row 0 sees only column 0. P'_0 + A'_0 = 0, and A'_0 + P'_0 = 0.
    assert torch.allclose(got.present[0, 0], torch.zeros(2), atol=1e-3)
    assert torch.allclose(got.absent[0, 0], torch.zeros(2), atol=1e-3)
    # Row 1: the scores of P'_1 = (-1, 1) with A'_0 = (-1, 1) and A'_1 = (1, -1) are 2 and -2.
    own, other = torch.tensor([2.0, -2.0]).softmax(0)
    expected = F.layer_norm(second + own * second + other * first, (2,))
    assert torch.allclose(got.present[0, 1], expected, atol=1e-3)
    assert torch.allclose(
        got.absent[0, 1], F.layer_norm(first + own * first + other * second, (2,)), atol=1e-3
    )


def test_streams_are_transformed_by_their_own_weights() -> None:
    torch.manual_seed(0)
    layer = RelationLayer(3, dropout=0.0)
    streams = Streams(torch.randn(1, 2, 3), torch.randn(1, 2, 3))
    read = layer.transformed(streams)
    for linear, got, given in (
        (layer.present, read.present, streams.present),
        (layer.absent, read.absent, streams.absent),
    ):
        expected = F.layer_norm(torch.relu(given @ linear.weight.T + linear.bias) + given, (3,))
        assert torch.allclose(got, expected, atol=1e-6)


def test_what_is_masked_has_no_influence() -> None:
    torch.manual_seed(0)
    layer = RelationLayer(4, dropout=0.0)
    mask = torch.tensor([[[1, 1, 0], [1, 1, 0], [1, 1, 1]]]).bool()
    streams = Streams(torch.randn(1, 3, 4), torch.randn(1, 3, 4))
    changed = Streams(*(torch.cat([s[:, :2], torch.randn(1, 1, 4)], dim=1) for s in streams))
    for ours, theirs in zip(layer(streams, mask), layer(changed, mask), strict=True):
        assert torch.equal(ours[:, :2], theirs[:, :2])
        assert not torch.equal(ours[:, 2], theirs[:, 2])
