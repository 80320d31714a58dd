"""Keyphrases as terms of a vocabulary."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from keywright.errors import UnknownNameError
from keywright.generation.engine import Keywright
from keywright.generation.keyphrases import Keyphrase
from keywright.generation.vocabulary import Controlled
from keywright.types import Document, Prediction, ScoredPhrase
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

TERMS = Terms(
    [
        Term(text="carbon dioxide", id="c1", synonyms=("CO2",)),
        Term(text="network", id="c2"),
        Term(text="neural network", id="c3"),
        Term(text="acquired immunodeficiency syndrome", id="c4", synonyms=("AIDS",)),
    ]
)


def prediction(**phrases: float) -> Prediction:
    scored = [
        ScoredPhrase(text=text.replace("_", " "), confidence=sure) for text, sure in phrases.items()
    ]
    return Prediction(phrases=tuple(scored))


def controlled(text: str, found: Prediction, mode: str = "only") -> list[Keyphrase]:
    return Controlled(TERMS, mode)(Document(title="", body=text), found)  # type: ignore[arg-type]


def test_a_synonym_in_the_text_makes_the_term_present() -> None:
    text = "Plants take up CO₂. More CO2 lets them grow."
    (keyphrase,) = controlled(text, prediction(carbon_dioxide=0.7))
    assert (keyphrase.text, keyphrase.id, keyphrase.present, keyphrase.evidence) == (
        "carbon dioxide",
        "c1",
        True,
        None,
    )
    assert [text[start:end] for start, end in keyphrase.places] == ["CO₂", "CO2"]


def test_a_synonym_is_shown_as_its_term_with_all_its_places() -> None:
    text = "Carbon dioxide, CO2 for short, warms."
    (keyphrase,) = controlled(text, prediction(co2=0.4))
    assert (keyphrase.text, keyphrase.written) == ("carbon dioxide", "CO2")
    assert [text[start:end] for start, end in keyphrase.places] == ["Carbon dioxide", "CO2"]


def test_phrases_of_one_term_are_one_with_the_best_probability() -> None:
    (keyphrase,) = controlled("It warms.", prediction(co2=0.3, carbon_dioxides=0.6))
    assert (keyphrase.probability, keyphrase.present, keyphrase.written) == (
        0.6,
        False,
        "carbon dioxides",
    )


def test_a_term_inside_a_better_phrase_without_one_is_not_lost() -> None:
    found = prediction(social_network=0.9, network=0.2)
    assert [keyphrase.text for keyphrase in controlled("x", found)] == ["network"]
    found = prediction(neural_network=0.9, network=0.2)
    assert [keyphrase.text for keyphrase in controlled("x", found)] == ["neural network", "network"]


def test_marking_keeps_what_is_new() -> None:
    found = prediction(heat_pump=0.9, co2=0.5, old_heat_pump=0.4, stove=0.1)
    kept = controlled("x", found, "mark")
    assert [(keyphrase.text, keyphrase.new) for keyphrase in kept] == [
        ("heat pump", True),
        ("carbon dioxide", False),
        ("stove", True),
    ]


def test_words_that_only_share_a_stem_with_a_term_are_not_its_places() -> None:
    text = "Development aid and hearing aids reach people with AIDS."
    (keyphrase,) = controlled(text, prediction(acquired_immunodeficiency_syndrome=0.5))
    assert [text[start:end] for start, end in keyphrase.places] == ["AIDS"]


def test_terms_that_the_model_does_not_predict_are_not_added() -> None:
    assert controlled("CO2 and neural networks.", prediction(stove=0.5)) == []


def test_the_engine_accepts_files_and_terms_and_can_be_pickled(tmp_path: Path) -> None:
    file = tmp_path / "terms.csv"
    file.write_text("id,term,synonyms\nc1,air source heat pumps,heat pump\n")
    text = "Heat pumps warm old houses. Heat pumps need electricity."
    engine = Keywright("tfidf", vocabulary=file)
    (keyphrase,) = engine.generate(text)
    assert (keyphrase.text, keyphrase.id, len(keyphrase.places)) == (
        "air source heat pumps",
        "c1",
        2,
    )
    assert pickle.loads(pickle.dumps(engine)).generate(text) == [keyphrase]
    marking = Keywright("tfidf", vocabulary=Terms.load(file), vocabulary_mode="mark")
    assert {phrase.new for phrase in marking.generate(text)} == {True, False}


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'only'"):
        Controlled(TERMS, "onli")  # type: ignore[arg-type]


def test_of_overlapping_places_the_first_and_longest_counts() -> None:
    terms = Terms(
        [Term(text="neural network model", id="c1", synonyms=("neural network", "network model"))]
    )
    text = "A neural network model is a neural network, not a network model."
    (keyphrase,) = Controlled(terms, "only")(
        Document(title="", body=text), prediction(neural_network=0.5)
    )
    found = [text[start:end] for start, end in keyphrase.places]
    assert found == ["neural network model", "neural network", "network model"]
