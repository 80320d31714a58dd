"""Candidates: runs of words that do not cross marks, nor begin or end with a stopword."""

from __future__ import annotations

import numpy as np

from keywright.ranking.candidates import LONGEST, RankerView, can_begin, is_mark
from keywright.text.candidates import STOPWORDS
from keywright.types import Document


def read(title: str, body: str, most_words: int = 400) -> RankerView:
    return RankerView.of(Document(title=title, body=body), most_words)


def texts(view: RankerView) -> set[str]:
    return {" ".join(candidate.words) for candidate in view.candidates.values()}


def test_stopwords_occur_only_inside_phrases() -> None:
    found = texts(read("", "the quality of service"))
    assert found == {"quality", "service", "quality of service"}


def test_no_candidate_crosses_a_mark_or_the_end_of_the_title() -> None:
    assert texts(read("heat pumps", "houses, cellars")) == {
        "heat", "pumps", "heat pumps", "houses", "cellars",
    }  # fmt: skip


def test_in_a_tokenised_text_every_separate_mark_ends_a_phrase() -> None:
    document = Document(title="", body="heat - pumps ; c++ / houses &", tokenised=True)
    assert texts(RankerView.of(document, 400)) == {"heat", "pumps", "c++", "houses"}


def test_no_phrase_contains_a_token_too_long_to_be_a_word() -> None:
    document = Document(title="", body="heat " + "x)" * 60 + " pumps", tokenised=True)
    assert texts(RankerView.of(document, 400)) == {"heat", "pumps"}


def test_forms_of_a_phrase_are_one_candidate() -> None:
    view = read("neural networks", "a neural network learns")
    candidate = view.candidates[("neural", "network")]
    assert candidate.places == [0, 4]
    assert candidate.words == ["neural", "networks"]


def test_a_phrase_does_not_begin_with_a_number() -> None:
    assert texts(read("", "covid-19")) == {"covid", "covid <digit>"}
    assert texts(read("", "19 patients")) == {"patients"}


def test_numbers_are_spelled_as_the_text_has_them() -> None:
    view = read("Covid-19", "Windows 7 and Windows 10: Windows 10 wins over covid-19")
    spelled = {view.spelling(candidate) for candidate in view.candidates.values()}
    assert {"covid 19", "windows 10", "windows"} <= spelled
    assert "windows 7" not in spelled  # as a candidate it is one with the more frequent number


def test_numbers_of_a_prepared_text_stay_unknown() -> None:
    document = Document(title="", body="windows <digit> wins", tokenised=True)
    candidate = RankerView.of(document, 400).candidates["window", "<digit>"]
    assert RankerView.of(document, 400).spelling(candidate) == "windows <digit>"


def test_presence_is_by_whole_words() -> None:
    view = read("heat pumps", "in old houses")
    assert view.has(("heat", "pump"))
    assert not view.has(("eat", "pump"))
    assert not view.has(("pump", "in"))  # over the title's end


def test_at_most_the_given_number_of_words_is_read() -> None:
    assert texts(read("", "one heat pump warms two houses", most_words=4)) == {
        "heat", "pump", "heat pump",
    }  # fmt: skip


def test_candidates_are_all_allowed_runs_in_the_order_of_their_first_occurrence() -> None:
    rng = np.random.default_rng(0)
    some = ["heat", "heats", "pump", "pumps", "of", "the", ",", "19", "x", "new"]
    for _ in range(50):
        view = read("", " ".join(rng.choice(some, 30)))
        expected: dict[tuple[str, ...], list[int]] = {}
        for start in range(len(view.words)):
            for end in range(start + 1, min(start + LONGEST, len(view.words)) + 1):
                words = view.words[start:end]
                inner = not any(map(is_mark, words))
                if inner and can_begin(words[0]) and STOPWORDS.isdisjoint((words[0], words[-1])):
                    expected.setdefault(tuple(view.stems[start:end]), []).append(start)
        found = {phrase: candidate.places for phrase, candidate in view.candidates.items()}
        assert list(found.items()) == list(expected.items())


def test_values_are_compared_with_those_of_phrases_a_word_longer_and_a_word_shorter() -> None:
    view = read("", "heat pump houses, pump")
    values = np.array([len(" ".join(phrase)) for phrase in view.candidates], np.float32)
    longer, shorter = view.runs.neighbours(values, -1)
    found = zip(map(" ".join, view.candidates), longer, shorter, strict=True)
    assert {phrase: values for phrase, *values in found} == {
        "heat": [9, -1], "heat pump": [14, 4], "heat pump hous": [-1, 9],
        "pump": [9, -1], "pump hous": [14, 4], "hous": [9, -1],
    }  # fmt: skip


def test_a_mark_in_a_phrase_is_not_the_border_between_title_and_body() -> None:
    assert not read("heat", "pumps").has(("heat", ".", "pump"))
    assert read("", "heat. pumps").has(("heat", ".", "pump"))


def test_an_empty_text_has_no_candidates() -> None:
    assert read("", "").candidates == {}
