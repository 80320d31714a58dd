"""Predictions as text: one line per document, phrases joined by `;`, best first.

Empty phrases, blanks and `<peos>` are kept, because protocols treat them differently; an empty line
is a prediction without phrases.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright.data.readers.chan import split_phrases
from keywright.data.recognise import Head, looks_like_json
from keywright.errors import DataError
from keywright.files import Bad, read_lines
from keywright.types import Prediction, ScoredPhrase


def recognise(head: Head) -> bool:
    return head.is_text


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Prediction]]:
    for number, line in read_lines(path, bad):
        if looks_like_json(line):
            bad(DataError("is JSON in a file of plain lines: two formats mixed", path, number))
            continue
        pieces = split_phrases(line)
        yield number, Prediction(phrases=tuple(ScoredPhrase(text=piece) for piece in pieces))
