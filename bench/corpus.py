"""Documents and predictions to measure with: prepared text lines, repeated as often as wanted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from keywright.data.readers.chan import split_phrases, split_source
from keywright.types import Document, Prediction, ScoredPhrase

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"


class Lines(NamedTuple):
    """A document as the field's text files hold it."""

    source: str
    target: str
    prediction: str


def load() -> tuple[str, list[Lines]]:
    """A description and 1000 documents: real ones where they are at hand, else made-up words."""
    files = [GOLDEN / name for name in ("test_src.txt", "test_trg.txt", "sysA_pred.txt")]
    if not all(file.exists() for file in files):
        return "1,000 documents of made-up words", generated(1000)
    columns = [file.read_text(encoding="utf-8").split("\n") for file in files]
    lines = [Lines(*row) for row in zip(*columns, strict=True) if row[0]]
    return f"{len(lines):,} documents of ../shared/golden", lines


def generated(count: int, seed: int = 0) -> list[Lines]:
    """Abstracts of about 170 Zipf-distributed words, 5 gold and 6 predicted phrases each."""
    chance = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    endings = ["", "s", "ing", "ed", "ation", "al", "ize"]
    words = [
        "".join(chance.choices(letters, k=chance.randint(3, 9))) + chance.choice(endings)
        for _ in range(20_000)
    ]
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def document() -> Lines:
        text = chance.choices(words, weights, k=170)

        def inside() -> str:
            start = chance.randrange(len(text) - 3)
            return " ".join(text[start : start + chance.randint(1, 3)])

        def outside() -> str:
            return " ".join(chance.choices(words, k=2))

        gold = [inside() for _ in range(3)] + [outside() for _ in range(2)]
        made = [*chance.sample(gold, 3), inside(), outside(), gold[0].split(" ")[0]]
        source = " ".join(text[:10]) + " <eos> " + " ".join(text[10:])
        return Lines(source, ";".join(gold), ";".join(made))

    return [document() for _ in range(count)]


def repeated(lines: list[Lines], count: int) -> Iterator[Lines]:
    return islice(cycle(lines), count)


def document_of(lines: Lines) -> Document:
    title, body = split_source(lines.source)
    return Document(title=title, body=body, keyphrases=split_phrases(lines.target), tokenised=True)


def prediction_of(lines: Lines) -> Prediction:
    pieces = split_phrases(lines.prediction)
    return Prediction(phrases=tuple(ScoredPhrase(text=piece) for piece in pieces))
