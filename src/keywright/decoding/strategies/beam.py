"""Beam search: the best sequence that is found when the `width` best prefixes are kept.

A sequence that has ended keeps its place among the `width` until better ones replace it; the search
is over when no sequence that continues can still become the best. Scores are

    log p(sequence) / length ** length_normalisation

where the length includes the end token, so that 0 ranks by probability, which favours short
sequences, and 1 by the mean log-probability of the tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.decoding.options import Options
from keywright.decoding.phrases import Found, Hypothesis
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies._rows import History, most_attended
from keywright.decoding.torch_rules import allowed, ended
from keywright.nn.generator import Generator, Rows

# Ended beams leave lanes idle; removing them means copying the memory of all others.
MIN_BUSY = 0.75


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    width: Count = 5
    length_normalisation: NonNegative = 1.0

    def beams(self, paradigm: Paradigm) -> int:
        return self.width


def search(config: Config, model: Generator, batch: Batch, rules: DecodingRules) -> Found:
    found = search_beams(model, batch, rules, config.width, config.length_normalisation, best=True)
    return [hypotheses[:1] for hypotheses in found]


def search_beams(
    model: Generator, batch: Batch, rules: DecodingRules, width: int, alpha: float, *, best: bool
) -> Found:
    """The `width` hypotheses of every row, best first; `best`: stop when the first is certain."""
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    found: Found = [[] for _ in tokens]
    beams = Beams.start(len(tokens), width, tokens.device)
    lanes = Lanes(model, memory, state, tokens, width)
    for t in range(1, rules.max_length + 1):
        beams, parents = beams.advance(lanes, rules, alpha)
        over = beams.over(alpha, rules.max_length, best) | (t == rules.max_length)
        for place in over.nonzero().squeeze(1).tolist():
            found[int(beams.roots[place])] = beams.hypotheses(place, alpha)
        rest = (~over).nonzero().squeeze(1)
        if not len(rest):
            break
        beams = beams.select(rest)
        lanes.follow(beams, parents[rest], rest)
    return found


@dataclass(frozen=True)
class Beams:
    """K sequences for each of A active searches, best first; an empty place scores -inf."""

    roots: Tensor  # [A] long, the row of the model that a search belongs to
    scores: Tensor  # [A, K] log-probability of the whole sequence
    lengths: Tensor  # [A, K] long
    ended: Tensor  # [A, K] bool
    history: History  # of A * K rows; padding after the end

    @classmethod
    def start(cls, roots: int, width: int, device: torch.device) -> Self:
        scores = torch.full((roots, width), -math.inf, device=device)
        scores[:, 0] = 0
        lengths = torch.zeros(roots, width, dtype=torch.long, device=device)
        history = History.empty(roots * width, device)
        return cls(torch.arange(roots, device=device), scores, lengths, lengths.bool(), history)

    @property
    def live(self) -> Tensor:
        """[A, K] the sequences that can continue."""
        return ~self.ended & (self.scores > -math.inf)

    def normalised(self, alpha: float) -> Tensor:
        return self.scores / self.lengths.clamp(min=1).pow(alpha)

    def advance(self, lanes: Lanes, rules: DecodingRules, alpha: float) -> tuple[Self, Tensor]:
        """The best beams after one more token, and the beam [A, K] that each of them continues."""
        searches, width = self.scores.shape
        live = self.live
        candidates, log_probs, attended = lanes.step(self, rules, width)
        # A beam that has ended stays as it is, as its own first candidate.
        log_probs[..., 0].masked_fill_(self.ended, 0.0)
        lengths = self.lengths + live
        scores = self.scores[..., None] + log_probs
        ranked = (scores / lengths.clamp(min=1).pow(alpha)[..., None]).flatten(1)
        # Stable: among equals the continuation of the better beam comes first, then the smaller id.
        order = ranked.sort(dim=1, descending=True, stable=True).indices[:, :width]
        parents = order // log_probs.shape[2]
        tokens = candidates.flatten(1).gather(1, order)
        rows = (torch.arange(searches, device=order.device)[:, None] * width + parents).flatten()
        history = self.history.select(rows).append(
            tokens.flatten(),
            log_probs.flatten(1).gather(1, order).flatten(),
            None if attended is None else attended.flatten()[rows],
        )
        after = replace(
            self,
            scores=scores.flatten(1).gather(1, order),
            lengths=lengths.gather(1, parents),
            ended=self.ended.gather(1, parents) | ended(rules, tokens),
            history=history,
        )
        return after, parents

    def over(self, alpha: float, max_length: int, best: bool) -> Tensor:
        """[A] whether a search can stop: no live beam is left, or none can become the best."""
        live = self.live
        none_left = ~live.any(1)
        if not best:
            return none_left
        # Log-probabilities never rise; at best they stay, while the divisor (the length) grows.
        reach = (self.scores / math.pow(max_length, alpha)).masked_fill(~live, -math.inf)
        ended = self.normalised(alpha).masked_fill(~self.ended, -math.inf)
        return none_left | (ended.amax(1) > reach.amax(1))

    def hypotheses(self, place: int, alpha: float) -> list[Hypothesis]:
        width = self.scores.shape[1]
        ranked = self.normalised(alpha)[place].tolist()
        lengths = self.lengths[place].tolist()
        return [
            self.history.hypothesis(place * width + beam, lengths[beam], score)
            for beam, score in enumerate(ranked)
            if score > -math.inf
        ]

    def select(self, index: Tensor) -> Self:
        width = self.scores.shape[1]
        rows = (index[:, None] * width + torch.arange(width, device=index.device)).flatten()
        return replace(
            self,
            roots=self.roots[index],
            scores=self.scores[index],
            lengths=self.lengths[index],
            ended=self.ended[index],
            history=self.history.select(rows),
        )


class Lanes:
    """The model's rows during a beam search: W lanes for each search, one for each live beam.

    All lanes of a search read the same memory, so it is copied only when their number changes.
    A lane without a live beam repeats the first one, and its results are ignored.
    """

    def __init__(self, model: Generator, memory: Rows, state: Rows, tokens: Tensor, width: int):
        self._model = model
        self._memory = memory
        self._state = state
        self._tokens = tokens
        self._width = 1
        first = torch.arange(len(tokens), device=tokens.device)
        self._rows = first[:, None].repeat(1, width)  # [A, K] the row of every live beam

    def step(
        self, beams: Beams, rules: DecodingRules, candidates: int
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The best continuations of every beam, tokens and log-probabilities [A, K, C].

        A beam that is not live has none: padding, -inf. Also the source position [A, K] that each
        beam attended to most.
        """
        live = beams.live
        rows = self._rows[live]
        step = self._model.step(self._tokens, self._state, self._memory)
        self._state = step.state
        history = beams.history.tokens[live.flatten()]
        values, ids = first_best(allowed(rules, step.log_probs[rows], history), candidates)
        shape = (*live.shape, ids.shape[1])
        tokens = ids.new_full(shape, rules.special.pad)
        log_probs = values.new_full(shape, -math.inf)
        tokens[live], log_probs[live] = ids, values
        attended = most_attended(step)
        return tokens, log_probs, None if attended is None else attended[self._rows]

    def follow(self, beams: Beams, parents: Tensor, searches: Tensor) -> None:
        """Give every live beam the state of its parent; `searches` are the ones that continue."""
        live = beams.live
        busy = int(live.sum(1).max())
        same = len(searches) == len(self._rows) and MIN_BUSY * self._width <= busy <= self._width
        if not same:
            self._width = busy
        lanes = (
            (~live).byte().argsort(dim=1, stable=True)[:, : self._width]
        )  # [A, W] live beams first
        rows = self._rows[searches].gather(1, parents).gather(1, lanes)
        rows = rows.where(live.gather(1, lanes), rows[:, :1]).flatten()
        self._state = self._state.select(rows)
        if not same:
            self._memory = self._memory.select(rows)
        self._tokens = beams.history.tokens[:, -1].view_as(live).gather(1, lanes).flatten()
        numbers = torch.arange(lanes.numel(), device=lanes.device).view_as(lanes)
        self._rows = torch.zeros_like(parents).scatter(1, lanes, numbers)


def first_best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest values of every row and their positions; of equal ones the first.

    `topk` does not define which of equal values it returns, nor in which order.
    """
    count = min(count, scores.shape[1])
    values, index = scores.topk(min(count + 1, scores.shape[1]), dim=1)
    last = values[:, count - 1]
    tied = (values[:, -1] == last) & (last > -math.inf) & (values.shape[1] > count)
    index, by_place = index[:, :count].sort(1)
    by_value = values[:, :count].gather(1, by_place).sort(dim=1, descending=True, stable=True)
    values, index = by_value.values, index.gather(1, by_value.indices)
    if tied.any():
        exact = scores[tied].sort(dim=1, descending=True, stable=True)
        values[tied], index[tied] = exact.values[:, :count], exact.indices[:, :count]
    return values, index
