from __future__ import annotations

import torch
from torch import Tensor

from keywright.nn.attention import AdditiveAttention, GeneralAttention, attend
from keywright.nn.copy import NEVER
from keywright.nn.coverage import CoverageAttention, ReviewAttention

MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
COUNTS = torch.tensor([3, 1])


def plain(attention: AdditiveAttention, queries: Tensor, memory: Tensor) -> Tensor:
    """Eq. 9 for all pairs at once."""
    features = attention.query(queries).unsqueeze(2) + attention.key(memory).unsqueeze(1)
    energies: Tensor = attention.energy(features.tanh()).squeeze(3)
    return energies.masked_fill(~MASK.unsqueeze(1), NEVER)


def setup() -> tuple[AdditiveAttention, Tensor, Tensor]:
    torch.manual_seed(0)
    attention = AdditiveAttention(3, 5, 6).double()
    queries = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
    memory = torch.randn(2, 4, 5, dtype=torch.double, requires_grad=True)
    return attention, queries, memory


def test_energies_equal_the_equation() -> None:
    attention, queries, memory = setup()
    got = attention(queries, attention.key(memory), MASK)
    assert torch.allclose(got, plain(attention, queries, memory))
    step = attention(queries[:, :1], attention.key(memory), MASK)
    assert torch.allclose(step, got[:, :1])


def test_padded_queries_are_not_computed() -> None:
    attention, queries, memory = setup()
    got = attention(queries, attention.key(memory), MASK, COUNTS)
    expected = plain(attention, queries, memory)
    assert torch.allclose(got[0], expected[0])
    assert torch.allclose(got[1, :1], expected[1, :1])
    assert (got[1, 1:] == NEVER).all()


def test_gradients_equal_those_of_the_equation() -> None:
    attention, queries, memory = setup()
    inputs = (queries, memory, *attention.parameters())
    real = torch.arange(3) < COUNTS.unsqueeze(1)

    def gradients(energies: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(attend(energies, memory)[real].square().sum(), inputs)

    ours = gradients(attention(queries, attention.key(memory), MASK, COUNTS))
    theirs = gradients(plain(attention, queries, memory))
    for our, their in zip(ours, theirs, strict=True):
        assert torch.allclose(our, their)


def test_attention_is_an_average_over_real_positions() -> None:
    energies = torch.tensor([[[1.0, 1.0, NEVER, NEVER]]])
    memory = torch.tensor([[[2.0], [4.0], [100.0], [100.0]]])
    assert attend(energies, memory).item() == 3.0


def test_coverage_is_the_sum_of_earlier_attention_and_changes_the_next() -> None:
    torch.manual_seed(0)
    # Double precision: single differs in the last digits of numbers close to zero on some CPUs.
    attention = CoverageAttention(3, 5, 6).double()
    queries, memory = torch.randn(2, 3, 3).double(), torch.randn(2, 4, 5).double()
    keys, nothing = attention.key(memory), torch.zeros(2, 4).double()
    energies, coverage = attention.covering(queries, keys, MASK, nothing)
    assert torch.allclose(coverage, energies.softmax(dim=-1).sum(dim=1))
    assert torch.allclose(energies[:, :1], attention(queries[:, :1], keys, MASK))
    # Two calls, as in decoding, give the same.
    first, so_far = attention.covering(queries[:, :1], keys, MASK, nothing)
    second, total = attention.covering(queries[:, 1:], keys, MASK, so_far)
    assert torch.allclose(torch.cat([first, second], dim=1), energies)
    assert torch.allclose(total, coverage)
    # The same query attends differently the second time.
    same = queries[:, :1].expand(-1, 2, -1)
    twice, _ = attention.covering(same, keys, MASK, nothing)
    assert not torch.allclose(twice[:, 0], twice[:, 1])


def test_review_does_not_attend_to_the_future() -> None:
    torch.manual_seed(0)
    review = ReviewAttention(3, 3, 4)
    states, queries = torch.randn(1, 5, 3), torch.randn(1, 3, 3)
    energies = review.reviewing(queries, review.key(states))  # two states precede the three steps
    assert (energies[0] == NEVER).tolist() == [
        [False, False, False, True, True],
        [False, False, False, False, True],
        [False, False, False, False, False],
    ]


def test_queries_have_a_bias() -> None:
    """L2 of eq. 9 is one affine map of both vectors, so it has one bias, here with the queries."""
    attention, queries, memory = setup()
    assert attention.query.bias is not None
    weight = torch.cat([attention.query.weight, attention.key.weight], dim=1)
    pairs = torch.cat(
        [queries.unsqueeze(2).expand(-1, -1, 4, -1), memory.unsqueeze(1).expand(-1, 3, -1, -1)],
        dim=3,
    )
    features = (pairs @ weight.T + attention.query.bias).tanh()
    expected = attention.energy(features).squeeze(3).masked_fill(~MASK.unsqueeze(1), NEVER)
    assert torch.allclose(attention(queries, attention.key(memory), MASK), expected)


def test_energies_of_extreme_queries_and_keys_are_finite() -> None:
    attention = AdditiveAttention(1, 1, 1)
    for parameter in attention.parameters():
        torch.nn.init.constant_(parameter, 0.0 if parameter.ndim == 1 else 1.0)
    queries = torch.tensor([[[1e4], [-1e4], [30.0]]], requires_grad=True)
    memory = torch.tensor([[[1e4], [-1e4], [-30.5]]], requires_grad=True)
    energies = attention(queries, attention.key(memory), torch.ones(1, 3, dtype=torch.bool))
    assert energies[0, 0, 0] == 1
    assert energies[0, 1, 1] == -1
    assert torch.allclose(energies[0, 2, 2], torch.tensor(-0.5).tanh(), atol=1e-4)
    energies.sum().backward()
    assert queries.grad is not None
    assert torch.isfinite(queries.grad).all()


def test_general_attention_is_bilinear() -> None:
    _, queries, memory = setup()
    attention = GeneralAttention(3, 5).double()
    got = attention(queries, attention.key(memory), MASK)
    expected = torch.einsum("btq,qm,bsm->bts", queries, attention.key.weight, memory)
    assert torch.allclose(got, expected.masked_fill(~MASK.unsqueeze(1), NEVER))
