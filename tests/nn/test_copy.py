from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from keywright.nn.copy import (
    NEVER,
    PointerSoftmax,
    first_positions,
    input_ids,
    log_probs,
    target_log_prob,
)

V, X, H = 6, 3, 4
SOURCE = torch.tensor([[4, 6, 4, 7, 0], [2, 3, 8, 8, 8]])  # the last position of row 0 is padding


def parts(seed: int = 0) -> tuple[Tensor, nn.Linear, Tensor, Tensor]:
    torch.manual_seed(seed)
    energies = torch.randn(2, 5, dtype=torch.double)
    energies[0, 4] = NEVER
    features = torch.randn(2, H, dtype=torch.double)
    return features, nn.Linear(H, V).double(), torch.randn(2, dtype=torch.double), energies


def distribution(features: Tensor, output: nn.Linear, gate: Tensor | None, e: Tensor) -> Tensor:
    return log_probs(output(features), gate, e, SOURCE, first_positions(SOURCE), X)


def by_hand(features: Tensor, output: nn.Linear, gate: Tensor, energies: Tensor) -> Tensor:
    """Eq. 12, computed for each word."""
    produced, copied = output(features).softmax(dim=-1), energies.softmax(dim=-1)
    switch = gate.sigmoid()
    p = torch.zeros(2, V + X, dtype=torch.double)
    for row in range(2):
        p[row, :V] = switch[row] * produced[row]
        for position, word in enumerate(SOURCE[row]):
            p[row, word] += (1 - switch[row]) * copied[row, position]
    return p


def test_the_probability_of_a_word_is_its_vocabulary_mass_plus_its_copy_mass() -> None:
    p = distribution(*parts()).exp()
    assert torch.allclose(p, by_hand(*parts()))
    assert torch.allclose(p.sum(dim=1), torch.ones(2, dtype=torch.double))


def test_without_a_gate_there_is_one_softmax_over_words_and_positions() -> None:
    features, output, _, energies = parts()
    whole = torch.cat([output(features), energies], dim=1).softmax(dim=1)
    p = distribution(features, output, None, energies).exp()
    assert torch.allclose(p[1, 2], whole[1, 2] + whole[1, V])
    assert torch.allclose(p[1, 8], whole[1, V + 2 :].sum())
    assert torch.allclose(p.sum(dim=1), torch.ones(2, dtype=torch.double))


@pytest.mark.parametrize("gated", [True, False])
def test_the_log_probability_of_a_target_equals_its_entry_in_the_distribution(gated: bool) -> None:
    features, output, gate, energies = parts()
    chosen = gate if gated else None
    whole = distribution(features, output, chosen, energies)
    for target in ([4, 8], [1, 3], [6, 2], [7, 5]):
        words = torch.tensor(target)
        got = target_log_prob(features, output, chosen, energies, SOURCE, words)
        assert torch.allclose(got, whole.gather(1, words.unsqueeze(1)).squeeze(1))


@pytest.mark.parametrize("gated", [True, False])
def test_label_smoothing_distributes_its_share_over_all_produced_words(gated: bool) -> None:
    features, output, gate, energies = parts()
    words = torch.tensor([4, 8])
    chosen = gate if gated else None
    logits = output(features)
    if gated:
        produced = (gate.sigmoid().unsqueeze(1) * logits.softmax(dim=1)).log()
    else:
        produced = torch.cat([logits, energies], dim=1).log_softmax(dim=1)[:, :V]
    plain = target_log_prob(features, output, chosen, energies, SOURCE, words)
    got = target_log_prob(features, output, chosen, energies, SOURCE, words, 0.1)
    assert torch.allclose(got, 0.9 * plain + 0.1 * produced.mean(dim=1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_right(smoothing: float) -> None:
    features, output, gate, energies = parts()
    targets = torch.tensor([6, 2])

    def log_prob(f: Tensor, g: Tensor, e: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        layer = SimpleNamespace(weight=weight, bias=bias, out_features=V)
        return target_log_prob(f, layer, g, e, SOURCE, targets, smoothing)  # type: ignore[arg-type]

    inputs = [x.requires_grad_() for x in (features, gate, energies)]
    assert torch.autograd.gradcheck(log_prob, (*inputs, output.weight, output.bias))


@pytest.mark.parametrize("gated", [True, False])
def test_gradients_of_the_distribution_are_right(gated: bool) -> None:
    """Also for words that occur several times, and for padding below `NEVER`."""
    features, output, gate, energies = parts()
    energies[0, 4] = 2 * NEVER
    padding = energies[0, 4].clone()

    def probabilities(logits: Tensor, g: Tensor, e: Tensor) -> Tensor:
        e = torch.where(e.detach() <= NEVER, padding, e)
        first = first_positions(SOURCE)
        return log_probs(logits, g if gated else None, e, SOURCE, first, X).exp()

    inputs = (output(features).detach(), gate, energies)
    for x in inputs:
        x.requires_grad_()
    assert torch.autograd.gradcheck(probabilities, inputs)


def test_extreme_scores_give_finite_values_and_gradients() -> None:
    features, output, _, energies = parts()
    features, output, energies = features.float(), output.float(), energies.float()
    energies = torch.where(torch.arange(5) == 1, -500.0, energies).requires_grad_()
    for gate in (torch.tensor([80.0, -80.0]), torch.tensor([-300.0, 300.0])):
        gate.requires_grad_()
        log_prob = target_log_prob(features, output, gate, energies, SOURCE, torch.tensor([6, 1]))
        log_prob.sum().backward()
        assert torch.isfinite(log_prob).all()
        assert torch.isfinite(gate.grad).all()  # type: ignore[arg-type]
        assert torch.isfinite(energies.grad).all()  # type: ignore[arg-type]


def test_a_very_small_copy_probability_is_not_rounded_to_zero() -> None:
    energies = torch.tensor([[0.0, -200.0]])
    source = torch.tensor([[2, V]])
    logits, gate = torch.zeros(1, V), torch.zeros(1)
    log_p = log_probs(logits, gate, energies, source, first_positions(source), 1)
    assert log_p[0, V].item() == pytest.approx(math.log(0.5) - 200)


def test_copied_words_are_read_as_the_extension_of_their_document() -> None:
    tokens = torch.tensor([[1, 6, 7], [8, 5, 6]])
    inputs = torch.tensor([[3, 2, 0], [3, 3, 1]])
    assert input_ids(tokens, inputs, V).tolist() == [[1, 3, 2], [1, 5, 3]]
    assert input_ids(tokens[:, :1], torch.zeros(2, 0, dtype=torch.long), 9).tolist() == [[1], [8]]


def test_the_switch_depends_on_state_and_context() -> None:
    torch.manual_seed(0)
    pointer = PointerSoftmax(3, 4, V)
    state, context = torch.randn(2, 3), torch.randn(2, 4)
    features, gate = pointer(state, context, torch.randn(2, 5))
    inner = pointer.switch_context(context) + pointer.switch_state(state)
    assert torch.allclose(gate, pointer.switch(inner.tanh()).squeeze(1))  # eq. 13
    both = torch.cat([state, context], dim=1)
    assert torch.allclose(features, pointer.hidden(both).tanh())  # eq. 11
