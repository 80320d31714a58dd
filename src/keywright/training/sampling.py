"""Sequences drawn from a model, with log-probabilities that can be differentiated.

Log-probabilities are recorded while sampling and not computed afterwards by teacher forcing: in
training mode a second pass would have other dropout masks, so that it would score the samples by a
different distribution than the one they were drawn from, which biases a policy gradient. It would
also take about as long.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keywright.data.batch import Batch
from keywright.decoding.phrases import Hypothesis
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies._rows import Choose, Repeated, grow
from keywright.decoding.strategies.sample import draw
from keywright.nn.generator import Generator


@dataclass(frozen=True)
class Samples:
    """R sequences, row-major: those of document 0, then those of document 1, ..."""

    sequences: list[Hypothesis]
    log_probs: Tensor  # [R, T] of each token given those before it; 0 after the end of a sequence
    entropies: Tensor  # [R, T] of the distributions in nats, detached; 0 after the end

    @property
    def mean_entropies(self) -> Tensor:
        """The mean over the tokens of each sequence [R]."""
        lengths = [len(sequence.tokens) for sequence in self.sequences]
        return self.entropies.sum(1) / torch.tensor(lengths).to(self.entropies)


def sample(
    model: Generator,
    batch: Batch,
    rules: DecodingRules,
    draws: Tensor,
    temperature: float = 1.0,
) -> Samples:
    """Draw sequences for every document; `draws` [R, max_length] are random numbers in [0, 1).

    R is a multiple of the number of documents. The distribution is the model's own, in its current
    mode, restricted to the tokens that the rules allow, to the power 1 / `temperature`, and
    normalised again. Gradients are recorded unless they are disabled.
    """
    steps = iter(draws.to(batch.source.device).T)

    def choose(log_probs: Tensor, rows: Tensor) -> Tensor:
        return draw(log_probs, next(steps)[rows])

    repeated = Repeated(model, len(draws) // len(batch))
    return _record(repeated, batch, rules, choose, len(draws), temperature)


@torch.no_grad()
def most_likely(model: Generator, batch: Batch, rules: DecodingRules) -> Samples:
    """The sequence of greedy decoding for every document, recorded in the same way."""
    return _record(model, batch, rules, lambda log_probs, rows: log_probs.argmax(1), len(batch))


def _record(
    model: Generator,
    batch: Batch,
    rules: DecodingRules,
    choose: Choose,
    rows: int,
    temperature: float = 1.0,
) -> Samples:
    recorded: list[tuple[Tensor, Tensor, Tensor]] = []

    def recording(log_probs: Tensor, numbers: Tensor) -> Tensor:
        if temperature != 1:
            log_probs = log_probs / temperature
        tokens = choose(log_probs.detach(), numbers)
        chosen = log_probs.gather(1, tokens[:, None]).squeeze(1) - log_probs.logsumexp(1)
        recorded.append((numbers, chosen, entropy(log_probs.detach())))
        return tokens

    found = grow(model, batch, rules, recording)
    log_probs, entropies = (
        torch.stack([column.new_zeros(rows).index_put((n,), column) for n, column in columns], 1)
        for columns in ([(n, c) for n, c, _ in recorded], [(n, e) for n, _, e in recorded])
    )
    return Samples([hypothesis for [hypothesis] in found], log_probs, entropies)


def entropy(log_probs: Tensor) -> Tensor:
    """The entropy [R] of distributions [R, V] whose logarithms need not be normalised."""
    found: Tensor = torch.special.entr(log_probs.softmax(1)).sum(1)
    return found
