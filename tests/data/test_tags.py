"""Present phrases as tags, and back."""

from __future__ import annotations

import pytest

from keywright.data.tags import NO_TAG, B, I, O, X, gold_tags, source_words, tagged_spans
from keywright.errors import ConfigError
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.types import Document

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ";", "|", "0"]
VOCABULARY = WordpieceVocabulary(
    [*MARKS, "deep", "neural", "net", "##work", "##works", "are", "no"],
    ["deep", "neural", "net", "##work", "are"],
)


def tags(title: str, body: str, *keyphrases: str, most: int | None = None) -> list[int]:
    document = Document(title=title, body=body, keyphrases=keyphrases)
    source = VOCABULARY.encode_document(document, most)
    words = source_words(document, source.extended, VOCABULARY)
    return gold_tags(document, words, len(source.ids))


def test_marks_have_no_tag_and_continuations_are_x() -> None:
    # [CLS] deep net ##work [SEP] no neural net ##works [SEP]
    found = tags("deep network", "no neural networks", "neural network")
    assert found == [NO_TAG, O, O, O, NO_TAG, O, B, I, X, NO_TAG]


def test_every_occurrence_is_tagged_by_its_stems() -> None:
    found = tags("", "networks are networks", "network")
    assert found == [NO_TAG, B, X, O, B, X, NO_TAG]


def test_the_longer_of_two_overlapping_phrases_is_tagged() -> None:
    found = tags("", "deep neural net are neural net", "neural net", "deep neural net")
    assert found == [NO_TAG, B, I, I, O, B, I, NO_TAG]


def test_a_phrase_does_not_cross_from_title_to_body() -> None:
    assert B not in tags("deep", "neural", "deep neural")


def test_adjacent_phrases_are_apart() -> None:
    assert tags("", "deep neural", "deep", "neural") == [NO_TAG, B, B, NO_TAG]


def test_a_word_that_was_cut_has_no_tag() -> None:
    # [CLS] deep net [SEP], without ##work
    assert tags("", "deep network", "deep network", "deep", most=4) == [NO_TAG, B, NO_TAG, NO_TAG]
    assert tags("deep network", "are", most=5) == [NO_TAG, O, NO_TAG, NO_TAG]


def test_words_are_found_at_their_positions() -> None:
    document = Document(title="deep <pad>", body="<pad> networks zzz")
    source = VOCABULARY.encode_document(document, None)
    words = source_words(document, source.extended, VOCABULARY)
    assert [word.text for word in words] == ["deep", "<pad>", "<pad>", "networks", "zzz"]
    # [CLS] deep <pad> [SEP] <pad> net ##works zzz [SEP]: a blank cannot be told from a mark
    assert [word.start for word in words][::3] == [1, 5]
    assert words[-1][1:] == (7, 8)


def test_a_vocabulary_that_joins_words_is_refused() -> None:
    document = Document(title="", body="deep network")
    joined = [VOCABULARY.special.bos] * 3
    with pytest.raises(ConfigError, match=r"splits each word separately, .* 'deep'"):
        source_words(document, joined, VOCABULARY)


@pytest.mark.parametrize(
    ("given", "spans"),
    [
        ([O, B, I, I, O, B], [(1, 4), (5, 6)]),
        ([B, B, I], [(0, 1), (1, 3)]),
        ([I, I, O, I], []),  # a phrase begins with B
        ([B, O, I], [(0, 1)]),
        ([], []),
    ],
)
def test_spans_begin_with_b(given: list[int], spans: list[tuple[int, int]]) -> None:
    assert tagged_spans(given) == spans
