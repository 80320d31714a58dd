"""Keyphrases for readers: spelling of the text, places, no near-repeats, no text left out."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright.generation.keyphrases import keyphrases
from keywright.generation.sentences import sentences
from keywright.generation.windows import combine, windows
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction, ScoredPhrase

DOCUMENT = Document(
    title="COVID-19 and IL6",
    body="The B2B market shrank. COVID-19 raised IL6 levels. Neural networks, and neural "
    "networks again, predicted it; a Neural Network too. Doctors used ventilators.",
)


def predicted(*phrases: tuple[str, float]) -> Prediction:
    return Prediction(phrases=tuple(ScoredPhrase(text=t, confidence=p) for t, p in phrases))


def test_present_phrases_are_spelled_as_in_the_text() -> None:
    found = keyphrases(
        DOCUMENT, predicted(("covid 19", 0.9), ("il6", 0.8), ("b2b", 0.7), ("neural network", 0.6))
    )
    assert [keyphrase.text for keyphrase in found] == ["COVID-19", "IL6", "B2B", "Neural networks"]
    assert all(keyphrase.present for keyphrase in found)


def test_places_are_where_the_phrase_occurs() -> None:
    (found,) = keyphrases(DOCUMENT, predicted(("neural network", 0.6)))
    texts = [DOCUMENT.text[start:end] for start, end in found.places]
    assert texts == ["Neural networks", "neural\nnetworks".replace("\n", " "), "Neural Network"]


def test_no_phrase_occurs_across_the_end_of_the_title() -> None:
    (found,) = keyphrases(
        Document(title="Deep sea", body="Fish glow."), predicted(("sea fish", 0.5))
    )
    assert not found.present


def test_absent_phrases_come_with_the_most_related_sentence() -> None:
    (found,) = keyphrases(DOCUMENT, predicted(("doctors' equipment", 0.4)))
    assert not found.present
    assert found.evidence == "Doctors used ventilators."
    (nothing,) = keyphrases(DOCUMENT, predicted(("astronomy", 0.4)))
    assert nothing.evidence is None


def test_a_title_and_the_first_sentence_are_two_sentences() -> None:
    document = Document(title="Warm houses", body="Heat pumps help. They are quiet.")
    (found,) = keyphrases(document, predicted(("ground source heat", 0.9)))
    assert found.evidence == "Heat pumps help."


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("alzheimer ' s disease", "alzheimer's disease"),
        ("fitts ' law", "fitts' law"),
        ("internet of things ( iot )", "internet of things (iot)"),
        ("c++", "c++"),
    ],
)
def test_absent_phrases_are_written_as_readers_write(said: str, shown: str) -> None:
    (found,) = keyphrases(Document(title="", body="Nothing of it."), predicted((said, 0.9)))
    assert found.text == shown


def test_near_repeats_are_merged_and_the_better_kept() -> None:
    found = keyphrases(
        DOCUMENT,
        predicted(
            ("network neural", 0.3),
            ("neural networks", 0.6),
            ("networks", 0.5),
            ("ventilator", 0.2),
        ),
    )
    assert [(keyphrase.text, keyphrase.probability) for keyphrase in found] == [
        ("Neural networks", 0.6),
        ("ventilators", 0.2),
    ]


def test_without_recalibration_the_probability_is_the_inverse_perplexity() -> None:
    phrase = ScoredPhrase(
        text="neural networks", token_log_probs=(math.log(0.5), math.log(0.125)), words=2
    )
    (found,) = keyphrases(DOCUMENT, Prediction(phrases=(phrase,)))
    assert found.probability == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("phrase", "text", "spelled"),
    [
        ("covid - 19", "The COVID-19 pandemic", "COVID-19"),
        ("covid <digit>", "The COVID-19 pandemic", "COVID-19"),
        ("il 6", "Levels of IL-6 rose", "IL-6"),
        ("client / server", "A client/server design", "client/server"),
        ("client server", "A Client\n  Server design", "Client Server"),
        ("3 d printing", "On 3-D printing", "3-D printing"),
        ("c++", "Templates in C++.", "C++"),
        ("r&d", "R&D spending", "R&D"),
        ("naïve bayes", "Naïve Bayes wins", "Naïve Bayes"),
        ("type 2 diabetes", "Type 1 diabetes, type 1 diabetes, Type 2 diabetes", "Type 2 diabetes"),
    ],
)
def test_spelling_survives_hyphens_slashes_and_digits(phrase: str, text: str, spelled: str) -> None:
    (found,) = keyphrases(Document(title="", body=text), predicted((phrase, 0.5)))
    assert (found.text, found.present) == (spelled, True)


def test_numbers_are_not_mistaken_for_each_other() -> None:
    document = Document(title="", body="Type 1 diabetes and windows 7.")
    found = keyphrases(
        document,
        predicted(("type 1 diabetes", 0.9), ("type 2 diabetes", 0.8), ("windows <digit>", 0.7)),
    )
    assert [(keyphrase.text, keyphrase.present) for keyphrase in found] == [
        ("Type 1 diabetes", True),
        ("type 2 diabetes", False),
        ("windows 7", True),
    ]


def test_marks_that_only_models_know_are_never_shown() -> None:
    assert keyphrases(DOCUMENT, predicted(("windows <digit>", 0.9), ("<unk> network", 0.8))) == []


def test_control_characters_do_not_reach_the_reader() -> None:
    document = Document(title="", body="A red\x1b31m alert and nothing else.")
    found = keyphrases(document, predicted(("red 31m alert", 0.9), ("blue\x1b alert", 0.8)))
    assert [keyphrase.text for keyphrase in found] == ["red 31m alert", "blue alert"]


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)


@given(st.lists(st.tuples(WORDS, st.floats(0, 1)), max_size=12))
def test_near_repeats_are_merged_by_the_rule(said: list[tuple[list[str], float]]) -> None:
    """A longer phrase replaces the shorter ones inside it if it is at least half as probable."""

    def contains(longer: str, shorter: str) -> bool:
        return f" {shorter} " in f" {longer} "

    phrases = [(" ".join(words), probability) for words, probability in said]
    taken: list[str] = []  # also those that a longer phrase replaced
    expected: dict[str, float] = {}
    for text, probability in sorted(phrases, key=lambda phrase: -phrase[1]):
        if any(contains(other, text) or sorted(other) == sorted(text) for other in taken):
            continue
        shorter = [other for other in expected if contains(text, other)]
        if any(probability < 0.5 * expected[other] for other in shorter):
            continue
        for other in shorter:
            del expected[other]
        expected[text] = probability
        taken.append(text)
    document = Document(title="", body="nothing")
    found = keyphrases(document, predicted(*phrases))
    assert [keyphrase.text for keyphrase in found] == list(expected)


def test_phrases_without_letters_are_dropped() -> None:
    assert keyphrases(DOCUMENT, predicted(("...", 0.9), ("", 0.9))) == []


def test_a_phrase_as_long_as_a_text_is_dropped() -> None:
    # All runs of its words would be 10^14 words.
    endless = "a" + ")" * 100_000 + "b"
    said = (ScoredPhrase(text=endless, confidence=0.9), ScoredPhrase(text="heat", confidence=0.2))
    document = Document(title="", body=f"{endless} heat", tokenised=True)
    assert [keyphrase.text for keyphrase in keyphrases(document, Prediction(phrases=said))] == [
        "heat"
    ]


def test_sentences_survive_abbreviations() -> None:
    text = "We follow Smith et al. Fig. 2 shows it. Does it? J. Doe agrees.\n\nNew paragraph"
    assert [sentence.text for sentence in sentences(text)] == [
        "We follow Smith et al. Fig. 2 shows it.",
        "Does it?",
        "J. Doe agrees.",
        "New paragraph",
    ]


@given(st.text())
def test_sentences_point_into_the_text(text: str) -> None:
    for sentence in sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text


@given(
    st.lists(st.sampled_from(["bees", "dance.", "In", "spring,", "they", "fly!", "\n\n"])),
    st.integers(4, 40),
)
def test_windows_omit_no_word_and_are_never_too_long(words: list[str], most: int) -> None:
    document = Document(title="Bees", body=" ".join(words))
    pieces = windows(document, most)
    for piece in pieces:
        assert len(normalise(piece.title)) + len(normalise(piece.body)) <= most
    covered: list[str] = []
    for piece in pieces:  # each continues where the one before ended, or repeats some of its end
        tokens = normalise(piece.body)
        repeated = next(
            n for n in range(min(len(covered), len(tokens)), -1, -1)
            if covered[len(covered) - n :] == tokens[:n]
        )  # fmt: skip
        covered += tokens[repeated:]
    everything = normalise(document.body)
    # Repeated words can make an overlap look longer than it is, never shorter.
    assert len(covered) <= len(everything)
    assert set(covered) == set(everything)
    if len(pieces) == 1:
        assert covered == everything


def test_windows_of_numbered_words_cover_them_in_order() -> None:
    body = " ".join(f"word{i}{'.' if i % 7 == 6 else ''}" for i in range(500))
    pieces = windows(Document(title="T", body=body.replace(". w", ". W")), 100)
    assert len(pieces) > 5
    seen: list[int] = []
    for piece in pieces:
        numbers = [int(word[4:]) for word in normalise(piece.body) if word[4:].isdigit()]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert not seen or numbers[0] <= seen[-1] + 1
        seen = numbers
    assert seen[-1] == 499


def test_windows_of_tokenised_texts_count_words_between_blanks() -> None:
    body = " ".join(["-", "cl2", ";", "/"] * 100)  # 100 words for readers, 400 for a model
    pieces = windows(Document(title="a - b", body=body, tokenised=True), 50)
    assert all(len(f"{piece.title} {piece.body}".split()) <= 50 for piece in pieces)
    assert sum(len(piece.body.split()) for piece in pieces) >= 400


def test_predictions_of_windows_are_combined_best_first() -> None:
    made = combine(
        DOCUMENT,
        [predicted(("a", 0.2), ("b", 0.5)), predicted(("A", 0.9), ("c", 0.3))],
    )
    assert [(p.text, p.confidence) for p in made.phrases] == [("A", 0.9), ("b", 0.5), ("c", 0.3)]


def test_each_window_repeats_the_end_of_the_one_before() -> None:
    """A phrase or a thought that spans two sentences is whole in one of the windows."""
    body = " ".join(f"Sentence {i} has six words." for i in range(60))
    pieces = windows(Document(title="T", body=body), 60)
    assert len(pieces) > 5
    for before, after in itertools.pairwise(pieces):
        ends, begins = before.body.split(". "), after.body.split(". ")
        shared = begins.index(ends[-1].removesuffix(".")) + 1
        assert shared == 5  # of six words each, with their full stops: 30 together
        assert [text.removesuffix(".") for text in ends[-shared:]] == begins[:shared]


def test_a_title_that_fills_half_of_a_window_is_text() -> None:
    title = " ".join(f"word{i}" for i in range(60))
    pieces = windows(Document(title=title, body="Bees dance. " * 40), 100)
    assert all(piece.title == "" for piece in pieces)
    assert pieces[0].body.startswith("word0 word1")
    assert sum("word7 " in piece.body for piece in pieces) == 1
    short = " ".join(f"word{i}" for i in range(40))
    pieces = windows(Document(title=short, body="Bees dance. " * 40), 100)
    assert all(piece.title == short for piece in pieces)


def test_rare_words_make_better_evidence_than_frequent_ones() -> None:
    text = "The model learns. The model rests. The model has layers. Pruning removes weights."
    (found,) = keyphrases(Document(title="", body=text), predicted(("model pruning", 0.4)))
    assert found.evidence == "Pruning removes weights."


def test_of_equally_related_sentences_the_first_is_the_evidence() -> None:
    text = "Bees dance in spring. Birds sing. Bees dance in autumn."
    (found,) = keyphrases(Document(title="", body=text), predicted(("honey bees", 0.4)))
    assert found.evidence == "Bees dance in spring."


def test_phrases_do_not_cross_colons_and_paragraphs() -> None:
    document = Document(
        title="", body="The build is superb: stainless steel everywhere.\n\nSteel bends — slowly."
    )
    found = keyphrases(
        document,
        predicted(("superb stainless steel", 0.5), ("stainless steel", 0.4), ("bends slowly", 0.3)),
    )
    assert [keyphrase.text for keyphrase in found] == ["stainless steel"]


def test_a_longer_phrase_is_recommended_if_the_shorter_one_was() -> None:
    document = Document(title="", body="The Hanseatic League traded.")
    (found,) = keyphrases(
        document,
        Prediction(
            phrases=(
                ScoredPhrase(text="league", confidence=0.08),
                ScoredPhrase(text="hanseatic league", confidence=0.05, recommended=False),
            )
        ),
    )
    assert (found.text, found.recommended) == ("Hanseatic League", True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Night trains return.", ["Night trains"]),
        ("Night trains return. The night is long.", ["Night"]),
    ],
)
def test_a_word_that_occurs_only_in_a_longer_phrase_gives_way(
    body: str, expected: list[str]
) -> None:
    found = keyphrases(
        Document(title="", body=body), predicted(("night", 0.07), ("night trains", 0.015))
    )
    assert [keyphrase.text for keyphrase in found] == expected
