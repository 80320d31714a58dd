"""Users' files become documents with title and body, or give a clear error."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from keywright.errors import DataError
from keywright.sources import find, read_content, read_source
from tests.sources.pdf_maker import Text, make_pdf
from tests.timing import is_quick


def test_the_first_line_of_a_text_is_its_title() -> None:
    document = read_content(b"Bees in winter\n\nBees keep warm together.", "bees.txt")
    assert document.title == "Bees in winter"
    assert document.body == "Bees keep warm together."
    assert document.id == "bees.txt"


def test_a_text_of_sentences_has_no_title() -> None:
    document = read_content(b"Bees keep warm together.\nThey shiver.", "bees.txt")
    assert document.title == ""
    assert document.body == "Bees keep warm together.\nThey shiver."


def test_control_characters_and_utf16_are_read() -> None:
    assert read_content(b"Bees\x07 sing\n\nloud\x1b songs.", "a").title == "Bees  sing"
    assert read_content(b"Bees\x1b[1;31m sing\n\nloud songs.", "a").title == "Bees  sing"
    assert read_content("Bienen summen.".encode("utf-16"), "a").body == "Bienen summen."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t ", "is empty"),
        (b"\x7fELF\x00\x00\x01", "binary"),
        (b"caf\xe9 au lait", "UTF-8"),
        (b"%PDF-1.7 cut off", "not a complete PDF: it is damaged or cut off; copy or"),
    ],
)
def test_unreadable_files_are_reported(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read_content(content, "some.file")
    assert "some.file" in str(error.value)


def test_markdown_loses_its_markup_and_keeps_its_words() -> None:
    source = b"""---
author: someone
---
# Heat *pumps*

Old houses [need](https://x.example) **new** radiators:

- `two` per house
- ![a picture](p.png) and __more__

```python
ignored = "code"
```

| a | b |
|---|---|
| snake_case_name | 2 |
"""
    document = read_content(source, "notes.md")
    assert document.title == "Heat pumps"
    assert "Old houses need new radiators:" in document.body
    assert "two per house" in document.body
    assert "a picture and more" in document.body
    assert "snake_case_name" in document.body
    for gone in ("ignored", "https", "|", "**", "`", "author"):
        assert gone not in document.body


def test_html_gives_the_article_without_menus_and_scripts() -> None:
    source = b"""<!DOCTYPE html><html><head><title>Site - Drag sails</title>
    <style>p {color: red}</style><script>var x = "<p>no</p>";</script></head>
    <body><nav>Home | About</nav><main><h1>Drag sails</h1>
    <p>Satellites &amp; debris<br>fall <b>faster</b>.</p></main>
    <footer>Imprint</footer></body></html>"""
    document = read_content(source, "page")
    assert document.title == "Drag sails"
    assert document.body == "Satellites & debris\nfall faster."


def test_html_with_open_tags_and_other_encodings() -> None:
    source = '<html><meta charset="latin-1"><p>Caf\xe9 <p>cr\xe8me'.encode("latin-1")
    assert read_content(source, "page").body == "Café\ncrème"


def column(x: float, words: list[str], top: float = 600) -> list[Text]:
    return [Text(line, x, top - 14 * i) for i, line in enumerate(words)]


LEFT = [
    "Defunct satellites stay in orbit for",
    "decades and threaten those in use. A",
    "drag sail shortens the time that a satel-",
    "lite needs to come down. We describe",
    "its parts and its cost in some detail.",
]
RIGHT = [
    "The sail of five square metres weighs",
    "no more than a bag of sugar does and",
    "it unfolds when a spring lets it loose.",
    "Two missions show that it works well",
    "and that no propellant is ever needed.",
]


def test_two_columns_are_read_in_order_and_hyphenated_words_joined() -> None:
    # Lines in the file alternate between the columns, as some PDF writers order them.
    lines = [t for pair in zip(column(60, LEFT), column(330, RIGHT), strict=True) for t in pair]
    content = make_pdf([Text("Removing debris with a sail", 130, 700, 22), *lines])
    document = read_content(content, "paper.pdf")
    assert document.title == "Removing debris with a sail"
    body = " ".join(document.body.split())
    assert "drag sail shortens the time that a satellite needs to come down" in body
    assert body.index("some detail") < body.index("The sail of five")
    assert "weighs no more than a bag of sugar" in body


def test_one_column_keeps_its_order() -> None:
    wide = [line + " and so on to the far end of the page here" for line in LEFT]
    document = read_content(make_pdf(column(60, wide)), "paper.pdf")
    places = [document.body.index(line[:15]) for line in (wide[0], wide[1], wide[4])]
    assert places == sorted(places)


def test_running_heads_and_page_numbers_are_dropped() -> None:
    pages = [
        [
            Text("Journal of Sails, vol. 7", 60, 760, 8),
            *column(60, [f"{line} {n}" for line in LEFT]),
            Text(str(n), 300, 30, 8),
        ]
        for n in range(1, 6)
    ]
    document = read_content(make_pdf(*pages), "paper.pdf")
    assert "Journal of Sails" not in document.body
    assert not any(line.strip().isdigit() for line in document.body.splitlines())


def test_identical_pages_are_not_taken_for_running_heads() -> None:
    document = read_content(make_pdf(*[[Text("Bees dance in the sun", 60, 700)]] * 5), "bees.pdf")
    assert "Bees dance in the sun" in document.text


def test_a_pdf_without_text_is_reported_as_probably_scanned() -> None:
    with pytest.raises(DataError, match="probably scanned"):
        read_content(make_pdf([], []), "scan.pdf")


def test_an_encrypted_pdf_is_reported() -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(io.BytesIO(make_pdf(column(60, LEFT))))
    writer.encrypt("secret", algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    with pytest.raises(DataError, match="encrypted"):
        read_content(made.getvalue(), "locked.pdf")


def test_a_folder_gives_its_readable_files_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "sub/c.html", "picture.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in find(tmp_path)] == ["a.md", "b.txt", "c.html"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="contains no files"):
        find(tmp_path / "empty")


def test_json_lines_are_many_documents(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(
        '{"id": "1", "title": "A", "abstract": "b"}\n{"id": "2", "title": "C", "abstract": "d"}\n'
    )
    assert [document.id for document in read_source(path)] == ["1", "2"]


@pytest.mark.parametrize(
    "repeated",
    ["[", "![", "[a](", "<!--", "<!-- -->", "```\n", "```a\n", "`", "*a ", "\n# a  ", "\xa0", "| "],
)
def test_unclosed_markup_is_read_quickly(repeated: str) -> None:
    """A failed search is not repeated from every position."""
    content = ("a" + repeated * (20_000 // len(repeated)) + "a").encode()
    assert is_quick(lambda: read_content(content, "marks.md"), 2)
    assert is_quick(lambda: read_content(content[1:], "marks.txt"), 2)


def test_many_open_tags_are_read_quickly() -> None:
    content = b"<!doctype html><main>" + b"<p>a" * 20_000
    assert len(read_content(content, "open.html").body.split()) == 20_000
    assert is_quick(lambda: read_content(content, "open.html"), 4)


@pytest.mark.parametrize("begun", ["<a ", "<a b='", "<!--", "<div", "</"])
def test_a_tag_cut_off_at_the_end_is_dropped(begun: str) -> None:
    content = ("<!doctype html><p>Bees < ants" + begun * (20_000 // len(begun))).encode()
    assert read_content(content, "cut.html").body == "Bees < ants"
    assert is_quick(lambda: read_content(content, "cut.html"), 4)


def test_fenced_code_is_dropped_and_an_unclosed_fence_kept() -> None:
    content = b"# Bees ##\n\nThey dance.\n~~~ py\nx = 1\n```\n~~~\nThey fly.\n```\nThey sleep.\n"
    document = read_content(content, "bees.md")
    assert document.title == "Bees"
    assert "x = 1" not in document.body
    assert [line for line in document.body.split("\n") if line.endswith(".")] == [
        "They dance.",
        "They fly.",
        "They sleep.",
    ]
