"""`Keywright` over a predictor that needs no training."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from keywright.errors import ConfigError
from keywright.generation.engine import WINDOW_WORDS, Keywright, Selection
from keywright.generation.keyphrases import Keyphrase
from keywright.predictor import LoadedModel
from keywright.sources import text as plain_text
from keywright.types import Document, Prediction, ScoredPhrase

TEXTS = [
    "Heat pumps warm old houses. Heat pumps need electricity.",
    "",
    "Drag sails remove space debris. Space debris threatens satellites.",
]


@pytest.fixture(scope="module")
def engine() -> Keywright:
    return Keywright("textrank")


def test_one_text_gives_a_list_and_many_give_lists_in_order(engine: Keywright) -> None:
    (first, empty, last) = engine.generate(TEXTS)
    assert any("Heat pumps" in keyphrase.text for keyphrase in first)
    assert empty == []
    assert any("debris" in keyphrase.text for keyphrase in last)
    assert engine.generate("Bees dance.")


def test_many_texts_are_streamed() -> None:
    engine = Keywright("textrank")
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield TEXTS[0]

    stream = engine.stream(endless())
    next(stream)
    assert taken < 10_000


def test_a_long_document_is_read_to_its_end() -> None:
    filler = "Nothing of note happens in this sentence at all. " * 200
    document = Document(title="A report", body=filler + "Quantum chromodynamics explains it.")
    found = Keywright("textrank").generate(document)
    assert any("chromodynamics" in keyphrase.text for keyphrase in found)


def test_a_selection_limits_the_keyphrases(engine: Keywright) -> None:
    assert len(engine.generate(TEXTS[0], Selection(top=1))) == 1
    assert engine.generate(TEXTS[0], Selection(present=False)) == []


@pytest.mark.parametrize(
    "settings",
    [{"top": -1}, {"min_confidence": 1.5}, {"present": False, "absent": False}],
)
def test_impossible_selections_are_errors(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Selection(**settings)  # type: ignore[arg-type]


def keyphrase(name: str, probability: float, recommended: bool, present: bool = True) -> Keyphrase:
    return Keyphrase(text=name, probability=probability, present=present, recommended=recommended)


FOUND = [
    keyphrase("a", 0.5, True),
    keyphrase("b", 0.3, True, present=False),
    keyphrase("c", 0.2, False),
    keyphrase("d", 0.09, True, present=False),
    keyphrase("e", 0.08, False),
    keyphrase("f", 0.01, False),
]


@pytest.mark.parametrize(
    ("selection", "words", "expected"),
    [
        (Selection(), 4, "ab"),  # what is recommended, absent ones only if probable
        (Selection(), 6, "abc"),  # readers expect two present ones
        (Selection(), 1000, "abcef"),
        (Selection(top=3), 10, "abc"),
        (Selection(top=5), 1000, "abcde"),
        (Selection(top=0), 10, "abcdef"),
        (Selection(min_confidence=0.05), 10, "abcde"),
        (Selection(precision=0.3), 10, "abc"),
        (Selection(absent=False), 6, "ac"),
    ],
)
def test_the_number_follows_from_what_is_asked_or_from_the_document(
    selection: Selection, words: int, expected: str
) -> None:
    assert "".join(phrase.text for phrase in selection(FOUND, words)) == expected


@pytest.mark.parametrize("before", ["", " \n"])
def test_places_are_those_in_the_text_that_was_given(engine: Keywright, before: str) -> None:
    text = before + "Old heat pumps\n\n \nHeat pumps warm houses.\n"
    found = engine.generate(text)
    assert found
    for phrase in found:
        for start, end in phrase.places:
            assert text[start:end].lower() == phrase.text.lower()


@pytest.mark.parametrize("as_document", [False, True])
def test_character_references_are_read_and_marked_as_a_whole(
    engine: Keywright, as_document: bool
) -> None:
    text = (
        "D&eacute;cor in old houses\n\nThe &ldquo;d&eacute;cor&rdquo; of old houses &amp; farms.\n"
    )
    found = engine.generate(plain_text.document(text, "file.txt") if as_document else text)
    places = {p.text.lower(): [found.text[start:end] for start, end in p.places] for p in found}
    assert places["décor"] == ["D&eacute;cor", "d&eacute;cor"]
    assert places["old houses"] == ["old houses", "old houses"]


def test_a_text_is_read_like_a_file_with_this_text(engine: Keywright) -> None:
    text = "Old heat pumps\n\nPumps warm houses. Houses need heat."
    from_file = engine.generate(plain_text.document(text, "file.txt"))
    assert [phrase.text for phrase in engine.generate(text)] == [p.text for p in from_file]


def test_it_gives_the_same_keyphrases_after_pickling_and_in_threads(engine: Keywright) -> None:
    expected = engine.generate(TEXTS[0])
    assert pickle.loads(pickle.dumps(engine)).generate(TEXTS[0]) == expected
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(engine.generate, [TEXTS[0]] * 8)) == [expected] * 8


class Watched:
    """A predictor that notes what it reads, and whether it is used by two threads at once."""

    window = 1

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.inside = 0
        self.most_inside = 0

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            time.sleep(0.002)  # lets other threads run
            self.inside -= 1
            self.lengths.append(len(document.text.split()))
            yield Prediction(document_id=document.id, phrases=(ScoredPhrase(text="bees"),))


def watched(monkeypatch: pytest.MonkeyPatch, most_words: int | None) -> tuple[Keywright, Watched]:
    predictor = Watched()
    loaded = LoadedModel(predictor, {}, most_words=most_words)
    monkeypatch.setattr("keywright.generation.engine.load", lambda *_, **__: loaded)
    return Keywright("watched"), predictor


@pytest.mark.parametrize(
    ("most", "longest"), [(None, WINDOW_WORDS), (1000, WINDOW_WORDS), (50, 50)]
)
def test_windows_are_never_longer_than_the_model_reads(
    monkeypatch: pytest.MonkeyPatch, most: int | None, longest: int
) -> None:
    engine, predictor = watched(monkeypatch, most)
    engine.generate("one word after another " * 200)
    assert max(predictor.lengths) == longest
    assert sum(predictor.lengths) == 800


def test_one_thread_at_a_time_uses_the_predictor(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, predictor = watched(monkeypatch, None)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(engine.generate, ["Bees dance."] * 40))
    assert len(predictor.lengths) == 40
    assert predictor.most_inside == 1


def test_a_phrase_without_probability_reaches_no_precision() -> None:
    found = [
        Keyphrase(text=text, probability=probability, present=True)
        for text, probability in (("a", 0.9), ("b", 0.5), ("c", None), ("d", None))
    ]
    assert [phrase.text for phrase in Selection(precision=0.6)(found, 100)] == ["a", "b"]
    assert Selection(precision=0.1)(found[2:], 100) == []
    assert len(Selection()(found, 100)) == 4
