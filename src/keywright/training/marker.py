"""Learning a ranker's marker: see `ranking.marker` for what it is for.

It learns from every run of words of the training documents that could be a keyphrase, with binary
cross-entropy. An interrupted learning goes on from its checkpoint, with the same result: the order
of documents follows from the epoch, and what is dropped from the number of the update.
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

from keywright.config import Count, Fraction, Positive
from keywright.extractors._candidates import STOPWORDS
from keywright.ranking.marker import (
    ENDING,
    PLACES,
    STANDINGS,
    Known,
    numbered,
    places,
    standings,
)
from keywright.ranking.phrasebook import gold_stems
from keywright.ranking.reading import LONGEST, can_begin, is_mark, read_words
from keywright.text.stem import stems
from keywright.training import checkpoint
from keywright.training.checkpoint import Checkpoint, model_tensors
from keywright.training.denormals import without_denormals
from keywright.types import Document

SAID_EVERY = 500  # updates
POOL = 64  # batches whose documents are sorted by length, so that little is padded
CLIP = 10.0


@dataclass(frozen=True)
class Config:
    stems: Count = 40_000  # the most frequent ones
    endings: Count = 3000
    width: Count = 128
    span: Count = 64  # of what first and last words are compared by
    dilations: tuple[Count, ...] = (1, 2, 4, 8, 1)
    dropout: Fraction = 0.1
    passes: Count = 300_000  # documents read, each as often as it takes
    batch: Count = 32
    learning_rate: Positive = 2e-3
    warmup: Count = 200  # updates
    checkpoint_minutes: Positive = 5.0


class Marking(nn.Module):
    """The network. B documents of at most S words."""

    def __init__(self, config: Config, known: Known):
        super().__init__()
        width = config.width
        self.stems = nn.Embedding(len(known.stems) + 1, width)
        self.endings = nn.Embedding(len(known.endings) + 1, width)
        self.standings = nn.Embedding(STANDINGS, width)
        self.places = nn.Embedding(PLACES, width)
        for table in (self.stems, self.endings, self.standings, self.places):
            nn.init.normal_(table.weight, 0, 0.1)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, dilation) for dilation in config.dilations)
        self.first = nn.Linear(width, LONGEST)
        self.last = nn.Linear(width, LONGEST, bias=False)
        self.begin = nn.Linear(width, config.span)
        self.end = nn.Linear(width, config.span)
        self.dropout = config.dropout
        nn.init.constant_(self.first.bias, -3.0)  # few runs of words are keyphrases

    def forward(self, batch: Batch, seed: int = 0) -> Tensor:
        """Log-odds [B, S, LONGEST]."""
        real = batch.real.unsqueeze(2).float()
        drop = _Dropout(self.dropout if self.training else 0.0, seed)
        x = self.stems(batch.stems) + self.endings(batch.endings)
        x = x + self.standings(batch.standings) + self.places(batch.places)
        x = self.norm(drop(x)) * real
        for layer in self.layers:
            x = layer(x, real, drop)
        begin, end, last = self.begin(x), self.end(x), self.last(x)
        longer = (0, 0, 0, LONGEST - 1)  # the last words have no words after them
        end, last, size = F.pad(end, longer), F.pad(last, longer), x.shape[1]
        together = [(begin * end[:, k : k + size]).sum(2) for k in range(LONGEST)]
        ends = [last[:, k : k + size, k] for k in range(LONGEST)]
        scale = self.begin.out_features**-0.5
        found: Tensor = self.first(x) + torch.stack(ends, 2) + scale * torch.stack(together, 2)
        return found


class Layer(nn.Module):
    """A word, its neighbours at a distance, and the mean of all words."""

    def __init__(self, width: int, dilation: int):
        super().__init__()
        self.dilation = dilation
        self.near = nn.Linear(3 * width, width)
        self.whole = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, real: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        far, size = self.dilation, x.shape[1]
        padded = F.pad(x, (0, 0, far, far))
        near = torch.cat([padded[:, at : at + size] for at in (0, far, 2 * far)], dim=2)
        mean = x.sum(1, keepdim=True) / real.sum(1, keepdim=True)
        new = F.relu(self.near(near) + self.whole(mean))
        found: Tensor = self.norm(x + drop(new)) * real
        return found


class _Dropout:
    """Drops features of whole documents: a random number for each word would cost a tenth more."""

    def __init__(self, rate: float, seed: int):
        self._rate = rate
        self._random = torch.Generator().manual_seed(seed)

    def __call__(self, x: Tensor) -> Tensor:
        if not self._rate:
            return x
        kept = torch.rand(x.shape[0], 1, x.shape[2], generator=self._random) >= self._rate
        return x * (kept.float() / (1 - self._rate))


@dataclass(frozen=True)
class Batch:
    stems: Tensor  # [B, S]
    endings: Tensor  # [B, S]
    standings: Tensor  # [B, S]
    places: Tensor  # [B, S]
    real: Tensor  # [B, S]
    candidates: Tensor  # [B, S, LONGEST]: runs of words that could be keyphrases
    right: Tensor  # [B, S, LONGEST]: those that are


class Corpus:
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
        self._learn_words(list(number), config)

    def _learn_words(self, words: list[str], config: Config) -> None:
        count = np.zeros(len(words), np.int64)
        for text in self._texts:
            np.add.at(count, text, 1)
        stemmed = stems(words)
        self.known = Known(
            _commonest(stemmed, count, config.stems),
            _commonest([word[-ENDING:] for word in words], count, config.endings),
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

    def batch(self, chosen: Sequence[int]) -> Batch:
        shape = len(chosen), max(1, *(int(self.lengths[number]) for number in chosen))
        ids = np.zeros((4, *shape), np.int64)
        real = np.zeros(shape, np.bool_)
        candidates, right = (np.zeros((*shape, LONGEST), np.bool_) for _ in range(2))
        for row, number in enumerate(chosen):
            text, size = self._texts[number], int(self.lengths[number])
            ids[0, row, :size] = self._stems[text]
            ids[1, row, :size] = self._endings[text]
            ids[2, row, :size] = standings(self._same[text], self._titles[number])
            ids[3, row, :size] = places(size)
            real[row, :size] = True
            self._mark_candidates(text, candidates[row])
            for start, length in self._gold[number]:
                right[row, start, length - 1] = True
        return Batch(*map(torch.from_numpy, (*ids, real, candidates, right & candidates)))

    def _mark_candidates(self, text: NDArray[np.int32], marks: NDArray[np.bool_]) -> None:
        size = len(text)
        unbroken = np.ones(size, np.bool_)
        for length in range(1, min(LONGEST, size) + 1):
            starts, lasts = text[: size - length + 1], text[length - 1 :]
            unbroken = unbroken[: len(starts)] & self._inner[lasts]
            marks[: len(starts), length - 1] = unbroken & self._begins[starts] & self._outer[lasts]


def _occurrences(stemmed: list[str], gold: set[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Start and length of every place where a keyphrase stands."""
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


def _commonest(names: Sequence[str], count: NDArray[np.int64], most: int) -> list[str]:
    total: Counter[str] = Counter()
    for name, often in zip(names, count.tolist(), strict=True):
        total[name] += often
    return sorted(total, key=lambda name: (-total[name], name))[:most]


class _State(msgspec.Struct, frozen=True):
    update: int
    origin: str


def learn(
    corpus: Corpus, config: Config, path: Path, origin: str, say: Callable[[str], None]
) -> Marking:
    """A network that learnt from a corpus; `path` is where its checkpoints are, the last included.

    `origin` names all that the result depends on: a checkpoint of another origin is not gone on
    from.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Marking(config, corpus.known)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    done = _resume(path, model, optimiser, origin)
    updates = max(1, config.passes // config.batch)
    if done:
        say(f"the marker goes on from update {done:,} of {updates:,}")
    with without_denormals():
        _updates(model, optimiser, corpus, config, path, origin, range(done, updates), say)
    _save(path, model, optimiser, _State(updates, origin))
    return model.eval()


def _updates(
    model: Marking, optimiser: torch.optim.Optimizer, corpus: Corpus, config: Config,
    path: Path, origin: str, updates: range, say: Callable[[str], None],
) -> None:  # fmt: skip
    losses: list[float] = []
    since = time.monotonic()
    for update, chosen in _order(corpus, config.batch, updates):
        batch = corpus.batch(chosen)
        rate = min(1.0, (update + 1) / config.warmup) * (1 - update / updates.stop)
        optimiser.param_groups[0]["lr"] = config.learning_rate * rate
        loss = loss_of(model(batch, seed=update), batch)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        losses.append(loss.item())
        done = update + 1
        if not done % SAID_EVERY:
            mean = sum(losses) / len(losses)
            say(f"marker: update {done:,} of {updates.stop:,}, loss {mean:.3f}")
            losses.clear()
        if time.monotonic() - since > 60 * config.checkpoint_minutes:
            _save(path, model, optimiser, _State(done, origin))
            since = time.monotonic()


def loss_of(log_odds: Tensor, batch: Batch) -> Tensor:
    """The cross-entropy of all candidates of a document, in the mean over documents."""
    judged, right = log_odds[batch.candidates], batch.right[batch.candidates].float()
    return F.binary_cross_entropy_with_logits(judged, right, reduction="sum") / len(log_odds)


def _order(corpus: Corpus, size: int, updates: range) -> Iterator[tuple[int, list[int]]]:
    """The documents of each update: every epoch has all of them, those of like length together."""
    per_epoch = -(-len(corpus) // size)
    for epoch in range(updates.start // per_epoch, -(-updates.stop // per_epoch)):
        for number, chosen in enumerate(_epoch(corpus, size, epoch), start=epoch * per_epoch):
            if number in updates:
                yield number, chosen


def _epoch(corpus: Corpus, size: int, epoch: int) -> list[list[int]]:
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
    """How many updates a checkpoint has behind it, whose tensors are now here."""
    if not path.is_file():
        return 0
    state = checkpoint.load_state(_State, path)
    if state.origin != origin:
        return 0
    saved = checkpoint.load(path)
    checkpoint.restore_model(model, saved.model, path)
    kept: dict[int, dict[str, Tensor]] = {}
    for key, value in saved.optimiser.items():
        number, name = key.split("/")
        kept.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": kept})
    return state.update
