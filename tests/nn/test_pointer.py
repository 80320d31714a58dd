from __future__ import annotations

import torch

from keywright.nn.pointer import IMPOSSIBLE, PointerOutput

# A vocabulary of 4, and a source "2 4 5 2 <padding>" whose ids 4 and 5 are an extension.
EXTENDED = torch.tensor([[2, 4, 5, 2, 0]])


def output_and_inputs(scale: float = 1.0) -> tuple[PointerOutput, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    output = PointerOutput(3, 4)
    states = scale * torch.randn(1, 3)
    scores = scale * torch.randn(1, 5)
    scores[:, -1] = IMPOSSIBLE
    return output, states, scores


def test_probabilities_sum_vocabulary_and_source_and_make_one() -> None:
    output, states, scores = output_and_inputs()
    log_probs, attention = output.log_probs(states, scores, EXTENDED, extension=3)
    gate = torch.sigmoid(output.gate(states))[0, 0]
    generated = torch.softmax(output.vocabulary(states), -1)[0]
    copied = torch.softmax(scores[0, :4], -1)
    expected = torch.zeros(7)
    expected[:4] = gate * generated
    for place, word in enumerate([2, 4, 5, 2]):
        expected[word] += (1 - gate) * copied[place]
    assert torch.allclose(log_probs.exp()[0], expected, atol=1e-6)
    assert torch.allclose(attention[0, :4], copied)
    assert log_probs[0, 6] == -torch.inf  # no such word in this document


def test_the_likelihood_of_a_word_is_its_entry_in_the_distribution() -> None:
    output, states, scores = output_and_inputs()
    log_probs, _ = output.log_probs(states, scores, EXTENDED, extension=2)
    for word in range(6):
        one = output.log_likelihood(states, scores, EXTENDED, torch.tensor([word]))
        assert torch.allclose(one, log_probs[:, word], atol=1e-6)


def test_gradients_stay_finite_however_sure_the_model_is() -> None:
    output, states, scores = output_and_inputs(scale=1e4)
    states.requires_grad_()
    for word in range(6):
        output.log_likelihood(states, scores, EXTENDED, torch.tensor([word])).sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in output.parameters())
