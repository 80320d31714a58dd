"""StackEx from small dumps that are written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keywright.corpora.stackexchange import Sizes, questions, split, write
from keywright.errors import DataError

ROWS = """
  <row Id="1" PostTypeId="1" Title="Sort a list" Body="&lt;p&gt;How do I sort?&lt;/p&gt;&#xA;&lt;pre&gt;&lt;code&gt;x = [2, 1]&lt;/code&gt;&lt;/pre&gt;" Tags="&lt;python&gt;&lt;sorting-algorithms&gt;" />
  <row Id="2" PostTypeId="2" ParentId="1" Body="&lt;p&gt;Use sorted.&lt;/p&gt;" />
  <row Id="3" PostTypeId="1" Title="No tags" Body="&lt;p&gt;Text&lt;/p&gt;" />
  <row Id="4" PostTypeId="1" Title="A picture" Body="&lt;img src='a.png'&gt;" Tags="|images|c#|" />
"""  # noqa: E501


def dump(folder: Path, rows: str = ROWS, name: str = "Posts.xml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<posts>{rows}</posts>\n')
    return path


def many(folder: Path, count: int) -> Path:
    rows = "".join(
        f'<row Id="{n}" PostTypeId="1" Title="Question {n}" Body="Text" Tags="&lt;tag&gt;" />\n'
        for n in range(count)
    )
    return dump(folder, rows)


def test_questions_have_their_title_text_and_tags(tmp_path: Path) -> None:
    (_, first), (_, last) = questions(dump(tmp_path / "cs.stackexchange.com"))
    assert first.id == "cs.stackexchange/1"
    assert first.title == "Sort a list"
    assert first.body.split() == ["How", "do", "I", "sort?", "x", "=", "[2,", "1]"]
    assert first.keyphrases == ("python", "sorting algorithms")
    assert (last.title, last.body, last.keyphrases) == ("A picture", "", ("images", "c#"))


def test_parts_follow_from_the_seed_not_from_the_order(tmp_path: Path) -> None:
    a, b = many(tmp_path / "a.com", 60), many(tmp_path / "b.com", 40)
    sizes = Sizes(valid=10, test=20)
    parts = {question.id: part for part, question in split([a, b], sizes)}
    assert sorted(parts.values()).count("valid") == 10
    assert sorted(parts.values()).count("test") == 20
    assert {question.id: part for part, question in split([b, a], sizes)} == parts
    other = {question.id: part for part, question in split([a, b], Sizes(10, 20, seed=2))}
    assert other != parts


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    counts = write([many(tmp_path / "a.com", 30)], tmp_path / "out", Sizes(valid=4, test=6))
    assert counts == {"train": 20, "valid": 4, "test": 6}
    lines = (tmp_path / "out" / "test.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert json.loads(lines[0])["keyphrases"] == ["tag"]


def test_too_few_questions_are_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="5 questions are too few for 4 validation and 6 test"):
        write([many(tmp_path / "a.com", 5)], tmp_path / "out", Sizes(valid=4, test=6))
    assert not (tmp_path / "out").exists()


def test_a_damaged_dump_names_its_line(tmp_path: Path) -> None:
    path = dump(tmp_path, ROWS)
    path.write_text(path.read_text()[:-40])
    with pytest.raises(DataError, match=r"Posts\.xml:\d+: is not a dump of posts"):
        list(questions(path))


def test_entities_do_not_grow(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    bomb += "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    path = tmp_path / "Posts.xml"
    path.write_text(f'<?xml version="1.0"?>{bomb}]><posts><row Title="&j;"/></posts>')
    with pytest.raises(DataError, match="is not a dump of posts"):
        list(questions(path))


def test_a_7z_archive_is_read(tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr", reason="needs keywright[stackexchange]")
    posts = dump(tmp_path / "made")
    archive = tmp_path / "cs.stackexchange.com.7z"
    with py7zr.SevenZipFile(archive, "w") as file:
        file.write(posts, "Posts.xml")
    assert [name for name, _ in questions(archive)] == [
        "cs.stackexchange/1",
        "cs.stackexchange/4",
    ]
    archive.write_bytes(archive.read_bytes()[:-20])
    with pytest.raises(DataError, match="7z archive"):
        list(questions(archive))
