"""A folder of plain text files: the first line is the title, the rest the body.

Gold keyphrases, if they are known, are in a file with the same name and the ending `.key`, one per
line. The id is the file name without its ending; documents are sorted by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from keywright.data.recognise import Head
from keywright.errors import DataError
from keywright.files import Bad, read_lines, read_text
from keywright.text.tokenise import looks_tokenised
from keywright.types import Document

_TEXT = re.compile(r"\.txt(\.(gz|xz|zst))?$")


def recognise(head: Head) -> bool:
    return head.is_folder


def read(path: str | Path, bad: Bad) -> Iterator[tuple[int, Document]]:
    if not Path(path).is_dir():
        raise DataError("is not a folder", path)
    files = sorted(file for file in Path(path).iterdir() if _TEXT.search(file.name))
    if not files:
        raise DataError(_nothing_in(Path(path)), path)
    for number, file in enumerate(files, start=1):
        try:
            yield number, read_document(file)
        except DataError as error:
            bad(error)


def read_document(file: Path) -> Document:
    name = _TEXT.sub("", file.name)
    title, _, body = read_text(file).partition("\n")
    gold = file.with_name(f"{name}.key")
    return Document(
        title=title.strip(),
        body=body.strip(),
        id=name,
        keyphrases=_phrases(gold) if gold.is_file() else None,
        tokenised=looks_tokenised(f"{title} {body}"),
    )


def _phrases(file: Path) -> tuple[str, ...]:
    return tuple(phrase for _, line in read_lines(file) if (phrase := line.strip()))


def _nothing_in(folder: Path) -> str:
    if any((folder / name).exists() for name in ("dataset_info.json", "dataset_dict.json")):
        return f"is a saved Hugging Face dataset; read it as hf:{folder}"
    return "contains no .txt files"
