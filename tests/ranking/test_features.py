"""Features: finite numbers for any document, whatever a ranker knows, and the right ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from keywright.errors import KeywrightError
from keywright.ranking import features
from keywright.ranking.candidates import LONGEST, RankerView
from keywright.ranking.features import (
    Judged,
    Knowledge,
    Part,
    SecondTrees,
    Start,
    all_absent,
    all_present,
)
from keywright.ranking.keys import keys
from keywright.ranking.known import Generated, Over
from keywright.ranking.meaning import Meaning
from keywright.ranking.phrasebook import Phrasebook, Writer, gold_stems
from keywright.ranking.span_tagger import LogOdds
from keywright.ranking.topics import Topic, Topics
from keywright.types import Document

LEARNT = [
    Document(title="heat pumps", body="heat pumps warm houses", keyphrases=("heat pump",)),
    Document(title="heat pumps", body="a heat pump in winter", keyphrases=("heat pump", "energy")),
    Document(title="wind", body="a wind turbine on a hill", keyphrases=("energy",)),
]
NEW = Document(title="heat pumps", body="Old houses have heat pumps.")


def read(document: Document) -> RankerView:
    return RankerView.of(document, 400)


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


def meaning(**vectors: list[int]) -> Meaning:
    """Words with vectors of two numbers."""
    names = keys((stem,) for stem in vectors)
    order = np.argsort(names)
    rows = np.array([*vectors.values()], np.int8).reshape(-1, 2)
    return Meaning(names[order], rows[order], np.ones(len(vectors)))


def knowledge(books: int, terms: list[str], labels: list[str]) -> Knowledge:
    vectors = meaning(heat=[100, 0], hous=[60, 80], wind=[0, 100])
    return Knowledge(phrasebook(books), topics(terms, labels), marks, vectors)


def marks(reading: RankerView) -> LogOdds:
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
    judged = Judged.of(read(document), knowledge(books, terms, labels), {})
    for found in (judged.present(), judged.absent()):
        matrix = found.matrix(list(found.columns))
        assert len(matrix) == len(found.phrases) == len(found.texts)
        assert np.isfinite(matrix).all()


def test_absent_candidates_are_labels_and_generated_phrases_that_do_not_occur() -> None:
    known = knowledge(1, ["heat"], ["energi", "heat pump"])
    written = {("wind",): Generated("wind", 0, -1.0, -1.0), ("old",): Generated("old", 1, -1, -1)}
    assert Judged.of(read(NEW), known, written).absent().phrases == [("wind",), ("energi",)]


def test_features_of_words_are_the_least_the_greatest_and_the_mean() -> None:
    judged = Judged.of(read(NEW), knowledge(1, [], []), {})
    over = Over([[("hous",), ("old", "heat", "pump")]], [judged.words.number])
    block = judged.knowledge.known._by_words(over, [judged.words])
    columns = dict(zip(block.names, block.values.T, strict=True))
    assert columns["word.count.least"].tolist() == [1, 1]
    assert columns["word.count.most"].tolist() == [1, 2]
    assert columns["word.count.mean"] == pytest.approx([1, 5 / 3])
    assert columns["word.title.mean"] == pytest.approx([0, 2 / 3])


@pytest.mark.parametrize("most", [0, 1, 3, 50, 200])
@pytest.mark.parametrize("labels", [1, 100, 161, 1000])
def test_the_best_labels_are_those_a_full_sort_would_give(most: int, labels: int) -> None:
    log_probs = np.random.default_rng(0).permutation(labels).astype(np.float32)
    topic = Topic(np.zeros(1, np.float32), log_probs)
    assert topic.best(most).tolist() == np.argsort(-log_probs)[:most].tolist()
    assert topic.ranks(log_probs).tolist() == (labels - 1 - log_probs).tolist()
    assert topic.ranks(log_probs[::40]).tolist() == (labels - 1 - log_probs[::40]).tolist()


@pytest.mark.parametrize("labels", [100, 1000])
def test_labels_that_are_equally_probable_share_a_rank(labels: int) -> None:
    log_probs = np.repeat(np.arange(labels // 10, dtype=np.float32), 10)
    topic = Topic(np.zeros(1, np.float32), log_probs)
    expected = [(log_probs > each).sum() for each in log_probs[::20]]
    assert topic.ranks(log_probs[::20]).tolist() == expected


def test_features_of_the_span_tagger_are_the_greatest_the_mean_and_the_first() -> None:
    judged = Judged.of(read(NEW), knowledge(1, [], []), {})
    found = judged._tagged(judged.view.runs)
    place = list(judged.view.candidates).index(("heat", "pump"))  # begins at words 0 and 6
    assert found["tagged.first"][place] == pytest.approx(0.1)
    assert found["tagged.mean"][place] == pytest.approx(3.1)
    assert found["tagged.most"][place] == pytest.approx(6.1)
    assert found["tagged.rank"][place] == pytest.approx(np.log1p(1))  # "pumps" at word 7 is ahead
    assert found["tagged.behind"][place] == pytest.approx(-0.9)


def test_the_best_candidates_of_the_span_tagger_have_the_same_features_as_among_all() -> None:
    judged = Judged.of(read(NEW), knowledge(2, ["heat"], ["energi"]), {})
    every, some = judged.present(), judged.present(3)
    assert len(some.phrases) == 3
    assert ("heat", "pump") in some.phrases  # stands near the end, too
    names = list(every.columns)
    matrix = every.matrix(names)
    for phrase, row in zip(some.phrases, some.matrix(names), strict=True):
        assert row.tolist() == matrix[every.phrases.index(phrase)].tolist()
    assert judged.present(100).phrases == every.phrases


def start(books: int, *names: str) -> Start:
    """Trees that give every candidate the value of its first feature."""
    parts: tuple[Part, ...] = ("present", "absent")
    return Start(
        books,
        {part: lambda matrix: matrix[:, 0].astype(np.float64) for part in parts},
        dict.fromkeys(parts, names),
    )


def two_genres() -> Phrasebook:
    """The first book is about heat, the second about wind."""
    writer = Writer(2)
    for number, text in enumerate(("heat pumps warm old houses", "wind turns turbines on hills")):
        for _ in range(5):
            writer.add(number, read(Document(title="", body=text)), {("heat",)})
    return writer.book()


def test_documents_like_the_books_of_the_start_are_left_to_its_trees() -> None:
    known = replace(knowledge(1, [], []), book=two_genres(), start=start(1, "length"))
    found = Judged.of(read(NEW), known, {}).present()
    assert found.log_odds is not None
    assert found.log_odds.tolist() == [len(phrase) for phrase in found.phrases]
    assert "near.document" not in found.columns  # no time is spent on features nobody reads


def test_second_trees_are_averaged_with_those_of_the_start_for_its_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "MARGIN", 0.0)
    second = SecondTrees(lambda matrix: matrix[:, 0].astype(np.float64), ["letters"])
    first = replace(start(1, "length"), second=second)
    known = replace(knowledge(1, [], []), book=two_genres(), start=first)
    found = Judged.of(read(NEW), known, {}).present()
    assert found.log_odds is not None
    means = (found.columns["length"] + found.columns["letters"]) / 2
    assert found.log_odds.tolist() == means.tolist()
    absent = Judged.of(read(NEW), known, {}).as_absent({("energi",): "energy"})
    assert absent.log_odds is not None
    assert absent.log_odds.tolist() == [1.0]  # absent phrases have no second trees
    other = Judged.of(read(Document(title="wind", body="Turbines turn on hills.")), known, {})
    assert other.present().columns["start"].tolist() == other.present().columns["length"].tolist()


def test_documents_are_described_together_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "MARGIN", 0.0)
    known = replace(
        knowledge(2, ["heat", "pump", "wind"], ["energi", "heat pump", "wind"]),
        book=two_genres(),
        start=start(1, "word.topic.mean"),
    )
    documents = [NEW, Document(title="", body=""), Document(title="wind", body="Turbines."), NEW]
    views, most = [read(document) for document in documents], [2, None, 3, None]
    written = [{("wind",): Generated("wind", 0, -1.0, -2.0)}, {}, {}, {}]
    together = Judged.all(views, known, written)
    alone = [Judged.of(*each) for each in zip(views, [known] * 4, written, strict=True)]
    assert {judged.at_home for judged in together} == {True, False}
    every = [*all_present(together, most), *all_absent(together)]
    expected = [judged.present(each) for judged, each in zip(alone, most, strict=True)]
    expected += [judged.absent() for judged in alone]
    for found, single in zip(every, expected, strict=True):
        assert (found.phrases, found.texts) == (single.phrases, single.texts)
        assert (found.genre, found.features.names) == (single.genre, single.features.names)
        assert found.features.values.tolist() == single.features.values.tolist()
        assert str(found.log_odds) == str(single.log_odds)


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        ("heat pumps", "Old houses have heat pumps.", True),
        ("", "Old houses have heat pumps.", True),  # a title alone
        ("", "Old houses have heat pumps. " * 10, False),
        ("wind", "Turbines turn on hills.", False),
    ],
)
def test_a_record_has_a_title_and_words_of_the_start(title: str, body: str, expected: bool) -> None:
    known = replace(knowledge(1, [], []), book=two_genres(), start=start(1, "length"))
    assert Judged.of(read(Document(title=title, body=body)), known, {}).is_record == expected


def test_for_other_documents_the_log_odds_of_the_start_are_a_feature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "MARGIN", 0.0)  # tiny books differ little when smoothed
    known = replace(knowledge(1, [], []), book=two_genres(), start=start(1, "length"))
    judged = Judged.of(read(Document(title="wind", body="Turbines turn on hills.")), known, {})
    assert judged.genres[1] > judged.genres[0]
    found = judged.present()
    assert found.log_odds is None
    assert found.columns["start"].tolist() == found.columns["length"].tolist()
    assert "near.document" in found.columns


def test_expensive_features_are_computed_if_the_start_reads_them() -> None:
    known = replace(knowledge(1, [], []), book=two_genres(), start=start(1, "near.document"))
    found = Judged.of(read(NEW), known, {}).present()
    assert found.log_odds is not None
    assert found.log_odds.tolist() == found.columns["near.document"].tolist()


def test_an_unknown_feature_is_named() -> None:
    found = Judged.of(read(NEW), knowledge(1, [], []), {}).present()
    with pytest.raises(KeywrightError, match=r"colour.*fit it again"):
        found.matrix(["length", "colour"])


def test_an_empty_document_resembles_no_genre() -> None:
    judged = Judged.of(read(Document(title="", body="")), knowledge(2, [], []), {})
    assert judged.genres == pytest.approx([0, 0], abs=1e-3)


def test_phrases_close_to_the_document_in_meaning_are_told_from_others() -> None:
    judged = Judged.of(read(NEW), knowledge(1, [], []), {})
    columns = judged._meanings.columns([("heat",), ("wind",), ("zebra",)])
    near = columns["near.document"]
    assert near[0] > near[1] > near[2] == 0
    assert columns["near.title"][0] == pytest.approx(1)
    nearest = judged._meanings.nearest([("heat", "hous"), ("heat", "wind"), ("zebra",)])
    assert nearest["near.word"] == pytest.approx([1, 0.8, 0], abs=1e-3)
