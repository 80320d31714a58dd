"""Long documents are judged as a whole, not window by window."""

from __future__ import annotations

import pytest

from keywright import Keywright
from keywright.generation.whole import as_a_whole
from keywright.types import Document, Prediction, ScoredPhrase

FILLER = "The committee met again and discussed the matter at length before lunch. "
DOCUMENT = Document(
    title="Wave energy on small islands",
    body="Wave energy is rarely used. "
    + FILLER * 40
    + "A wave energy buoy was moored. "
    + FILLER * 40
    + "One speaker mentioned kelp. Wave energy returned to the agenda.",
)


def predicted(*phrases: tuple[str, float]) -> Prediction:
    return Prediction(phrases=tuple(ScoredPhrase(text=t, confidence=p) for t, p in phrases))


def probabilities(*windows: Prediction) -> dict[str, float | None]:
    return {p.text: p.confidence for p in as_a_whole(DOCUMENT, windows).phrases}


def test_a_phrase_of_the_whole_document_is_more_probable_than_one_of_a_window() -> None:
    found = probabilities(predicted(("wave energy", 0.3)), predicted(("kelp", 0.3)))
    assert list(found) == ["wave energy", "kelp"]
    assert found["wave energy"] == pytest.approx(0.42, abs=0.05)
    assert found["kelp"] == pytest.approx(0.03, abs=0.02)


def test_an_absent_phrase_has_the_mean_probability_of_all_windows() -> None:
    found = probabilities(
        predicted(("tidal power", 0.4), ("kelp", 0.1)), predicted(("Tidal power", 0.2))
    )
    assert found["tidal power"] == pytest.approx(0.3)
    alone = probabilities(predicted(("tidal power", 0.4)), predicted(), predicted(), predicted())
    assert alone["tidal power"] == pytest.approx(0.1)


def test_a_single_window_is_left_as_it_is() -> None:
    made = predicted(("wave energy", 0.3), ("kelp", 0.2))
    assert as_a_whole(DOCUMENT, [made]) is made


def test_the_number_of_phrases_is_that_of_the_document_unless_it_is_to_be_kept() -> None:
    made = [predicted(("wave energy", 0.9)), predicted(("kelp", 0.05))]
    recounted = {p.text: p.recommended for p in as_a_whole(DOCUMENT, made).phrases}
    assert recounted == {"wave energy": True, "kelp": False}
    assert all(p.recommended for p in as_a_whole(DOCUMENT, made, recount=False).phrases)


REPORT = Document(
    title="Wave energy converters for small islands",
    body="J. Okafor and M. Lindqvist\nDepartment of Ocean Engineering, Skerry University\n"
    "Abstract\nWave energy converters supply small islands with electricity. "
    "Keywords: wave energy; point absorber; island microgrid\n1. Introduction\n"
    + "Point absorbers move with the swell, and a hydraulic generator turns this motion into "
    "electricity for the island microgrid. Storms decide how strong the mooring must be. "
    "Wave energy converters need little maintenance if the mooring holds. "
    * 25
    + "We thank the Rasch model once. "
    + "Batteries store electricity when the swell is high and the island microgrid needs little. "
    * 25
    + "\nReferences\nOkafor, J. (2019). Gyroscopic stabilisers of trawlers. Naval Letters.\n" * 3,
)


def test_stated_keywords_come_first_and_neither_authors_nor_references_are_keyphrases() -> None:
    kw = Keywright()
    found = kw.generate(REPORT)
    assert [p.text for p in found if p.stated] == [
        "wave energy",
        "point absorber",
        "island microgrid",
    ]
    assert all(p.stated for p in found[:3])
    every = " ".join(p.text for p in kw.generate(REPORT, top=0)).lower()
    assert "mooring" in every
    for nobody in ("okafor", "lindqvist", "skerry", "gyroscopic", "trawlers"):
        assert nobody not in every
    shown = " ".join(p.text for p in found).lower()
    assert "rasch" not in shown
