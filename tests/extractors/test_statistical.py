"""Phrases of texts in other languages, by statistics of the text alone."""

from __future__ import annotations

import pytest

from keywright import Document, Keywright
from keywright.errors import ConfigError, KeywrightError
from keywright.generation.language import language_of
from keywright.predictor import load
from keywright.text.languages import NAMES, stopwords

GERMAN = """Viele Hausbesitzer fragen sich, ob eine Wärmepumpe auch in einem alten Haus sinnvoll
ist. Eine neue Studie zeigt, dass Wärmepumpen auch in alten Gebäuden arbeiten können. Entscheidend
ist die Temperatur der Heizung. Während größere Heizkörper helfen, ist eine Fußbodenheizung nicht
nötig."""
SPANISH = """El precio del aceite de oliva se ha duplicado, mientras que la producción ha caído
por la sequía. Los agricultores de Andalucía piden ayudas, mientras los consumidores buscan
alternativas. Los precios del aceite de oliva no bajarán hasta el otoño, según la Junta de
Andalucía."""
FRENCH = """La fusée a décollé sans problème ce matin. Le lancement de la fusée avait été reporté
à la dernière seconde, à cause d'une panne du moteur. Le prochain lancement aura lieu dans une
semaine."""
RUSSIAN = "Тепловые насосы обогревают старые дома. Новые тепловые насосы дороже, если их мало."


@pytest.mark.parametrize(("text", "code"), [(GERMAN, "de"), (SPANISH, "es"), (FRENCH, "fr")])
def test_languages_are_recognised(text: str, code: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Photosynthesis",
        "Die hard: a study of the film in Los Angeles",
        "Graph neural network potentials, density functional theory, lithium iron phosphate",
        "Pro bono work of the Banco de la Nación in Santa María del Mar, Rio de Janeiro and La Paz "
        "is described in this report, which we wrote with the help of the bank.",
    ],
)
def test_english_is_not_taken_for_another_language(text: str) -> None:
    assert language_of(text) == "en"


def test_an_unknown_language_is_not_guessed() -> None:
    assert language_of(RUSSIAN) is None


@pytest.mark.parametrize(
    ("text", "first", "never"),
    [
        (GERMAN, "Wärmepumpe", {"eine", "während", "auch"}),
        (SPANISH, "aceite de oliva", {"mientras", "según", "los"}),
        (FRENCH, "lancement", {"une", "avait été", "sans"}),
    ],
)
def test_the_default_model_ranks_them_without_stop_words_and_probabilities(
    text: str, first: str, never: set[str]
) -> None:
    kw = Keywright()
    found = kw.generate(text)
    assert first.lower() in [phrase.text.lower() for phrase in found[:3]]
    assert never.isdisjoint(phrase.text.lower() for phrase in found)
    assert all(phrase.probability is None and phrase.present for phrase in found)
    assert [text[slice(*phrase.places[0])] for phrase in found]
    (warning,) = kw.warnings(Document(title="", body=text))
    assert "without probabilities" in warning


def test_languages_may_be_mixed_in_one_call() -> None:
    kw = Keywright()
    english = "Heat pumps warm old houses at low temperatures if the radiators are large enough."
    many = list(kw.generate([english, GERMAN, "", english]))
    assert many == [kw.generate(english), kw.generate(GERMAN), [], kw.generate(english)]
    assert many[0][0].probability is not None


def test_a_word_counts_in_all_its_forms_and_a_sentence_is_never_crossed() -> None:
    text = "Das Netz ist alt. Netze brauchen Strom. Strom braucht Netze."
    (prediction,) = load("statistical", settings=["language=de"]).predict(
        [Document(title="", body=text)]
    )
    assert prediction.texts[0] in ("Netz", "Netze")
    assert not any("." in phrase or "alt Netze" in phrase for phrase in prediction.texts)


def test_a_capital_inside_a_sentence_makes_a_name() -> None:
    text = (
        "Hier wohnt Ada. Gestern kam Ada. Dort stand kaffee, und kaffee wurde kalt. Bald geht es."
    )
    (prediction,) = load("statistical", settings=["language=de"]).predict(
        [Document(title="", body=text)]
    )
    assert prediction.texts.index("Ada") < prediction.texts.index("kaffee")


def test_a_script_without_blanks_and_an_empty_text_give_nothing() -> None:
    texts = [
        "热泵可以在低温下为老房子供暖而无需更换所有的散热器我们估计了寒冷天气下的成本以及电力价格",
        "",
    ]
    found = load("statistical").predict(Document(title="", body=text) for text in texts)
    assert [prediction.phrases for prediction in found] == [(), ()]


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises((ConfigError, KeywrightError), match="'xx'"):
        load("statistical", settings=["language=xx"])


@pytest.mark.parametrize("code", NAMES)
def test_every_language_has_stop_words(code: str) -> None:
    assert len(stopwords(code)) > 200
