"""TextRank: PageRank by hand and by networkx; phrases of nouns and adjectives."""

import sys

import numpy as np
import pytest

from keywright.errors import MissingExtraError
from keywright.extractors import textrank
from keywright.extractors._graph import Edges, pagerank
from keywright.types import Document

TEXT = Document(
    id="d",
    title="Compatibility of linear constraints",
    body="We consider systems of linear constraints over natural numbers. "
    "Criteria of compatibility of linear constraints are considered.",
)


def predict(document: Document = TEXT, **settings):
    [prediction] = textrank.build(textrank.Config(**settings)).predict([document])
    return prediction


def test_phrases_are_the_longest_runs_of_nouns_and_adjectives():
    assert set(predict(max_phrases=50).texts) == {
        "compatibility",
        "linear constraints",
        "systems",
        "natural numbers",
        "criteria",
    }


def test_the_best_connected_words_come_first_and_longer_phrases_sum_more():
    prediction = predict()
    assert prediction.texts[0] == "linear constraints"
    scores = [phrase.score for phrase in prediction.phrases]
    assert scores == sorted(scores, reverse=True)


def test_scores_are_those_of_the_graph():
    # linear - constraint and natural - number are joined; five other nodes stand alone.
    prediction = predict(max_phrases=50)
    scores = {phrase.text: phrase.score for phrase in prediction.phrases}
    pair = scores["linear constraints"]
    assert pair == pytest.approx(scores["natural numbers"])
    mean = predict(max_phrases=50, normalised=True)
    assert {p.text: p.score for p in mean.phrases}["linear constraints"] == pytest.approx(pair / 2)


def test_phrases_consist_of_the_best_share_of_words():
    assert set(predict(keywords=0.34, max_phrases=50).texts) == {"linear constraints"}


def test_pagerank_of_a_star_by_hand():
    # x = (1 - d)/4 + 3 d y,  y = (1 - d)/4 + d x / 3
    d = 0.85
    centre = (1 - d) / 4 * (1 + 3 * d) / (1 - d * d)
    star = Edges.of(np.array([[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    ranks = pagerank(4, star, d, textrank.TOLERANCE)
    assert ranks == pytest.approx([centre, *[(1 - centre) / 3] * 3], abs=1e-5)


def test_how_often_words_occur_together_does_not_matter():
    once, twice = "linear solvers , memory", "linear solvers , memory , linear solvers"
    scores = [
        {phrase.text: phrase.score for phrase in predict(Document(title="", body=body)).phrases}
        for body in (once, twice)
    ]
    assert scores[0] == pytest.approx(scores[1])


def test_texts_without_a_noun_have_no_phrases():
    assert predict(Document(title="", body="")).phrases == ()
    assert predict(Document(title="", body="it is , and they were .")).phrases == ()


def test_a_missing_tagger_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob", None)
    monkeypatch.delitem(sys.modules, "textblob.en", raising=False)
    with pytest.raises(MissingExtraError, match=r"keywright\[extractors\]"):
        textrank.build(textrank.Config())
