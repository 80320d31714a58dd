"""TfIdf by hand, and over other people's documents."""

import json
import math

import pytest

from keywright.errors import DataError
from keywright.extractors import tfidf
from keywright.predictor import load
from keywright.types import Document


def document(title: str, body: str, id: str | None = None) -> Document:
    return Document(id=id, title=title, body=body)


DOCUMENTS = [
    document("Sparse graphs", "A sparse graph has few edges. Sparse graphs are common.", "d1"),
    document("Dense graphs", "A dense graph has many edges.", "d2"),
    document("Rivers", "The river carries sand to the sea.", "d3"),
]


def predicted(**settings) -> list[dict[str, float]]:
    predictor = tfidf.build(tfidf.Config(max_phrases=100, **settings))
    return [
        {phrase.text: phrase.score for phrase in prediction.phrases}
        for prediction in predictor.predict(DOCUMENTS)
    ]


def test_counts_times_rarity():
    first, _, _ = predicted()
    # "sparse graph" occurs three times, by its stems, in one document of three.
    assert first["sparse graphs"] == pytest.approx(3 * math.log2(4 / 2))
    # "graph" is in two of three documents.
    assert first["graphs"] == pytest.approx(3 * math.log2(4 / 3))
    assert first["sparse"] == pytest.approx(3 * math.log2(4 / 2))
    assert first["edges"] == pytest.approx(math.log2(4 / 3))


def test_phrases_are_ordered_by_score_and_then_by_position():
    [first, *_] = tfidf.build(tfidf.Config(max_phrases=3)).predict(DOCUMENTS)
    assert first.document_id == "d1"
    assert first.texts[:2] == ("sparse", "sparse graphs")
    assert len(first.phrases) == 3
    assert all(phrase.token_log_probs is None for phrase in first.phrases)


def test_candidates_have_no_stopwords_no_punctuation_and_do_not_cross_the_title():
    first, _, third = predicted(longest=3)
    assert not any("graphs sparse" in text for text in first)
    assert third["rivers"] == pytest.approx(2 * math.log2(4 / 2))
    assert "the river" not in third
    assert predicted(stoplist="punctuation")[2]["the river"] == pytest.approx(math.log2(4 / 2))
    for scores in predicted(stoplist="punctuation"):
        assert not any("." in text for text in scores)


def test_numbers_and_single_letters_are_not_candidates():
    [only] = tfidf.build(tfidf.Config(max_phrases=100)).predict(
        [document("", "Model x has 12 layers, ai and c++ tools")]
    )
    # "ai" alone is too short for pke; within a phrase it may stand.
    assert set(only.texts) == {"model", "layers", "tools"}
    [other] = tfidf.build(tfidf.Config(max_phrases=100)).predict([document("", "ai tools")])
    assert set(other.texts) == {"ai tools", "tools"}


def test_frequencies_of_another_corpus(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    records = [{"title": "Graphs", "abstract": "Edges .", "keywords": []}] * 7
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    predictor = load("tfidf", settings=[f"documents={corpus}", "max_phrases=50"])
    [prediction] = predictor.predict(DOCUMENTS[:1])
    scores = {phrase.text: phrase.score for phrase in prediction.phrases}
    assert scores["graphs"] == pytest.approx(3 * math.log2(8 / 8))
    assert scores["sparse"] == pytest.approx(3 * math.log2(8 / 1))
    assert predictor.window == 1  # no other document matters then


def test_a_missing_corpus_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load("tfidf", settings=[f"documents={tmp_path / 'none.jsonl'}"])


def test_an_empty_document_has_no_phrases():
    [prediction] = tfidf.build(tfidf.Config()).predict([document("", "")])
    assert prediction.phrases == ()
