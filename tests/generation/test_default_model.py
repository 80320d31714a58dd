"""The model that comes with the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

from keywright import Keywright
from keywright.errors import ConfigError
from keywright.predictor import DEFAULT_FOLDER, load
from keywright.ranking.model import is_ranker
from keywright.types import Document

pytestmark = pytest.mark.skipif(
    not is_ranker(DEFAULT_FOLDER), reason="this tree does not hold the default model"
)

ABSTRACT = (
    "We study air-source heat pumps in old houses. Field measurements over two winters show that "
    "heat pumps reach a seasonal performance factor above three when radiators are enlarged. A "
    "model of the heating curve explains most of the variation between houses."
)


@pytest.fixture(scope="module")
def kw() -> Keywright:
    return Keywright()


def test_it_finds_what_an_abstract_is_about(kw: Keywright) -> None:
    found = kw.generate(ABSTRACT)
    assert "heat pumps" in [one.text.lower() for one in found]
    assert [one.probability for one in found] == sorted(
        (one.probability for one in found), reverse=True
    )


def test_its_probabilities_are_calibrated(kw: Keywright) -> None:
    assert kw.calibrated
    assert all(0 <= one.probability <= 1 for one in kw.generate(ABSTRACT))


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in DEFAULT_FOLDER.iterdir()) < 60e6


def test_it_predicts_like_any_other_model() -> None:
    (prediction,) = load("default").predict([Document(title="", body=ABSTRACT)])
    assert all(phrase.confidence for phrase in prediction.phrases)


def test_what_it_has_not_is_said_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^default is a ranker"):
        load("default", decode="beam")


def test_it_needs_no_torch() -> None:
    code = (
        "import sys; from keywright import Keywright\n"
        "assert Keywright().generate('Heat pumps warm old houses.') is not None\n"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
