"""The phrases of an answer, each with its tokens. What is not a phrase is dropped, never repaired.

An answer is a list: separated by semicolons, one phrase per line, or separated by commas if it has
neither. Numbers, bullets, quotes and a label ("Keyphrases:") around the phrases are not part of
them. Whatever is too long, repeats the prompt or talks about the answer is no phrase.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from keywright.llm.endpoint import Answer, Token
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.text.tokenise import normalise

Stems = tuple[str, ...]

_THOUGHT_END = "</think>"
_THOUGHT = "<think>"
_BULLET = re.compile(r"\s*(?:[-*•–]+|\(?\d{1,3}[.):])\s+")
_LABEL = re.compile(
    r"\s*\W{0,4}(?:the )?(?:present |absent |main |extracted |possible )?"
    r"(?:key ?phrases?|key ?words?|answer|output)\W{0,2}:\W{0,4}",
    re.IGNORECASE,
)
_AROUND = " \t\r\n\"'`*_[]{}“”‘’.,;:"
# How sentences about the answer begin. A phrase seldom does, and none is as long.
_COMMENT = re.compile(
    r"(?:sure|certainly|okay|here (?:are|is)|these (?:are|keyphrases)|this (?:is|document|paper)|"
    r"the (?:key|following|document|text|paper|answer)|note(?: that|:)|"
    r"i (?:am|have|hope|cannot|can)|i'm|please|as an ai|let me|sorry|in this|based on)\b",
    re.IGNORECASE,
)
_FEWEST_COMMENT_WORDS = 3


@dataclass(frozen=True)
class Phrase:
    text: str
    stems: Stems
    token_log_probs: tuple[float, ...] | None


@dataclass(frozen=True)
class Echo:
    """What repeats the prompt: runs of its fixed words, and the answers of its examples."""

    fixed: str  # stems, padded
    examples: Collection[Stems]

    def __contains__(self, phrase: Stems) -> bool:
        return phrase in self.examples or padded(phrase) in self.fixed


def phrases(answer: Answer, source: str, echo: Echo, longest: int) -> list[Phrase]:
    """The distinct phrases in the order of the answer. `source` has the document's stems, padded;
    what occurs there may also occur in the prompt."""
    found: dict[Stems, Phrase] = {}
    places = _Tokens(answer)
    for start, end in _items(answer):
        text = " ".join(answer.text[start:end].split())
        stemmed = tuple(stems(normalise(text)))
        if stemmed in found or not _is_phrase(text, stemmed, longest):
            continue
        if stemmed in echo and padded(stemmed) not in source:
            continue
        found[stemmed] = Phrase(text, stemmed, places.between(start, end))
    return list(found.values())


def _is_phrase(text: str, stemmed: Stems, longest: int) -> bool:
    words = len(text.split())
    if words > longest or not any(character.isalnum() for character in text):
        return False
    return bool(stemmed) and not (words >= _FEWEST_COMMENT_WORDS and _COMMENT.match(text))


def _items(answer: Answer) -> Iterator[tuple[int, int]]:
    """The characters [start, end) of what may be phrases. The last item of an answer that the
    limit of tokens ended may be half a phrase, and is left out."""
    text = answer.text
    at = text.rfind(_THOUGHT_END)
    if at < 0 and _THOUGHT in text:
        return  # the model had not finished thinking
    begin = 0 if at < 0 else at + len(_THOUGHT_END)
    separator = ";" if ";" in text[begin:] or "\n" in text[begin:].strip() else ","
    items = list(_split(text, begin, separator))
    if not answer.complete:
        items = items[:-1]
    for start, end in items:
        if text[start:end].rstrip(" *\"'").endswith(":"):
            continue  # it announces what follows
        yield _trimmed(text, start, end)


def _split(text: str, begin: int, separator: str) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\r\n]+", text[begin:]):
        start, end = begin + line.start(), begin + line.end()
        if label := _LABEL.match(text, start, end):
            start = label.end()
        while start <= end:
            stop = text.find(separator, start, end)
            stop = end if stop < 0 else stop
            yield start, stop
            start = stop + 1


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    if bullet := _BULLET.match(text, start, end):
        start = bullet.end()
    while start < end and text[start] in _AROUND:
        start += 1
    while end > start and text[end - 1] in _AROUND:
        end -= 1
    return start, end


class _Tokens:
    """Which tokens form which characters of the answer."""

    def __init__(self, answer: Answer) -> None:
        self._text = answer.text
        self._tokens: tuple[Token, ...] | None = answer.tokens
        joined = b"".join(token.content for token in answer.tokens or ())
        # Tokens of a thought or end marks may surround those of the text.
        self._begin = joined.rfind(answer.text.encode())

    def between(self, start: int, end: int) -> tuple[float, ...] | None:
        """The log-probabilities of the tokens with a byte of the characters [start, end)."""
        if self._tokens is None or self._begin < 0:
            return None
        first = self._begin + len(self._text[:start].encode())
        last = first + len(self._text[start:end].encode())
        at, found = 0, []
        for token in self._tokens:
            after = at + len(token.content)
            if at < last and after > first:
                found.append(token.log_prob)
            at = after
        return tuple(found) or None
