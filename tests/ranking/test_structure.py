"""What a text by itself shows about its phrases."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.ranking.candidates import RankerView
from keywright.ranking.structure import Structure
from keywright.types import Document


def columns(body: str, *phrases: str, title: str = "") -> dict[str, list[float]]:
    view = RankerView.of(Document(title=title, body=body), 400)
    place = {phrase: number for number, phrase in enumerate(view.candidates)}
    chosen = np.array([place[tuple(phrase.split())] for phrase in phrases])
    found = Structure(view).columns(view.runs.at.of(chosen))
    return {name: column.tolist() for name, column in found.items()}


def test_capitals_count_inside_sentences_only() -> None:
    found = columns(
        "Heat pumps warm Berlin. Pumps of NASA work in Berlin.", "pump", "berlin", "nasa"
    )
    assert found["capital.first"] == [0, 1, 1]
    assert found["capitals"] == [0, 0, 1]


def test_the_first_word_of_the_body_begins_a_sentence() -> None:
    found = columns("Pumps warm.", "pump", title="About heat")
    assert found["capital.first"] == [0]


def test_a_text_in_lower_case_is_known_to_have_no_capitals() -> None:
    views = [RankerView.of(Document(title="", body=text), 400) for text in ("in Bonn", "in bonn")]
    assert [Structure(view).cased for view in views] == [1, 0]


def test_phrases_are_counted_in_sentences() -> None:
    found = columns("Heat heats heat. Cold air. Heat again.", "heat", "cold air")
    # The empty title and what follows the last full stop count as sentences, too.
    assert found["sentences"] == pytest.approx([2 / 5, 1 / 5])


def test_phrases_between_stop_words_have_edges() -> None:
    found = columns("the heat pump of the house", "heat pump", "heat", "hous")
    assert found["edge.both"] == [1, 0, 1]
    assert found["edge.left"] == [1, 1, 1]
    assert found["edge.right"] == [1, 0, 1]


def test_words_in_the_middle_of_many_others_are_central() -> None:
    view = RankerView.of(Document(title="", body="hot pump. cold pump. old pump. new pump."), 400)
    structure = Structure(view)
    central, before, after = structure.words.T
    rows = structure.number
    assert central[rows["pump"]] > central[rows["cold"]]
    assert before[rows["pump"]] == 1  # always after another word
    assert after[rows["pump"]] == pytest.approx(1 / 4)  # always before a full stop


def test_centrality_is_that_of_page_rank() -> None:
    view = RankerView.of(
        Document(title="", body="a hot pump cools an old pump and a new house"), 400
    )
    structure = Structure(view)
    central = structure.words[:, 0]
    ids, content = structure._ids, structure._content
    graph = np.zeros((len(structure.number),) * 2)
    for left in range(len(ids)):
        for right in range(left + 1, min(left + 3, len(ids))):
            if content[left] and content[right] and ids[left] != ids[right]:
                graph[ids[left], ids[right]] += 1
                graph[ids[right], ids[left]] += 1
    graph /= graph.sum(axis=0).clip(min=1)
    rank = np.ones(len(graph))
    for _ in range(12):
        rank = 0.15 + 0.85 * graph @ rank
    assert central == pytest.approx(rank, abs=1e-5)


@pytest.mark.parametrize("body", ["", "word", "...", "the of"])
def test_texts_with_few_words_are_accepted(body: str) -> None:
    view = RankerView.of(Document(title="", body=body), 400)
    structure = Structure(view)
    assert np.isfinite(structure.words).all()
    assert structure.columns(view.runs.at)["edge.left"].size == len(view.runs)
    none = view.runs.at.of(np.array([], np.int64))
    assert structure.columns(none)["edge.left"].size == 0
