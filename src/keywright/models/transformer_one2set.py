"""Transformer One2Set: every slot writes one phrase, or none (Ye et al. 2021).

The decoder runs once per control code, all codes in parallel. Which gold phrase a slot has to
learn is decided anew in every update: the slots first write K tokens of their own, and the
bipartite matching of slots and phrases that fits these best is taken (section 3.3 of the paper).
Half of the slots are for present phrases, the others for absent ones; slots without a phrase
learn to say `<null>`, at a lower weight, as they are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.vocab import NULL, Lexicon
from keywright.models import transformer_one2seq
from keywright.nn.loss import Loss
from keywright.nn.matching import match
from keywright.nn.pointer_transformer import PointerTransformer, Source, WordEncoder
from keywright.nn.transformer import Cache

PARADIGM = "one2set"


@dataclass(frozen=True)
class SetLoss:
    """How slots learn, in every One2Set model."""

    slots: Count = 20
    assign_steps: Count = 2  # K
    null_present: NonNegative = 0.2  # weight of <null> in slots for present phrases
    null_absent: NonNegative = 0.1

    def __post_init__(self) -> None:
        if self.slots % 2:
            raise ValueError(f"slots: {self.slots} cannot be halved into present and absent ones")


@dataclass(frozen=True)
class Config(SetLoss, transformer_one2seq.Config):
    def __post_init__(self) -> None:
        SetLoss.__post_init__(self)
        transformer_one2seq.Config.__post_init__(self)


class One2Set(PointerTransformer):
    """The loss of slots; N of them, M phrases at most."""

    settings: SetLoss

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The negative log-likelihood of what the slots were assigned (eq. 5).

        A `<null>` counts as one token whatever its weight, as in the paper's release.
        """
        target, mask, present = canonical(batch)
        memory = self.encode(batch)
        chosen = self.assign(target, mask, present, memory)
        taken = (chosen >= 0).flatten().nonzero().squeeze(1)  # rows, of which document b has N
        empty = (chosen < 0).flatten().nonzero().squeeze(1)
        document, phrase = taken // self.settings.slots, chosen.flatten()[taken]
        target, mask = target[document, phrase], mask[document, phrase]
        phrases = -self._log_likelihood(taken, target, mask, memory, smoothing).sum()
        null = torch.full_like(empty, NULL)[:, None]
        weights = self._null_weights(empty)
        said = self._log_likelihood(empty, null, null == NULL, memory, smoothing)
        nulls = -(said * weights).sum()
        return Loss(
            phrases + nulls,
            mask.sum() + len(empty),
            {"phrases": phrases.detach(), "nulls": nulls.detach()},
        )

    @torch.no_grad()
    def assign(self, target: Tensor, mask: Tensor, present: Tensor, memory: Source) -> Tensor:
        """Which phrase each slot has to learn, -1 for none: [B, N]."""
        scores = self._scores(target, mask, memory)
        half = self.settings.slots // 2
        real = mask.any(-1)
        found = match(scores[:, :half], real & present)
        return torch.cat([found, match(scores[:, half:], real & ~present)], dim=1)

    def _scores(self, target: Tensor, mask: Tensor, memory: Source) -> Tensor:
        """How well slots and phrases fit, [B, N, M].

        Summed are the probabilities of a phrase's first K tokens, each after what the slot itself
        has written so far (eq. 4). The encoding is that of the training pass, dropout included: it
        need not be computed twice.
        """
        slots = self.settings.slots
        scores = torch.zeros(len(target), slots, target.shape[1], device=target.device)
        with evaluating(self):
            tokens, state = self.start(memory)
            for t in range(min(self.settings.assign_steps, target.shape[2])):
                step = self.step(tokens, state, memory)
                tokens, state = step.log_probs.argmax(-1), cast(Cache, step.state)
                wanted = target[:, :, t].repeat_interleave(slots, dim=0)
                found = step.log_probs.gather(1, wanted).exp().view_as(scores)
                scores += found * mask[:, None, :, t]
        return scores

    def _log_likelihood(
        self, rows: Tensor, target: Tensor, mask: Tensor, memory: Source, smoothing: float
    ) -> Tensor:
        """Of the targets [R', T] of these rows [R']; no rows have no tokens."""
        if not len(rows):
            return torch.zeros(0, device=target.device)
        return self.log_likelihood(target, mask, memory.select(rows), smoothing)

    def _null_weights(self, rows: Tensor) -> Tensor:
        half = self.settings.slots // 2
        weights = [self.settings.null_present] * half + [self.settings.null_absent] * half
        return torch.tensor(weights, device=rows.device)[rows % self.settings.slots]


class TransformerOne2Set(One2Set):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(
            WordEncoder(config.shape(config.encoder_layers), vocabulary.input_size),
            config.shape(config.decoder_layers),
            vocabulary,
            codes=config.slots,
        )
        self.settings = config


def build(config: Config, vocabulary: Lexicon) -> TransformerOne2Set:
    return TransformerOne2Set(config, vocabulary)


def canonical(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Targets [B, M, T], their mask and presence [B, M], the phrases of a document sorted.

    Phrases that begin alike fit a slot equally well; sorted, which one it gets does not depend on
    the order in which gold lists them.
    """
    target, mask = batch.targets
    assert batch.target_present is not None  # as every batch with targets has it
    orders = [sorted(range(len(rows)), key=rows.__getitem__) for rows in target.tolist()]
    order = torch.tensor(orders, dtype=torch.long, device=target.device)
    whole = order[:, :, None].expand_as(target)
    return target.gather(1, whole), mask.gather(1, whole), batch.target_present.gather(1, order)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout for a while."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)
