"""Bad input is reported in one line with file, line and problem, always as a KeywrightError."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keywright.data import documents, predictions
from keywright.data.documents import numbered_documents, read_documents
from keywright.data.predictions import read_predictions
from keywright.errors import DataError, KeywrightError, UnknownNameError

GOOD = json.dumps({"title": "t", "abstract": "a", "keywords": ["k"]})
DEEP = '{"title": "t", "junk": ' + "[" * 100_000 + "]" * 100_000 + "}"


def read_all(file, **options):
    return list(read_documents(file, **options))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"title": "t", "abstr', r"is not JSON \(Input data was truncated\)"),
        ("plain text", r"is not JSON"),
        ("[1, 2]", "is JSON, but not an object"),
        ('{"title": "t", "keywords": []}', "has no text: one of the fields abstract"),
        ('{"abstract": "a", "keywords": []}', "the field title is missing"),
        ('{"title": "t", "abstract": "a", "keywords": 3}', "keywords: Expected .*got `int`"),
        ('{"title": "t", "abstract": "a", "keywords": [3]}', r"keywords\[0\]: .*got `int`"),
        ('{"title": 3, "abstract": "a"}', "title: Expected .*got `int`"),
        ('{"source": "s", "target": "t"}', "has no text"),
        ('{"title": "t", "abstract": "\\ud800"}', "is not JSON .half a surrogate pair"),
        ('{"title": "t", "abstract": "a", "score": NaN}', r"is not JSON \(NaN is not a number\)"),
        (DEEP, "is nested too deeply"),
    ],
)  # fmt: skip
def test_a_bad_record_is_reported_with_its_line(tmp_path, second, message):
    file = tmp_path / "corpus.jsonl"
    file.write_text(f"{GOOD}\n{second}\n{GOOD}\n")
    with pytest.raises(DataError, match=f"corpus.jsonl:2: .*{message}") as raised:
        read_all(file)
    assert "\n" not in str(raised.value)
    noted: list[DataError] = []
    assert len(list(numbered_documents(file, bad=noted.append))) == 2
    assert len(noted) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "1: is not UTF-8"),
        (b"PK\x03\x04\x00\x00", "1: is a binary file"),
        (b"caf\xe9 <eos> d\xe9j\xe0 vu\n", "1: is not UTF-8"),
        ('{"title": "é", "abstract": ""}'.encode("latin1"), "is not UTF-8"),
        ('{"title": "t", "abstract": "a"}'.encode("utf-16"), "1: is a binary file or UTF-16"),
        (b'{"title": "t", "abs', "1: is not valid JSON"),
        (b"[]\n", "does not have a known document format"),
        (gzip.compress(GOOD.encode() * 1000, mtime=0)[:-12], "is truncated or damaged"),
        (gzip.compress(f"{GOOD}\n".encode() * 9, mtime=0)[:-12], r"\d: .* is truncated or damaged"),
        (b'{"a": [[]]}', "has keyphrases for 'a', but there is no"),
        (b'{"a": [[3]]}', "Expected `str`, got `int`"),
        (b"{}", "no known document format has the fields none"),
    ],
)
def test_a_file_that_is_not_a_corpus_is_described(tmp_path, content, message):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"file:? ?.*{message}") as raised:
        read_all(file)
    assert "\n" not in str(raised.value)


def test_an_empty_prediction_file_is_an_error(tmp_path):
    (tmp_path / "p").write_bytes(b"")
    for format in (None, *predictions.formats()):
        with pytest.raises(DataError, match=r"p: (is empty|contains no predictions)"):
            list(read_predictions(tmp_path / "p", format=format))


@pytest.mark.parametrize("format", ["chan", "keywright", "meng", "midas"])
def test_an_empty_file_is_also_an_error_if_its_format_is_named(tmp_path, format):
    (tmp_path / "d_src").write_bytes(b"")
    with pytest.raises(DataError, match="contains no documents"):
        read_all(tmp_path / "d_src", format=format)


def test_an_unknown_format_suggests_a_similar_one(tmp_path):
    with pytest.raises(
        UnknownNameError, match="unknown document format 'menk'; did you mean 'meng'"
    ):
        read_documents(tmp_path, format="menk")
    with pytest.raises(UnknownNameError, match="unknown prediction format 'opennm'"):
        read_predictions(tmp_path, format="opennm")


def test_json_among_plain_lines_is_an_error(tmp_path):
    (tmp_path / "test_src.txt").write_text("a <eos> b\n" * 20 + GOOD + "\n")
    with pytest.raises(DataError, match=r"test_src.txt:21: .*two formats mixed"):
        read_all(tmp_path / "test_src.txt")
    (tmp_path / "p").write_text("a;b\n" * 20 + '{"phrases": []}\n')
    with pytest.raises(DataError, match=r"p:21: .*two formats mixed"):
        list(read_predictions(tmp_path / "p"))


def test_a_missing_file_and_an_empty_folder(tmp_path):
    with pytest.raises(DataError, match="nowhere: no such file"):
        read_documents(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"contains no \.txt files"):
        read_all(tmp_path)
    with pytest.raises(DataError, match="is a folder, not a file"):
        read_all(tmp_path, format="meng")
    with pytest.raises(DataError, match="is not a folder"):
        read_all(tmp_path / "nowhere", format="folder")


def test_bad_files_in_a_folder_can_be_skipped(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff")
    (tmp_path / "b.txt").write_text("fine")
    noted: list[DataError] = []
    assert [d.id for _, d in numbered_documents(tmp_path, bad=noted.append)] == ["b"]
    assert "a.txt:1" in str(noted[0])


def test_a_bad_target_line_affects_only_its_document(tmp_path):
    (tmp_path / "test_src.txt").write_text("a <eos> 1\na <eos> 2\na <eos> 3\n")
    (tmp_path / "test_trg.txt").write_bytes(b"one\n\xff\nthree\n")
    noted: list[DataError] = []
    found = list(numbered_documents(tmp_path / "test_src.txt", bad=noted.append))
    assert [(n, d.body, d.keyphrases) for n, d in found] == [
        (1, "1", ("one",)),
        (3, "3", ("three",)),
    ]
    assert len(noted) == 1


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (b"<root>\n<sentence>\n</root>", r"a.xml:3: is not XML \(mismatched tag"),
        (b"", "a.xml:1: is not XML"),
        (b"\xff\xfe", "a.xml:1: is not UTF-8"),
    ],
)
def test_invalid_xml_is_reported_with_its_own_file(tmp_path, xml, message):
    (tmp_path / "test.json").write_text('{"a": [["k"]]}')
    (tmp_path / "a.xml").write_bytes(xml)
    with pytest.raises(DataError, match=message):
        read_all(tmp_path / "test.json")


BYTES = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(
            [b"{", b"}", b"[", b"]", b'"title"', b'"abstract"', b'"phrases"', b'"text"', b'"src"',
             b'"pred_sents"', b'"document"', b'"body"', b'"id"', b'"token_probs"', b'"keywords"',
             b":", b",", b"1", b"-1e999", b"null", b"\n", b"a", b"<eos>", b"[sep]", b";", b"\xff",
             b"\x00", b"\xc3\xa9", b"\\ud800", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00"]
        ),
        max_size=40,
    ).map(b"".join),
    st.dictionaries(
        st.sampled_from(
            ["title", "abstract", "body", "keywords", "keyphrases", "src", "tgt", "source",
             "target", "document", "id", "phrases", "predictions", "pred_sents", "pred_scores",
             "url", "text"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["text", "token_probs", "token_log_probs", "words"]), inner
            ),
            max_leaves=8,
        ),
        max_size=5,
    ).map(lambda record: json.dumps(record).encode()),
)  # fmt: skip


@settings(deadline=None)
@given(content=BYTES, target=BYTES)
@example(content=b'{"a": []}', target=b"")
@example(content=b"\x1f\x8b", target=b"")
@example(content=b"\x28\xb5\x2f\xfd", target=b"")
@example(content=b'{"text": ' + b"9" * 400 + b"}", target=b"")
def test_arbitrary_bytes_raise_only_keywright_errors(tmp_path_factory, content, target):
    folder = tmp_path_factory.mktemp("fuzz")
    file = folder / "test_src.txt"
    file.write_bytes(content)
    (folder / "test_trg.txt").write_bytes(target)
    tasks = [(read_documents, format) for format in (None, *documents.formats())]
    tasks += [(read_predictions, format) for format in (None, *predictions.formats())]
    for read, format in tasks:
        with suppress(KeywrightError):
            list(read(file, format=format))
