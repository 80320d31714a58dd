"""An output that generates words of the vocabulary or copies words of the source.

    p(w) = g p_vocabulary(w) + (1 - g) sum of the copy attention on source positions that say w

Both ways to a word count (See et al. 2017), so its probability is exact, and all is computed in
log space, so that nothing is lost or becomes NaN however sure the model is. N predictions, S
source positions, V vocabulary, X copy extension.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

IMPOSSIBLE = -1e9
"""A log-probability that is zero for all purposes but, unlike -inf, has a gradient of zero."""


class PointerOutput(nn.Module):
    """The gate g and the vocabulary's softmax; the copy attention comes from the decoder."""

    def __init__(self, width: int, vocabulary: int):
        super().__init__()
        self.vocabulary = nn.Linear(width, vocabulary)
        self.gate = nn.Linear(width, 1)
        nn.init.xavier_uniform_(self.vocabulary.weight)
        nn.init.zeros_(self.vocabulary.bias)

    def log_likelihood(
        self, states: Tensor, scores: Tensor, extended: Tensor, target: Tensor
    ) -> Tensor:
        """Log-probabilities [N] of `target` [N], without building whole distributions.

        states: [N, D]; scores: [N, S] of the copy attention, `IMPOSSIBLE` where nothing may be
        copied; extended: [N, S] ids of the source in the output space V + X.
        """
        size = self.vocabulary.out_features
        gate = self.gate(states).squeeze(-1)
        generated = -F.cross_entropy(
            self.vocabulary(states), target.clamp(max=size - 1), reduction="none"
        )
        generated = generated.masked_fill(target >= size, IMPOSSIBLE)
        places = F.log_softmax(scores, dim=-1).masked_fill(extended != target[:, None], IMPOSSIBLE)
        copied = torch.logsumexp(places, dim=-1)
        return torch.logaddexp(F.logsigmoid(gate) + generated, F.logsigmoid(-gate) + copied)

    def log_probs(
        self, states: Tensor, scores: Tensor, extended: Tensor, extension: int
    ) -> tuple[Tensor, Tensor]:
        """The distributions [N, V + X] and the copy attention [N, S]; -inf is no possible word."""
        gate = self.gate(states)
        generated = F.log_softmax(self.vocabulary(states), dim=-1) + F.logsigmoid(gate)
        log_probs = F.pad(generated, (0, extension), value=-torch.inf)
        attention = F.softmax(scores, dim=-1)
        mass = torch.zeros_like(log_probs).scatter_add_(1, extended, attention)
        # Only words of the source change; those that occur twice are written twice, alike.
        copied = mass.gather(1, extended).log() + F.logsigmoid(-gate)
        mixed = torch.logaddexp(log_probs.gather(1, extended), copied)
        return log_probs.scatter(1, extended, mixed), attention
