"""What may follow what was said: the rules of `decoding._rules`, for arrays of numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keywright.data.targets import DELIMITERS, NEVER_GENERATED, Paradigm
from keywright.data.vocab import EOS, NULL, SEP
from keywright.errors import ConfigError
from keywright.runtime.options import Options
from keywright.runtime.sources import Ids, Mask

LogProbs = NDArray[np.float32]


class Rules:
    """Options made ready for the models of one paradigm."""

    def __init__(self, options: Options, paradigm: Paradigm):
        if options.min_phrases and paradigm != "one2seq":
            raise ConfigError(f"decode.min_phrases: has no meaning for {paradigm} models")
        self.options = options
        self.max_length = options.length(paradigm)
        self.ranking = options.ranking(paradigm)
        self.ends = (EOS, NULL) if paradigm == "one2set" else (EOS,)
        self._never = NEVER_GENERATED if paradigm == "one2set" else (*NEVER_GENERATED, NULL)
        self._max_phrases = options.max_phrases if paradigm == "one2seq" else None

    def ended(self, tokens: Ids) -> Mask:
        """Which tokens end their sequence."""
        return np.isin(tokens, self.ends)

    def forbid(self, log_probs: LogProbs, tokens: Ids) -> None:
        """Set to -inf in `log_probs` [R, V + X] what must not follow `tokens` [R, t]."""
        end = log_probs[:, EOS].copy()
        log_probs[:, self._never] = -np.inf
        self._forbid_repeats(log_probs, tokens)
        self._bound_phrases(log_probs, tokens)
        # Where the rules leave nothing to say, the sequence ends.
        stuck = log_probs.max(axis=1) == -np.inf
        log_probs[stuck, EOS] = end[stuck]

    def _forbid_repeats(self, log_probs: LogProbs, tokens: Ids) -> None:
        options = self.options
        if not (options.unique_tokens or options.unique_starts) or not tokens.shape[1]:
            return
        delimiter = np.isin(tokens, DELIMITERS)
        current = _current(delimiter)
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
        log_probs[rows, tokens[rows, places]] = -np.inf

    def _bound_phrases(self, log_probs: LogProbs, tokens: Ids) -> None:
        options = self.options
        if not (options.max_phrase or options.min_phrases or self._max_phrases):
            return
        delimiter = np.isin(tokens, DELIMITERS)
        written = _current(delimiter).sum(axis=1)  # tokens of the phrase under way
        complete = (delimiter[:, 1:] & ~delimiter[:, :-1]).sum(axis=1)
        if options.max_phrase is not None:
            _keep_only(log_probs, written >= options.max_phrase, DELIMITERS)
        if self._max_phrases is not None:
            others = [token for token in DELIMITERS if token not in self.ends]
            _forbid(log_probs, complete + 1 >= self._max_phrases, others)
        if options.min_phrases:
            too_few = complete + (written > 0) < options.min_phrases
            _forbid(log_probs, too_few, self.ends)
            _forbid(log_probs, too_few & (written == 0), (SEP,))  # an empty phrase is none


def _current(delimiter: Mask) -> Mask:
    """Which tokens belong to the phrase under way: those that no delimiter follows."""
    following: Mask = delimiter[:, ::-1].cumsum(axis=1)[:, ::-1] == 0
    return following


def _forbid(log_probs: LogProbs, rows: Mask, tokens: Sequence[int]) -> None:
    for token in tokens:
        log_probs[rows, token] = -np.inf


def _keep_only(log_probs: LogProbs, rows: Mask, tokens: Sequence[int]) -> None:
    kept = log_probs[:, tokens]
    log_probs[rows] = -np.inf
    log_probs[:, tokens] = kept
