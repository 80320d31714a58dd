"""The data of the per-document browser: texts, gold, and every phrase with its verdict and places.

Offsets count UTF-16 code units of title, line break and body, because that is how JavaScript
counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Literal

import msgspec
from msgspec.structs import replace

from keywright.analysis.systems import Panel
from keywright.calibration.entries import Splitter
from keywright.calibration.perplexity import confidence
from keywright.metrics import fg
from keywright.metrics._matches import Matches
from keywright.protocols._base import Protocol
from keywright.report.findings import Findings
from keywright.text.presence import runs
from keywright.text.stem import stems
from keywright.text.tokenise import normalise, spans
from keywright.types import Document, Prediction, ScoredPhrase

PARTIAL = 0.5
"""A wrong phrase is partly right from this token F1 with its best gold phrase on."""

Verdict = Literal["correct", "partial", "wrong", "ignored"]
Kind = Literal["present", "absent"]
Keys = Callable[[str, bool], list[str]]
"""The stemmed phrases a protocol reads a text as, from the text and whether it is tokenised."""


class Shown(msgspec.Struct, frozen=True):
    """A predicted phrase; `ignored` is one the protocol leaves out, such as a repeat.

    What is left out is shown once, with how many `times` it was said.
    """

    text: str
    verdict: Verdict
    kind: Kind
    places: list[int]
    confidence: float | None
    times: int = 1


class Gold(msgspec.Struct, frozen=True):
    """A gold phrase, with the numbers of the systems that find it."""

    text: str
    kind: Kind
    places: list[int]
    found: list[int]


class Page(msgspec.Struct, frozen=True):
    id: str
    title: str
    body: str
    gold: list[Gold]
    systems: list[list[Shown]]


def pages(findings: Findings, most: int) -> list[Page]:
    """The first `most` documents, ready to be shown."""
    panel = findings.panel
    splitter = Splitter(panel.protocol)
    keys = cache(splitter.stems)  # the same phrases come back in other documents and systems
    return [
        _page(panel, number, document, keys)
        for number, document in enumerate(panel.documents[:most])
    ]


def _page(panel: Panel, number: int, document: Document, keys: Keys) -> Page:
    text = _Text(document)
    matches = [panel.matches[system][number] for system in panel.systems]
    systems = [
        _phrases(panel.predictions[system][number], match, document, text, keys)
        for system, match in zip(panel.systems, matches, strict=True)
    ]
    right = [[one.text for one in made if one.verdict == "correct"] for made in systems]
    present = set(matches[0].present.targets)
    return Page(
        document.id or str(number + 1),
        document.title,
        document.body,
        list(_gold(panel.protocol, document, text, present, right)),
        systems,
    )


def _phrases(
    prediction: Prediction, match: Matches, document: Document, text: _Text, keys: Keys
) -> list[Shown]:
    present = set(match.present.predictions)
    counted = present | set(match.absent.predictions)
    right = {part.predictions[rank] for part in (match.present, match.absent) for rank in part.hits}
    seen: set[str] = set()
    ignored: dict[str, int] = {}
    found: list[Shown] = []
    for phrase in prediction.phrases:
        read = keys(phrase.text, document.tokenised)
        counting = [key for key in read if key in counted and key not in seen]
        seen.update(read)
        if not counting and phrase.text in ignored:
            place = ignored[phrase.text]
            found[place] = replace(found[place], times=found[place].times + 1)
            continue
        if not counting:
            ignored[phrase.text] = len(found)
        found.append(
            Shown(
                phrase.text,
                _verdict(counting, right, match.all.targets),
                "present" if any(key in present for key in read) else "absent",
                text.places(read),
                _confidence(phrase),
            )
        )
    return found


def _verdict(keys: Sequence[str], right: set[str], gold: Sequence[str]) -> Verdict:
    if not keys:
        return "ignored"
    if any(key in right for key in keys):
        return "correct"
    alike = [one.best.f1 for one in fg.likenesses(keys, gold)]
    return "partial" if max(alike, default=0.0) >= PARTIAL else "wrong"


def _confidence(phrase: ScoredPhrase) -> float | None:
    found = phrase.confidence if phrase.confidence is not None else confidence(phrase)
    return None if found is None else round(found, 4)


def _gold(
    protocol: Protocol,
    document: Document,
    text: _Text,
    present: set[str],
    right: Sequence[Sequence[str]],
) -> Iterator[Gold]:
    """Each gold phrase once; the protocol itself says which right phrases mean it."""
    seen: set[str] = set()
    for phrase in document.keyphrases or ():
        alone = Document(title="", body="", keyphrases=(phrase,), tokenised=document.tokenised)
        keys = [key for key in protocol.match(alone, ()).all.targets if key.strip()]
        if not keys or not seen.isdisjoint(keys):
            continue
        seen.update(keys)
        yield Gold(
            phrase,
            "present" if any(key in present for key in keys) else "absent",
            text.places(keys),
            [
                system
                for system, texts in enumerate(right)
                if texts and protocol.match(alone, texts).all.hits
            ],
        )


def embedded(value: object) -> str:
    """JSON that is harmless inside an HTML script element, whatever the documents say.

    Without `<`, `>` and `&` no text can end the element or start a comment; U+2028 and U+2029
    would be line ends to old JavaScript.
    """
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class _Text:
    """A document's text, searched by stems."""

    def __init__(self, document: Document) -> None:
        self.text = f"{document.title}\n{document.body}"
        if document.tokenised:
            found = [(match[0], *match.span()) for match in re.finditer(r"\S+", self.text)]
        else:
            found = [(span.text, span.start, span.end) for span in spans(self.text)]
        words = [word if document.tokenised else " ".join(normalise(word)) for word, *_ in found]
        self._stems = stems(words)
        self._spans = [(start, end) for _, start, end in found]

    def places(self, keys: Sequence[str]) -> list[int]:
        """Start and end of every occurrence, one after another."""
        found: list[int] = []
        for key in keys:
            words = key.split(" ")
            for at in runs(words, self._stems):
                found += (
                    self._units(self._spans[at][0]),
                    self._units(self._spans[at + len(words) - 1][1]),
                )
        return found

    def _units(self, characters: int) -> int:
        """Characters beyond the basic plane are two units."""
        head = self.text[:characters]
        return characters if head.isascii() else len(head.encode("utf-16-le")) // 2
