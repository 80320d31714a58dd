"""CatSeq: all keyphrases as one sequence (Yuan et al. 2020, appendix A).

A bidirectional GRU reads the document; a GRU with attention and a pointer softmax writes the
phrases. The recurrence does not depend on the attention, so teacher forcing computes each of them
once for all positions. `CatSeqD`, `CatSeqCorr` and `CatSeqTG` replace one part each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.models import _recurrent
from keywright.models._recurrent import Memory, Recurrent, State
from keywright.nn.attention import AdditiveAttention, attend
from keywright.nn.copy import (
    GeneratorSizes,
    PointerGenerator,
    PointerSoftmax,
    target_log_prob,
)
from keywright.nn.generator import Step
from keywright.nn.gru import GRU
from keywright.nn.loss import Loss, at_targets, likelihood_loss


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """The defaults are those of Yuan et al. (2020).

    Chan et al. (2019) and Luo et al. (2021) have decoder = 300, bridge = "copy" and
    output = "pointer_generator".
    """

    # The decoder's initial state: a layer that reads the encoder's final states, or those states
    # themselves, the backward one first.
    bridge: Literal["layer", "copy"] = "layer"
    # Gülçehre et al. (2016), or See et al. (2017) whose switch also sees the last token.
    output: Literal["pointer_softmax", "pointer_generator"] = "pointer_softmax"

    def __post_init__(self) -> None:
        _recurrent.check_bridge(self.bridge, self)


@dataclass(frozen=True)
class Decoded:
    """The decoder after T tokens, with teacher forcing or (T = 1) its own."""

    hidden: Tensor  # [R, T, D] recurrent states
    state: Tensor  # [R, T, D] the same after dropout, for attention and output
    energies: Tensor  # [R, T, S] of attention
    context: Tensor  # [R, T, M] attended source
    embedded: Tensor  # [R, T, E] the tokens that were read
    extra: Tensor | None = None  # [R, T, E] additional features of the produced word


class CatSeq(Recurrent):
    paradigm = "one2seq"
    graphs: str | None = "recurrent"
    attention: AdditiveAttention
    output: PointerSoftmax | PointerGenerator

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        self.copies_state = config.bridge == "copy"
        self.embedding_size = config.embedding
        self.decoder = GRU(config.embedding, config.decoder)
        self.output = build_output(config, vocabulary.size)
        if self.copies_state:
            del self.bridge  # it would have parameters without gradient
        if self.copies_state or config.output != "pointer_softmax":
            self.graphs = None

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        if not self.copies_state:
            return super().start(memory)
        final = memory.final[memory.sharing.owner]
        tokens = torch.full((len(final),), self.special.bos, device=final.device)
        return tokens, State(hidden=torch.cat(final.chunk(2, dim=1)[::-1], dim=1))

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step[State]:
        embedded = self.embed(tokens.unsqueeze(1), memory)
        decoded, state = self.decode(embedded, state, memory)
        features, gate = self.output(*_features(decoded, (slice(None), 0)))
        energies = decoded.energies[:, 0]
        log_probs = self.distribution(self.output.vocabulary(features), gate, energies, memory)
        return Step(log_probs, state, attention=energies.softmax(dim=-1))

    def decode(
        self, embedded: Tensor, state: State, memory: Memory, counts: Tensor | None = None
    ) -> tuple[Decoded, State]:
        """Read T tokens [R, T, E] of every row.

        `counts` [B] can only be given if every document has one row: the number of its real tokens.
        """
        hidden = self.decoder.states(embedded, state.hidden)  # eq. 7
        dropped = self.dropout(hidden)
        queries = memory.sharing.join(dropped)
        energies = self.attention(queries, memory.keys, memory.mask, counts)  # eq. 9
        context = attend(energies, memory.states)  # eq. 10
        energies, context = (memory.sharing.part(x, embedded.shape[1]) for x in (energies, context))
        read = embedded[..., : self.embedding_size]
        return Decoded(hidden, dropped, energies, context, read), State(hidden=hidden[:, -1])

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        _, _, log_prob = self.teach(batch, smoothing)
        return likelihood_loss(log_prob)

    def score(self, batch: Batch) -> Tensor:
        _, mask = batch.targets
        _, _, log_prob = self.teach(batch)
        return at_targets(log_prob, mask)

    def teach(self, batch: Batch, smoothing: float = 0.0) -> tuple[Memory, Decoded, Tensor]:
        """Read the targets; the log-probabilities [N] are those of their real tokens."""
        target, mask = batch.targets
        memory = self.encode(batch)
        first, state = self.start(memory)
        tokens = torch.cat([first.unsqueeze(1), target[:, :-1]], dim=1)
        decoded, _ = self.decode(self.embed(tokens, memory), state, memory, mask.sum(dim=1))
        features, gate = self.output(*_features(decoded, mask))
        log_prob = target_log_prob(
            features,
            self.output.vocabulary,
            gate,
            decoded.energies[mask],
            memory.source[mask.nonzero()[:, 0]],
            target[mask],
            smoothing,
        )
        return memory, decoded, log_prob


build = CatSeq


def build_output(
    config: Config, vocabulary_size: int, extra: int = 0
) -> PointerSoftmax | PointerGenerator:
    """The output layer; `extra` is the size of additional features of the produced word."""
    memory = 2 * config.encoder
    if config.output == "pointer_softmax":
        return PointerSoftmax(config.decoder, memory, vocabulary_size, extra)
    sizes = GeneratorSizes(config.decoder, memory, config.embedding)
    return PointerGenerator(sizes, vocabulary_size, config.dropout, extra)


def _features(decoded: Decoded, index: Any) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The inputs of the output layer at some positions of [R, T]."""
    extra = None if decoded.extra is None else decoded.extra[index]
    return decoded.state[index], decoded.context[index], decoded.embedded[index], extra
