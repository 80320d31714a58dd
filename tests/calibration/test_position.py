"""Where phrases occur, and where they are found."""

from __future__ import annotations

import pytest

from keywright import protocols
from keywright.calibration.position import SECTIONS, SectionCounts, Sections, Source, section
from keywright.types import Document, Prediction, ScoredPhrase

TEN = "one two six ten cat dog sun sky pen cup"  # ten words of three letters, 39 characters


def document(*gold: str, body: str = TEN, title: str = "") -> Document:
    return Document(title=title, body=body, keyphrases=gold, tokenised=True)


def prediction(*phrases: str) -> Prediction:
    return Prediction(phrases=tuple(ScoredPhrase(text=phrase) for phrase in phrases))


def test_position_is_the_share_of_characters_before_the_phrase() -> None:
    source = Source(document())
    assert source.position("one") == 0.0
    assert source.position("six ten") == pytest.approx(8 / 39)
    assert source.position("cup") == pytest.approx(36 / 39)
    assert source.position("cow") is None
    assert source.position("") is None


def test_positions_count_characters_of_words_not_of_stems() -> None:
    """ "organizations" is 13 characters long, its stem 5."""
    source = Source(document(body="organizations publish reports"))
    assert source.position("report") == pytest.approx(22 / 29)


def test_the_first_occurrence_counts_and_the_title_comes_first() -> None:
    source = Source(document(title="cup final", body=f"{TEN} final"))
    assert source.position("cup") == 0.0
    assert source.position("final") == pytest.approx(4 / (9 + 1 + 39 + 6))


def test_part_of_a_word_or_the_first_word_is_accepted_if_there_is_no_run() -> None:
    source = Source(document())
    assert source.position("un sk") == pytest.approx(24 / 39)  # inside "sun sky"
    assert source.position("cat pen") == pytest.approx(16 / 39)  # no run: where "cat" is


def test_sections_have_equal_length() -> None:
    assert [section(p) for p in (0.0, 0.19, 0.2, 0.59, 0.8, 0.999, 1.0)] == [0, 0, 1, 2, 4, 4, 4]
    assert section(0.6, sections=2) == 1


def by_section(pairs: list[tuple[Document, Prediction]], sections: int = SECTIONS) -> Sections:
    counts = SectionCounts(protocols.load("chan19"), sections)
    for text, made in pairs:
        counts.add(text, made.texts)
    return counts.total()


def test_gold_found_and_predicted_by_section() -> None:
    pairs = [
        (
            document("one", "cat dog", "cup", "absent thing"),
            prediction("one", "cups", "sky", "cow"),
        ),
        (document("two"), prediction()),
    ]
    found = by_section(pairs)
    assert found.gold == (2, 0, 1, 0, 1)  # one and two; cat dog; cup
    assert found.found == (1, 0, 0, 0, 1)
    assert found.predicted == (1, 0, 0, 1, 1)
    assert found.correct == (1, 0, 0, 0, 1)
    assert found.accuracy == (0.5, None, 0.0, None, 1.0)
    assert found.precision == (1.0, None, None, 0.0, 1.0)


def test_fewer_sections() -> None:
    found = by_section([(document("one", "cup"), prediction("one"))], 2)
    assert found.gold == (1, 1)
    assert found.accuracy == (1.0, 0.0)
