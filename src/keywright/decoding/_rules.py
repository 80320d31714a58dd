"""What a decoder may generate: the options all strategies share, as masks over log-probabilities.

Rules are read off the tokens generated so far, so that they need no state of their own and rows
can be repeated, reordered and dropped freely.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from keywright.data.targets import DELIMITERS, NEVER_GENERATED, Paradigm
from keywright.data.vocab import EOS, NULL, PAD, SEP
from keywright.errors import ConfigError
from keywright.runtime.options import Options


class Rules:
    """Options made ready for the models of one paradigm."""

    def __init__(self, options: Options, paradigm: Paradigm):
        if options.min_phrases and paradigm != "one2seq":
            raise ConfigError(f"decode.min_phrases: has no meaning for {paradigm} models")
        self.options = options
        self.paradigm = paradigm
        self.max_length = options.length(paradigm)
        self.ranking = options.ranking(paradigm)
        # <null> says that a slot of a set model has no phrase; elsewhere it is never learnt.
        self.ends = (EOS, NULL) if paradigm == "one2set" else (EOS,)
        self._never = torch.tensor(
            NEVER_GENERATED if paradigm == "one2set" else (*NEVER_GENERATED, NULL)
        )
        self._delimiters = torch.tensor(DELIMITERS)
        # Only sequences of several phrases can count them while they grow.
        self._max_phrases = options.max_phrases if paradigm == "one2seq" else None

    def ended(self, tokens: Tensor) -> Tensor:
        """Which tokens end their sequence."""
        return torch.isin(tokens, torch.tensor(self.ends, device=tokens.device))

    def allowed(self, log_probs: Tensor, tokens: Tensor) -> Tensor:
        """`log_probs` [R, V + X] with -inf for what must not follow `tokens` [R, t].

        What is left keeps the model's own log-probabilities: a rule says what is said, not how
        likely the model holds it to be.
        """
        masked = log_probs.index_fill(1, self._never.to(log_probs.device), -math.inf)
        self._forbid_repeats(masked, tokens)
        self._bound_phrases(masked, tokens)
        # Where the rules leave nothing to say, the sequence ends.
        stuck = masked.amax(1) == -math.inf
        masked[:, EOS] = torch.where(stuck, log_probs[:, EOS], masked[:, EOS])
        return masked

    def _forbid_repeats(self, masked: Tensor, tokens: Tensor) -> None:
        options = self.options
        if not (options.unique_tokens or options.unique_starts) or not tokens.shape[1]:
            return
        delimiter = self._is_delimiter(tokens)
        current = _current(delimiter)
        repeats = torch.zeros_like(delimiter)
        if options.unique_tokens:
            repeats |= current
        if options.unique_starts:
            begins = ~delimiter
            begins[:, 1:] &= delimiter[:, :-1]
            if options.starts_window is not None:
                number = begins.cumsum(1)
                begins &= number > number[:, -1:] - options.starts_window
            repeats |= begins & ~current.any(1, keepdim=True)
        # PAD, which is forbidden anyhow, stands for "none" so that one scatter serves all rows.
        masked.scatter_(1, tokens.where(repeats, torch.full_like(tokens, PAD)), -math.inf)

    def _bound_phrases(self, masked: Tensor, tokens: Tensor) -> None:
        options = self.options
        if not (options.max_phrase or options.min_phrases or self._max_phrases):
            return
        delimiter = self._is_delimiter(tokens)
        written = _current(delimiter).sum(1)  # tokens of the phrase under way
        complete = (delimiter[:, 1:] & ~delimiter[:, :-1]).sum(1)
        if options.max_phrase is not None:
            _keep_only(masked, written >= options.max_phrase, self._delimiters)
        if self._max_phrases is not None:
            others = [token for token in DELIMITERS if token not in self.ends]
            _forbid(masked, complete + 1 >= self._max_phrases, others)
        if options.min_phrases:
            too_few = complete + (written > 0) < options.min_phrases
            _forbid(masked, too_few, self.ends)
            _forbid(masked, too_few & (written == 0), (SEP,))  # an empty phrase is none

    def _is_delimiter(self, tokens: Tensor) -> Tensor:
        return torch.isin(tokens, self._delimiters.to(tokens.device))


def _current(delimiter: Tensor) -> Tensor:
    """Which tokens belong to the phrase under way: those that no delimiter follows."""
    return delimiter.flip(1).cumsum(1).flip(1) == 0


def _forbid(masked: Tensor, rows: Tensor, tokens: tuple[int, ...] | list[int]) -> None:
    for token in tokens:
        masked[:, token].masked_fill_(rows, -math.inf)


def _keep_only(masked: Tensor, rows: Tensor, tokens: Tensor) -> None:
    tokens = tokens.to(masked.device)
    kept = masked[:, tokens]
    masked.masked_fill_(rows[:, None], -math.inf)
    masked[:, tokens] = kept
