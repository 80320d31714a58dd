"""docx and EPUB: their text and title, and archives that are made to do harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright.errors import DataError
from keywright.sources import _package, find, read_content
from tests.sources.package_maker import archive, make_docx, make_epub, paragraph

PAGE = "<html><head><title>x</title></head><body><h1>{}</h1><p>{}</p></body></html>"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'


def test_a_word_document() -> None:
    made = make_docx(
        paragraph("Dancing bees", "Title"),
        paragraph("Bees dance in the sun."),
        "<w:p><w:r><w:t>They </w:t><w:tab/><w:t>tell</w:t></w:r><w:del><w:r><w:delText>lie"
        "</w:delText></w:r></w:del><w:r><w:t> others.</w:t></w:r></w:p>",
        f"<w:tbl><w:tr><w:tc>{paragraph('a cell')}</w:tc></w:tr></w:tbl>",
    )
    found = read_content(made, "bees.docx")
    assert found.title == "Dancing bees"
    assert found.body.splitlines() == ["Bees dance in the sun.", "They tell others.", "a cell"]


def test_a_word_document_without_the_style_of_a_title() -> None:
    made = make_docx(paragraph("Dancing bees"), paragraph("Bees dance in the sun."))
    assert read_content(made, "bees.docx").title == "Dancing bees"


def test_a_book() -> None:
    made = make_epub(
        {
            "one.xhtml": PAGE.format("First", "Bees dance."),
            "two.xhtml": PAGE.format("Second", "Flies do not."),
        }
    )
    found = read_content(made, "bees.epub")
    assert found.title == "Bees"
    assert found.body.splitlines() == ["First", "Bees dance.", "Second", "Flies do not."]


def test_the_kind_is_recognised_by_content(tmp_path: Path) -> None:
    assert read_content(make_docx(paragraph("Bees dance.")), "notes.txt").body == "Bees dance."
    (tmp_path / "bees.docx").write_bytes(b"")
    (tmp_path / "bees.epub").write_bytes(b"")
    assert [path.name for path in find(tmp_path)] == ["bees.docx", "bees.epub"]


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    deep = "<w:r>" * 20_000 + "<w:t>bees</w:t>" + "</w:r>" * 20_000
    assert "bees" in read_content(make_docx(f"<w:p>{deep}</w:p>"), "deep.docx").body


GOOD = make_docx(paragraph("Bees dance in the sun."))
BAD = {
    "cut.docx": (GOOD[:-40], "is not a complete archive"),
    "pictures.docx": (make_docx("<w:p/>"), "has no text"),
    "entities.docx": (archive({"word/document.xml": BOMB + "<x>&b;</x>"}), "document type"),
    "utf16.docx": (
        archive({"word/document.xml": (BOMB + "<x>&b;</x>").encode("utf-16")}),
        "document type",
    ),
    "damaged.docx": (archive({"word/document.xml": "<a><b></a>"}), "has damaged XML"),
    "pictures.epub": (make_epub({"a.xhtml": "<html><body><img/></body></html>"}), "has no text"),
    "lost.epub": (make_epub({}).replace(b"book.opf", b"boot.opf"), "lacks 'OPS/book.opf'|damaged"),
    "locked.epub": (
        make_epub({"a": ""}, **{"META-INF/encryption.xml": "<x/>", "META-INF/rights.xml": "<x/>"}),
        "protected against copying",
    ),
    "archive.zip": (archive({"a.txt": "Bees dance."}), "is a binary file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(name: str) -> None:
    content, message = BAD[name]
    with pytest.raises(DataError, match=message) as refused:
        read_content(content, name)
    assert str(refused.value).startswith(f"{name}: ")


def test_an_encrypted_part_is_reported() -> None:
    locked = bytearray(GOOD)
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        locked[locked.index(mark) + (6 if mark[2] == 3 else 8)] |= 1
    with pytest.raises(DataError, match="is encrypted"):
        read_content(bytes(locked), "locked.docx")


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_package, "MOST_BYTES", 1 << 16)
    bomb = archive({"word/document.xml": b"<x>" + b" " * (1 << 22) + b"</x>"})
    assert len(bomb) < 1 << 14
    with pytest.raises(DataError, match="more than 65,536 bytes when decompressed"):
        read_content(bomb, "bomb.docx")


def test_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_package, "MOST_PARTS", 3)
    parts: dict[str, str | bytes] = {f"{n}.xml": "" for n in range(4)}
    with pytest.raises(DataError, match="more than 3 parts"):
        read_content(archive({**parts, "word/document.xml": ""}), "many.docx")


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("https://example.org/a.pdf", "download it first, for example with: curl -LO https://exam"),
        ("s3://bucket/a.pdf", "s3://bucket/a.pdf: is an address; copy the file"),
        ("file:///home/me/a.pdf", "give the path, without file://"),
    ],
)
def test_an_address_is_refused_with_a_hint(address: str, hint: str) -> None:
    with pytest.raises(DataError, match=hint) as error:
        find(Path(address))
    assert str(error.value).startswith(f"{address}: is a")


def test_a_damaged_archive_is_not_text() -> None:
    with pytest.raises(DataError, match="is a binary file"):
        read_content(b"PK\x03\x04 cut off", "book.epub")


def test_a_size_that_lies_is_an_error() -> None:
    """An archive may state a smaller size than it has."""
    content = bytearray(archive({"word/document.xml": "<x>" + "a" * 5000 + "</x>"}))
    at = content.index(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(DataError):
        read_content(bytes(content), "lies.docx")
