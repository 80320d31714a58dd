"""Candidates: runs of words that do not cross marks, nor begin or end with a stop word."""

from __future__ import annotations

from keywright.ranking.reading import Reading
from keywright.types import Document


def read(title: str, body: str, most_words: int = 400) -> Reading:
    return Reading.of(Document(title=title, body=body), most_words)


def texts(reading: Reading) -> set[str]:
    return {" ".join(one.words) for one in reading.candidates.values()}


def test_stop_words_stand_within_phrases_only() -> None:
    found = texts(read("", "the quality of service"))
    assert found == {"quality", "service", "quality of service"}


def test_no_candidate_crosses_a_mark_or_the_titles_end() -> None:
    assert texts(read("heat pumps", "houses, cellars")) == {
        "heat", "pumps", "heat pumps", "houses", "cellars",
    }  # fmt: skip


def test_in_a_tokenised_text_any_lone_mark_ends_a_phrase() -> None:
    document = Document(title="", body="heat - pumps ; c++ / houses &", tokenised=True)
    assert texts(Reading.of(document, 400)) == {"heat", "pumps", "c++", "houses"}


def test_what_is_too_long_for_a_word_is_in_no_phrase() -> None:
    document = Document(title="", body="heat " + "x)" * 60 + " pumps", tokenised=True)
    assert texts(Reading.of(document, 400)) == {"heat", "pumps"}


def test_forms_of_a_phrase_are_one_candidate() -> None:
    reading = read("neural networks", "a neural network learns")
    one = reading.candidates[("neural", "network")]
    assert one.places == [0, 4]
    assert one.words == ["neural", "networks"]


def test_numbers_may_follow_but_not_lead() -> None:
    assert texts(read("", "covid-19")) == {"covid", "covid <digit>"}
    assert texts(read("", "19 patients")) == {"patients"}


def test_presence_is_by_whole_words() -> None:
    reading = read("heat pumps", "in old houses")
    assert reading.has(("heat", "pump"))
    assert not reading.has(("eat", "pump"))
    assert not reading.has(("pump", "in"))  # over the title's end


def test_only_so_many_words_are_read() -> None:
    assert texts(read("", "one heat pump warms two houses", most_words=4)) == {
        "heat", "pump", "heat pump",
    }  # fmt: skip


def test_an_empty_text_has_no_candidates() -> None:
    assert read("", "").candidates == {}
