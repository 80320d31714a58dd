"""Graphs of words, candidates and topics, by hand; and the scores of pke on the same tags."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keywright.errors import MissingExtraError
from keywright.extractors import (
    _graph,
    _topics,
    firstphrases,
    multipartiterank,
    positionrank,
    rake,
    singlerank,
    topicrank,
)
from keywright.extractors._graph import Edges, Kind, TaggedText
from keywright.text.candidates import STOPWORDS
from keywright.text.stem import stems
from keywright.types import Document

RANKERS = (firstphrases, multipartiterank, positionrank, singlerank, topicrank)
SENTENCES = (
    "fast solvers of linear systems scale to large sparse systems",
    "we compare iterative solvers with direct factorisation of sparse matrices",
    "iterative solvers need preconditioners and direct factorisation needs memory",
)
NOUNS = frozenset(
    "solvers systems factorisation matrices preconditioners memory".split()  # noqa: SIM905
)
ADJECTIVES = frozenset({"fast", "linear", "large", "sparse", "iterative", "direct"})
TEXT = Document(id="d", title="", body=" . ".join(SENTENCES) + " .")


def tag(words: Sequence[str]) -> list[Kind]:
    return [
        "noun" if word in NOUNS else "adjective" if word in ADJECTIVES else "other"
        for word in words
    ]


def predict(module, tagger=tag, document: Document = TEXT, **settings):
    """The scores by phrase, best first."""
    built = module.build(module.Config(tagger="stopwords", max_phrases=50, **settings))
    object.__setattr__(built, "tag", tagger)
    [prediction] = built.predict([document])
    return {phrase.text: phrase.score for phrase in prediction.phrases}


def test_pagerank_by_hand() -> None:
    """0 -> 1 with weight 3, 0 -> 2 with weight 1, and both lead back."""
    edges = Edges(np.array([0, 0, 1, 2]), np.array([1, 2, 0, 0]), np.array([3.0, 1.0, 2.0, 5.0]))
    ranks = _graph.pagerank(3, edges, 0.5, 1e-12)
    # r0 = 1/6 + (r1 + r2) / 2; r1 = 1/6 + 3/8 r0; r2 = 1/6 + 1/8 r0; so r0 = 4/9.
    assert ranks.tolist() == pytest.approx([4 / 9, 1 / 3, 2 / 9])


def test_pagerank_restarts_where_it_is_told_also_from_nodes_without_edges() -> None:
    none = Edges.of(np.zeros((2, 2)))
    assert _graph.pagerank(2, none, 0.85, 1e-12, np.array([3.0, 1.0])).tolist() == [0.75, 0.25]
    assert _graph.pagerank(0, none, 0.85, 1e-12).tolist() == []


def test_pagerank_equals_that_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(1)
    weights = rng.random((12, 12)) * (rng.random((12, 12)) < 0.3)
    weights[4] = 0  # no edges from here
    restart = rng.random(12)
    graph = networkx.from_numpy_array(weights, create_using=networkx.DiGraph)
    theirs = networkx.pagerank(graph, 0.85, dict(enumerate(restart)), tol=1e-10)
    ours = _graph.pagerank(12, Edges.of(weights), 0.85, 1e-10, restart)
    assert ours.tolist() == pytest.approx([theirs[node] for node in range(12)], abs=1e-9)


def test_cooccurrences_are_counted_within_the_window() -> None:
    path = [0, None, 1, 0, 2]

    def counted(window: int) -> dict[tuple[int, int], float]:
        edges = _graph.cooccurrences(path, window)
        pairs = zip(edges.source.tolist(), edges.target.tolist(), strict=True)
        found = dict(zip(pairs, edges.weight.tolist(), strict=True))
        assert all(found[b, a] == weight for (a, b), weight in found.items())
        return {(a, b): weight for (a, b), weight in found.items() if a < b}

    assert counted(1) == {}
    assert counted(2) == {(0, 1): 1, (0, 2): 1}
    assert counted(3) == {(0, 1): 2, (0, 2): 1, (1, 2): 1}
    assert len(_graph.cooccurrences([None], 5).weight) == 0


def test_noun_phrases_are_nouns_with_the_adjectives_before_them() -> None:
    kinds = [{"a": "adjective", "n": "noun", "o": "other"}[c] for c in "aanoanannoaon"]
    text = TaggedText(_graph.CandidateText(list("abcdefghijklm"), list("abcdefghijklm")), kinds)
    assert list(text.noun_phrases(3).values()) == [
        [(0, 3)],
        [(4, 6)],
        [(6, 9)],
        [(12, 13)],
    ]
    assert ("a", "b", "c") not in text.noun_phrases(2)
    assert list(text.longest_runs().values()) == [[(0, 3)], [(4, 9)], [(10, 11)], [(12, 13)]]


def test_candidates_with_stop_words_or_too_many_words_are_no_candidates() -> None:
    words = ["such", "solvers", ",", "x1", ",", "a1", "b1", "c1", "d1", "e1", "f1"]
    kinds: list[Kind] = ["noun" if word != "," else "other" for word in words]
    text = TaggedText(_graph.CandidateText(words, words), kinds)
    assert list(text.longest_runs().values()) == [[(0, 2)], [(3, 4)], [(5, 11)]]
    assert text.without_stopwords(text.longest_runs()) == {}


def test_position_weights_of_a_text_of_four_words() -> None:
    """Words 0 at positions 1 and 3, 1 at position 4: 1/1 + 1/3 and 1/4."""
    weights = positionrank.position_weights(2, [0, None, 0, 1])
    assert weights.tolist() == pytest.approx([4 / 3, 1 / 4])


def test_jaccard_distances() -> None:
    found = _topics.jaccard_distances([("a", "b"), ("b", "c"), ("d",), ("a", "b", "b")])
    assert found[0].tolist() == pytest.approx([0, 2 / 3, 1, 0])


def test_topics_are_candidates_that_share_enough_words() -> None:
    candidates = [("spars", "matric"), ("direct", "solver"), ("matric",), ("solver",), ("memori",)]
    assert _topics.topics(candidates, 0.74).tolist() == [0, 1, 0, 1, 2]
    assert _topics.topics(candidates, 0.4).tolist() == [0, 1, 2, 3, 4]
    assert _topics.topics([("a",)], 0.74).tolist() == [0]


def test_nearness_sums_over_all_pairs_of_occurrences() -> None:
    """Group 0 at [0, 2) and [9, 10), group 1 at [4, 5): gaps of 3 and 5."""
    candidates = {("a", "b"): [(0, 2)], ("a",): [(9, 10)], ("c",): [(4, 5)]}
    found = _topics.nearness(candidates, np.array([0, 0, 1]))
    assert found.tolist() == [[0, pytest.approx(1 / 3 + 1 / 5)], [pytest.approx(1 / 3 + 1 / 5), 0]]


def test_nearness_of_many_occurrences_does_not_depend_on_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidates = {(str(i),): [(i, i + 1), (i + 40, i + 41)] for i in range(0, 40, 2)}
    groups = np.arange(20) % 7
    whole = _topics.nearness(candidates, groups)
    monkeypatch.setattr(_topics, "CHUNK", 3)
    assert _topics.nearness(candidates, groups) == pytest.approx(whole)


def test_the_first_candidate_of_a_topic_is_strengthened() -> None:
    """Candidates 0 (first, at word 4) and 1 are one topic, 2 is another."""
    near = np.array([[0, 0, 0.5], [0, 0, 0.25], [0.5, 0.25, 0]])
    found = multipartiterank.boosted(near, np.array([0, 0, 1]), [4, 9, 7], 1.1)
    expected = near.copy()
    expected[2, 0] += 1.1 * math.exp(1 / 5) * 0.25
    assert found == pytest.approx(expected)


def test_the_score_of_a_topic_of_two() -> None:
    """Two topics are connected to each other alone, so each has half of the rank."""
    document = Document(id="d", title="", body="linear solvers and sparse matrices")
    assert predict(topicrank, document=document) == pytest.approx(
        {"linear solvers": 0.5, "sparse matrices": 0.5}
    )


def test_topics_are_represented_by_their_first_or_most_frequent_candidate() -> None:
    body = "iterative solvers and memory , solvers of memory , solvers"
    document = Document(id="d", title="", body=body)
    assert set(predict(topicrank, document=document)) == {"iterative solvers", "memory"}
    frequent = predict(topicrank, document=document, represent="frequent")
    assert set(frequent) == {"solvers", "memory"}


def test_rake_divides_degree_by_frequency() -> None:
    """Candidates: linear solvers, sparse linear systems, solvers."""
    body = "linear solvers of sparse linear systems are the solvers"
    [prediction] = rake.build(rake.Config()).predict([Document(id="d", title="", body=body)])
    scores = {phrase.text: phrase.score for phrase in prediction.phrases}
    linear, solver = (2 + 3) / 2, (2 + 1) / 2
    assert scores == pytest.approx(
        {
            "sparse linear systems": 3 + linear + 3,
            "linear solvers": linear + solver,
            "solvers": solver,
        }
    )


def test_first_phrases_are_in_the_order_of_the_text() -> None:
    assert list(predict(firstphrases))[:3] == [
        "fast solvers",
        "linear systems",
        "large sparse systems",
    ]


@pytest.mark.parametrize("module", [*RANKERS, rake])
def test_texts_without_candidates_have_no_phrases(module) -> None:
    for body in ("", ".", "of the and"):
        document = Document(id="d", title="", body=body)
        settings = {} if module is rake else {"tagger": "stopwords"}
        [prediction] = module.build(module.Config(**settings)).predict([document])
        assert prediction.phrases == ()
        assert prediction.document_id == "d"


@pytest.mark.parametrize("module", RANKERS)
def test_scores_fall_and_a_title_is_kept_apart(module) -> None:
    document = Document(id="d", title="Sparse matrices", body="memory of solvers")
    scores = predict(module, document=document)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert "sparse matrices" in scores
    assert "sparse matrices memory" not in scores


@pytest.mark.parametrize("module", RANKERS)
def test_the_tagger_of_the_extra(module, monkeypatch: pytest.MonkeyPatch) -> None:
    [prediction] = module.build(module.Config()).predict([TEXT])
    assert "direct factorisation" in prediction.texts
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    monkeypatch.setitem(sys.modules, "textblob", None)
    with pytest.raises(MissingExtraError, match=r"tagger=stopwords needs nothing.*extractors"):
        module.build(module.Config())


PKE = {
    "SingleRank": (singlerank, {"window": 10, "pos": {"NOUN", "PROPN", "ADJ"}}),
    "PositionRank": (positionrank, {"window": 10, "pos": {"NOUN", "PROPN", "ADJ"}}),
    "TopicRank": (topicrank, {}),
    "MultipartiteRank": (multipartiterank, {}),
}


@pytest.fixture
def pke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """pke reads nltk's list of stop words when it is imported; ours stands in for it."""
    pytest.importorskip("unidecode", reason="pke-tool is not installed")
    folder = tmp_path / "corpora" / "stopwords"
    folder.mkdir(parents=True)
    (folder / "english").write_text("\n".join(sorted(STOPWORDS)))
    monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
    networkx = pytest.importorskip("networkx")
    monkeypatch.setattr(
        networkx, "pagerank_scipy", networkx.pagerank, raising=False
    )  # its name now
    return pytest.importorskip("pke", reason="pke-tool is not installed")


@pytest.mark.parametrize("name", PKE)
def test_scores_are_those_of_pke(name: str, pke: Any) -> None:
    module, settings = PKE[name]
    universal = {"noun": "NOUN", "adjective": "ADJ", "other": "X"}
    model = getattr(pke.unsupervised, name)()
    model.stoplist = sorted(STOPWORDS)
    for sentence in SENTENCES:
        words = [*sentence.split(), "."]
        model.sentences.append(pke.data_structures.Sentence(words))
        model.sentences[-1].stems = stems(words)
        model.sentences[-1].pos = [universal[kind] for kind in tag(words)]
    model.candidate_selection()
    model.candidate_weighting(**settings)
    theirs = dict(model.get_n_best(n=50))
    assert len(theirs) > 5
    assert predict(module) == pytest.approx(theirs, abs=1e-6)
