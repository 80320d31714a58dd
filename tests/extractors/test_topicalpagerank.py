"""Topical PageRank and its topic model: by hand, beside scikit-learn, and from files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from keywright import predictor
from keywright.cli import app
from keywright.data.writers import write_documents
from keywright.errors import ConfigError, DataError
from keywright.extractors import _lda, _supervised, topicalpagerank
from keywright.extractors._graph import TaggedText
from keywright.extractors.topicalpagerank import Config, Learned, TopicModel
from keywright.text.candidates import CandidateText
from keywright.types import Document

pytest.importorskip("scipy", reason="needs keywright[extractors]")

TOPICS = ("matrix solver factor sparse", "river sand tide flood", "poem verse rhyme novel")


def corpus(count: int = 30) -> list[Document]:
    rng = np.random.default_rng(2)
    return [
        Document(title="", body=" ".join(rng.choice(TOPICS[i % 3].split(), 12)))
        for i in range(count)
    ]


def test_words_are_compared_with_the_document_by_hand() -> None:
    """p(a) is (3/4, 1/5) over the topics, p(b) is (1/4, 4/5), and the document is (1, 0)."""
    model = TopicModel(np.array([[3.0, 1.0], [1.0, 4.0]]), ["a", "b"])
    found = model.similarities(["a", "x", "b"], np.array([1.0, 0.0]))
    a = 0.75 / math.hypot(0.75, 0.2)
    b = 0.25 / math.hypot(0.25, 0.8)
    assert found == pytest.approx({"a": a, "x": b, "b": b})
    assert model.similarities(["x", "y"], np.array([1.0, 0.0])) == {"x": 1.0, "y": 1.0}


def test_the_walk_restarts_at_words_of_the_topic_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words that occur together once: each leads to the other, and a restarts more often."""
    model = TopicModel(np.ones((2, 2)), ["a", "b"])
    monkeypatch.setattr(TopicModel, "similarities", lambda *_: {"a": 3.0, "b": 1.0})
    text = TaggedText(CandidateText(["a", ",", "b"], ["a", ",", "b"]), ["noun", "other", "noun"])
    config = Config(damping=0.5)
    monkeypatch.setattr(topicalpagerank, "TOLERANCE", 1e-12)
    found = dict(topicalpagerank.score(config, model, text))
    # r_a = r_b / 2 + 3/8 and r_b = r_a / 2 + 1/8.
    assert found == pytest.approx({(0, 1): 7 / 12, (2, 3): 5 / 12})


def test_topics_of_documents_are_those_of_scikit_learn() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition", reason="is the oracle here")
    counts = np.random.default_rng(1).poisson(1.0, (8, 6)).astype(float)
    theirs = decomposition.LatentDirichletAllocation(3, max_iter=3, random_state=0).fit(counts)
    expected = _lda.exp_expectation(theirs.components_)
    for row, wanted in zip(counts, theirs.transform(counts), strict=True):
        words = row.nonzero()[0]
        gamma = _lda.posterior(_lda.Bag(words, row[words]), expected[:, words])
        assert (gamma / gamma.sum()).tolist() == pytest.approx(wanted.tolist(), abs=1e-6)


def test_topics_are_found_and_the_same_for_the_same_seed() -> None:
    learned = topicalpagerank.fit(corpus(), Config(topics=3, seed=1))
    again = topicalpagerank.fit(corpus(), Config(topics=3, seed=1))
    assert learned == again
    weights = np.frombuffer(learned.weights, "<f4").reshape(3, -1)
    best = {frozenset(learned.stems[i] for i in np.argsort(-row)[:4]) for row in weights}
    assert best == {
        frozenset({"matrix", "solver", "factor", "spars"}),
        frozenset({"river", "sand", "tide", "flood"}),
        frozenset({"poem", "vers", "rhyme", "novel"}),
    }


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topics")
    write_documents(corpus(), folder / "documents.jsonl")
    arguments = ["--documents", folder / "documents.jsonl", "--output", folder / "topics.json"]
    settings = ["--set", "topics=3", "--set", "seed=1"]
    done = CliRunner().invoke(
        app, ["fit-extractor", "topicalpagerank", *map(str, arguments), *settings]
    )
    assert done.exit_code == 0, done.output
    return folder / "topics.json"


def test_it_predicts_from_a_file(fitted: Path) -> None:
    loaded = predictor.load(
        "topicalpagerank", settings=[f"fitted={fitted}", "tagger=stopwords", "max_phrases=4"]
    )
    documents = [
        Document(title="", body="unknown river , sand , tide , flood , other"),
        Document(title="", body="the of"),
        Document(title="", body=""),
    ]
    first, second, third = loaded.predict(documents)
    assert {"river", "sand", "tide", "flood"} & set(first.texts[:2])
    assert (second.phrases, third.phrases) == ((), ())


def test_bad_files_and_too_few_documents(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="fit-extractor topicalpagerank"):
        topicalpagerank.build(Config())
    with pytest.raises(DataError, match="at least 10 documents"):
        topicalpagerank.fit(corpus(3), Config())
    path = tmp_path / "bad.json"
    for weights, message in (
        (b"abcd", "do not fit"),
        (b"", "do not fit"),
        (np.array([1, -1, 1, 1], "<f4").tobytes(), "not above 0"),
        (np.array([1, np.nan, 1, 1], "<f4").tobytes(), "not above 0"),
    ):
        _supervised.save(path, "topicalpagerank", Learned(9, 2, ("a", "b"), weights))
        with pytest.raises(DataError, match=message):
            topicalpagerank.build(Config(fitted=str(path), tagger="stopwords"))
