"""ake-datasets: a reference file (`references/test.author.json`) and the texts that it refers to.

The reference file is one JSON object, `{"id": [["phrase", "variant"], ...]}`. Only the first
variant of a phrase is used, because protocols expect one form. The name of the file begins with the
split, which locates the texts: `../test/ID.xml` (CoreNLP), otherwise `test/ID.xml` or `ID.xml` next
to the reference file, or the same with `.txt`. The title is what the XML marks as such, otherwise
the first sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from keywright.data.readers import folder
from keywright.data.recognise import Head
from keywright.data.records import explain
from keywright.errors import DataError
from keywright.files import NOT_JSON, Bad, read_text
from keywright.text.tokenise import looks_tokenised
from keywright.types import Document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_REFERENCES = re.compile(r'\A\s*+\{\s*+"(?:[^"\\]|\\.)*"\s*:\s*\[\s*[\[\]]')
_BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "``": '"', "''": '"',
}  # fmt: skip


def recognise(head: Head) -> bool:
    if head.record is not None and not all(isinstance(v, list) for v in head.record.values()):
        return False
    return _REFERENCES.match("\n".join(head.lines)) is not None


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    path = Path(path)
    try:
        references = msgspec.json.decode(read_text(path), type=dict[str, list[list[str]]])
    except NOT_JSON as error:
        raise DataError(explain(error), path) from None
    for number, (id, variants) in enumerate(references.items(), start=1):
        try:
            yield number, _document(id, variants, path)
        except DataError as error:
            bad(error)


def _document(id: str, variants: list[list[str]], references: Path) -> Document:
    file = _text_file(id, references)
    title, body = _read_xml(file) if file.suffix == ".xml" else _read_plain(file)
    return Document(
        title=title,
        body=body,
        id=id,
        keyphrases=tuple(forms[0] for forms in variants if forms),
        tokenised=looks_tokenised(f"{title} {body}"),
    )


def _text_file(id: str, references: Path) -> Path:
    split = references.name.partition(".")[0]
    folders = (references.parent.parent / split, references.parent / split, references.parent)
    with suppress(OSError):  # a file name may be longer than the file system allows
        for place in folders:
            for suffix in (".xml", ".txt"):
                if (file := place / f"{id}{suffix}").is_file():
                    return file
    raise DataError(
        f"has keyphrases for {id!r}, but there is no {folders[0] / id}.xml (or .txt)", references
    )


def _read_plain(file: Path) -> tuple[str, str]:
    document = folder.read_document(file)
    return document.title, document.body


def _read_xml(file: Path) -> tuple[str, str]:
    from xml.etree import ElementTree

    try:
        sentences = list(ElementTree.fromstring(read_text(file)).iter("sentence"))
    except ElementTree.ParseError as error:
        raise DataError(f"is not XML ({error})", file, error.position[0]) from None
    titles = [sentence for sentence in sentences if sentence.get("section") == "title"]
    if not titles:
        titles = sentences[:1]
    rest = [sentence for sentence in sentences if sentence not in titles]
    return " ".join(map(_text, titles)), " ".join(map(_text, rest))


def _text(sentence: Element) -> str:
    """The words of a sentence, with blanks where the character offsets have gaps."""
    text, end = "", None
    for token in sentence.iter("token"):
        word = token.findtext("word", "")
        begin = token.findtext("CharacterOffsetBegin")
        if text and (begin is None or begin != end):
            text += " "
        text += _BRACKETS.get(word, word)
        end = token.findtext("CharacterOffsetEnd")
    return text
