"""The model that comes with the package."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keywright import Keywright, Selection
from keywright.errors import ConfigError
from keywright.predictor import DEFAULT_FOLDER, load
from keywright.ranking.model import is_ranker
from keywright.text import reading, tokenise
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
    assert "heat pumps" in [keyphrase.text.lower() for keyphrase in found]
    probabilities = [keyphrase.probability for keyphrase in found]
    assert probabilities == sorted(probabilities, reverse=True)


def test_as_many_are_returned_as_are_asked_for(kw: Keywright) -> None:
    text = Path("examples/heat-pumps.md").read_text("utf-8")
    unasked = kw.generate(text)
    assert 8 <= len(unasked) <= 10
    assert "air-source heat pumps" in [phrase.text.lower() for phrase in unasked]
    for top in (1, 5, 15, 30):
        texts = [phrase.text for phrase in kw.generate(text, Selection(top=top))]
        assert len(texts) == len(set(texts)) == top
    assert len(kw.generate(text, Selection(top=0))) > 30
    assert len(kw.generate(text, Selection(min_confidence=0.01))) > len(unasked)


LOG = (
    "kernel: usb 1-1: new high-speed USB device number 5 using xhci_hcd systemd: Started Session "
    "12 of user root. sshd: Accepted publickey for root from 10.0.0.3 port 52144 ssh2 dhclient"
)


@pytest.mark.parametrize(("text", "warned"), [(ABSTRACT, False), (LOG, True)])
def test_texts_unlike_those_it_learned_from_get_a_warning(
    kw: Keywright, text: str, warned: bool
) -> None:
    warnings = kw.warnings(Document(title="", body=text))
    assert kw.warnings(text) == warnings
    assert (
        warnings
        == ["is unlike the texts this model learned from: probabilities are rough"] * warned
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Waterproof hiking boots, men's, mid-cut. Vibram outsole. Breathable membrane. Weight: "
            "520 g per boot. Colour: dark brown, nubuck leather. Removable insole, wide fit. Not "
            "suitable: crampons. Free returns within 30 days!",
            "vibram outsole",
        ),
        (
            "72 y/o M w/ T2DM, CKD stage 3, chest pain x 2 days. ECG: ST depression V4-V6. "
            "Troponin rising. Started heparin, aspirin, atorvastatin 80. Cardiology consulted, "
            "plan: cath in AM. Home meds: metformin (held), lisinopril, amlodipine.",
            "metformin",
        ),
    ],
)
def test_english_texts_without_function_words_are_english(
    kw: Keywright, text: str, expected: str
) -> None:
    assert not any("language" in warning for warning in kw.warnings(text))
    found = {phrase.text.lower(): phrase for phrase in kw.generate(text)}
    assert found[expected].probability is not None


FINNISH = (
    "Lämpöpumput vanhoissa taloissa. Tutkimme pumppujen toimintaa peruskorjaamattomissa taloissa "
    "kahden lämmityskauden aikana. Menoveden lämpötilan alentaminen parantaa lämpökerrointa, mutta "
    "asukkaat valittavat kylmyydestä kovimpina pakkaspäivinä. Tilastollinen malli ennustaa "
    "sähkönkulutuksen alle kymmenen prosentin virheellä."
)
LATIN = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut "
    "labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco "
    "laboris nisi ut aliquip ex ea commodo consequat."
)


@pytest.mark.parametrize("text", [FINNISH, LATIN])
def test_languages_without_stop_words_are_not_english(kw: Keywright, text: str) -> None:
    assert any("language that is not known" in warning for warning in kw.warnings(text))


NEWS = """Storm leaves thousands without power in northern Scotland
Thousands of homes in northern Scotland were without electricity on Friday after Storm Brenda
brought winds of 90 miles per hour. Engineers of the network operator SSEN worked through the night
to restore supplies. Police Scotland closed the Skye Bridge, and ScotRail cancelled trains between
Inverness and Wick. The Met Office extended its weather warning until Saturday morning."""


def test_it_finds_the_names_that_a_news_item_is_about(kw: Keywright) -> None:
    found = [phrase.text for phrase in kw.generate(NEWS, Selection(top=8))]
    assert {"Scotland", "Met Office"} & set(found)
    assert any("Storm" in text for text in found)


def test_it_adds_no_scientific_keyphrases_to_other_texts(kw: Keywright) -> None:
    assert all(phrase.present for phrase in kw.generate(NEWS))


def test_it_claims_calibrated_probabilities(kw: Keywright) -> None:
    """`test_stored.py` checks the claim."""
    assert kw.calibrated
    assert all(0 <= keyphrase.probability <= 1 for keyphrase in kw.generate(ABSTRACT))


def test_it_is_as_small_as_the_readme_says() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    claimed = re.search(r"a model for English \((\d+) MB", readme)
    assert claimed is not None
    size = sum(file.stat().st_size for file in DEFAULT_FOLDER.rglob("*") if file.suffix != ".pyc")
    assert size / 1e6 == pytest.approx(int(claimed[1]), abs=1)


def test_it_predicts_like_any_other_model() -> None:
    (prediction,) = load("default").predict([Document(title="", body=ABSTRACT)])
    assert all(phrase.confidence for phrase in prediction.phrases)


def test_it_recommends_as_many_phrases_of_other_texts_as_readers_expect() -> None:
    text = (Path(__file__).parents[2] / "examples" / "texts" / "review.txt").read_text("utf-8")
    document = Document(title="", body=text)
    (filled,) = load("default").predict([document])
    (best,) = load("default", settings=["fill=false"]).predict([document])
    assert len(filled.phrases) >= 10 > len(best.phrases)
    abstract = Document(title="Heat pumps in old houses", body=ABSTRACT)
    (science,) = load("default").predict([abstract])
    (same,) = load("default", settings=["fill=false"]).predict([abstract])
    assert science == same


def test_a_scientific_text_without_a_title_is_no_record_and_gets_as_many() -> None:
    document = Document(title="", body=2 * ABSTRACT)
    (filled,) = load("default").predict([document])
    (best,) = load("default", settings=["fill=false"]).predict([document])
    assert len(filled.phrases) >= 10 > len(best.phrases)


def test_an_option_that_it_lacks_is_an_error_with_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^default is a ranker"):
        load("default", decode="beam")


def test_it_needs_no_torch() -> None:
    code = (
        "import sys; from keywright import Keywright\n"
        "assert Keywright().generate('Heat pumps warm old houses.') is not None\n"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class CountingPattern:
    """A pattern of the tokeniser that remembers what it was applied to."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.texts: list[str] = []

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.texts.append(text)
        return self.pattern.finditer(text)

    def findall(self, text: str) -> list[str]:
        self.texts.append(text)
        return self.pattern.findall(text)


SENTENCES = " ".join(
    f"We simulate the thermodynamic efficiency of heat pump {i} by a grey-box model."
    for i in range(150)
)


@pytest.mark.parametrize(
    "document",
    [
        Document(title="", body=ABSTRACT),
        Document(title="Heat pumps in old houses", body=ABSTRACT),
        Document(title="Heat pumps in old houses", body=SENTENCES),  # several windows
        Document(title=SENTENCES, body=ABSTRACT),  # a title as long as a text
    ],
    ids=["short", "with a title", "long", "long title"],
)
def test_a_document_is_tokenised_once(
    kw: Keywright, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prediction,) = kw.predict([document])
    pattern = CountingPattern(tokenise._TOKEN)
    monkeypatch.setattr(tokenise, "_TOKEN", pattern)
    monkeypatch.setattr(reading, "_RECENT", reading._Recent())
    found = kw.generate(document, Selection(top=0))
    assert any(not keyphrase.present for keyphrase in found)  # evidence needs words as well
    assert pattern.texts.count(document.text) == 1
    assert set(pattern.texts) == {document.text, *prediction.texts}
