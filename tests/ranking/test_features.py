"""Features: finite numbers for any document, whatever a ranker knows, and the right ones."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.ranking.features import Generated, Judged, Knowledge
from keywright.ranking.keys import keys
from keywright.ranking.marker import LogOdds
from keywright.ranking.phrasebook import Phrasebook, Writer, gold_stems
from keywright.ranking.reading import LONGEST, Reading
from keywright.ranking.topics import Topic, Topics
from keywright.types import Document

LEARNT = [
    Document(title="heat pumps", body="heat pumps warm houses", keyphrases=("heat pump",)),
    Document(title="heat pumps", body="a heat pump in winter", keyphrases=("heat pump", "energy")),
    Document(title="wind", body="a wind turbine on a hill", keyphrases=("energy",)),
]
NEW = Document(title="heat pumps", body="Old houses have heat pumps.")


def read(document: Document) -> Reading:
    return Reading.of(document, 400)


def phrasebook(books: int) -> Phrasebook:
    writer = Writer(books)
    for number, document in enumerate(LEARNT):
        writer.add(number % books, read(document), gold_stems(document))
    return writer.book()


def topics(terms: list[str], labels: list[str]) -> Topics:
    """Every word has a direction of its own, and a label that of the word of its number."""
    known = np.sort(keys((term,) for term in terms))
    width = max(len(terms), 1)
    return Topics(
        known,
        np.ones(len(terms), np.float32),
        np.eye(len(terms), width, dtype=np.float16),
        labels,
        [tuple(label.split()) for label in labels],
        np.eye(len(labels), width, dtype=np.float32),
        np.zeros(len(labels), np.float32),
    )


def marks(reading: Reading) -> LogOdds:
    """Later words and longer phrases are better."""
    size = len(reading.words)
    return (np.arange(size)[:, None] + 0.1 * np.arange(LONGEST)).astype(np.float32)


@pytest.mark.parametrize("books", [1, 2, 3])
@pytest.mark.parametrize("terms", [[], ["heat", "pump", "hous"]])
@pytest.mark.parametrize("labels", [[], ["energi", "heat pump"]])
@pytest.mark.parametrize(
    "document",
    [NEW, Document(title="", body=""), Document(title="", body="x" * 5000), LEARNT[0]],
    ids=["new", "empty", "one long word", "known"],
)
def test_all_features_are_numbers(
    books: int, terms: list[str], labels: list[str], document: Document
) -> None:
    judged = Judged(read(document), Knowledge(phrasebook(books), topics(terms, labels), marks), {})
    for found in (judged.present(), judged.absent()):
        assert len(found.features) == len(found.phrases) == len(found.texts)
        assert np.isfinite(found.features).all()


def test_absent_candidates_are_labels_and_what_was_written_but_stands_nowhere() -> None:
    knowledge = Knowledge(phrasebook(1), topics(["heat"], ["energi", "heat pump"]), marks)
    written = {("wind",): Generated("wind", 0, -1.0, -1.0), ("old",): Generated("old", 1, -1, -1)}
    assert Judged(read(NEW), knowledge, written).absent().phrases == [("wind",), ("energi",)]


def test_of_a_phrase_s_words_the_least_the_most_and_the_mean_count() -> None:
    judged = Judged(read(NEW), Knowledge(phrasebook(1), topics([], []), marks), {})
    columns = judged._by_words([("hous",), ("old", "heat", "pump")], judged._words)
    assert columns["word.count.least"].tolist() == [1, 1]
    assert columns["word.count.most"].tolist() == [1, 2]
    assert columns["word.count.mean"] == pytest.approx([1, 5 / 3])
    assert columns["word.title.mean"] == pytest.approx([0, 2 / 3])


@pytest.mark.parametrize("most", [0, 1, 3, 50, 200])
def test_the_best_labels_are_those_a_full_sort_would_give(most: int) -> None:
    log_probs = np.random.default_rng(0).permutation(100).astype(np.float32)
    topic = Topic(np.zeros(1, np.float32), log_probs)
    assert topic.best(most).tolist() == np.argsort(-log_probs)[:most].tolist()
    assert topic.ranks(log_probs).tolist() == (99 - log_probs).tolist()


def test_of_the_marks_of_a_phrase_s_places_the_most_the_mean_and_the_first_count() -> None:
    judged = Judged(read(NEW), Knowledge(phrasebook(1), topics([], []), marks), {})
    found = judged._marked(list(judged.reading.candidates.values()))
    place = list(judged.reading.candidates).index(("heat", "pump"))  # begins at words 0 and 6
    assert found["marked.first"][place] == pytest.approx(0.1)
    assert found["marked.mean"][place] == pytest.approx(3.1)
    assert found["marked.most"][place] == pytest.approx(6.1)
    assert found["marked.rank"][place] == pytest.approx(np.log1p(1))  # "pumps" at word 7 is ahead
    assert found["marked.behind"][place] == pytest.approx(-0.9)


def test_those_that_the_marker_thinks_best_of_are_judged_as_if_all_were() -> None:
    judged = Judged(read(NEW), Knowledge(phrasebook(2), topics(["heat"], ["energi"]), marks), {})
    every, some = judged.present(), judged.present(3)
    assert len(some.phrases) == 3
    assert ("heat", "pump") in some.phrases  # stands near the end, too
    for phrase, row in zip(some.phrases, some.features, strict=True):
        assert row.tolist() == every.features[every.phrases.index(phrase)].tolist()
    assert judged.present(100).phrases == every.phrases
