"""Does an exported model say what its torch original says?

Both read the same documents and, step by step, the same tokens: those that torch says. At every
step their log-probabilities are compared, and what each of them would say next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch

from keywright.data.batch import Batch, make_batch
from keywright.data.vocab import SPECIALS, Lexicon
from keywright.runtime.engine import Rows
from keywright.runtime.greedy import Greedy
from keywright.runtime.rules import LogProbs
from keywright.runtime.sources import Sources, make_sources
from keywright.types import Document

BATCHES = (1, 3, 8)  # documents of each batch that is made up
LENGTHS = (1, 12, 60, 150, 400)  # words of made-up documents
# Less likely than this, the last bits of a logarithm mean nothing.
LEAST_LOG_PROB = -50.0


class Parity(msgspec.Struct, frozen=True):
    """How near two models are to each other."""

    documents: int
    steps: int  # of all rows
    largest: float  # difference of log-probabilities
    mean: float  # difference of the log-probability of what torch says
    same: int  # steps at which both say the same
    tied: int  # steps at which they do not, but torch's own two are as near as `largest` is far

    @property
    def agreement(self) -> float:
        return self.same / self.steps


@dataclass
class _Totals:
    documents: int = 0
    steps: int = 0
    largest: float = 0.0
    summed: float = 0.0
    same: int = 0
    gaps: tuple[float, ...] = ()  # what torch's choice is more likely than the other's, where not


def compare(model: Any, exported: Greedy, batches: Sequence[Sequence[Document]]) -> Parity:
    """`model` is the torch original, in evaluation mode and on the CPU."""
    totals = _Totals()
    for documents in batches:
        sources = make_sources(documents, exported.vocabulary, exported.settings.max_source)
        batch = make_batch(documents, exported.vocabulary, exported.settings.max_source)
        totals.documents += len(documents)
        for theirs, ours in _steps(model, exported, batch, sources):
            _add(totals, theirs, ours)
    return Parity(
        totals.documents,
        totals.steps,
        totals.largest,
        totals.summed / totals.steps,
        totals.same,
        sum(gap <= totals.largest for gap in totals.gaps),
    )


@torch.inference_mode()
def _steps(
    model: Any, exported: Greedy, batch: Batch, sources: Sources
) -> Iterator[tuple[LogProbs, LogProbs]]:
    """What torch and the exported model hold likely, under the rules, until all rows have ended."""
    rules = exported.rules
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    rows = Rows(exported.engine, exported.engine.read(sources))
    history = np.empty((len(tokens), 0), dtype=np.int64)
    for _ in range(rules.max_length):
        step = model.step(tokens, state, memory)
        theirs = step.log_probs.numpy().copy()
        ours, _attended = rows.step(tokens.numpy())
        rules.forbid(theirs, history)
        rules.forbid(ours, history)
        yield theirs, ours
        said = theirs.argmax(axis=1)
        history = np.column_stack([history, said])
        tokens, state = torch.from_numpy(said), step.state
        alive = (~rules.ended(said)).nonzero()[0]
        if not len(alive):
            return
        if len(alive) < len(said):
            index = torch.from_numpy(alive)
            memory, state, tokens = memory.select(index), state.select(index), tokens[index]
            rows.keep(alive)
            history = history[alive]


def _add(totals: _Totals, theirs: LogProbs, ours: LogProbs) -> None:
    numbers = np.arange(len(theirs))
    said, says = theirs.argmax(axis=1), ours.argmax(axis=1)
    likely = theirs > LEAST_LOG_PROB
    with np.errstate(invalid="ignore"):
        apart = np.where(likely, np.abs(theirs - ours), 0)
    totals.largest = max(totals.largest, float(np.nan_to_num(apart, nan=np.inf).max()))
    totals.summed += float(np.abs(theirs[numbers, said] - ours[numbers, said]).sum())
    totals.steps += len(theirs)
    totals.same += int((said == says).sum())
    gaps = (theirs[numbers, said] - theirs[numbers, says])[said != says]
    totals.gaps += tuple(gaps.tolist())


def made_up(vocabulary: Lexicon) -> list[list[Document]]:
    """Batches of documents of many lengths, words of the vocabulary and others mixed at random."""
    rng = np.random.default_rng(1)
    known = vocabulary.decode(range(len(SPECIALS), vocabulary.size), ())
    lengths = iter(int(n) for n in np.resize(LENGTHS, sum(BATCHES)))
    return [[_document(rng, known, next(lengths)) for _ in range(size)] for size in BATCHES]


def _document(rng: np.random.Generator, known: Sequence[str], length: int) -> Document:
    unknown = ["".join(rng.choice(list("aeiklmnorstz"), 7)) for _ in range(1 + length // 10)]
    words = [_one(rng, unknown if rng.random() < 0.2 else known) for _ in range(length)]
    return Document(title=" ".join(words[:8]), body=" ".join(words[8:]), tokenised=True)


def _one(rng: np.random.Generator, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]
