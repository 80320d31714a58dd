"""Producing a word or copying it: one exact distribution over the vocabulary and the source.

The probability of a word is the sum of its vocabulary mass and of the copy mass of all its source
positions. Everything is computed in log space, where a word that lacks one of the two contributes
nothing to value or gradient, and no small probability is rounded to zero.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keywright.errors import ConfigError
from keywright.lexicon import Lexicon
from keywright.nn.softmax import target_logits

NEVER = -1e30
"""An energy or log-probability far below any real one; unlike -inf, its gradient is not NaN."""


def require_shared_ids(vocabulary: Lexicon) -> None:
    """An error unless each word that can be generated has the same id in the input, as `input_ids`
    assumes. More words may be read."""
    if vocabulary.input_ids != range(vocabulary.size):
        raise ConfigError(
            "data.vocabulary: this model needs the same vocabulary for input and output; "
            "set it to 'words'"
        )


def input_ids(tokens: Tensor, extension_inputs: Tensor, vocabulary_size: int) -> Tensor:
    """The ids that an embedding of V words reads for output-space `tokens` [R, ...].

    The ids of copied words are looked up in the `extension_inputs` [R, X] of their document.
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
    """log p(target) [N], without the rest of the distribution.

    `features` [N, H] are the input of `output`; `gate` [N] is the logit of producing rather than
    copying (None: one softmax over words and source positions together); `energies` [N, S] are the
    unnormalised logarithms of the copy distribution, `NEVER` at padding; `source` [N, S] and
    `target` [N] are ids of the output space. Label `smoothing` is the weight of the mean log p of
    producing each word of the vocabulary; what copying adds to words of the source is not part of
    that mean.
    """
    energies = energies.to(output.weight.dtype)  # the full precision, also under autocast
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
    # The mean of all logits is the logit of the mean weights, so no row of V numbers is needed.
    mean = features @ output.weight.mean(dim=0) + output.bias.mean()
    return torch.lerp(log_prob, F.logsigmoid(gate) + mean - producing, smoothing)


def first_positions(source: Tensor) -> Tensor:
    """For every position of `source` [B, S] the first one with the same word."""
    return (source.unsqueeze(2) == source.unsqueeze(1)).int().argmax(dim=2)


def log_probs(
    logits: Tensor,
    gate: Tensor | None,
    energies: Tensor,
    source: Tensor,
    first: Tensor,
    extension_size: int,
) -> Tensor:
    """The whole distribution [R, V + X]; `target_log_prob` computes single entries of it.

    `logits` [R, V] are those of producing, `first` [R, S] is `first_positions(source)`, and the
    other arguments are as in `target_log_prob`. Extension ids that a document does not use get
    -inf.
    """
    producing, copying = logits.logsumexp(dim=-1), energies.logsumexp(dim=-1)
    if gate is None:
        gate = producing - copying
    produced = logits + (F.logsigmoid(gate) - producing).unsqueeze(1)
    produced = F.pad(produced, (0, extension_size), value=-torch.inf)
    copied = energies + (F.logsigmoid(-gate) - copying).unsqueeze(1)
    mixed = torch.logaddexp(produced.gather(1, source), _summed_by_word(copied, first))
    # All positions of a word write the same value, so their order does not matter. But `scatter`
    # would pass the gradient of that value to each of them: only the first one may receive it.
    is_first = first == torch.arange(first.shape[1], device=first.device)
    return produced.scatter(1, source, mixed.where(is_first, mixed.detach()))


def _summed_by_word(log_mass: Tensor, first: Tensor) -> Tensor:
    """For every position [R, S] the log of the total mass of all positions with the same word."""
    # The initial values must not take part: padding may be below them.
    largest = torch.full_like(log_mass, NEVER).scatter_reduce(
        1, first, log_mass, "amax", include_self=False
    )
    shifted = (log_mass - largest.gather(1, first)).exp()
    total = torch.zeros_like(log_mass).scatter_add(1, first, shifted)
    return (largest + total.log()).gather(1, first)


class PointerSoftmax(nn.Module):
    """A switch between producing and pointing (Gülçehre et al. 2016).

    Equation numbers are those of Yuan et al. (2020), appendix A. `extra` is the size of additional
    features of the produced word.
    """

    def __init__(self, state_size: int, memory_size: int, vocabulary_size: int, extra: int = 0):
        super().__init__()
        self.hidden = nn.Linear(state_size + memory_size + extra, state_size)  # L4
        self.vocabulary = nn.Linear(state_size, vocabulary_size)  # L3
        self.switch_context = nn.Linear(memory_size, state_size)  # L6
        self.switch_state = nn.Linear(state_size, state_size, bias=False)  # L7, whose bias is L6's
        self.switch = nn.Linear(state_size, 1)  # L5

    def forward(
        self, state: Tensor, context: Tensor, embedded: Tensor, extra: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The input of `vocabulary` (eq. 11) and the logit of the switch (eq. 13) for each row.

        The embedding of the last token has no influence here.
        """
        inputs = [state, context] if extra is None else [state, context, extra]
        features = self.hidden(torch.cat(inputs, dim=-1)).tanh()
        gate = self.switch((self.switch_context(context) + self.switch_state(state)).tanh())
        return features, gate.squeeze(-1)


class PointerGenerator(nn.Module):
    """The output of See et al. (2017), as Chan et al. (2019) and Luo et al. (2021) used it.

    p(word) = softmax(W2 W1 [context; state; extra]), two linear layers with dropout between them,
    and p(producing) = sigmoid(w [context; state; embedding of the last token]).
    """

    def __init__(
        self, sizes: GeneratorSizes, vocabulary_size: int, dropout: float = 0.0, extra: int = 0
    ):
        super().__init__()
        both = sizes.memory + sizes.state
        self.hidden = nn.Linear(both + extra, sizes.state)  # W1
        self.vocabulary = nn.Linear(sizes.state, vocabulary_size)  # W2
        self.switch = nn.Linear(both + sizes.embedding, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, state: Tensor, context: Tensor, embedded: Tensor, extra: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The input of `vocabulary` and the logit of producing for each row."""
        both = [context, state]
        features = self.hidden(torch.cat(both if extra is None else [*both, extra], dim=-1))
        gate = self.switch(torch.cat([*both, embedded], dim=-1))
        return self.dropout(features), gate.squeeze(-1)


class GeneratorSizes(NamedTuple):
    state: int
    memory: int
    embedding: int
