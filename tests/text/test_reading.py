"""One view of a document: words, places and stems from one tokenisation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keywright.text import reading as module
from keywright.text import tokenise
from keywright.text.presence import runs
from keywright.text.reading import BORDER, Reading, StemIndex, literal_stems
from keywright.text.stem import stems
from keywright.text.tokenise import DIGIT, document_words, normalise
from keywright.types import Document

anything = settings(deadline=None, max_examples=300)
texts = st.text(st.sampled_from("aAbs -.,1\n²é<digt>"), max_size=30)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RECENT", module._Recent())


def read(body: str, title: str = "", tokenised: bool = False) -> Reading:
    return Reading.of(Document(title=title, body=body, tokenised=tokenised))


@given(texts, texts, st.booleans())
@example("İstanbul", "3²<unk>_x", False)
@anything
def test_words_are_those_of_title_and_body_at_their_places(
    title: str, body: str, tokenised: bool
) -> None:
    document = Document(title=title, body=body, tokenised=tokenised)
    reading = module._read(document)
    of_title, of_body = document_words(document)
    assert reading.words == [*of_title, *of_body]
    assert reading.title_words == len(of_title)
    assert reading.stems == stems(reading.words)
    for word, start, end in zip(
        reading.words, reading.spans.starts, reading.spans.ends, strict=True
    ):
        token = document.text[start:end]
        assert word == (token if tokenised else tokenise.normal(token))


def test_a_border_separates_title_and_body() -> None:
    words, stemmed = read("Old houses", "Heat pumps").bordered()
    assert words == ["heat", "pumps", BORDER, "old", "houses"]
    assert stemmed == ["heat", "pump", BORDER, "old", "hous"]


def test_numbers_are_kept_in_literal_stems_only() -> None:
    reading = read("Type 2 diabetes and CO₂")
    assert reading.stems[:3] == ["type", DIGIT, "diabet"]
    assert list(reading.literal.stems) == ["type", "2", "diabet", "and", "co2"]
    assert literal_stems("type 2 Diabetes") == ("type", "2", "diabet")


def test_a_tokenised_text_is_split_at_blanks_and_segmented_for_literal_stems() -> None:
    reading = read("state-of-the-art c++ 3.5", tokenised=True)
    assert reading.words == ["state-of-the-art", "c++", "3.5"]
    assert list(reading.literal.stems) == ["state", "of", "the", "art", "c++", "3", ".", "5"]
    assert reading.places(("of", "the")) == [(6, 12)]


def test_places_point_into_the_text() -> None:
    text = "Neural Networks: a neural\nnetwork (and its networks) beats 12 neural-networks."
    places = read(text).places(literal_stems("neural network"))
    assert [text[start:end] for start, end in places] == [
        "Neural Networks",
        "neural\nnetwork",
        "neural-networks",
    ]


@given(texts, st.text("ab s1", max_size=6))
@anything
def test_a_place_has_the_stems_of_the_phrase(text: str, phrase: str) -> None:
    wanted = literal_stems(phrase)
    reading = module._read(Document(title="", body=text))
    places = reading.places(wanted)
    assert len(places) == len(list(runs(wanted, reading.literal.stems)))
    assert all(literal_stems(text[start:end]) == wanted for start, end in places)


def test_a_digit_mark_is_found_at_the_most_frequent_number() -> None:
    reading = read("windows 7, windows 8, windows 8")
    assert len(reading.places(("window", DIGIT))) == 2
    assert len(reading.places(("window", "7"))) == 1


def test_no_phrase_occurs_across_the_end_of_the_title() -> None:
    reading = read("Fish glow.", title="Deep sea")
    assert reading.places(("sea", "fish")) == []
    assert not reading.has(("sea", "fish"), most_words=99)
    assert reading.has(("deep", "sea"), most_words=99)


def test_only_the_first_words_count_for_presence() -> None:
    reading = read("one two three four")
    assert reading.has(("two", "three"), most_words=3)
    assert not reading.has(("two", "three"), most_words=2)


sequences = st.lists(st.sampled_from(["a", "b", "ab", "7"]), max_size=12)


@given(sequences, sequences)
@anything
def test_the_index_finds_the_runs_that_a_search_from_left_to_right_finds(
    phrase: list[str], source: list[str]
) -> None:
    assert list(StemIndex(source).find(phrase)) == list(runs(phrase, source))
    numbered = [DIGIT if word == "7" else word for word in phrase]
    found = StemIndex(source, any_number=True).find(numbered)
    assert sorted(found) == list(runs(phrase, source))


def test_without_any_number_a_digit_mark_is_a_word_like_others() -> None:
    assert list(StemIndex(["a", "7"]).find(["a", DIGIT])) == []
    assert list(StemIndex(["a", "7"], any_number=True).find(["a", DIGIT])) == [0]


def test_an_empty_phrase_occurs_nowhere() -> None:
    assert read("some text").places(()) == []
    assert read("some text").places(literal_stems("")) == []


def test_a_document_is_read_once() -> None:
    document = Document(title="Heat", body="Pumps warm houses.", id="1", keyphrases=("heat",))
    assert Reading.of(document) is Reading.of(document)
    assert Reading.of(Document(title="Heat", body="Pumps warm houses.")) is Reading.of(document)
    tokenised = Document(title="Heat", body="Pumps warm houses.", tokenised=True)
    assert Reading.of(tokenised) is not Reading.of(document)


def test_threads_share_readings() -> None:
    documents = [Document(title="", body=f"document number {i % 7}") for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda document: Reading.of(document).stems, documents))
    assert found == [stems(normalise(document.body)) for document in documents]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHARACTERS", 100)
    for number in range(50):
        read(f"{number} " + "words " * (number % 30))
        kept = module._RECENT._kept.values()
        assert sum(len(reading.text) for reading in kept) == module._RECENT._characters <= 100


def test_a_text_beyond_the_limit_is_read_but_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHARACTERS", 25)
    small = read("a small text")
    assert len(read("word " * 100).words) == 100
    assert read("a small text") is small


def test_the_reading_used_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHARACTERS", 25)
    first, second = read("first text"), read("second txt")
    assert read("first text") is first
    read("third text")
    assert read("first text") is first
    assert read("second txt") is not second


@pytest.mark.parametrize("tokenised", [False, True])
@pytest.mark.parametrize("title", ["Heat pumps", ""])
def test_a_window_has_the_reading_that_it_would_have_by_itself(title: str, tokenised: bool) -> None:
    body = "They warm 2 old houses. In winter, they need power. Nothing else."
    document = Document(title=title, body=body, tokenised=tokenised)
    whole = Reading.of(document)
    start, end = body.index("In"), body.index(" Nothing")
    window = Document(title=title, body=body[start:end], tokenised=tokenised)
    whole.remember(window, whole.body_start + start, whole.body_start + end)
    derived, alone = module._RECENT.get(window), module._read(window)
    assert derived is not None
    for name in ("text", "tokenised", "title_end", "title_words", "words", "spans", "stems"):
        assert vars_of(derived, name) == vars_of(alone, name), name


def vars_of(reading: Reading, name: str) -> object:
    return reading.stems if name == "stems" else vars(reading)[name]


def test_a_window_that_cuts_a_word_is_read_by_itself() -> None:
    document = Document(title="", body="深層。学習 wins", tokenised=True)
    window = Document(title="", body="学習 wins", tokenised=True)
    Reading.of(document).remember(window, 3, 10)
    assert Reading.of(window).words == ["学習", "wins"]
