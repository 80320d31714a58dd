"""What a decoder may generate: the options that all strategies share, computed without torch.

`DecodingRules.forbidden` is the specification: it reads the tokens generated so far and says which
tokens must not follow. The rules have no state of their own, so that rows can be repeated,
reordered and dropped freely. `torch_rules` applies them to tensors, `numpy_rules` to arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keywright.data.padding import Ids, Mask
from keywright.data.targets import Paradigm
from keywright.decoding.options import Agreement, Options
from keywright.errors import ConfigError
from keywright.lexicon import SpecialIds


@dataclass(frozen=True)
class Forbidden:
    """The tokens that must not follow R rows. Everything else keeps the model's probability.

    Where nothing is left that can follow, the sequence ends.
    """

    everywhere: Ids  # [E] tokens that are forbidden in all rows
    rows: Ids  # [F] together with `tokens`: single tokens that are forbidden in single rows
    tokens: Ids  # [F]
    must_close: Mask | None  # [R] rows in which only a delimiter may follow; None: in no row


class DecodingRules:
    """Options prepared for the models of one paradigm and one vocabulary."""

    def __init__(self, options: Options, paradigm: Paradigm, special: SpecialIds):
        if options.min_phrases and paradigm != "one2seq":
            raise ConfigError(f"decode.min_phrases: has no meaning for {paradigm} models")
        self.options = options
        self.paradigm = paradigm
        self.special = special
        self.max_length = options.length(paradigm)
        self.ranking = options.ranking(paradigm)
        # A slot of a set model predicts <null> if it has no phrase; other models never learn it.
        null = () if special.null is None else (special.null,)
        is_set = paradigm == "one2set"
        self.ends = np.array((special.eos, *null) if is_set else (special.eos,))
        self.delimiters = np.array(special.delimiters)
        self._never = np.array((*special.never_generated, *(() if is_set else null)))
        # Only in sequences of several phrases can these be counted while they are generated.
        # Samples stay whole: which of their phrases are the best is known afterwards.
        counted = paradigm == "one2seq" and not isinstance(self.ranking, Agreement)
        self._max_phrases = options.max_phrases if counted else None
        none = np.empty(0, dtype=np.int64)
        self._nothing_else = Forbidden(self._never, none, none, None)

    @property
    def states_confidence(self) -> bool:
        """Whether phrases come with the probability that the model writes them."""
        return isinstance(self.ranking, Agreement) and self.ranking.stated

    def ended(self, tokens: Ids) -> Mask:
        """Which tokens end their sequence."""
        return np.isin(tokens, self.ends)

    def forbidden(self, tokens: Ids) -> Forbidden:
        """What must not follow `tokens` [R, t]."""
        options = self.options
        if not (options.unique_tokens or options.unique_starts or self._has_bounds):
            return self._nothing_else
        delimiter = np.isin(tokens, self.delimiters)
        current = _current(delimiter)
        found = [self._repeats(tokens, delimiter, current), *self._bounds(delimiter, current)]
        return Forbidden(
            everywhere=self._never,
            rows=np.concatenate([rows for rows, _ in found]),
            tokens=np.concatenate([ids for _, ids in found]),
            must_close=self._must_close(current),
        )

    @property
    def _has_bounds(self) -> bool:
        options = self.options
        return bool(options.max_phrase or options.min_phrases or self._max_phrases)

    def _must_close(self, current: Mask) -> Mask | None:
        limit = self.options.max_phrase
        return None if limit is None else current.sum(axis=1) >= limit

    def _repeats(self, tokens: Ids, delimiter: Mask, current: Mask) -> tuple[Ids, Ids]:
        """Rows and tokens that would repeat a token of the phrase or the start of another one."""
        options = self.options
        repeats = np.zeros_like(delimiter)
        if options.unique_tokens:
            repeats |= current
        if options.unique_starts:
            begins = ~delimiter
            begins[:, 1:] &= delimiter[:, :-1]
            if options.starts_window is not None:
                number = begins.cumsum(axis=1)
                begins &= number > number[:, -1:] - options.starts_window
            repeats |= begins & ~current.any(axis=1, keepdims=True)
        rows, places = repeats.nonzero()
        return rows, tokens[rows, places]

    def _bounds(self, delimiter: Mask, current: Mask) -> list[tuple[Ids, Ids]]:
        """Rows and delimiters that would make too few or too many phrases."""
        written = current.any(axis=1)  # whether a phrase is under way
        complete = (delimiter[:, 1:] & ~delimiter[:, :-1]).sum(axis=1)
        found = []
        if self._max_phrases is not None:
            others = self.delimiters[~self.ended(self.delimiters)]
            found.append(_pairs(complete + 1 >= self._max_phrases, others))
        if self.options.min_phrases:
            too_few = complete + written < self.options.min_phrases
            found.append(_pairs(too_few, self.ends))
            # An empty phrase does not count, so that it must not be closed either.
            found.append(_pairs(too_few & ~written, np.array([self.special.sep])))
        return found


def _current(delimiter: Mask) -> Mask:
    """Which tokens belong to the phrase under way: those without a delimiter after them."""
    following: Mask = delimiter[:, ::-1].cumsum(axis=1)[:, ::-1] == 0
    return following


def _pairs(rows: Mask, tokens: Ids) -> tuple[Ids, Ids]:
    """Every row of a mask together with every token."""
    numbers = rows.nonzero()[0]
    return np.repeat(numbers, len(tokens)), np.tile(tokens, len(numbers))
