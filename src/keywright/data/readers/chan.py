"""Text pairs as Chan et al. and Ye et al. release them: `test_src.txt` and `test_trg.txt`.

A source line is `title <eos> abstract`, tokenised and in lower case; a target line is a list of
phrases joined by `;`. `<peos>` between present and absent phrases is read as a phrase, variants
joined by `|` stay in one phrase, and empty phrases and blanks are kept: protocols decide what they
mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keywright.data.pairs import find_target, paired_lines
from keywright.data.readers import deepkpg
from keywright.data.recognise import Head, looks_like_json
from keywright.errors import DataError
from keywright.files import Bad
from keywright.types import Document

BORDER = "<eos>"
SEPARATOR = ";"


def recognise(head: Head) -> bool:
    if not head.is_text or any(deepkpg.BORDER in line for line in head.lines):
        return False
    return any(BORDER in line for line in head.lines) or find_target(head.path) is not None


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    for number, source, target in paired_lines(path, bad):
        if looks_like_json(source):
            bad(DataError("is JSON in a file of plain lines: two formats mixed", path, number))
            continue
        title, body = split_source(source)
        yield (
            number,
            Document(
                title=title,
                body=body,
                keyphrases=None if target is None else split_phrases(target),
                tokenised=True,
            ),
        )


def split_source(line: str) -> tuple[str, str]:
    """Title and body; a line without `<eos>` is a body."""
    title, border, body = line.partition(BORDER)
    return (title.strip(), body.strip()) if border else ("", line.strip())


def split_phrases(line: str) -> tuple[str, ...]:
    """The unchanged pieces between `;`; none for an empty line."""
    line = line.strip()
    return tuple(line.split(SEPARATOR)) if line else ()
