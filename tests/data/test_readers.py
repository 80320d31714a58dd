"""Every document format is recognised by its content and gives the same documents."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from keywright.data.documents import formats, read_documents
from keywright.errors import DataError
from keywright.types import Document

TITLE = "Sparse graphs"
BODY = "We study sparse graphs. They are, in a word, sparse."
GOLD = ("sparse graphs", "graph theory")
XML = """<?xml version="1.0" encoding="UTF-8"?>
<root><document><sentences>
  <sentence id="1"{section}><tokens>
    <token id="1"><word>Sparse</word><CharacterOffsetBegin>0</CharacterOffsetBegin>
      <CharacterOffsetEnd>6</CharacterOffsetEnd></token>
    <token id="2"><word>graphs</word><CharacterOffsetBegin>7</CharacterOffsetBegin>
      <CharacterOffsetEnd>13</CharacterOffsetEnd></token>
  </tokens></sentence>
  <sentence id="2"><tokens>
    <token id="1"><word>Few</word><CharacterOffsetBegin>14</CharacterOffsetBegin>
      <CharacterOffsetEnd>17</CharacterOffsetEnd></token>
    <token id="2"><word>-LRB-</word><CharacterOffsetBegin>18</CharacterOffsetBegin>
      <CharacterOffsetEnd>19</CharacterOffsetEnd></token>
    <token id="3"><word>edges</word><CharacterOffsetBegin>19</CharacterOffsetBegin>
      <CharacterOffsetEnd>24</CharacterOffsetEnd></token>
    <token id="4"><word>-RRB-</word><CharacterOffsetBegin>24</CharacterOffsetBegin>
      <CharacterOffsetEnd>25</CharacterOffsetEnd></token>
  </tokens></sentence>
</sentences></document></root>"""


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def only(path: Path | str, **options: object) -> Document:
    (document,) = read_documents(path, **options)  # type: ignore[arg-type]
    return document


@pytest.mark.parametrize(
    ("record", "title", "id"),
    [
        ({"title": TITLE, "abstract": BODY, "keywords": list(GOLD)}, TITLE, None),
        ({"title": TITLE, "abstract": BODY, "keywords": ";".join(GOLD), "id": 7}, TITLE, "7"),
        ({"title": TITLE, "abstract": BODY, "keyword": "; ".join(GOLD) + ";"}, TITLE, None),
        ({"title": TITLE, "abstract": BODY, "keyphrases": GOLD, "_id": "x"}, TITLE, "x"),
        ({"title": TITLE, "question": BODY, "tags": GOLD, "doc_id": "d"}, TITLE, "d"),
        ({"url": "http://a.b", "text": BODY, "KeyPhrases": [p.split() for p in GOLD]}, "", "http://a.b"),
        ({"title": TITLE, "body": BODY, "keyphrases": GOLD, "id": "k"}, TITLE, "k"),
        ({"src": f"{TITLE} [sep] {BODY}", "tgt": " ; ".join(GOLD)}, TITLE, None),
        ({"src": f"{TITLE} [sep] {BODY}", "tgt": GOLD, "id": 3}, TITLE, "3"),
        ({"source": f"{TITLE} [sep] {BODY}", "target": ";".join(GOLD)}, TITLE, None),
        ({"source": BODY, "target": list(GOLD)}, "", None),
        (
            {
                "id": 5,
                "document": BODY.split(),
                "doc_bio_tags": ["O"] * len(BODY.split()),
                "extractive_keyphrases": GOLD[:1],
                "abstractive_keyphrases": GOLD[1:],
            },
            "",
            "5",
        ),
    ],
)  # fmt: skip
def test_all_kinds_of_json_lines(tmp_path, record, title, id):
    document = only(lines(tmp_path / "some.data", record), need_gold=True)
    assert document == Document(title=title, body=BODY, id=id, keyphrases=GOLD)


def test_a_document_that_names_its_source_is_not_kpeval(tmp_path):
    record = {"title": TITLE, "abstract": BODY, "keywords": GOLD, "source": "a journal"}
    assert only(lines(tmp_path / "file", record)).title == TITLE


def test_prepared_texts_are_recognised_as_tokenised(tmp_path):
    record = {
        "title": "sparse graphs .",
        "abstract": "we study graphs , sparse ones .",
        "keywords": [],
    }
    assert only(lines(tmp_path / "file", record)).tokenised


def test_missing_gold_differs_from_an_empty_list(tmp_path):
    file = lines(
        tmp_path / "file",
        {"title": TITLE, "abstract": BODY},
        {"title": TITLE, "abstract": BODY, "keywords": None},
        {"title": TITLE, "abstract": BODY, "keywords": []},
        {"title": TITLE, "abstract": BODY, "keywords": ""},
    )
    assert [document.keyphrases for document in read_documents(file)] == [None, None, (), ()]


def test_missing_gold_is_an_error_with_its_line_if_gold_is_needed(tmp_path):
    file = lines(
        tmp_path / "file",
        {"title": TITLE, "abstract": BODY, "keywords": []},
        {"title": TITLE, "abstract": BODY},
    )
    with pytest.raises(DataError, match="file:2: has no gold keyphrases"):
        list(read_documents(file, need_gold=True))


def test_blank_lines_between_records_are_skipped(tmp_path):
    file = tmp_path / "file"
    record = json.dumps({"title": TITLE, "abstract": BODY})
    file.write_text(f"\n{record}\n  \n\n{record}\n\n")
    assert len(list(read_documents(file))) == 2


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("test_src.txt", "test_trg.txt"),
        ("src.txt", "trg.txt"),
        ("my_src_src.txt", "my_src_trg.txt"),
        ("valid.src", "valid.tgt"),
        ("word_nus_testing_context.txt", "word_nus_testing_allkeywords.txt"),
    ],
)
def test_the_target_of_a_chan_source_is_found(tmp_path, source, target):
    (tmp_path / source).write_text("a title . <eos> a body .\nonly a body\n")
    (tmp_path / target).write_text("title;body\n\n")
    assert list(read_documents(tmp_path / source, need_gold=True)) == [
        Document(title="a title .", body="a body .", keyphrases=("title", "body"), tokenised=True),
        Document(title="", body="only a body", keyphrases=(), tokenised=True),
    ]


def test_the_files_of_a_chan_pair_may_be_compressed_differently(tmp_path):
    (tmp_path / "test_src.txt.gz").write_bytes(gzip.compress(b"a <eos> b\n"))
    (tmp_path / "test_trg.txt").write_text("c\n")
    assert only(tmp_path / "test_src.txt.gz").keyphrases == ("c",)


def test_phrases_of_a_chan_target_are_not_changed(tmp_path):
    (tmp_path / "test_src.txt").write_text("a <eos> b <eos> c\n")
    (tmp_path / "test_trg.txt").write_text(" x ;; <peos>;name|other name;\n")
    document = only(tmp_path / "test_src.txt")
    assert document.keyphrases == ("x ", "", " <peos>", "name|other name", "")
    assert (document.title, document.body) == ("a", "b <eos> c")


def test_a_chan_source_without_target_has_no_gold(tmp_path):
    (tmp_path / "test_src.txt").write_text("a <eos> b\n")
    assert only(tmp_path / "test_src.txt").keyphrases is None
    with pytest.raises(DataError, match=r"test_src.txt:1: has no gold.*target file"):
        list(read_documents(tmp_path / "test_src.txt", need_gold=True))


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (3, 2, r"test_trg.txt:2: ends at line 2, but .*test_src.txt has a line 3"),
        (2, 4, r"test_src.txt:2: ends at line 2, but .*test_trg.txt has a line 3"),
    ],
)
def test_a_pair_of_different_lengths_is_an_error_with_its_line(tmp_path, sources, targets, message):
    (tmp_path / "test_src.txt").write_text("a <eos> b\n" * sources)
    (tmp_path / "test_trg.txt").write_text("c\n" * targets)
    with pytest.raises(DataError, match=message):
        list(read_documents(tmp_path / "test_src.txt"))


def test_deepkpg_text_pairs(tmp_path):
    (tmp_path / "test.source").write_text(f"{TITLE} [sep] {BODY}\n")
    (tmp_path / "test.target").write_text(" ; ".join(GOLD) + "\n")
    assert only(tmp_path / "test.source") == Document(title=TITLE, body=BODY, keyphrases=GOLD)


def test_a_folder_of_text_files(tmp_path):
    (tmp_path / "b.txt").write_text(f"{TITLE}\n\n{BODY}\n")
    (tmp_path / "a.txt").write_text("Only a title")
    (tmp_path / "b.key").write_text("sparse graphs\n\ngraph theory\n")
    (tmp_path / "notes.md").write_text("not a document")
    assert list(read_documents(tmp_path)) == [
        Document(title="Only a title", body="", id="a"),
        Document(title=TITLE, body=BODY, id="b", keyphrases=GOLD),
    ]


@pytest.mark.parametrize("section", ["", ' section="title" type="title"'])
def test_the_texts_of_ake_references_are_found(tmp_path, section):
    (tmp_path / "references").mkdir()
    (tmp_path / "test").mkdir()
    references = tmp_path / "references" / "test.author.stem.json"
    gold = {"C-1": [["sparse graphs"], ["graph theory", "theory of graphs"]]}
    references.write_text(json.dumps(gold, indent=4))
    (tmp_path / "test" / "C-1.xml").write_text(XML.format(section=section))
    expected = Document(title=TITLE, body="Few (edges)", id="C-1", keyphrases=GOLD)
    assert only(references) == expected
    references.write_text(json.dumps(gold))  # on one line
    assert only(references) == expected


def test_a_missing_text_of_an_ake_reference_is_named(tmp_path):
    references = tmp_path / "test.author.json"
    references.write_text(json.dumps({"C-1": [["sparse graphs"]], "x" * 5000: [["y"]]}))
    with pytest.raises(DataError, match=r"has keyphrases for 'C-1', but there is no .*C-1.xml"):
        list(read_documents(references))
    (tmp_path / "C-1.txt").write_text(f"{TITLE}\n{BODY}\n")
    stream = read_documents(references)
    assert next(stream).body == BODY
    with pytest.raises(DataError, match="has keyphrases for 'xxx"):
        next(stream)


def test_a_named_format_is_not_guessed(tmp_path):
    (tmp_path / "list.txt").write_text("a first document\na second document\n")
    with pytest.raises(DataError, match="does not have a known document format; name its format"):
        read_documents(tmp_path / "list.txt")
    documents = list(read_documents(tmp_path / "list.txt", format="chan"))
    assert [document.body for document in documents] == ["a first document", "a second document"]


def test_the_list_of_formats():
    assert formats() == [
        "ake", "chan", "deepkpg", "deepkpg_text", "folder", "keywright", "kpeval", "meng", "midas",
    ]  # fmt: skip
