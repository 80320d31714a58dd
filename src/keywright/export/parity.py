"""Does an exported model predict what its torch original predicts?

Both read the same documents and, step by step, the same tokens: those that torch considers most
likely. At every step their log-probabilities and their most likely tokens are compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import torch

from keywright.data.batch import Batch, make_batch
from keywright.decoding.numpy_rules import LogProbs, forbid
from keywright.lexicon import Lexicon
from keywright.nn.model import Model
from keywright.runtime.decoder import ExportedDecoder
from keywright.runtime.engine import GrowingRows
from keywright.runtime.sources import Sources, make_sources
from keywright.types import Document

BATCHES = (1, 3, 8)  # documents of each random batch
LENGTHS = (1, 12, 60, 150, 400)  # words of random documents
# Below this, the last bits of a log-probability have no meaning.
MIN_LOG_PROB = -50.0


class Parity(msgspec.Struct, frozen=True):
    """How close two models are to each other."""

    documents: int
    steps: int  # of all rows
    largest: float  # difference of log-probabilities
    mean: float  # difference of the log-probability of torch's most likely token
    same: int  # steps with the same most likely token
    tied: int  # other steps, in which torch's log-probabilities of both tokens differ by `largest`
    # at most

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
    gaps: tuple[float, ...] = ()  # of torch's log-probabilities of different most likely tokens


def compare(
    model: Model, exported: ExportedDecoder, batches: Sequence[Sequence[Document]]
) -> Parity:
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
    model: Model, exported: ExportedDecoder, batch: Batch, sources: Sources
) -> Iterator[tuple[LogProbs, LogProbs]]:
    """The log-probabilities of both models, under the rules, until all rows have ended."""
    rules = exported.rules
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    rows = GrowingRows(exported.engine, exported.engine.read(sources))
    history = np.empty((len(tokens), 0), dtype=np.int64)
    for _ in range(rules.max_length):
        step = model.step(tokens, state, memory)
        theirs = step.log_probs.numpy().copy()
        ours, _attended = rows.step(tokens.numpy())
        forbid(rules, theirs, history)
        forbid(rules, ours, history)
        yield theirs, ours
        chosen = theirs.argmax(axis=1)
        history = np.column_stack([history, chosen])
        tokens, state = torch.from_numpy(chosen), step.state
        alive = (~rules.ended(chosen)).nonzero()[0]
        if not len(alive):
            return
        if len(alive) < len(chosen):
            index = torch.from_numpy(alive)
            memory, state, tokens = memory.select(index), state.select(index), tokens[index]
            rows.keep(alive)
            history = history[alive]


def _add(totals: _Totals, theirs: LogProbs, ours: LogProbs) -> None:
    numbers = np.arange(len(theirs))
    best, best_of_ours = theirs.argmax(axis=1), ours.argmax(axis=1)
    likely = theirs > MIN_LOG_PROB
    with np.errstate(invalid="ignore"):
        difference = np.where(likely, np.abs(theirs - ours), 0)
    totals.largest = max(totals.largest, float(np.nan_to_num(difference, nan=np.inf).max()))
    totals.summed += float(np.abs(theirs[numbers, best] - ours[numbers, best]).sum())
    totals.steps += len(theirs)
    totals.same += int((best == best_of_ours).sum())
    gaps = theirs[numbers, best] - theirs[numbers, best_of_ours]
    totals.gaps += tuple(gaps[best != best_of_ours].tolist())


def random_documents(vocabulary: Lexicon) -> list[list[Document]]:
    """Batches of documents of different lengths, random words of the vocabulary and others."""
    rng = np.random.default_rng(1)
    special = {*dataclasses.astuple(vocabulary.special)}
    ids = [i for i in range(vocabulary.size) if i not in special]
    known = vocabulary.decode(ids, ())
    lengths = iter(int(n) for n in np.resize(LENGTHS, sum(BATCHES)))
    return [[_document(rng, known, next(lengths)) for _ in range(size)] for size in BATCHES]


def _document(rng: np.random.Generator, known: Sequence[str], length: int) -> Document:
    unknown = ["".join(rng.choice(list("aeiklmnorstz"), 7)) for _ in range(1 + length // 10)]
    words = [_random_word(rng, unknown if rng.random() < 0.2 else known) for _ in range(length)]
    return Document(title=" ".join(words[:8]), body=" ".join(words[8:]), tokenised=True)


def _random_word(rng: np.random.Generator, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]
