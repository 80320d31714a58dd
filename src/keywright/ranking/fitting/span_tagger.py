"""Training the span tagger of a ranker: see `ranking.span_tagger` for its use.

It learns from every span of words of the training documents that could be a keyphrase, with binary
cross-entropy. An interrupted training continues from its checkpoint, with the same result: the
order of the documents depends on the epoch only, and dropout on the number of the update.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from keywright import checkpoint
from keywright.checkpoint import Checkpoint, model_tensors
from keywright.config import Count, Fraction, Positive
from keywright.nn.denormals import without_denormals
from keywright.nn.span_tagger import SpanInputs, SpanTaggerNetwork, SpanTaggerShape
from keywright.ranking.candidates import LONGEST, can_begin, is_mark, read_words
from keywright.ranking.phrasebook import gold_stems
from keywright.ranking.span_tagger import (
    ENDING,
    PLACES,
    STANDINGS,
    Known,
    numbered,
    places,
    standings,
)
from keywright.text.candidates import STOPWORDS
from keywright.text.stem import stems
from keywright.types import Document

LOG_EVERY = 500  # updates
POOL = 64  # batches whose documents are sorted by length together, to reduce padding
CLIP = 10.0

Report = Callable[[str], None]


@dataclass(frozen=True)
class Config:
    stems: Count = 40_000  # the most frequent ones
    endings: Count = 3000
    width: Count = 128
    span: Count = 64  # of the vectors by which first and last words are compared
    dilations: tuple[Count, ...] = (1, 2, 4, 8, 1)
    dropout: Fraction = 0.1
    passes: Count = 300_000  # documents read in total, repetitions included
    batch: Count = 32
    learning_rate: Positive = 2e-3
    warmup: Count = 200  # updates
    checkpoint_minutes: Positive = 5.0

    def network(self, known: Known) -> SpanTaggerNetwork:
        return SpanTaggerNetwork(
            SpanTaggerShape(
                stems=len(known.stems) + 1,
                endings=len(known.endings) + 1,
                standings=STANDINGS,
                places=PLACES,
                width=self.width,
                span=self.span,
                longest=LONGEST,
                dilations=self.dilations,
                dropout=self.dropout,
            )
        )


@dataclass(frozen=True)
class TaggedBatch:
    """B documents of at most S words, and which of their spans are keyphrases."""

    inputs: SpanInputs
    candidates: Tensor  # [B, S, LONGEST] bool, spans that could be keyphrases
    correct: Tensor  # [B, S, LONGEST] bool, candidates that are keyphrases


class TaggedCorpus:
    """Documents as numbers."""

    def __init__(self, documents: Sequence[Document], most_words: int, config: Config):
        number: dict[str, int] = {}
        self._texts: list[NDArray[np.int32]] = []
        self._titles: list[int] = []
        self._gold: list[list[tuple[int, int]]] = []
        for document in documents:
            words, stemmed, title = read_words(document, most_words)
            ids = [number.setdefault(word, len(number)) for word in words]
            self._texts.append(np.array(ids, np.int32))
            self._titles.append(title)
            self._gold.append(_occurrences(stemmed, gold_stems(document)))
        self.lengths = np.array([len(text) for text in self._texts])
        self._count_words(list(number), config)

    def _count_words(self, words: list[str], config: Config) -> None:
        count = np.zeros(len(words), np.int64)
        for text in self._texts:
            np.add.at(count, text, 1)
        stemmed = stems(words)
        self.known = Known(
            _most_frequent(stemmed, count, config.stems),
            _most_frequent([word[-ENDING:] for word in words], count, config.endings),
        )
        stem_ids, ending_ids = numbered(self.known.stems), numbered(self.known.endings)
        every = {stem: number for number, stem in enumerate(dict.fromkeys(stemmed))}
        self._same = np.array([every[stem] for stem in stemmed])
        self._stems = np.array([stem_ids.get(stem, 0) for stem in stemmed])
        self._endings = np.array([ending_ids.get(word[-ENDING:], 0) for word in words])
        self._inner = np.array([not is_mark(word) for word in words])
        self._outer = self._inner & np.array([word not in STOPWORDS for word in words])
        self._begins = self._outer & np.array([can_begin(word) for word in words])

    def __len__(self) -> int:
        return len(self._texts)

    def batch(self, chosen: Sequence[int]) -> TaggedBatch:
        shape = len(chosen), max(1, *(int(self.lengths[number]) for number in chosen))
        ids = np.zeros((4, *shape), np.int64)
        real = np.zeros(shape, np.bool_)
        candidates, correct = (np.zeros((*shape, LONGEST), np.bool_) for _ in range(2))
        for row, number in enumerate(chosen):
            text, size = self._texts[number], int(self.lengths[number])
            ids[0, row, :size] = self._stems[text]
            ids[1, row, :size] = self._endings[text]
            ids[2, row, :size] = standings(self._same[text], self._titles[number])
            ids[3, row, :size] = places(size)
            real[row, :size] = True
            self._mark_candidates(text, candidates[row])
            for start, length in self._gold[number]:
                correct[row, start, length - 1] = True
        inputs = SpanInputs(*map(torch.from_numpy, (*ids, real)))
        return TaggedBatch(inputs, *map(torch.from_numpy, (candidates, correct & candidates)))

    def _mark_candidates(self, text: NDArray[np.int32], marks: NDArray[np.bool_]) -> None:
        size = len(text)
        unbroken = np.ones(size, np.bool_)
        for length in range(1, min(LONGEST, size) + 1):
            starts, lasts = text[: size - length + 1], text[length - 1 :]
            unbroken = unbroken[: len(starts)] & self._inner[lasts]
            marks[: len(starts), length - 1] = unbroken & self._begins[starts] & self._outer[lasts]


def _occurrences(stemmed: list[str], gold: set[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Start and length of every occurrence of a keyphrase."""
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for phrase in gold:
        if len(phrase) <= LONGEST:
            by_first.setdefault(phrase[0], []).append(phrase)
    return [
        (start, len(phrase))
        for start, stem in enumerate(stemmed)
        for phrase in by_first.get(stem, ())
        if tuple(stemmed[start : start + len(phrase)]) == phrase
    ]


def _most_frequent(names: Sequence[str], count: NDArray[np.int64], most: int) -> list[str]:
    total: Counter[str] = Counter()
    for name, often in zip(names, count.tolist(), strict=True):
        total[name] += often
    return sorted(total, key=lambda name: (-total[name], name))[:most]


class _State(msgspec.Struct, frozen=True):
    update: int
    origin: str


def train(
    corpus: TaggedCorpus, config: Config, path: Path, origin: str, report: Report
) -> SpanTaggerNetwork:
    """A network trained on a corpus; its checkpoints, also the last one, are written to `path`.

    `origin` identifies everything that the result depends on: a checkpoint of another origin is not
    continued.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = config.network(corpus.known)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    done = _resume(path, model, optimiser, origin)
    updates = max(1, config.passes // config.batch)
    if done:
        report(f"span tagger: continues from update {done:,} of {updates:,}")
    with without_denormals():
        _updates(model, optimiser, corpus, config, path, origin, range(done, updates), report)
    _save(path, model, optimiser, _State(updates, origin))
    return model.eval()


def _updates(
    model: SpanTaggerNetwork, optimiser: torch.optim.Optimizer, corpus: TaggedCorpus,
    config: Config, path: Path, origin: str, updates: range, report: Report,
) -> None:  # fmt: skip
    losses: list[float] = []
    since = time.monotonic()
    for update, chosen in _order(corpus, config.batch, updates):
        batch = corpus.batch(chosen)
        rate = min(1.0, (update + 1) / config.warmup) * (1 - update / updates.stop)
        optimiser.param_groups[0]["lr"] = config.learning_rate * rate
        loss = loss_of(model(batch.inputs, seed=update), batch)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        losses.append(loss.item())
        done = update + 1
        if not done % LOG_EVERY:
            mean = sum(losses) / len(losses)
            report(f"span tagger: update {done:,} of {updates.stop:,}, loss {mean:.3f}")
            losses.clear()
        if time.monotonic() - since > 60 * config.checkpoint_minutes:
            _save(path, model, optimiser, _State(done, origin))
            since = time.monotonic()


def loss_of(log_odds: Tensor, batch: TaggedBatch) -> Tensor:
    """The summed cross-entropy of the candidates of a document, averaged over documents."""
    candidates, correct = log_odds[batch.candidates], batch.correct[batch.candidates].float()
    return F.binary_cross_entropy_with_logits(candidates, correct, reduction="sum") / len(log_odds)


def _order(corpus: TaggedCorpus, size: int, updates: range) -> Iterator[tuple[int, list[int]]]:
    """The documents of each update: every epoch has all of them, similar lengths together."""
    per_epoch = -(-len(corpus) // size)
    for epoch in range(updates.start // per_epoch, -(-updates.stop // per_epoch)):
        for number, chosen in enumerate(_epoch(corpus, size, epoch), start=epoch * per_epoch):
            if number in updates:
                yield number, chosen


def _epoch(corpus: TaggedCorpus, size: int, epoch: int) -> list[list[int]]:
    rng = np.random.default_rng(epoch)
    order = rng.permutation(len(corpus))
    batches: list[list[int]] = []
    for start in range(0, len(order), POOL * size):
        pool = order[start : start + POOL * size]
        pool = pool[np.argsort(corpus.lengths[pool], kind="stable")]
        of_pool = [pool[at : at + size].tolist() for at in range(0, len(pool), size)]
        batches += [of_pool[at] for at in rng.permutation(len(of_pool))]
    return batches


def _save(path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, state: _State) -> None:
    kept = {
        f"{number}/{name}": cast(Tensor, value)
        for number, values in optimiser.state_dict()["state"].items()
        for name, value in values.items()
    }
    content = Checkpoint(model_tensors(model), "", msgspec.json.encode(state), kept)
    checkpoint.save(path, content)


def _resume(path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, origin: str) -> int:
    """Restore a checkpoint of the same origin; the number of updates that it has behind it."""
    if not path.is_file():
        return 0
    saved = checkpoint.load(path)
    state = checkpoint.decode_state(_State, saved, path)
    if state.origin != origin:
        return 0
    checkpoint.restore_model(model, saved.model, path)
    kept: dict[int, dict[str, Tensor]] = {}
    for key, value in saved.optimiser.items():
        number, name = key.split("/")
        kept.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": kept})
    return state.update
