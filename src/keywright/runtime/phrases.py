"""From generated tokens to predictions, in one place: which phrases, and in which order.

A phrase that no delimiter closes was cut by the length limit and is left out. The order of a
prediction is one of

- `generated`: as the sequence has them;
- `phrase`: by the mean log-probability of a phrase's own tokens, special ones excluded. A set
  model's slots have no order; this is that of their confidence (1 / KPP);
- `sequence` and `votes`: see `decoding.exhaustive`.

De-duplication comes after ordering and keeps the first, that is the best, of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from keywright.data.targets import split
from keywright.data.vocab import PAD, UNK, Lexicon
from keywright.errors import ConfigError
from keywright.runtime.options import Options, Ranking
from keywright.text.stem import stems
from keywright.types import Document, Prediction, ScoredPhrase


@dataclass(frozen=True)
class Hypothesis:
    """A generated sequence. `log_probs` are the model's, whatever the strategy made of them."""

    tokens: list[int]  # with the end mark, where one was reached
    log_probs: list[float]
    attended: list[int] | None  # the source position most attended to while saying each token
    score: float  # what a search ranks by


Found = list[list[Hypothesis]]
"""For every row of the model, its hypotheses, best first."""


class Batch(Protocol):
    """What spelling needs of a batch, of torch's or of numpy's arrays."""

    @property
    def documents(self) -> Sequence[Document]: ...

    @property
    def extension(self) -> Sequence[tuple[str, ...]]:
        """The words behind ids V, V + 1, ... of each document."""

    @property
    def source_extended(self) -> Any:
        """[B, S] ids in the output space."""


@dataclass(frozen=True)
class Candidate:
    """A phrase where it was generated. `score` is what it is ranked by, where it is ranked."""

    tokens: tuple[int, ...]
    words: tuple[str, ...]
    log_probs: tuple[float, ...]
    sequence: Hypothesis
    score: float | None = None

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(stems(self.words))

    @property
    def start(self) -> int:
        return self.tokens[0]

    def scored(self, score: float) -> Candidate:
        return Candidate(self.tokens, self.words, self.log_probs, self.sequence, score)


def predictions(
    batch: Batch, found: Found, vocabulary: Lexicon, options: Options, ranking: Ranking
) -> list[Prediction]:
    """The prediction of every document of a batch from the hypotheses of the model's rows."""
    each = len(found) // max(1, len(batch.documents))
    return [
        Prediction(
            document_id=document.id,
            phrases=tuple(
                ScoredPhrase(
                    text=" ".join(candidate.words),
                    token_log_probs=candidate.log_probs,
                    words=len(candidate.words),
                    score=candidate.score,
                )
                for candidate in _chosen(
                    _Source(batch, place, vocabulary, options),
                    found[place * each : (place + 1) * each],
                    ranking,
                )
            ),
        )
        for place, document in enumerate(batch.documents)
    ]


def _chosen(source: _Source, found: Found, ranking: Ranking) -> list[Candidate]:
    """The phrases of one document, best first."""
    options = source.options
    candidates = [
        candidate
        for hypotheses in found
        for hypothesis in hypotheses
        for candidate in source.candidates(hypothesis)
    ]
    candidates = _ORDERS[ranking](candidates)
    if options.unique_phrases:
        candidates = _firsts(candidates, lambda candidate: candidate.stems)
    if options.unique_starts and options.starts_window is None:
        candidates = _firsts(candidates, lambda candidate: candidate.start)
    return candidates[: options.max_phrases]


@dataclass(frozen=True)
class _Source:
    """One document of a batch, for spelling what was generated for it."""

    batch: Batch
    place: int
    vocabulary: Lexicon
    options: Options

    def candidates(self, hypothesis: Hypothesis) -> Iterator[Candidate]:
        for start, end in split(hypothesis.tokens):
            if end == len(hypothesis.tokens):
                continue  # cut by the length limit
            tokens = hypothesis.tokens[start:end]
            if UNK in tokens and self.options.unknown == "drop":
                continue
            if UNK in tokens and self.options.unknown == "replace":
                tokens = self._known(tokens, hypothesis, start)
                if UNK in tokens or PAD in tokens:
                    continue  # there was no word to replace it by, as in an empty document
            words = self.vocabulary.decode(tokens, self.batch.extension[self.place])
            log_probs = tuple(hypothesis.log_probs[start:end])
            yield Candidate(tuple(tokens), tuple(words), log_probs, hypothesis)

    def _known(self, tokens: list[int], hypothesis: Hypothesis, start: int) -> list[int]:
        if hypothesis.attended is None:
            raise ConfigError(
                "decode.unknown: 'replace' needs a model that reports its attention, "
                "which this one does not; choose 'drop' or 'keep'"
            )
        source = self.batch.source_extended[self.place]
        return [
            int(source[hypothesis.attended[start + i]]) if token == UNK else token
            for i, token in enumerate(tokens)
        ]


def _generated(candidates: list[Candidate]) -> list[Candidate]:
    return candidates


def _by_phrase(candidates: list[Candidate]) -> list[Candidate]:
    return _best_first([c.scored(math.fsum(c.log_probs) / len(c.log_probs)) for c in candidates])


def _by_sequence(candidates: list[Candidate]) -> list[Candidate]:
    return _best_first([c.scored(c.sequence.score) for c in candidates])


def _by_votes(candidates: list[Candidate]) -> list[Candidate]:
    """Every phrase by the summed probability of the distinct sequences that contain it."""
    voters: dict[tuple[str, ...], dict[int, Hypothesis]] = {}
    keys = [candidate.stems for candidate in candidates]
    for key, candidate in zip(keys, candidates, strict=True):
        voters.setdefault(key, {})[id(candidate.sequence)] = candidate.sequence
    votes = {
        key: _log_sum([math.fsum(sequence.log_probs) for sequence in sequences.values()])
        for key, sequences in voters.items()
    }
    return _best_first([c.scored(votes[key]) for key, c in zip(keys, candidates, strict=True)])


_ORDERS: dict[str, Callable[[list[Candidate]], list[Candidate]]] = {
    "generated": _generated,
    "phrase": _by_phrase,
    "sequence": _by_sequence,
    "votes": _by_votes,
}


def _best_first(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -(candidate.score or 0.0))  # stable


def _firsts(candidates: list[Candidate], key: Callable[[Candidate], Hashable]) -> list[Candidate]:
    firsts: dict[Hashable, Candidate] = {}
    for candidate in candidates:
        firsts.setdefault(key(candidate), candidate)
    return list(firsts.values())


def _log_sum(log_probs: list[float]) -> float:
    most = max(log_probs)
    return most + math.log(math.fsum(math.exp(value - most) for value in log_probs))
