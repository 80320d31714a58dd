"""The data of the document browser: texts, gold, and every phrase with its verdict and places.

Offsets count UTF-16 code units of title, line break and body, because that is how JavaScript
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

import msgspec
from msgspec.structs import replace

from keywright.analysis.systems import Panel
from keywright.calibration.perplexity import known_confidence
from keywright.matches import REASONS, GoldPhrase, JudgedPhrase, Judgement
from keywright.metrics import fg
from keywright.report.findings import Findings
from keywright.text.reading import Reading
from keywright.types import Document, Prediction, ScoredPhrase

PARTIAL = 0.5
"""A wrong phrase with at least this token F1 with a gold phrase is partly right."""

Verdict = Literal["correct", "partial", "wrong", "ignored"]
Kind = Literal["present", "absent"]


class Shown(msgspec.Struct, frozen=True):
    """A predicted phrase; `ignored` is one that the protocol does not count, such as a repeat.

    A text that is ignored several times is shown once, with how many `times` it was predicted and
    the `reason` why it does not count.
    """

    text: str
    verdict: Verdict
    kind: Kind
    places: list[int]
    confidence: float | None
    times: int = 1
    reason: str = ""


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
    return [
        _page(panel, number, document) for number, document in enumerate(panel.documents[:most])
    ]


def _page(panel: Panel, number: int, document: Document) -> Page:
    text = _Text(document)
    predictions = [panel.predictions[system][number] for system in panel.systems]
    judgements = [panel.protocol.judge(document, made.texts) for made in predictions]
    right = [{phrase.stems for phrase in found.phrases if _hit(phrase)} for found in judgements]
    return Page(
        document.id or str(number + 1),
        document.title,
        document.body,
        list(_gold(document, judgements[0].gold, text, right)),
        [_phrases(made, found, text) for made, found in zip(predictions, judgements, strict=True)],
    )


def _hit(phrase: JudgedPhrase) -> bool:
    return phrase.correct and phrase.dropped is None


def _phrases(prediction: Prediction, judgement: Judgement, text: _Text) -> list[Shown]:
    read: list[list[JudgedPhrase]] = [[] for _ in prediction.phrases]
    for judged in judgement.phrases:
        if judged.index is not None:
            read[judged.index].append(judged)
    gold = [phrase.stems for phrase in judgement.gold]
    ignored: dict[str, int] = {}
    found: list[Shown] = []
    for phrase, several in zip(prediction.phrases, read, strict=True):
        shown = _shown(phrase, several, gold, text)
        if shown.verdict == "ignored" and phrase.text in ignored:
            place = ignored[phrase.text]
            found[place] = replace(found[place], times=found[place].times + 1)
            continue
        if shown.verdict == "ignored":
            ignored[phrase.text] = len(found)
        found.append(shown)
    return found


def _shown(
    phrase: ScoredPhrase, judged: Sequence[JudgedPhrase], gold: Sequence[str], text: _Text
) -> Shown:
    verdict = _verdict(judged, gold)
    reasons = dict.fromkeys(REASONS[read.dropped] for read in judged if read.dropped)
    return Shown(
        phrase.text,
        verdict,
        "present" if any(read.present for read in judged) else "absent",
        text.places([read.stems for read in judged]),
        _confidence(phrase),
        reason="; ".join(reasons) if verdict == "ignored" else "",
    )


def _verdict(judged: Sequence[JudgedPhrase], gold: Sequence[str]) -> Verdict:
    counting = [phrase.stems for phrase in judged if phrase.dropped is None]
    if not counting:
        return "ignored"
    if any(map(_hit, judged)):
        return "correct"
    alike = [likeness.best.f1 for likeness in fg.likenesses(counting, gold)]
    return "partial" if max(alike, default=0.0) >= PARTIAL else "wrong"


def _confidence(phrase: ScoredPhrase) -> float | None:
    found = known_confidence(phrase)
    return None if found is None else round(found, 4)


def _gold(
    document: Document, gold: Sequence[GoldPhrase], text: _Text, right: Sequence[set[str]]
) -> Iterator[Gold]:
    """Each keyphrase once, however many phrases the protocol reads it as."""
    seen: set[str] = set()
    for index, read in groupby(gold, key=lambda phrase: phrase.index):
        parts = [phrase for phrase in read if phrase.present or phrase.absent]
        names = [name for phrase in parts for name in phrase.names if name.strip()]
        if index is None or not names or not seen.isdisjoint(names):
            continue
        seen.update(names)
        yield Gold(
            (document.keyphrases or ())[index],
            "present" if any(phrase.present for phrase in parts) else "absent",
            text.places(names),
            [system for system, stems in enumerate(right) if not stems.isdisjoint(names)],
        )


def embedded(value: object) -> str:
    """JSON that is safe inside an HTML script element, whatever the documents contain.

    Without `<`, `>` and `&` no text can end the element or start a comment. U+2028 and U+2029
    are line ends in old versions of JavaScript.
    """
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class _Text:
    """A document's text, searched by stems."""

    def __init__(self, document: Document) -> None:
        self._reading = Reading.of(document)
        # The page has a line break before the body even if there is no title.
        self._shift = 0 if document.title else 1

    def places(self, keys: Sequence[str]) -> list[int]:
        """Start and end of every occurrence, one after another."""
        return [
            self._units(character)
            for key in keys
            for place in self._reading.occurrences(key.split(" "))
            for character in place
        ]

    def _units(self, characters: int) -> int:
        """Characters beyond the basic plane are two units."""
        head = self._reading.text[:characters]
        units = characters if head.isascii() else len(head.encode("utf-16-le")) // 2
        return units + self._shift
