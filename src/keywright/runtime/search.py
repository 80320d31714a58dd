"""Rows of an exported model that grow token by token, as `decoding.strategies` do with torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from keywright.data.padding import Ids
from keywright.decoding.numpy_rules import LogProbs, forbid
from keywright.decoding.phrases import Found, Hypothesis
from keywright.decoding.rules import DecodingRules


@dataclass(frozen=True)
class History:
    """The t tokens that each of R rows has generated so far."""

    tokens: Ids  # [R, t]
    log_probs: LogProbs  # [R, t]
    attended: Ids  # [R, t]

    @classmethod
    def empty(cls, rows: int) -> Self:
        nothing = np.empty((rows, 0), dtype=np.int64)
        return cls(nothing, nothing.astype(np.float32), nothing)

    def append(self, tokens: Ids, log_probs: LogProbs, attended: Ids) -> Self:
        return type(self)(
            np.column_stack([self.tokens, tokens]),
            np.column_stack([self.log_probs, log_probs]),
            np.column_stack([self.attended, attended]),
        )

    def select(self, index: Ids) -> Self:
        return type(self)(self.tokens[index], self.log_probs[index], self.attended[index])

    def hypothesis(self, row: int) -> Hypothesis:
        log_probs = self.log_probs[row].tolist()
        score = float(np.mean(log_probs))
        return Hypothesis(self.tokens[row].tolist(), log_probs, self.attended[row].tolist(), score)


class Growing(Protocol):
    """Rows that a model continues: see `engine.GrowingRows`."""

    def start(self) -> Ids: ...

    def step(self, tokens: Ids) -> tuple[LogProbs, Ids]: ...

    def keep(self, index: Ids) -> None: ...


Choose = Callable[[LogProbs, Ids], Ids]
"""(log-probabilities [R, V + X] of the allowed tokens, numbers of the rows [R]) -> tokens [R]"""


def most_likely(log_probs: LogProbs, rows: Ids) -> Ids:
    found: Ids = log_probs.argmax(axis=1)  # the first of equal ones
    return found


def drawing(draws: NDArray[np.float64], temperature: float) -> Choose:
    """Tokens are drawn, by the random numbers `draws` [R, T] in [0, 1)."""
    steps = iter(draws.T)

    def choose(log_probs: LogProbs, rows: Ids) -> Ids:
        logits = log_probs.astype(np.float64) / temperature  # as precise as with torch
        cumulative = np.exp(logits - logits.max(axis=1, keepdims=True)).cumsum(axis=1)
        # The number must be less than the total, or no token would exceed it.
        total = cumulative[:, -1]
        threshold = np.minimum(next(steps)[rows] * total, np.nextafter(total, 0))
        found: Ids = (cumulative > threshold[:, None]).argmax(axis=1)
        return found

    return choose


def grow(growing: Growing, rules: DecodingRules, choose: Choose) -> Found:
    """One hypothesis for every row. Rows that have ended are removed, so that the batch shrinks."""
    tokens = growing.start()
    rows = np.arange(len(tokens))
    found: Found = [[] for _ in rows]
    history = History.empty(len(rows))
    for t in range(1, rules.max_length + 1):
        log_probs, attended = growing.step(tokens)
        forbid(rules, log_probs, history.tokens)
        tokens = choose(log_probs, rows)
        chosen = log_probs[np.arange(len(tokens)), tokens]
        history = history.append(tokens, chosen, attended)
        ended = rules.ended(tokens) if t < rules.max_length else np.ones_like(rows, dtype=bool)
        if not ended.any():
            continue
        for row in ended.nonzero()[0].tolist():
            found[int(rows[row])].append(history.hypothesis(row))
        alive = (~ended).nonzero()[0]
        if not len(alive):
            break
        growing.keep(alive)
        rows, tokens, history = rows[alive], tokens[alive], history.select(alive)
    return found
