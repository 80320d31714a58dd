from __future__ import annotations

from pathlib import Path

import pytest

from keywright import lexicon
from keywright.lexicon import EOS, PAD, SPECIALS, UNK
from keywright.lexicons.words import Config, Vocabulary
from keywright.types import Document

V = Vocabulary(["the", "graph", "of"])
DOCUMENT = Document(title="The graph", body="Zebra of the QUAGGA zebra")


def test_unknown_words_of_the_source_extend_the_vocabulary_in_order_of_occurrence() -> None:
    source = V.encode_document(DOCUMENT, None)
    the, graph, of = 7, 8, 9
    assert source.ids == [the, graph, UNK, of, the, UNK, UNK]
    assert source.extended == [the, graph, 10, of, the, 11, 10]
    assert source.extension == ("zebra", "quagga")
    assert source.extension_inputs == [UNK, UNK]
    assert source.title_length == 2


def test_a_phrase_may_use_words_of_the_source_that_are_not_in_the_vocabulary() -> None:
    assert V.encode_phrase(["graph", "quagga", "unheard"], ("zebra", "quagga")) == [8, 11, UNK]
    assert V.decode([8, 11, UNK], ("zebra", "quagga")) == ["graph", "quagga", "<unk>"]


def test_words_beyond_the_limit_are_not_in_the_extension() -> None:
    source = V.encode_document(DOCUMENT, 3)
    assert len(source.ids) == len(source.extended) == 3
    assert source.extension == ("zebra",)
    assert V.encode_document(DOCUMENT, 1).title_length == 1


def test_an_empty_document_has_one_position() -> None:
    assert V.encode_document(Document(title="", body=" "), None).extended == [UNK]


def test_a_text_cannot_contain_special_tokens() -> None:
    document = Document(title="", body="<eos> <sep> <unk> <pad>", tokenised=True)
    assert V.encode_document(document, None).extended == [10, 11, UNK, PAD]
    assert EOS not in V.encode_phrase(["<eos>"], ())
    assert "<eos>" not in Vocabulary.build([document], 100).words[len(SPECIALS) :]


def test_it_is_built_from_the_most_frequent_words_of_texts_and_keyphrases() -> None:
    documents = [
        Document(title="b a", body="c c", keyphrases=("d d", "d a")),
        Document(title="", body="b"),
    ]
    built = Vocabulary.build(documents, len(SPECIALS) + 3)
    assert built.words[len(SPECIALS) :] == ("d", "a", "b")  # 3 times; 2 times, alphabetically
    assert built.size == len(SPECIALS) + 3
    assert Vocabulary.build(reversed(documents), len(SPECIALS) + 3).words == built.words


def test_it_survives_saving_and_loading(tmp_path: Path) -> None:
    lexicon.save(V, tmp_path / "vocabulary.json")
    loaded = lexicon.load(tmp_path / "vocabulary.json")
    assert isinstance(loaded, Vocabulary)
    assert loaded.words == V.words


def test_more_words_can_be_read_than_generated() -> None:
    reads_zebra = Vocabulary(["the", "graph", "of", "zebra"], generated=3)
    source = reads_zebra.encode_document(DOCUMENT, None)
    zebra = 10
    assert (reads_zebra.size, reads_zebra.input_size) == (10, 11)
    assert source.ids == [7, 8, zebra, 9, 7, UNK, zebra]
    assert source.extended == V.encode_document(DOCUMENT, None).extended
    assert source.extension == ("zebra", "quagga")
    assert source.extension_inputs == [zebra, UNK]
    assert reads_zebra.encode_phrase(["zebra"], ()) == [UNK]
    assert reads_zebra.decode([10], ("zebra",)) == ["zebra"]


def test_words_that_are_only_read_survive_saving_and_loading(tmp_path: Path) -> None:
    built = Vocabulary.build([DOCUMENT], len(SPECIALS) + 1, len(SPECIALS) + 3)
    lexicon.save(built, tmp_path / "vocabulary.json")
    loaded = lexicon.load(tmp_path / "vocabulary.json")
    assert loaded.content() == built.content()
    assert (loaded.size, loaded.input_size) == (len(SPECIALS) + 1, len(SPECIALS) + 3)


def test_fewer_words_cannot_be_read_than_generated() -> None:
    with pytest.raises(ValueError, match=r"input_size \(9\) is less than size \(10\)"):
        Config(size=10, input_size=9)
    with pytest.raises(ValueError, match="5 of 4 words"):
        Vocabulary(["the", "graph", "of", "zebra"], generated=5)


def test_the_full_stop_after_a_prepared_title_is_not_read() -> None:
    prepared = Document(title="the graph .", body="of zebra .", tokenised=True)
    assert V.encode_document(prepared, None).ids == [7, 8, 9, UNK, UNK]
    written = Document(title="The graph.", body="")
    assert len(V.encode_document(written, None).ids) == 3  # as people wrote it
