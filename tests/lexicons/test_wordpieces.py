from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from keywright import lexicon
from keywright.config import Part
from keywright.data import minilm
from keywright.data.targets import Targets, split
from keywright.errors import ConfigError
from keywright.lexicon import BOS, EOS, PAD, SEP, SPECIALS, UNK
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.types import Document

# fmt: off
PIECES = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ";", "|", "0", "#", "+", "c", "##+", "###", "##x",
    "key", "##phrase", "##s", "phrase", "gene", "##ration", "of", "naive", "zor",
    "##gon", "##ing", "1980", "##y", "the",
]
# fmt: on
OUTPUTS = ["key", "##phrase", "##s", "phrase", "gene", "##ration", "<digit>", "c", "##+"]


@pytest.fixture
def vocabulary() -> WordpieceVocabulary:
    return WordpieceVocabulary(PIECES, OUTPUTS)


def spelt(vocabulary: WordpieceVocabulary, word: str) -> list[str]:
    return [piece.text for piece in vocabulary.split(word)]


def test_words_are_cut_into_their_longest_pieces(vocabulary: WordpieceVocabulary) -> None:
    assert spelt(vocabulary, "keyphrases") == ["key", "##phrase", "##s"]
    assert spelt(vocabulary, "c++") == ["c", "##+", "##+"]
    assert spelt(vocabulary, "naïve") == ["naive"]
    assert spelt(vocabulary, "<digit>") == ["<digit>"]
    assert spelt(vocabulary, "1980s") == ["1980", "##s"]


def test_a_word_that_cannot_be_split_is_one_piece(vocabulary: WordpieceVocabulary) -> None:
    (piece,) = vocabulary.split("日本")
    assert piece.text == "日本"
    assert PIECES[piece.input] == "[UNK]"
    assert spelt(vocabulary, "key" * 40) == ["key" * 40]


def test_a_word_that_begins_like_a_continuation_is_not_one(vocabulary: WordpieceVocabulary) -> None:
    assert spelt(vocabulary, "##x") == ["#", "###", "##x"]
    assert vocabulary.decode(
        [7, *vocabulary.encode_phrase(["##x"], ["#", "###", "##x"])], ["#", "###", "##x"]
    ) == ["key", "##x"]


def test_a_blank_is_padding_and_cannot_be_copied(vocabulary: WordpieceVocabulary) -> None:
    source = vocabulary.encode_document(Document(title="", body="key <pad> the"), None)
    assert [PIECES[i] for i in source.ids] == ["[CLS]", "key", "[PAD]", "the", "[SEP]"]
    assert source.extended == [PAD, 7, PAD, 16, PAD]
    assert source.extension == ("the",)


def test_the_marks_around_a_document_cannot_be_copied(
    vocabulary: WordpieceVocabulary,
) -> None:
    source = vocabulary.encode_document(Document(title="The zorgons", body="of zorgons, 2"), None)
    read = [PIECES[i] for i in source.ids]
    assert " ".join(read) == ("[CLS] the zor ##gon ##s [SEP] of zor ##gon ##s [UNK] 0 [SEP]")
    assert source.extension == ("the", "zor", "##gon", "of", ",")
    assert [PIECES[i] for i in source.extension_inputs] == ["the", "zor", "##gon", "of", "[UNK]"]
    v, s, digit = vocabulary.size, OUTPUTS.index("##s") + 7, OUTPUTS.index("<digit>") + 7
    assert source.extended == [
        PAD,
        v,
        v + 1,
        v + 2,
        s,
        PAD,
        v + 3,
        v + 1,
        v + 2,
        s,
        v + 4,
        digit,
        PAD,
    ]
    assert source.title_length == 6


@pytest.mark.parametrize("most", [4, 5, 8, 9, 30])
def test_a_long_document_is_cut_before_its_last_mark(
    vocabulary: WordpieceVocabulary, most: int
) -> None:
    source = vocabulary.encode_document(Document(title="the zorgons", body="of zorgons"), most)
    whole = vocabulary.encode_document(Document(title="the zorgons", body="of zorgons"), None)
    assert len(source.ids) == len(source.extended) <= most
    assert PIECES[source.ids[-1]] == "[SEP]"
    if most < len(whole.ids):
        assert source.ids[: min(most - 2, 5)] == whole.ids[: min(most - 2, 5)]
    else:
        assert source == whole


def test_an_empty_document_has_one_piece(vocabulary: WordpieceVocabulary) -> None:
    source = vocabulary.encode_document(Document(title="", body=""), 10)
    assert source.extended == [PAD, UNK, PAD]
    assert source.title_length == 0


def test_phrases_decode_to_their_words(vocabulary: WordpieceVocabulary) -> None:
    source = vocabulary.encode_document(Document(title="", body="zorgoning of 日本"), None)
    for words in (["keyphrase", "generation"], ["zorgons", "of", "日本"], ["c++", "<digit>"]):
        ids = vocabulary.encode_phrase(words, source.extension)
        assert UNK not in ids
        assert vocabulary.decode(ids, source.extension) == words


def test_pieces_that_can_be_neither_generated_nor_copied_are_unknown(
    vocabulary: WordpieceVocabulary,
) -> None:
    assert vocabulary.encode_phrase(["key", "zorgon"], ()) == [7, UNK, UNK]
    assert vocabulary.encode_phrase(["<eos>", "<unk>"], ()) == [
        UNK,
        UNK,
    ]  # a text cannot end a sequence


def test_a_continuation_without_a_word_before_it_begins_one(
    vocabulary: WordpieceVocabulary,
) -> None:
    s, digit = OUTPUTS.index("##s") + 7, OUTPUTS.index("<digit>") + 7
    assert vocabulary.decode([s, s], ()) == ["ss"]
    assert vocabulary.decode([digit, s], ()) == ["<digit>", "s"]


def test_target_sequences_decode_to_their_phrases(vocabulary: WordpieceVocabulary) -> None:
    document = Document(title="keyphrase", body="of the gene", keyphrases=("Genes", "keyphrases"))
    targets = Targets("one2seq", order="given")
    extension = vocabulary.encode_document(document, None).extension
    (ids,) = targets.sequences(targets.phrases(document, None), vocabulary, extension)  # type: ignore[arg-type]
    assert ids.count(SEP) == 1
    assert ids[-1] == EOS
    assert [vocabulary.decode(ids[a:b], extension) for a, b in split(ids, vocabulary.special)] == [
        ["genes"],
        ["keyphrases"],
    ]


def test_generated_tokens_are_read_as_their_pieces(vocabulary: WordpieceVocabulary) -> None:
    read = [PIECES[i] for i in vocabulary.input_ids]
    assert read[: len(SPECIALS)] == ["[PAD]", "[CLS]", "[SEP]", "[UNK]", ";", "|", "[MASK]"]
    assert read[BOS] == "[CLS]"
    assert read[7:] == ["0" if piece == "<digit>" else piece for piece in OUTPUTS]
    assert vocabulary.input_size == len(PIECES)


def test_it_is_built_from_the_most_frequent_pieces_of_keyphrases() -> None:
    documents = [
        Document(title="zorgons", body="zorgons", keyphrases=("keyphrases", "gene 5", "日本")),
        Document(title="", body="", keyphrases=("phrase", "keyphrases", "gene")),
    ]
    built = WordpieceVocabulary.build(documents, 11, PIECES)
    assert built.outputs[7:] == ("##phrase", "##s", "gene", "key")
    everything = WordpieceVocabulary.build(documents, 1000, PIECES).outputs
    assert {"<digit>", "phrase"} < set(everything)
    assert not {"日本", "zor"} & set(everything)


def test_it_survives_saving_and_loading(vocabulary: WordpieceVocabulary, tmp_path: Path) -> None:
    lexicon.save(vocabulary, tmp_path / "v.json")
    loaded = lexicon.load(tmp_path / "v.json")
    assert isinstance(loaded, WordpieceVocabulary)
    assert (loaded.pieces, loaded.outputs) == (vocabulary.pieces, vocabulary.outputs)


def test_the_wordpieces_may_be_those_of_any_encoder(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    documents = [Document(title="", body="", keyphrases=("keyphrases",))]
    part = Part("wordpieces", {"size": 9, "encoder": str(tmp_path)})
    built = lexicon.build(part, documents)
    assert isinstance(built, WordpieceVocabulary)
    assert (built.pieces, built.outputs[7:]) == (tuple(PIECES), ("##phrase", "##s"))


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (None, r"has no vocab\.txt"),
        (["[PAD]", "key"], r"the wordpieces lack .*\[CLS\]"),
        (["key", "[PAD]"], r"the first wordpiece must be \[PAD\]"),
    ],
)
def test_a_folder_without_suitable_wordpieces_is_refused(
    pieces: list[str] | None, message: str, tmp_path: Path
) -> None:
    if pieces is not None:
        (tmp_path / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"^data\.vocabulary\.encoder: .*{message}"):
        lexicon.build(Part("wordpieces", {"encoder": str(tmp_path)}), [])


@pytest.mark.skipif(find_spec(minilm.PACKAGE) is None, reason="MiniLM is not installed")
@pytest.mark.skipif(find_spec("tokenizers") is None, reason="tokenizers is not installed")
def test_words_are_split_as_the_pretrained_tokenizer_does() -> None:
    from tokenizers import Tokenizer

    tokeniser = Tokenizer.from_file(str(minilm.folder() / "tokenizer.json"))
    tokeniser.no_padding()
    vocabulary = WordpieceVocabulary(minilm.wordpieces(), [])
    for word in (
        "keyphrase",
        "generation",
        "naïve",
        "élan",
        "interoperability",
        "zxqvw",
        "il6",
        "cov",
    ):
        expected = tokeniser.encode(word, add_special_tokens=False).tokens
        assert spelt(vocabulary, word) == expected
