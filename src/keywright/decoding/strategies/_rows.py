"""Rows that grow independently, token by token: shared by greedy decoding and sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Self

import torch
from torch import Tensor

from keywright.data.batch import Batch
from keywright.decoding.phrases import Found, Hypothesis
from keywright.decoding.rules import DecodingRules
from keywright.decoding.torch_rules import allowed, ended
from keywright.nn.generator import Generator, Memory, State, Step

Choose = Callable[[Tensor, Tensor], Tensor]
"""(log-probabilities [R, V + X] of the allowed tokens, numbers of the rows [R]) -> tokens [R]"""


@dataclass(frozen=True)
class History:
    """The t tokens that each row has generated so far."""

    tokens: Tensor  # [R, t] long
    log_probs: Tensor  # [R, t]
    attended: Tensor | None  # [R, t] long

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> Self:
        nothing = torch.empty(rows, 0, dtype=torch.long, device=device)
        return cls(nothing, nothing.float(), nothing)

    def select(self, index: Tensor) -> Self:
        return type(self)(
            self.tokens[index],
            self.log_probs[index],
            None if self.attended is None else self.attended[index],
        )

    def append(self, tokens: Tensor, log_probs: Tensor, attended: Tensor | None) -> Self:
        both = None
        if self.attended is not None and attended is not None:
            both = torch.cat([self.attended, attended[:, None]], 1)
        return type(self)(
            torch.cat([self.tokens, tokens[:, None]], 1),
            torch.cat([self.log_probs, log_probs[:, None]], 1),
            both,
        )

    def hypothesis(self, row: int, length: int, score: float) -> Hypothesis:
        return Hypothesis(
            self.tokens[row, :length].tolist(),
            self.log_probs[row, :length].tolist(),
            None if self.attended is None else self.attended[row, :length].tolist(),
            score,
        )


def most_attended(step: Step) -> Tensor | None:
    return None if step.attention is None else step.attention.argmax(1)


def grow(model: Generator, batch: Batch, rules: DecodingRules, choose: Choose) -> Found:
    """One hypothesis for every row. Rows that have ended are removed, so that the batch shrinks."""
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    rows = torch.arange(len(tokens), device=tokens.device)
    history = History.empty(len(tokens), tokens.device)
    found: Found = [[] for _ in rows]
    for t in range(1, rules.max_length + 1):
        step = model.step(tokens, state, memory)
        log_probs = allowed(rules, step.log_probs, history.tokens)
        tokens = choose(log_probs, rows)
        chosen = log_probs.gather(1, tokens[:, None]).squeeze(1)
        history = history.append(tokens, chosen, most_attended(step))
        over = ended(rules, tokens) if t < rules.max_length else torch.ones_like(rows).bool()
        state = step.state
        if not over.any():
            continue
        for row in over.nonzero().squeeze(1).tolist():
            score = history.log_probs[row].mean().item()
            found[int(rows[row])].append(history.hypothesis(row, t, score))
        alive = (~over).nonzero().squeeze(1)
        if not len(alive):
            break
        memory, state = memory.select(alive), state.select(alive)
        rows, tokens, history = rows[alive], tokens[alive], history.select(alive)
    return found


class Repeated(Generic[Memory, State]):
    """A generator with several rows for each of its own, which share the encoding."""

    def __init__(self, model: Generator[Memory, State], times: int):
        self._model = model
        self._times = times
        self.rows_per_document = model.rows_per_document * times

    def encode(self, batch: Batch) -> Memory:
        memory = self._model.encode(batch)
        rows = torch.arange(len(batch) * self._model.rows_per_document, device=batch.source.device)
        return memory.select(rows.repeat_interleave(self._times))

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        return self._model.start(memory)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step[State]:
        return self._model.step(tokens, state, memory)
