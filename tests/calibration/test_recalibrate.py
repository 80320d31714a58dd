"""A recalibrator on its own: JSON in, probabilities out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from keywright.calibration.fit import METHODS, fit
from keywright.calibration.recalibrate import Isotonic, Linear, Recalibrator
from keywright.calibration.sample import Features
from keywright.errors import DataError, KeywrightError
from keywright.types import Document, ScoredPhrase
from tests.calibration.toys import document, drawn, phrase, prediction

TEXT = document("beam search keeps the best outputs")
HALF = Recalibrator(
    method="platt",
    present=Linear(("bias", "logit"), (0.0, 1.0), (1.0, -9.0), (1.0, 9.0)),
    absent=Isotonic((0.0, 1.0), (0.0, 0.1)),
)


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_recalibrator_gives_the_same_probabilities(method: str, tmp_path: Path) -> None:
    fitted = fit(drawn(300, lambda c: 0.5 * c), method)
    fitted.save(tmp_path / "recalibrator.json")
    again = Recalibrator.from_json(tmp_path / "recalibrator.json")
    assert again == fitted == Recalibrator.from_json(fitted.to_json())
    given = Features(0.37, 3, 2, present=True, position=0.2)
    assert again.probability(given) == fitted.probability(given)
    assert 0 <= again.probability(given) <= 1


def test_probability_by_hand() -> None:
    assert HALF.probability(Features(0.8, 2, 0, present=True)) == pytest.approx(0.8)
    assert HALF.probability(Features(0.8, 2, 0, present=False)) == pytest.approx(0.08)


def test_certain_and_impossible_phrases_have_probabilities() -> None:
    for confidence in (0.0, 1.0):
        found = HALF.probability(Features(confidence, 1, 0, present=True))
        assert 0 < found < 1
        assert abs(found - confidence) < 0.001


def test_terms_are_clipped_to_the_range_seen_in_fitting() -> None:
    curve = Linear(("rank_squared",), (1.0,), (0.0,), (2.0,))
    recalibrator = Recalibrator(method="logistic", present=curve, absent=None)
    far = recalibrator.probability(Features(0.5, 1, 10_000, present=True))
    assert far == pytest.approx(1 / (1 + np.exp(-2.0)))


def test_it_starts_from_stated_confidences_if_it_was_fitted_on_them() -> None:
    sure = msgspec.structs.replace(phrase("beam search", 0.8, 0.8), confidence=0.3)
    absent = ScoredPhrase(text="decoding", confidence=0.5)
    unknown = phrase("outputs", 0.9)
    stated = msgspec.structs.replace(HALF, source="stated")
    found = stated.apply(TEXT, prediction(sure, absent, unknown)).phrases
    assert [given.confidence for given in found] == [
        pytest.approx(0.3),
        pytest.approx(0.05),
        None,
    ]


def test_a_stated_confidence_must_be_a_probability() -> None:
    stated = msgspec.structs.replace(HALF, source="stated")
    with pytest.raises(KeywrightError, match=r"confidence of 7.0; it must be between"):
        stated.apply(TEXT, prediction(ScoredPhrase(text="beam search", confidence=7.0)))


def test_apply_sets_only_the_confidence() -> None:
    made = prediction(
        phrase("beam search", 0.8, 0.8), phrase("decoding", 0.5), phrase("Decoding", 0.9), id="d1"
    )
    found = HALF.apply(TEXT, made)
    assert [given.confidence for given in found.phrases] == pytest.approx([0.8, 0.05, 0.05])
    assert found.document_id == "d1"
    stripped = [msgspec.structs.replace(given, confidence=None) for given in found.phrases]
    assert tuple(stripped) == made.phrases


def test_apply_gives_none_where_it_has_no_confidence_or_no_curve() -> None:
    present_only = msgspec.structs.replace(HALF, absent=None)
    made = prediction(ScoredPhrase(text="outputs"), phrase("decoding", 0.5), phrase("", 0.5))
    found = present_only.apply(TEXT, made)
    assert [given.confidence for given in found.phrases] == [None, None, None]


def test_apply_normalises_raw_text() -> None:
    raw = Document(title="Beam-Search", body="It keeps the best outputs.")
    found = HALF.apply(raw, prediction(phrase("beam searches", 0.8, 0.8)))
    assert found.phrases[0].confidence == pytest.approx(0.8)  # present, by its stems


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "truncated"),
        ("{}", "method"),
        ('{"method": "platt", "present": null, "absent": null, "format": "other"}', "format"),
        ('{"method": "platt", "present": {"type": "cubic"}, "absent": null}', "cubic"),
        (
            '{"method": "x", "absent": null, "present": {"type": "linear", "terms": ["bias"],'
            ' "weights": [1, 2], "lowest": [1], "highest": [1]}}',
            "present curve must have as many",
        ),
        (
            '{"method": "x", "present": null, "absent": {"type": "isotonic",'
            ' "confidences": [0, 1], "probabilities": [0.9, 0.1]}}',
            "absent curve has points that fall",
        ),
        (
            '{"method": "x", "present": null, "absent": {"type": "isotonic",'
            ' "confidences": [], "probabilities": []}}',
            "0 confidences",
        ),
    ],
)
def test_other_files_are_refused_with_a_reason(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(DataError, match=reason) as caught:
        Recalibrator.from_json(path)
    assert str(caught.value).startswith(str(path))


def test_applying_imports_nothing_heavy() -> None:
    code = (
        "import sys, keywright.calibration.recalibrate\n"
        "heavy = {'torch', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
