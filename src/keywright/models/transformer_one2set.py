"""Transformer One2Set: every slot writes one phrase, or none (Ye et al. 2021).

The decoder runs once per control code, with all codes in parallel. The gold phrase that a slot
learns is chosen in every update: the slots first generate K tokens, and the bipartite matching of
slots and phrases that fits these best decides (section 3.3 of the paper). Half of the slots are for
present phrases, the others for absent ones. Slots without a phrase learn to generate `<null>`, with
a lower weight, because there are many of them.

`reweight` and `reassign` are those of WR-One2Set (Xie et al. 2022), against models that generate
too few phrases: `<null>` counts less in documents whose phrases it makes unlikely, and slots that
would generate a gold phrase, if it were not for `<null>`, do not learn `<null>`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.errors import ConfigError
from keywright.lexicon import Lexicon
from keywright.models import transformer_one2seq
from keywright.nn.loss import Loss, at_targets
from keywright.nn.matching import match
from keywright.nn.model import evaluating
from keywright.nn.pointer_transformer import PointerTransformer, Source, WordEncoder


@dataclass(frozen=True)
class SetLoss:
    """The slots of every One2Set model, and how they learn."""

    slots: Count = 20
    assign_steps: Count = 2  # K
    null_present: NonNegative = 0.2  # weight of <null> in slots for present phrases
    null_absent: NonNegative = 0.1
    reweight: bool = False
    reassign: bool = False

    def __post_init__(self) -> None:
        if self.slots % 2:
            raise ValueError(
                f"slots: {self.slots} is odd; half of the slots are for present phrases, "
                "half for absent ones"
            )


@dataclass(frozen=True)
class Config(SetLoss, transformer_one2seq.Config):
    def __post_init__(self) -> None:
        SetLoss.__post_init__(self)
        transformer_one2seq.Config.__post_init__(self)


class One2Set(PointerTransformer):
    """The loss and the score of N slots, for up to M phrases."""

    paradigm = "one2set"
    settings: SetLoss

    @property
    def null(self) -> int:
        if self.special.null is None:
            raise ConfigError(
                "data.vocabulary: a set model needs a token for slots without a phrase; name one "
                "in `null`"
            )
        return self.special.null

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The negative log-likelihood of the phrases assigned to the slots (eq. 5).

        In the divisor, a `<null>` counts as one token whatever its weight, as in the release. The
        changes of WR-One2Set are part of training, not of the validation loss.
        """
        target, mask, present = canonical(batch)
        memory = self.encode(batch)
        chosen = self.assign(target, mask, present, memory)
        if self.training and self.settings.reassign:
            chosen = self._reassign(chosen, target, mask, present, memory)
        taken, empty = _rows(chosen >= 0), _rows(chosen == NOTHING)
        document, phrase = taken // self.settings.slots, chosen.flatten()[taken]
        target, mask = target[document, phrase], mask[document, phrase]
        phrases = -self._log_likelihood(taken, target, mask, memory, smoothing).sum()
        null = torch.full_like(empty, self.null)[:, None]
        weights = self._null_weights(empty)
        if self.training and self.settings.reweight:
            factors = self._null_factors(taken, target[:, 0], memory, len(chosen))
            weights = weights * factors[empty // self.settings.slots]
        log_prob = self._log_likelihood(empty, null, null == self.null, memory, smoothing)
        nulls = -(log_prob * weights).sum()
        return Loss(
            phrases + nulls,
            mask.sum() + (chosen < 0).sum(),
            {"phrases": phrases.detach(), "nulls": nulls.detach()},
        )

    def score(self, batch: Batch) -> Tensor:
        target, mask = (x.flatten(0, 1) for x in batch.targets)
        if len(target) != len(batch) * self.settings.slots:
            raise ValueError(
                f"the targets have {len(target) // len(batch)} sequences for each document; "
                f"a score needs one for each of the {self.settings.slots} slots"
            )
        return at_targets(self.log_likelihood(target, mask, self.encode(batch)), mask)

    @torch.no_grad()
    def assign(self, target: Tensor, mask: Tensor, present: Tensor, memory: Source) -> Tensor:
        """The phrase that each slot learns, or `NOTHING`: [B, N]."""
        scores = self._scores(target, mask, memory)
        half = self.settings.slots // 2
        real = mask.any(-1)
        found = match(scores[:, :half], real & present)
        return torch.cat([found, match(scores[:, half:], real & ~present)], dim=1)

    def _scores(self, target: Tensor, mask: Tensor, memory: Source) -> Tensor:
        """How well slots and phrases fit, [B, N, M].

        A score is the sum of the probabilities of the first K tokens of a phrase, each after the
        tokens that the slot itself has generated so far (eq. 4). The encoding is that of the
        training pass, with its dropout, so that it is computed only once.
        """
        slots = self.settings.slots
        scores = torch.zeros(len(target), slots, target.shape[1], device=target.device)
        with evaluating(self):
            tokens, state = self.start(memory)
            for t in range(min(self.settings.assign_steps, target.shape[2])):
                step = self.step(tokens, state, memory)
                tokens, state = step.log_probs.argmax(-1), step.state
                gold = target[:, :, t].repeat_interleave(slots, dim=0)
                probabilities = step.log_probs.gather(1, gold).exp().view_as(scores)
                scores += probabilities * mask[:, None, :, t]
        return scores

    @torch.no_grad()
    def _reassign(
        self, chosen: Tensor, target: Tensor, mask: Tensor, present: Tensor, memory: Source
    ) -> Tensor:
        """The assignment [B, N] after slots without a phrase were compared with the gold."""
        steps = min(self.settings.assign_steps, target.shape[2])
        written = self._without_null(memory, steps).view(*chosen.shape, steps)
        same = written[:, :, None] == target[:, None, :, :steps]  # [B, N, M, K]
        real = mask.any(-1)
        found = (same | ~mask[:, None, :, :steps]).all(-1) & real[:, None]
        first = torch.arange(self.settings.slots, device=mask.device) < self.settings.slots // 2
        return reassigned(chosen, found, present[:, None] == first[:, None])

    def _without_null(self, memory: Source, steps: int) -> Tensor:
        """The likeliest tokens [R, steps] that slots generate if they may not generate `<null>`."""
        with evaluating(self):
            tokens, state = self.start(memory)
            columns = []
            for _ in range(steps):
                step = self.step(tokens, state, memory)
                null = torch.tensor([self.null], device=tokens.device)
                tokens = step.log_probs.index_fill(1, null, -torch.inf).argmax(-1)
                state = step.state
                columns.append(tokens)
        return torch.stack(columns, dim=1)

    @torch.no_grad()
    def _null_factors(self, rows: Tensor, first: Tensor, memory: Source, documents: int) -> Tensor:
        """By how much the weight of `<null>` is reduced in each document [B].

        `first` [R'] are the first tokens of the phrases that the slots `rows` [R'] learn.
        """
        if not len(rows):
            return torch.ones(documents, device=rows.device)
        memory = memory.select(rows)
        with evaluating(self):
            log_probs = self.step(*self.start(memory), memory).log_probs
        ratios = log_probs.gather(1, first[:, None]).squeeze(1) - log_probs[:, self.null]
        return null_factors(ratios, rows // self.settings.slots, documents)

    def _log_likelihood(
        self, rows: Tensor, target: Tensor, mask: Tensor, memory: Source, smoothing: float
    ) -> Tensor:
        """The log-probabilities [K] of the real target tokens [R', T] of some rows [R']."""
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
            WordEncoder(config.shape(config.encoder_layers), vocabulary),
            config.shape(config.decoder_layers),
            vocabulary,
            codes=config.slots,
            own_pointer=config.own_pointer,
        )
        self.settings = config


build = TransformerOne2Set

NOTHING = -1  # what `match` gives a slot without a phrase: it learns `<null>`
IGNORED = -2  # a slot that learns nothing


def reassigned(chosen: Tensor, found: Tensor, fitting: Tensor) -> Tensor:
    """The assignment [B, N] of WR-One2Set from that of the matching, `chosen` [B, N].

    `found` [B, N, M] says which gold phrases a slot generates when it may not generate `<null>`,
    `fitting` [B, N, M] which phrases are of the slot's kind, present or absent. A slot without a
    phrase that generates exactly one fitting phrase learns it, too, unless the slot to which it is
    assigned already generates a gold phrase. Other slots without a phrase that generate gold
    phrases learn nothing.
    """
    finds = found.any(dim=2)
    phrases = torch.arange(found.shape[2], device=chosen.device)
    covered = ((chosen[:, :, None] == phrases) & finds[:, :, None]).any(dim=1)  # [B, M]
    own = found & fitting
    phrase = own.int().argmax(dim=2)
    empty = chosen == NOTHING
    moved = empty & (own.sum(dim=2) == 1) & ~covered.gather(1, phrase)
    return phrase.where(moved, chosen.masked_fill(empty & finds, IGNORED))


def null_factors(ratios: Tensor, owners: Tensor, documents: int) -> Tensor:
    """The mean of min(1, p(first token of the phrase) / p(`<null>`)) over the slots of documents.

    `ratios` [R] are logarithms of that quotient for slots with a phrase, `owners` [R] their
    documents. A document without such slots has the factor 1: [B].
    """
    sums = ratios.new_zeros(documents).index_add(0, owners, ratios.clamp(max=0.0).exp())
    counts = torch.bincount(owners, minlength=documents)
    return torch.where(counts > 0, sums / counts.clamp(min=1), 1.0)


def _rows(slots: Tensor) -> Tensor:
    """The numbers of the rows that are True in `slots` [B, N]; each document has N rows."""
    return slots.flatten().nonzero().squeeze(1)


def canonical(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Targets [B, M, T], their mask, and presence [B, M], with sorted phrases in every document.

    Phrases that start with the same tokens fit a slot equally well; because they are sorted, the
    choice does not depend on their order in the gold.
    """
    target, mask = batch.targets
    assert batch.target_present is not None  # every batch with targets has it
    orders = [sorted(range(len(rows)), key=rows.__getitem__) for rows in target.tolist()]
    order = torch.tensor(orders, dtype=torch.long, device=target.device)
    whole = order[:, :, None].expand_as(target)
    return target.gather(1, whole), mask.gather(1, whole), batch.target_present.gather(1, order)
