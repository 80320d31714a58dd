"""The term that a phrase matches, and phrases that match none."""

from __future__ import annotations

import pickle

import pytest

from keywright.errors import ConfigError
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

TERMS = Terms(
    [
        Term(text="carbon dioxide", id="c1", synonyms=("CO2", "carbonic acid gas")),
        Term(text="Heat pump", id="c2"),
        Term(text="acquired immunodeficiency syndrome", id="c3", synonyms=("AIDS",)),
        Term(text="type 1 diabetes", id="c4"),
        Term(text="type 2 diabetes", id="c5"),
        Term(text="universe", id="c6"),
        Term(text="cluster analysis", id="c7", synonyms=("clustering",)),
        Term(text="e-mail", id="c8"),
        Term(text="neural networks", id="c9", synonyms=("ANN",)),
        Term(text="water treatment", id="c10"),
        Term(text="interleukin 6", id="c11", synonyms=("IL-6",)),
    ]
)


@pytest.mark.parametrize(
    ("phrase", "term", "how"),
    [
        ("carbon dioxide", "c1", "spelling"),
        ("Carbon-Dioxide", "c1", "spelling"),
        ("CO2", "c1", "acronym"),
        ("CO₂", "c1", "acronym"),
        ("co2", "c1", "acronym"),
        ("heat pumps", "c2", "inflection"),
        ("heatpump", "c2", "joined"),
        ("HEAT PUMPS", "c2", "inflection"),
        ("AIDS", "c3", "acronym"),
        ("Type 2 diabetes", "c5", "spelling"),
        ("universes", "c6", "inflection"),
        ("clusters", "c7", "inflection"),
        ("emails", "c8", "joined"),
        ("neural network", "c9", "inflection"),
        ("ANNs", "c9", "acronym"),
        ("treatment of the water", "c10", "order"),
        ("IL6", "c11", "acronym"),
        ("IL 6", "c11", "acronym"),
    ],
)
def test_a_phrase_matches_its_term(phrase: str, term: str, how: str) -> None:
    match = TERMS.find(phrase)
    assert match is not None
    assert (match.term.id, match.how) == (term, how)


@pytest.mark.parametrize(
    "phrase",
    [
        "",
        "—",
        "type 3 diabetes",  # numbers are not interchangeable
        "diabetes",  # a part of a name is not a name
        "university",  # has the stem of "universe"
        "aid",  # has the stem of "AIDS"
        "carbon dioxyde",  # typing errors are accepted only with `fuzzy`
        "heat pump water treatment",
    ],
)
def test_other_phrases_match_none(phrase: str) -> None:
    assert TERMS.find(phrase) is None


def test_in_running_text_a_word_is_not_an_acronym() -> None:
    assert TERMS.find("aids", cased=True) is None
    assert TERMS.find("aids", cased=False) is not None  # a model that writes lower case only
    assert TERMS.find("AIDS", cased=True) is not None
    assert TERMS.find("co2", cased=True) is not None  # it cannot be a word


def test_a_term_is_preferred_to_a_lower_case_acronym() -> None:
    terms = Terms(
        [Term(text="cat", id="animal"), Term(text="computed tomography", id="x", synonyms=("CAT",))]
    )
    assert [terms.find(phrase).term.id for phrase in ("cat", "CAT", "cats")] == [  # type: ignore[union-attr]
        "animal",
        "x",
        "animal",
    ]


def test_a_vocabulary_in_capitals_has_no_acronyms() -> None:
    terms = Terms([Term(text="WATER"), Term(text="HEAT PUMPS")])
    assert terms.find("water", cased=True) is not None


def test_a_shared_name_matches_only_a_term_that_prefers_it() -> None:
    terms = Terms(
        [
            Term(text="mercury", id="planet"),
            Term(text="mercury", id="element"),
            Term(text="bank", id="money"),
            Term(text="shore", id="river", synonyms=("bank", "beach")),
            Term(text="sand", id="sand", synonyms=("beach",)),
        ]
    )
    assert terms.find("mercury") is None
    assert terms.find("beach") is None
    assert terms.find("banks").term.id == "money"  # type: ignore[union-attr]
    assert terms.ambiguous == ["beach", "mercury"]


def test_fuzzy_accepts_typing_errors_but_not_in_numbers() -> None:
    terms = Terms(TERMS, fuzzy=0.92)
    assert terms.find("carbon dioxyde").how == "fuzzy"  # type: ignore[union-attr]
    assert terms.find("type 3 diabetes") is None
    assert terms.find("AIDZ") is None
    with pytest.raises(ConfigError, match="fuzzy"):
        Terms(TERMS, fuzzy=92)


def test_a_pickled_vocabulary_finds_the_same() -> None:
    assert pickle.loads(pickle.dumps(TERMS)).find("CO2") == TERMS.find("CO2")
