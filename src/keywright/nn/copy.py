"""Producing a word or copying it: one exact distribution over the vocabulary and the source.

A word's probability is its vocabulary mass and the copy mass of all its source positions, summed.
Everything stays in log space, where a word without one of the two contributes nothing to value or
gradient, and no probability that is merely small becomes zero.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keywright.nn.softmax import target_logits

NEVER = -1e30
"""An energy or log-probability that no real one comes near; unlike -inf its gradient is no NaN."""


def input_ids(tokens: Tensor, extension_inputs: Tensor, vocabulary_size: int) -> Tensor:
    """What an embedding that knows V words reads for output-space `tokens` [R, ...].

    A copied word is read as its document's `extension_inputs` [R, X] say.
    """
    if not extension_inputs.shape[1]:
        return tokens
    copied = (tokens - vocabulary_size).clamp(min=0).flatten(1)
    return tokens.where(
        tokens < vocabulary_size, extension_inputs.gather(1, copied).view_as(tokens)
    )


def target_log_prob(
    features: Tensor,
    output: nn.Linear,
    gate: Tensor | None,
    energies: Tensor,
    source: Tensor,
    target: Tensor,
    smoothing: float = 0.0,
) -> Tensor:
    """log p(target) [N], without the distribution around it.

    `features` [N, H] for `output`; `gate` [N] is the logit of producing against copying (None: one
    softmax runs over words and source positions together); `energies` [N, S] are unnormalised
    logs of the copy distribution, `NEVER` at pads; `source` [N, S] and `target` [N] are ids of the
    output space. With label `smoothing`, the mean log p of producing each word of the vocabulary
    takes that share of the result; what copying adds to words of the source is not counted there.
    """
    energies = energies.to(output.weight.dtype)  # which mixed precision leaves as it is
    known = target < output.out_features
    logit, producing = target_logits(features, output, target.where(known, 0))
    copying = energies.logsumexp(dim=-1)
    if gate is None:
        gate = producing - copying
    found = energies.masked_fill(source != target.unsqueeze(1), NEVER).logsumexp(dim=-1)
    produced = (F.logsigmoid(gate) + logit - producing).where(known, NEVER)
    log_prob = torch.logaddexp(produced, F.logsigmoid(-gate) + found - copying)
    if not smoothing:
        return log_prob
    # The mean of all logits is the logit of the mean weights: no row of V numbers is needed.
    mean = features @ output.weight.mean(dim=0) + output.bias.mean()
    return torch.lerp(log_prob, F.logsigmoid(gate) + mean - producing, smoothing)


def first_positions(source: Tensor) -> Tensor:
    """For every position of `source` [B, S] the first one with the same word: once a document."""
    return (source.unsqueeze(2) == source.unsqueeze(1)).int().argmax(dim=2)


def log_probs(
    logits: Tensor,
    gate: Tensor | None,
    energies: Tensor,
    source: Tensor,
    first: Tensor,
    extension_size: int,
) -> Tensor:
    """The whole distribution [R, V + X] whose single entries `target_log_prob` gives.

    `logits` [R, V] of producing, `first` [R, S] is `first_positions(source)`; the rest is as there.
    Extension ids that a document does not use get -inf.
    """
    producing, copying = logits.logsumexp(dim=-1), energies.logsumexp(dim=-1)
    if gate is None:
        gate = producing - copying
    produced = logits + (F.logsigmoid(gate) - producing).unsqueeze(1)
    produced = F.pad(produced, (0, extension_size), value=-torch.inf)
    copied = energies + (F.logsigmoid(-gate) - copying).unsqueeze(1)
    mixed = torch.logaddexp(produced.gather(1, source), _summed_by_word(copied, first))
    # Positions of the same word all write the same value, so their order does not matter.
    return produced.scatter(1, source, mixed)


def _summed_by_word(log_mass: Tensor, first: Tensor) -> Tensor:
    """At every position [R, S] the logarithm of the mass of all positions with the same word."""
    largest = torch.full_like(log_mass, NEVER).scatter_reduce(1, first, log_mass, "amax")
    shifted = (log_mass - largest.gather(1, first)).exp()
    total = torch.zeros_like(log_mass).scatter_add(1, first, shifted)
    return (largest + total.log()).gather(1, first)


class PointerSoftmax(nn.Module):
    """A switch between producing and pointing (Gülçehre et al. 2016).

    Equation numbers are those of Yuan et al. (2020), appendix A. `extra` is the size of further
    features for the produced word.
    """

    def __init__(self, state_size: int, memory_size: int, vocabulary_size: int, extra: int = 0):
        super().__init__()
        self.hidden = nn.Linear(state_size + memory_size + extra, state_size)  # L4
        self.vocabulary = nn.Linear(state_size, vocabulary_size)  # L3
        self.switch_context = nn.Linear(memory_size, state_size)  # L6
        self.switch_state = nn.Linear(state_size, state_size, bias=False)  # L7, whose bias is L6's
        self.switch = nn.Linear(state_size, 1)  # L5

    def forward(
        self, state: Tensor, context: Tensor, extra: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The features of `vocabulary` (eq. 11) and the switch's logit (eq. 13), one per row."""
        inputs = [state, context] if extra is None else [state, context, extra]
        features = self.hidden(torch.cat(inputs, dim=-1)).tanh()
        gate = self.switch((self.switch_context(context) + self.switch_state(state)).tanh())
        return features, gate.squeeze(-1)
