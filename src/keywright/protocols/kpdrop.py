"""kpdrop: the evaluator of Ray Chowdhury et al. (2022).

Presence is decided by characters, and only whole phrases are filtered. `F1@5` divides by the number
of predictions, `F1@5R` by 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

from keywright import protocol
from keywright.matches import Dropped, Judgement, ScoringRules
from keywright.protocol import Protocol, prepare, stemmed
from keywright.types import Document

# Whole phrases that are dropped, and are not counted as produced.
DROPPED: dict[str, Dropped] = {
    "<peos>": "separator",
    ",": "invalid token",
    ".": "invalid token",
    "<unk>": "invalid token",
}

VARIANTS: tuple[tuple[str, ...], ...] = ((), ("precision=cutoff",))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(protocol.Config):
    precision: Literal["cutoff", "predicted"] = "predicted"


class KPDrop(Protocol):
    name = "kpdrop"
    not_produced = Protocol.not_produced | set(DROPPED.values())
    cutoffs = ("5", "5R", "10", "50", "M", "O")
    standard = ("present.F1@5R", "absent.F1@5R", "all.F1@5R", *Protocol.standard)

    def make_rules(self, config: Config) -> ScoringRules:
        return ScoringRules(
            divide_by="k" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
        )

    def facts(self) -> list[str]:
        return [
            "present means that the stemmed characters occur in the stemmed text, so `net` is "
            "present in `network`",
            "repeats dropped on both sides",
            "a prediction is dropped only if it is just <unk>, a dot or a comma",
            "P@5R always divides by 5",
        ]

    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        title, body, gold, predictions = prepare(document, phrases)
        line = f"{title} <eos> {body}".lower().strip().replace(" <eos>", "")
        source = stemmed(line.split(" "))
        found = Judgement(document)
        seen: set[str] = set()
        for index, phrase in _targets(gold):
            text = phrase if self.config.targets_stemmed else stemmed(phrase.split(" "))
            if text not in seen:
                seen.add(text)
                found.add_gold(index, text, text in source)
        seen = set()
        for index, phrase, ended in _predictions(predictions):
            text = stemmed(phrase.split(" "))
            dropped = "beyond the limit" if ended else DROPPED.get(phrase)
            if dropped is None and text in seen:
                dropped = "repeat"
            elif dropped is None:
                seen.add(text)
            found.add(index, text, text in source, dropped)
        return found


def _targets(phrases: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The gold phrases, with the number of the keyphrase that each was read from.

    The release splits the padded line at " ; ", so an empty piece attaches a ";" to its neighbour.
    Joining and splitting the line reproduces this.
    """
    owners = [index for index, phrase in enumerate(phrases) for _ in phrase.split(";")]
    line = " ".join(";".join(phrases).lower().replace(";", " ; ").split())
    before = 0  # the number of ";" before the piece
    for piece in line.split(" ; "):
        glued = len(piece) - len(piece.lstrip("; "))
        if piece not in ("", "<peos>"):
            yield owners[before + piece[:glued].count(";")], piece
        before += piece.count(";") + 1


def _predictions(phrases: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """The number of the text, the phrase, and whether it comes after `<eos>`."""
    ended = False
    for index, text in enumerate(phrases):
        head, end, tail = ("", "", text) if ended else text.partition("<eos>")
        for part, after in ((head, False), (tail, True)):
            for piece in part.split(";"):
                phrase = piece.lower().strip()
                if phrase:
                    yield index, phrase, after
        ended = ended or bool(end)


def build(config: Config) -> KPDrop:
    return KPDrop(config)
