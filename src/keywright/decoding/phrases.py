"""From generated tokens to predictions, in one place: which phrases, and in which order.

A phrase without a delimiter after it was cut by the length limit and is left out. The order of the
phrases of a prediction is one of

- `generated`: their order in the sequence;
- `phrase`: by the mean log-probability of a phrase's own tokens, without special ones. The slots of
  a set model have no order of their own; this one is by their confidence (1 / KPP);
- `sequence` and `votes`: see `decoding.strategies.exhaustive`;
- an `Agreement`: by the share of samples that contain a phrase; see
  `decoding.strategies.expected_f1`.

Duplicates are removed after ordering, so that the first, which is the best one, is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

from keywright.data.targets import split
from keywright.decoding import agreement
from keywright.decoding.options import Agreement, Options, Ranking
from keywright.errors import ConfigError
from keywright.lexicon import Lexicon
from keywright.text.presence import padded
from keywright.text.reading import Reading, Stems
from keywright.text.stem import stems
from keywright.types import Document, Prediction, ScoredPhrase


@dataclass(frozen=True)
class Hypothesis:
    """A generated sequence. `log_probs` are the model's own, whatever the strategy."""

    tokens: list[int]  # with the token that ended it, if it ended
    log_probs: list[float]
    attended: list[int] | None  # the source position most attended to at each token
    score: float  # by which a search ranks


Found = list[list[Hypothesis]]
"""The hypotheses of every row of the model, best first; of samples, in the order of drawing."""


class DecodedBatch(Protocol):
    """What is needed of a batch to make phrases, whether it holds torch tensors or numpy arrays."""

    @property
    def documents(self) -> Sequence[Document]: ...

    @property
    def extension(self) -> Sequence[tuple[str, ...]]:
        """The tokens of ids V, V + 1, ... of each document."""

    @property
    def source_extended(self) -> Any:
        """[B, S] ids in the output space."""


@dataclass(frozen=True)
class GeneratedPhrase:
    """A phrase and the sequence it comes from. `score` is None if phrases are not ranked."""

    tokens: tuple[int, ...]
    words: tuple[str, ...]
    log_probs: tuple[float, ...]
    sequence: Hypothesis
    position: int  # of its first token in the sequence; the delimiter follows its last token
    score: float | None = None
    confidence: float | None = None

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(stems(self.words))

    @property
    def start(self) -> int:
        return self.tokens[0]

    def scored(self, score: float) -> GeneratedPhrase:
        return replace(self, score=score)


def predictions(
    batch: DecodedBatch, found: Found, vocabulary: Lexicon, options: Options, ranking: Ranking
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
                    confidence=candidate.confidence,
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


def spelled(
    batch: DecodedBatch, place: int, vocabulary: Lexicon, options: Options, hypothesis: Hypothesis
) -> tuple[GeneratedPhrase, ...]:
    """All complete phrases of a sequence generated for the document at `place`, in their order."""
    return tuple(_Source(batch, place, vocabulary, options).candidates(hypothesis))


def _chosen(source: _Source, found: Found, ranking: Ranking) -> list[GeneratedPhrase]:
    """The phrases of one document, best first."""
    options = source.options
    if isinstance(ranking, Agreement):
        candidates = _by_agreement(source, found, ranking)
    else:
        candidates = _ORDERS[ranking](source.all_candidates(h for row in found for h in row))
    if options.unique_phrases:
        candidates = _firsts(candidates, lambda candidate: candidate.stems)
    if options.unique_starts and options.starts_window is None:
        candidates = _firsts(candidates, lambda candidate: candidate.start)
    return candidates[: options.max_phrases]


@dataclass(frozen=True)
class _Source:
    """One document of a batch, to make phrases of the tokens that were generated for it."""

    batch: DecodedBatch
    place: int
    vocabulary: Lexicon
    options: Options

    def all_candidates(self, hypotheses: Iterable[Hypothesis]) -> list[GeneratedPhrase]:
        return [found for hypothesis in hypotheses for found in self.candidates(hypothesis)]

    def contains(self, phrase: Stems) -> bool:
        """Whether a phrase is present."""
        return padded(phrase) in Reading.of(self.batch.documents[self.place]).padded

    def candidates(self, hypothesis: Hypothesis) -> Iterator[GeneratedPhrase]:
        special = self.vocabulary.special
        for start, end in split(hypothesis.tokens, special):
            if end == len(hypothesis.tokens):
                continue  # cut by the length limit
            tokens = hypothesis.tokens[start:end]
            if special.unk in tokens and self.options.unknown == "drop":
                continue
            if special.unk in tokens and self.options.unknown == "replace":
                tokens = self._known(tokens, hypothesis, start)
                if special.unk in tokens or special.pad in tokens:
                    continue  # there was no word to replace it with, as in an empty document
            words = self.vocabulary.decode(tokens, self.batch.extension[self.place])
            if not words:
                continue  # a tokenizer may have tokens that are only a blank
            log_probs = tuple(hypothesis.log_probs[start:end])
            yield GeneratedPhrase(tuple(tokens), tuple(words), log_probs, hypothesis, start)

    def _known(self, tokens: list[int], hypothesis: Hypothesis, start: int) -> list[int]:
        if hypothesis.attended is None:
            raise ConfigError(
                "decode.unknown: 'replace' needs a model that reports its attention, which this "
                "one does not; choose 'drop' or 'keep'"
            )
        source, unknown = self.batch.source_extended[self.place], self.vocabulary.special.unk
        return [
            int(source[hypothesis.attended[start + i]]) if token == unknown else token
            for i, token in enumerate(tokens)
        ]


def _generated(candidates: list[GeneratedPhrase]) -> list[GeneratedPhrase]:
    return candidates


def _by_phrase(candidates: list[GeneratedPhrase]) -> list[GeneratedPhrase]:
    return _best_first([c.scored(math.fsum(c.log_probs) / len(c.log_probs)) for c in candidates])


def _by_sequence(candidates: list[GeneratedPhrase]) -> list[GeneratedPhrase]:
    return _best_first([c.scored(c.sequence.score) for c in candidates])


def _by_votes(candidates: list[GeneratedPhrase]) -> list[GeneratedPhrase]:
    """Every phrase by the total probability of the distinct sequences that contain it."""
    voters: dict[tuple[str, ...], dict[int, Hypothesis]] = {}
    keys = [candidate.stems for candidate in candidates]
    for key, candidate in zip(keys, candidates, strict=True):
        voters.setdefault(key, {})[id(candidate.sequence)] = candidate.sequence
    votes = {
        key: _log_sum([math.fsum(sequence.log_probs) for sequence in sequences.values()])
        for key, sequences in voters.items()
    }
    return _best_first([c.scored(votes[key]) for key, c in zip(keys, candidates, strict=True)])


def _by_agreement(source: _Source, found: Found, rule: Agreement) -> list[GeneratedPhrase]:
    """Of the phrases that are in enough samples, the best set of present and of absent ones.

    A sample is one hypothesis of every row. Of several spellings of a phrase the most frequent is
    kept, where it occurs first: later in a sequence it may be likely because it is repeated.
    """
    drawn = [source.all_candidates(sample) for sample in zip(*found, strict=True)]
    samples = [[candidate.stems for candidate in sample] for sample in drawn]
    spellings: dict[Stems, list[GeneratedPhrase]] = {}
    for phrase, candidate in zip(chain(*samples), chain(*drawn), strict=True):
        spellings.setdefault(phrase, []).append(candidate)
    share = agreement.shares(samples)
    frequent = [phrase for phrase in share if share[phrase] >= rule.min_share]
    chosen = frequent if rule.all_phrases else _best_of_each_part(source, samples, frequent)
    return [
        replace(
            _most_frequent(spellings[phrase]),
            score=share[phrase],
            confidence=share[phrase] if rule.stated else None,
        )
        for phrase in chosen
    ]


def _most_frequent(spellings: list[GeneratedPhrase]) -> GeneratedPhrase:
    [(words, _)] = Counter(candidate.words for candidate in spellings).most_common(1)
    return next(candidate for candidate in spellings if candidate.words == words)


def _best_of_each_part(
    source: _Source, samples: list[list[Stems]], candidates: list[Stems]
) -> list[Stems]:
    """Present and absent phrases are chosen apart, as protocols count them."""
    known = {phrase for sample in samples for phrase in sample}
    present = {phrase for phrase in known if source.contains(phrase)}
    best: set[Stems] = set()
    for part in (present, known - present):
        parts = [[phrase for phrase in sample if phrase in part] for sample in samples]
        best |= agreement.best_set(parts, [phrase for phrase in candidates if phrase in part])
    return [phrase for phrase in candidates if phrase in best]


_ORDERS: dict[str, Callable[[list[GeneratedPhrase]], list[GeneratedPhrase]]] = {
    "generated": _generated,
    "phrase": _by_phrase,
    "sequence": _by_sequence,
    "votes": _by_votes,
}


def _best_first(candidates: list[GeneratedPhrase]) -> list[GeneratedPhrase]:
    return sorted(candidates, key=lambda candidate: -(candidate.score or 0.0))  # stable


def _firsts(
    candidates: list[GeneratedPhrase], key: Callable[[GeneratedPhrase], Hashable]
) -> list[GeneratedPhrase]:
    firsts: dict[Hashable, GeneratedPhrase] = {}
    for candidate in candidates:
        firsts.setdefault(key(candidate), candidate)
    return list(firsts.values())


def _log_sum(log_probs: list[float]) -> float:
    most = max(log_probs)
    return most + math.log(math.fsum(math.exp(value - most) for value in log_probs))
