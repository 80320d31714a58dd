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


def target_copy_energy(energies: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """log of the summed exponentials of the energies [N, S] where `source` [N, S] is `target` [N].

    About `NEVER` where the target is not in the source.
    """
    return energies.masked_fill(source != target.unsqueeze(1), NEVER).logsumexp(dim=-1)


def target_log_prob(
    features: Tensor,
    output: nn.Linear,
    gate: Tensor,
    energies: Tensor,
    source: Tensor,
    target: Tensor,
) -> Tensor:
    """log p(target) [N] of a pointer softmax, without the distribution around it.

    `features` [N, H] for `output`; `gate` [N] is the logit of producing against copying;
    `energies` [N, S] are unnormalised logs of the copy distribution, `NEVER` at pads; `source`
    [N, S] and `target` [N] are ids of the output space.
    """
    known = target < output.out_features
    logit, denominator = target_logits(features, output, target.where(known, 0))
    produced = F.logsigmoid(gate) + logit - denominator
    copied = F.logsigmoid(-gate) + target_copy_energy(energies, source, target)
    return torch.logaddexp(produced.where(known, NEVER), copied - energies.logsumexp(dim=-1))


def first_positions(source: Tensor) -> Tensor:
    """For every position of `source` [B, S] the first one with the same word: once a document."""
    return (source.unsqueeze(2) == source.unsqueeze(1)).int().argmax(dim=2)


def log_probs(
    vocabulary: Tensor,
    gate: Tensor,
    energies: Tensor,
    source: Tensor,
    first: Tensor,
    extension_size: int,
) -> Tensor:
    """The whole distribution [R, V + X] whose single entries `target_log_prob` gives.

    `vocabulary` [R, V] are the log-probabilities of producing, `first` [R, S] is
    `first_positions(source)`; the rest is as there. Extension ids that a document does not use
    get -inf.
    """
    produced = F.pad(
        vocabulary + F.logsigmoid(gate).unsqueeze(1), (0, extension_size), value=-torch.inf
    )
    copied = torch.log_softmax(energies, dim=-1) + F.logsigmoid(-gate).unsqueeze(1)
    mixed = torch.logaddexp(produced.gather(1, source), _summed_by_word(copied, first))
    # Positions of the same word all write the same value, so their order does not matter.
    return produced.scatter(1, source, mixed)


def _summed_by_word(log_mass: Tensor, first: Tensor) -> Tensor:
    """At every position [R, S] the logarithm of the mass of all positions with the same word."""
    largest = torch.full_like(log_mass, NEVER).scatter_reduce(1, first, log_mass, "amax")
    shifted = (log_mass - largest.gather(1, first)).exp()
    total = torch.zeros_like(log_mass).scatter_add(1, first, shifted)
    return (largest + total.log()).gather(1, first)
