"""The contents of a report, and what it reports as missing."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from keywright.analysis.significance import METRICS
from keywright.errors import KeywrightError
from keywright.evaluate import evaluate
from keywright.report import html
from keywright.report.findings import Settings, analyse, enough_resamples, gather
from keywright.types import Document, Prediction, ScoredPhrase
from tests.report.toy import DOCUMENTS, GOOD, POOR, both, findings, panel, predictions


def test_scores_are_those_of_evaluate() -> None:
    found = both()
    for name, lists in (("good", GOOD), ("poor", POOR)):
        expected = evaluate(DOCUMENTS, predictions(lists), metrics=METRICS).scores
        assert found.scores[name] == pytest.approx(expected, abs=1e-12)
        for metric, (low, high) in found.intervals[name].items():
            assert low <= found.scores[name][metric] <= high


def test_without_probabilities_the_report_says_which_analyses_are_left_out() -> None:
    found = findings(panel(good=predictions(GOOD, 0.8), bare=predictions(POOR)))
    assert found.calibration["good"]["all"].phrases == 6
    assert found.calibration["bare"]["all"].phrases == 0
    notes = [note for note in found.left_out if note.startswith("bare:")]
    assert "reliability" in notes[0]
    assert "no phrase has token probabilities" in notes[0]


def test_one_system_or_document_leaves_out_comparisons() -> None:
    alone = findings(panel(good=predictions(GOOD)))
    assert alone.comparison is None
    assert alone.overlaps == []
    assert "there is only one" in alone.left_out[0]
    short = findings(panel(DOCUMENTS[:1], good=predictions(GOOD[:1]), poor=predictions(POOR[:1])))
    assert short.comparison is None
    assert short.intervals == {"good": {}, "poor": {}}
    assert any("resample documents" in note for note in short.left_out)


def test_documents_without_any_gold_are_an_error() -> None:
    bare = [Document(id="d1", title="a", body="b", keyphrases=())]
    with pytest.raises(KeywrightError, match="none of the 1 documents has a gold keyphrase"):
        analyse(panel(bare, good=predictions(GOOD[:1])), Settings())
    with pytest.raises(KeywrightError, match="at least 1 system"):
        gather(DOCUMENTS, {})


def test_a_bad_confidence_names_the_system() -> None:
    bad = [
        Prediction(document_id=f"d{number}", phrases=(ScoredPhrase(text="graph", confidence=1.5),))
        for number in (1, 2, 3)
    ]
    with pytest.raises(KeywrightError, match=r"^odd: .* confidence of 1\.5"):
        findings(panel(odd=bad))


@pytest.mark.parametrize("systems", [2, 3, 6])
def test_enough_resamples_for_the_smallest_p_to_survive_correction(systems: int) -> None:
    tests = len(METRICS) * len(list(combinations(range(systems), 2)))
    assert tests / (enough_resamples(systems) + 1) < 0.001


@pytest.mark.parametrize(
    "lists",
    [
        (("x y",), ("x y",), ("x y",)),
        (("graph coloring",), ("beam search",), ("prime number",)),
        ((), (), ()),
    ],
)
def test_nothing_correct_everything_correct_and_no_predictions(
    lists: tuple[tuple[str, ...], ...],
) -> None:
    found = findings(panel(one=predictions(lists, 0.5), poor=predictions(POOR, 0.9)))
    shown = html.render(found, []).partition('<script type="application/json"')[0]
    assert not re.search(r"\b(nan|inf|None)\b", shown)
