"""DeepKPG's text pairs: `test.source` (`title [sep] abstract`) and `test.target` (`a ; b`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright.data.pairs import paired_lines
from keywright.data.readers import deepkpg
from keywright.data.recognise import Head
from keywright.files import Bad
from keywright.types import Document


def recognise(head: Head) -> bool:
    return head.is_text and any(deepkpg.BORDER in line for line in head.lines)


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    for number, source, target in paired_lines(path, bad):
        yield number, deepkpg.document(source, target, None)
