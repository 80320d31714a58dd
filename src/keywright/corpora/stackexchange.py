"""StackEx (Yuan et al. 2020, appendix C): questions of StackExchange sites and their tags.

Title and body of a question are the document, its tags the keyphrases; questions without tags are
left out. Which questions are for validation and which for testing follows from the seed and their
ids alone: those with the smallest hashes, whatever the order of the files.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, get_args
from xml.etree import ElementTree

import msgspec

from keywright.errors import DataError, MissingExtraError
from keywright.files import drafted, open_binary
from keywright.sources import html
from keywright.types import Document

POSTS = "Posts.xml"
QUESTION = "1"
# `<python><list>` in older dumps, `|python|list|` in newer ones.
_TAG = re.compile(r"[^<>|]+")
Split = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Sizes:
    valid: int = 16_000
    test: int = 16_000
    seed: int = 1


def questions(dump: Path) -> Iterator[tuple[str, Document]]:
    """The tagged questions of a site's dump by their id.

    A dump is the site's Posts.xml, also compressed, or its 7z archive.
    """
    site = _site(dump)
    with _posts(dump) as file:
        try:
            for _, element in ElementTree.iterparse(file):
                if element.tag == "row" and element.get("PostTypeId") == QUESTION:
                    name = f"{site}/{element.get('Id')}"
                    document = _question(name, element)
                    if document is not None:
                        yield name, document
                element.clear()
        except ElementTree.ParseError as error:
            line, _ = error.position
            raise DataError(f"is not a dump of posts: {error}", dump, line) from None


def split(dumps: Sequence[Path], sizes: Sizes) -> Iterator[tuple[Split, Document]]:
    """Every question with the part that it belongs to. The dumps are read twice."""
    ids = (name for dump in dumps for name, _ in questions(dump))
    chosen = _smallest(ids, sizes)
    for dump in dumps:
        for name, question in questions(dump):
            yield chosen.get(name, "train"), question


def write(dumps: Sequence[Path], folder: Path, sizes: Sizes) -> dict[Split, int]:
    """Write train.jsonl, valid.jsonl and test.jsonl to a new folder; returns their sizes."""
    names: tuple[Split, ...] = get_args(Split)
    counts = dict.fromkeys(names, 0)
    encode = msgspec.json.Encoder().encode
    with drafted(folder) as draft, ExitStack() as stack:
        files = {name: stack.enter_context((draft / f"{name}.jsonl").open("wb")) for name in names}
        for name, question in split(dumps, sizes):
            files[name].write(encode(question) + b"\n")
            counts[name] += 1
    return counts


def _smallest(ids: Iterable[str], sizes: Sizes) -> dict[str, Split]:
    keyed = ((hashlib.sha256(f"{sizes.seed} {name}".encode()).digest(), name) for name in ids)
    names = [name for _, name in heapq.nsmallest(sizes.valid + sizes.test, keyed)]
    if len(set(names)) < sizes.valid + sizes.test:
        raise DataError(
            f"{len(set(names)):,} questions are too few for {sizes.valid:,} validation and "
            f"{sizes.test:,} test questions; choose smaller numbers, or name more dumps"
        )
    parts: dict[str, Split] = dict.fromkeys(names[: sizes.valid], "valid")
    return parts | dict.fromkeys(names[sizes.valid :], "test")


def _question(name: str, element: ElementTree.Element) -> Document | None:
    tags = tuple(tag.replace("-", " ") for tag in _TAG.findall(element.get("Tags") or ""))
    title, body = (element.get("Title") or "").strip(), element.get("Body") or ""
    if not tags or not (title or body.strip()):
        return None
    try:
        text = html.read(body.encode(), name).body if body.strip() else ""
    except DataError:  # a body of images only
        text = ""
    return Document(id=name, title=title, body=text, keyphrases=tags)


def _site(dump: Path) -> str:
    """`cs.stackexchange.com/Posts.xml` and `cs.stackexchange.com.7z` are of one site."""
    name = dump.parent.name if dump.name.startswith(POSTS) else dump.name
    return name.removesuffix(".7z").removesuffix("-Posts").removesuffix(".com") or dump.stem


@contextmanager
def _posts(dump: Path) -> Iterator[BinaryIO]:
    if dump.is_dir():
        dump = dump / POSTS
    if dump.suffix != ".7z":
        with open_binary(dump) as file:
            yield file
        return
    try:
        import py7zr
    except ModuleNotFoundError:
        raise MissingExtraError("reading a 7z archive", "py7zr", "stackexchange") from None
    with tempfile.TemporaryDirectory() as folder:
        try:
            with py7zr.SevenZipFile(dump) as archive:
                archive.extract(folder, [POSTS])
        except (py7zr.exceptions.ArchiveError, OSError) as error:
            raise DataError(f"is not a complete 7z archive: {error}", dump) from None
        made = Path(folder) / POSTS
        if not made.is_file():
            raise DataError(f"contains no {POSTS}", dump)
        with made.open("rb") as posts:
            yield posts
