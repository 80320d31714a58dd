"""The Python interface: keywords, lists, series, and how results show."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import msgspec
import pytest

import keywright
from keywright import Document, Keyphrase, Keyphrases, Keywright, Selection
from keywright.errors import ConfigError
from keywright.generation.found import MOST_SHOWN, marks

TEXT = "Heat pumps warm old houses. Heat pumps save energy in old houses."
HOSTILE = '<script>alert("1")</script> & <b>'


@pytest.fixture(scope="module")
def kw() -> Keywright:
    return Keywright("textrank")


def phrase(text: str, *places: tuple[int, int], probability: float | None = 0.5) -> Keyphrase:
    return Keyphrase(text=text, probability=probability, present=bool(places), places=places)


def test_keywords_mean_the_same_as_a_selection(kw: Keywright) -> None:
    assert kw.generate(TEXT, top=1) == kw.generate(TEXT, Selection(top=1))
    assert kw.generate(TEXT, absent_only=True) == []
    assert kw.generate(TEXT, present_only=True, top=0) == kw.generate(TEXT, Selection(top=0))
    assert kw.generate(TEXT, min_confidence=0.2) == kw.generate(TEXT, min_probability=0.2)


def test_keywords_are_checked(kw: Keywright) -> None:
    with pytest.raises(TypeError, match="unknown option 'topp'; did you mean 'top'"):
        kw.generate(TEXT, topp=3)  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="top: give a selection or such options, not both"):
        kw.generate(TEXT, Selection(), top=3)
    with pytest.raises(ConfigError, match="top is -1"):
        kw.generate(TEXT, top=-1)
    with pytest.raises(ConfigError, match="both excluded"):
        kw.generate(TEXT, present_only=True, absent_only=True)


def test_a_list_in_is_a_list_out(kw: Keywright) -> None:
    found = kw.generate([TEXT, "", TEXT])
    assert isinstance(found, list)
    assert found == [kw.generate(TEXT), [], kw.generate(TEXT)]
    assert kw.generate([]) == []
    assert kw.generate(text for text in [TEXT]) == [kw.generate(TEXT)]
    assert isinstance(kw.stream([TEXT]), Iterator)


def test_missing_values_have_no_keyphrases(kw: Keywright) -> None:
    assert kw.generate([TEXT, None, float("nan")]) == [kw.generate(TEXT), [], []]  # type: ignore[list-item]


def test_a_series_of_pandas(kw: Keywright) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": [TEXT, None, pandas.NA, TEXT]}, index=[3, 1, 4, 1])
    frame["keyphrases"] = kw.generate(frame["text"])
    assert [list(found) for found in frame["keyphrases"]] == [
        kw.generate(TEXT),
        [],
        [],
        kw.generate(TEXT),
    ]
    assert kw.generate(frame["text"].astype("string"))[2] == []
    with pytest.raises(TypeError, match="texts is a DataFrame; give a list, a column"):
        kw.generate(frame)


def test_a_series_of_polars(kw: Keywright) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    series = polars.Series("text", [TEXT, None])
    found = kw.generate(series)
    assert found == [kw.generate(TEXT), []]
    names = polars.Series("keyphrases", [[phrase.text for phrase in one] for one in found])
    assert names.len() == 2
    with pytest.raises(TypeError, match="texts is a DataFrame"):
        kw.generate(series.to_frame())


@pytest.mark.parametrize("texts", [b"bytes", 3.5, [TEXT, 7]])
def test_what_is_no_text_is_refused(kw: Keywright, texts: object) -> None:
    with pytest.raises(TypeError):
        kw.generate(texts)  # type: ignore[call-overload]


def test_keyphrases_know_their_text(kw: Keywright) -> None:
    text = f"  A title\n\n{TEXT} "
    for given in (text, Document(title="A title", body=TEXT)):
        found = kw.generate(given)
        assert isinstance(found, Keyphrases)
        for keyphrase in found:
            for start, end in keyphrase.places:
                assert found.text[start:end].lower() == keyphrase.text.lower()
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.text) == (found, found.text)
    assert msgspec.json.encode(found) == msgspec.json.encode(list(found))


def test_print_shows_a_line_per_keyphrase() -> None:
    found = Keyphrases(
        [phrase("heat pumps", (0, 10), (28, 38)), phrase("energy", probability=None)]
    )
    assert str(found).splitlines() == [" 50%  heat pumps  2 ×", "      energy      absent"]
    assert repr(found) == "Keyphrases(heat pumps 50%, energy)"
    assert str(Keyphrases()) == "no keyphrases"
    assert str(found[0]) == "heat pumps"


def test_a_notebook_shows_chips_and_marks() -> None:
    found = Keyphrases([phrase("Heat pumps", (0, 10), (28, 38))], TEXT)
    page = found._repr_html_()
    assert page.count("<mark") == 2
    assert ">Heat pumps <small>50%</small></span>" in page


def test_everything_in_a_notebook_is_escaped() -> None:
    found = Keyphrases([phrase(HOSTILE, (0, len(HOSTILE))), phrase(HOSTILE)], HOSTILE + HOSTILE)
    page = found._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert page.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &lt;b&gt;") == 5


def test_a_long_text_is_cut_in_a_notebook() -> None:
    page = Keyphrases(
        [phrase("x", (0, 1), (MOST_SHOWN, MOST_SHOWN + 1))], "x" * 10**6
    )._repr_html_()
    assert len(page) < 2 * MOST_SHOWN
    assert "…" in page


def test_overlapping_places_are_marked_once() -> None:
    found = [phrase("b c", (2, 5)), phrase("a b", (0, 3)), phrase("a", (0, 1)), phrase("d", (6, 7))]
    assert [(text, item and item.text) for text, item in marks("a b c d", found)] == [
        ("a b", "a b"),
        (" c ", None),
        ("d", "d"),
    ]


def test_the_package_shows_its_public_names_and_nothing_else() -> None:
    assert dir(keywright) == sorted([*keywright.__all__, "__version__"])
    for name in keywright.__all__:
        value = getattr(keywright, name)
        assert value.__doc__, name
        for attribute, member in vars(value).items():
            if not attribute.startswith("_") and callable(member):
                assert member.__doc__, f"{name}.{attribute}"
