"""Texts that a model trained on English cannot read are noticed, and others left in peace."""

from __future__ import annotations

import pytest

from keywright.generation.language import looks_english

GERMAN = (
    "Wärmepumpen gelten als wichtige Technik für die Wende im Gebäudebestand. In dieser Arbeit "
    "wird untersucht, wie sich alte Häuser mit niedrigen Temperaturen beheizen lassen, ohne dass "
    "die Heizkörper in allen Räumen ersetzt werden müssen, und was das an kalten Tagen kostet."
)
DUTCH = (
    "Warmtepompen zijn een belangrijke techniek voor bestaande gebouwen. Onderzocht is of oude "
    "huizen met lage temperaturen kunnen worden verwarmd zonder dat alle radiatoren moeten worden "
    "vervangen. We laten zien dat het in de meeste huizen kan, en wat het kost als het koud is."
)
FRENCH = (
    "Les pompes à chaleur sont une technique importante pour la rénovation des bâtiments anciens. "
    "On étudie comment les vieilles maisons peuvent être chauffées à basse température sans "
    "remplacer tous les radiateurs, et on estime ce que cela coûte par temps froid."
)
RUSSIAN = "Тепловые насосы обогревают старые дома, если заменить радиаторы."
CHINESE = "热泵可以在低温下为老房子供暖而无需更换所有的散热器我们估计了寒冷天气下的成本"


@pytest.mark.parametrize("text", [GERMAN, DUTCH, FRENCH, RUSSIAN, CHINESE])
def test_other_languages_are_noticed(text: str) -> None:
    assert not looks_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Photosynthesis",
        "λ-calculus, π-calculus",
        "Graph neural network potentials, density functional theory, lithium iron phosphate",
        "CRISPR-Cas9 base editing: off-target profiling in HEK293T, K562, Jurkat, primary T cells",
        "We show that heat pumps can warm old houses at low temperatures, with few changes to the "
        "radiators, and estimate what it costs when the weather is cold and power is dear.",
    ],
)
def test_english_and_short_technical_titles_are_not(text: str) -> None:
    assert looks_english(text)


def test_a_quotation_or_a_formula_does_not_make_a_text_foreign() -> None:
    assert looks_english(
        "The sentence Тепловые насосы обогревают дома is Russian, and it means that heat pumps "
        "warm houses; the rest of this text is in English, which has more of the letters."
    )
