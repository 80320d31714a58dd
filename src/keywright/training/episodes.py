"""Generated sequences as episodes: which phrases are rewarded, and at which token.

An episode is one sequence that a policy generated. Its phrases are aligned with its tokens: phrase
p has the tokens `p.position` to `p.position + len(p.tokens)`, where the last one is its delimiter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

from keywright.decoding.phrases import GeneratedPhrase
from keywright.lexicon import PEOS, SPECIALS, SpecialIds
from keywright.matches import Part

MARK = SPECIALS[PEOS]
"""How `<peos>` is spelled where it is taken for a word."""


@dataclass(frozen=True)
class RewardedPart:
    """The phrases of an episode that are rewarded together."""

    name: Part
    phrases: tuple[GeneratedPhrase, ...]
    paid_at: int  # the position of the token at which the reward is paid

    @property
    def texts(self) -> list[str]:
        return [" ".join(phrase.words) for phrase in self.phrases]


Episode = tuple[RewardedPart, ...]
"""All parts of one sequence; every episode of a run has the same parts in the same order."""


@dataclass(frozen=True)
class EpisodeReader:
    """How sequences are divided into parts.

    `peos` is the token that separates present from absent phrases; None: all phrases are one part.
    The other settings are about unusual sequences; see `objectives.self_critical.Config`.
    """

    peos: int | None
    eos: int
    without_mark: Literal["present", "release"] = "present"
    several_marks: Literal["first", "last"] = "first"
    missing_end: Literal["last", "first"] = "last"

    def __call__(self, tokens: Sequence[int], phrases: tuple[GeneratedPhrase, ...]) -> Episode:
        """The parts of a generated sequence, whose complete phrases are given.

        The present part is paid at `<peos>`, and the absent part (or the only one) at `<eos>`.
        """
        last = len(tokens) - 1
        end = last if tokens[-1] == self.eos else self._missing(last)
        if self.peos is None:
            return (RewardedPart("all", phrases, end),)
        marks = [at for at, token in enumerate(tokens) if token == self.peos]
        if not marks:
            return self._unmarked(phrases, last, end)
        present = tuple(phrase for phrase in phrases if phrase.position <= marks[0])
        paid_at = marks[0] if self.several_marks == "first" else marks[-1]
        return (
            RewardedPart("present", present, paid_at),
            RewardedPart("absent", phrases[len(present) :], end),
        )

    def _unmarked(self, phrases: tuple[GeneratedPhrase, ...], last: int, end: int) -> Episode:
        present, absent = (phrases, ()) if self.without_mark == "present" else ((), phrases[1:])
        return (
            RewardedPart("present", present, self._missing(last)),
            RewardedPart("absent", absent, end),
        )

    def _missing(self, last: int) -> int:
        return last if self.missing_end == "last" else 0


@dataclass(frozen=True)
class Payments:
    """Up to K payments for each of P parts of R episodes."""

    amounts: Tensor  # [R, P, K]
    paid_at: Tensor  # [R, P, K] long: positions of tokens

    def returns(self, length: int) -> Tensor:
        """The return of every token [R, length]: the sum of what is paid at it or later."""
        amounts, paid_at = self.amounts.flatten(1), self.paid_at.flatten(1)
        steps = amounts.new_zeros(len(amounts), length).scatter_add(1, paid_at, amounts)
        return steps.flip(1).cumsum(1).flip(1)


def paid_at_ends(episodes: Sequence[Episode], rewards: Tensor) -> Payments:
    """One payment for each part: its reward [R, P], where the part ends."""
    paid_at = [[part.paid_at for part in episode] for episode in episodes]
    return Payments(rewards.unsqueeze(2), torch.tensor(paid_at).unsqueeze(2))


def paid_by_phrase(
    episodes: Sequence[Episode], rewards: Sequence[Sequence[Sequence[float]]], most: int
) -> Payments:
    """`most` payments for each part: what each phrase adds to the reward, at its delimiter.

    `rewards[r][p]` are those of the prefixes of part p of episode r: of no phrases, of one, of two,
    and so on. The first phrase is paid the reward of one phrase, and a part without phrases has the
    reward of none, so that all payments add up to the reward of the part. Payments of zero where
    the part ends fill up the rest.
    """
    amounts = torch.zeros(len(episodes), len(episodes[0]), most, dtype=torch.float64)
    paid_at = torch.zeros(amounts.shape, dtype=torch.long)
    for row, (episode, found) in enumerate(zip(episodes, rewards, strict=True)):
        for column, (part, prefixes) in enumerate(zip(episode, found, strict=True)):
            paid_at[row, column] = part.paid_at
            changes = [prefixes[min(1, len(prefixes) - 1)]]
            changes += [after - before for before, after in pairwise(prefixes[1:])]
            amounts[row, column, : len(changes)] = torch.tensor(changes, dtype=torch.float64)
            for number, phrase in enumerate(part.phrases):
                at = phrase.position + len(phrase.tokens)
                # If a part has no end and is paid at the start, so are all of its phrases.
                paid_at[row, column, number] = min(at, part.paid_at)
    return Payments(amounts, paid_at)


def mean_by_part(episodes: Sequence[Episode], values: Tensor) -> Tensor:
    """The mean of `values` [R, T] over the tokens of each part [R, P]; 0 for a part without tokens.

    A part has the tokens after the one before it, up to the token at which it is paid.
    """
    found = []
    for episode, row in zip(episodes, values.tolist(), strict=True):
        ends = [part.paid_at + 1 for part in episode]
        spans = [row[start:end] for start, end in pairwise([0, *ends])]
        found.append([sum(span) / max(1, len(span)) for span in spans])
    return torch.tensor(found, dtype=torch.float64)


def unsplit_texts(
    tokens: Sequence[int], phrases: Sequence[GeneratedPhrase], special: SpecialIds
) -> list[str]:
    """The phrases of a sequence if `<peos>` were an ordinary word and no delimiter.

    So the last present phrase, `<peos>` and the first absent phrase are one phrase.
    """
    found: list[str] = []
    words: list[str] = []
    ends = {phrase.position + len(phrase.tokens): phrase for phrase in phrases}
    for at, token in enumerate(tokens):
        if at in ends:
            words += ends[at].words
        if token == special.peos:
            words.append(MARK)
        elif token in special.delimiters:
            found += [" ".join(words)] if words else []
            words = []
    return found
