"""`Keywright` over a predictor that needs no training."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from keywright.errors import ConfigError
from keywright.generation.engine import Keywright, Wanted
from keywright.types import Document

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
    assert any("Heat pumps" in one.text for one in first)
    assert empty == []
    assert any("debris" in one.text for one in last)
    assert engine.generate("Bees dance.")


def test_many_texts_are_streamed() -> None:
    engine = Keywright("textrank")
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield TEXTS[0]

    stream = engine.generate(endless())
    next(stream)
    assert taken < 10_000


def test_a_long_document_is_read_to_its_end() -> None:
    filler = "Nothing of note happens in this sentence at all. " * 200
    document = Document(title="A report", body=filler + "Quantum chromodynamics explains it.")
    found = Keywright("textrank").generate(document)
    assert any("chromodynamics" in one.text for one in found)


def test_what_is_wanted_is_what_comes(engine: Keywright) -> None:
    assert len(engine.generate(TEXTS[0], Wanted(top=1))) == 1
    assert engine.generate(TEXTS[0], Wanted(present=False)) == []


@pytest.mark.parametrize(
    "settings",
    [{"top": 0}, {"min_probability": 1.5}, {"present": False, "absent": False}],
)
def test_wishes_that_cannot_be_met_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Wanted(**settings)  # type: ignore[arg-type]


def test_pickled_and_shared_by_threads_it_says_the_same(engine: Keywright) -> None:
    expected = engine.generate(TEXTS[0])
    assert pickle.loads(pickle.dumps(engine)).generate(TEXTS[0]) == expected
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(engine.generate, [TEXTS[0]] * 8)) == [expected] * 8
