from __future__ import annotations

from pathlib import Path

import pytest

from keywright.data.vocab import EOS, PAD, SPECIALS, UNK, Vocabulary
from keywright.errors import DataError
from keywright.types import Document

V = Vocabulary(["the", "graph", "of"])
DOCUMENT = Document(title="The graph", body="Zebra of the QUAGGA zebra")


def test_source_words_unknown_to_the_vocabulary_extend_it_in_order_of_occurrence() -> None:
    source = V.encode_document(DOCUMENT, None)
    the, graph, of = 7, 8, 9
    assert source.ids == [the, graph, UNK, of, the, UNK, UNK]
    assert source.extended == [the, graph, 10, of, the, 11, 10]
    assert source.extension == ("zebra", "quagga")
    assert source.extension_inputs == [UNK, UNK]
    assert source.title_length == 2


def test_a_phrase_may_use_words_that_only_the_source_knows() -> None:
    assert V.encode_phrase(["graph", "quagga", "unheard"], ("zebra", "quagga")) == [8, 11, UNK]
    assert V.decode([8, 11, UNK], ("zebra", "quagga")) == ["graph", "quagga", "<unk>"]


def test_a_long_document_is_cut_and_forgets_the_words_beyond() -> None:
    source = V.encode_document(DOCUMENT, 3)
    assert len(source.ids) == len(source.extended) == 3
    assert source.extension == ("zebra",)
    assert V.encode_document(DOCUMENT, 1).title_length == 1


def test_an_empty_document_still_has_something_to_read() -> None:
    assert V.encode_document(Document(title="", body=" "), None).extended == [UNK]


def test_a_text_cannot_smuggle_in_special_tokens() -> None:
    document = Document(title="", body="<eos> <sep> <unk> <pad>", tokenised=True)
    assert V.encode_document(document, None).extended == [10, 11, UNK, PAD]
    assert EOS not in V.encode_phrase(["<eos>"], ())
    assert "<eos>" not in Vocabulary.build([document], 100).words[len(SPECIALS) :]


def test_build_keeps_the_most_frequent_words_of_texts_and_keyphrases() -> None:
    documents = [
        Document(title="b a", body="c c", keyphrases=("d d", "d a")),
        Document(title="", body="b"),
    ]
    built = Vocabulary.build(documents, len(SPECIALS) + 3)
    assert built.words[len(SPECIALS) :] == ("d", "a", "b")  # 3 times; 2 times, alphabetically
    assert built.size == len(SPECIALS) + 3
    assert Vocabulary.build(reversed(documents), len(SPECIALS) + 3).words == built.words


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    V.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json").words == V.words


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1, 2]",
        '{"kind": "words"}',
        '{"kind": "words", "words": ["a", "a"]}',
        '{"kind": "words", "words": ["<eos>"]}',
        '{"kind": "subwords", "words": []}',
    ],
)
def test_a_file_that_is_no_vocabulary_is_an_error_that_names_it(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"vocabulary\.json: is "):
        Vocabulary.load(path)
