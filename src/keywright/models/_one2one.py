"""Shared by recurrent models that write one phrase at a time (One2One).

The steps of a decoder that reads its own attention must be computed one after the other; but
phrases are short, and those of a document are computed in parallel.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keywright.data.batch import Batch
from keywright.models._recurrent import Memory, Recurrent, State
from keywright.nn.copy import target_log_prob
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss


@dataclass(frozen=True)
class Decoded:
    """One step of N phrases of every document."""

    hidden: Tensor  # [B, N, H] what the next step reads
    features: Tensor  # [B, N, D] of the produced word
    copying: Tensor  # [B, N, S] energies of copying
    attention: Tensor  # [B, N, S] energies of attention


class OneByOne(Recurrent):
    paradigm = "one2one"
    vocabulary: nn.Linear  # from features to the logits of producing words

    @abstractmethod
    def decode(
        self, embedded: Tensor, hidden: Tensor, memory: Memory, counts: Tensor | None = None
    ) -> Decoded:
        """The next step after states [B, N, H] and input words [B, N, E].

        Only the first `counts` [B] phrases of each document are real (default: all).
        """

    def gate(self, features: Tensor) -> Tensor | None:
        """The logits [...] of producing rather than copying, from features [..., D].

        None: one softmax over words and source positions together.
        """
        return None

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step[State]:
        rows = memory.sharing
        embedded = self.embed(tokens.unsqueeze(1), memory)
        decoded = self.decode(rows.join(embedded), rows.join(state.hidden.unsqueeze(1)), memory)
        hidden, features, copying, attention = (
            rows.part(x, 1).squeeze(1)
            for x in (decoded.hidden, decoded.features, decoded.copying, decoded.attention)
        )
        logits = self.vocabulary(features)
        log_probs = self.distribution(logits, self.gate(features), copying, memory)
        return Step(log_probs, State(hidden=hidden), attention.softmax(dim=-1))

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        log_prob, _ = self.teach(batch, self.encode(batch), smoothing)
        return likelihood_loss(log_prob)

    def score(self, batch: Batch) -> Tensor:
        _, mask = batch.targets
        log_prob, at = self.teach(batch, self.encode(batch))
        return log_prob.new_zeros(mask.shape).index_put(at, log_prob).flatten(0, 1)

    def teach(
        self, batch: Batch, memory: Memory, smoothing: float = 0.0
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The log-probabilities [K] of all real target tokens, and where they are in the targets.

        The latter are indices of document, phrase and position, [K] each.
        """
        target, mask, order = _longest_first(*batch.targets)  # [B, N, T]
        features, copying, document, place = [], [], [], []
        for t, decoded in enumerate(self._decode_targets(target, mask, memory)):
            at = mask[:, : decoded.hidden.shape[1], t].nonzero(as_tuple=True)
            features.append(decoded.features[at])
            copying.append(decoded.copying[at])
            document.append(at[0])
            place.append(at[1])
        steps = [torch.full_like(documents, t) for t, documents in enumerate(document)]
        row, number, position = torch.cat(document), torch.cat(place), torch.cat(steps)
        written = torch.cat(features)
        log_prob = target_log_prob(
            written,
            self.vocabulary,
            self.gate(written),
            torch.cat(copying),
            memory.source[row],
            target[row, number, position],
            smoothing,
        )
        return log_prob, (row, order[row, number], position)

    def _decode_targets(self, target: Tensor, mask: Tensor, memory: Memory) -> Iterator[Decoded]:
        """The steps that read `target` [B, N, T], without phrases that have ended everywhere."""
        first, state = self.start(memory)
        tokens = first.unsqueeze(1).expand(mask.shape[:2])
        hidden = state.hidden.unsqueeze(1).expand(*tokens.shape, -1)
        for t in range(target.shape[2]):
            counts = mask[:, :, t].sum(dim=1)
            active = int(counts.max())  # the longest phrases come first
            embedded = self.embed(tokens[:, :active], memory)
            decoded = self.decode(embedded, hidden[:, :active], memory, counts)
            yield decoded
            hidden, tokens = decoded.hidden, target[:, :, t]


def _longest_first(target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The phrases of each document by decreasing length, and their original numbers [B, N].

    Their order does not matter to One2One, and phrases that have ended can be left out at the end.
    """
    order = mask.sum(dim=2).argsort(dim=1, descending=True, stable=True)
    whole = order.unsqueeze(2).expand_as(target)
    return target.gather(1, whole), mask.gather(1, whole), order
