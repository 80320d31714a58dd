"""A ranker fitted on a made-up corpus: it learns, is loaded as it was saved, refuses damage."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from keywright import Keywright, predictor
from keywright.calibration.recalibrate import Isotonic, Recalibrator
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.predictor import Loaded
from keywright.ranking.model import worth_saying
from keywright.types import Document, Prediction

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from keywright.training import marker, ranker, topics
from keywright.training.forest import Forest

FIELDS = {
    "energy": (["heat pump", "solar panel", "wind turbine"], ["renewable energy"]),
    "learning": (["neural network", "random forest", "decision tree"], ["machine learning"]),
    "health": (["blood pressure", "heart rate", "body weight"], ["public health"]),
}
FILLER = [
    "results",
    "methods",
    "values",
    "several",
    "measured",
    "compared",
    "improved",
    "common",
    "study",
    "data",
]


SMALL = marker.Config(stems=100, endings=50, width=16, span=8, passes=2000, warmup=5)


def document(rng: np.random.Generator, number: int) -> Document:
    """A text about one thing of one field, which has two keyphrases: one present, one absent."""
    field = sorted(FIELDS)[int(rng.integers(len(FIELDS)))]
    present, absent = FIELDS[field]
    topic = present[int(rng.integers(len(present)))]
    words = [str(word) for word in rng.choice(FILLER, 30)]
    for _ in range(3):
        words.insert(int(rng.integers(len(words))), topic)
    return Document(
        id=str(number),
        title=f"a study of the {topic}",
        body=" ".join(words) + ".",
        keyphrases=(topic, absent[0]),
    )


def corpus(seed: int, size: int) -> list[Document]:
    rng = np.random.default_rng(seed)
    return [document(rng, number) for number in range(size)]


def write(path: Path, documents: list[Document]) -> str:
    lines = (
        json.dumps({"id": d.id, "title": d.title, "abstract": d.body, "keywords": d.keyphrases})
        for d in documents
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def settings(base: Path, held_out: int = 150) -> ranker.Config:
    return ranker.Config(
        train=(write(base / "train.jsonl", corpus(1, 400)),),
        valid=(write(base / "valid.jsonl", corpus(2, 60)),),
        held_out=held_out,
        topics=topics.Config(width=8, labels=20, terms=500, commonest=0.9, epochs=12, batch=32),
        marker=SMALL,
        trees=Forest(rounds=30, smallest=5),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("ranker")
    ranker.fit(settings(base), base / "model", None, lambda text: None)
    return base / "model"


@pytest.fixture(scope="module")
def model(folder: Path) -> Loaded:
    return predictor.load(folder)


def predicted(model: Loaded, documents: list[Document]) -> list[Prediction]:
    return list(model.predict(documents))


def test_it_finds_present_and_absent_keyphrases_of_new_documents(model: Loaded) -> None:
    documents = corpus(3, 50)
    for document, prediction in zip(documents, predicted(model, documents), strict=True):
        assert set(document.keyphrases or ()) <= set(prediction.texts)


def test_it_is_sure_of_them_and_most_probable_comes_first(model: Loaded) -> None:
    for prediction in predicted(model, corpus(4, 20)):
        sure = [phrase.confidence or 0.0 for phrase in prediction.phrases]
        assert sure == sorted(sure, reverse=True)
        assert all(0 <= one <= 1 for one in sure)
        assert sure[0] > 0.5


def test_alone_or_in_company_a_document_gets_the_same(model: Loaded) -> None:
    documents = corpus(5, 40)
    together = predicted(model, documents)
    assert [predicted(model, [document])[0] for document in documents] == together


def test_pickled_it_says_the_same(model: Loaded) -> None:
    documents = corpus(6, 5)
    again = pickle.loads(pickle.dumps(model))
    assert predicted(again, documents) == predicted(model, documents)


def test_as_many_are_said_as_are_expected_to_score_best() -> None:
    def count(*probabilities: float) -> int:
        return worth_saying(np.array(probabilities))

    assert count() == 0
    assert count(0.01, 0.01) == 0  # nothing but noise
    assert count(0.9, 0.03) == 1
    assert count(0.9, 0.9, 0.9, 0.03) == 3
    assert count(0.1, 0.1, 0.1, 0.03) == 3  # little is better than nothing
    assert count(*[0.2] * 5, *[0.1] * 20) == 5
    for probabilities in np.sort(np.random.default_rng(0).random((50, 12)) ** 2)[:, ::-1]:
        gold = probabilities.sum()
        scores = [
            probabilities[:k].sum() / (k + gold) + probabilities[: min(k, 5)].sum() / (5 + gold)
            for k in range(1, 13)
            if probabilities[k - 1] >= 0.02
        ]
        assert worth_saying(probabilities) == 1 + int(np.argmax(scores))


def test_limits_can_be_set(folder: Path) -> None:
    settings = ["least_present=0", "least_absent=0", "max_phrases=7"]
    everything = predictor.load(folder, settings=settings)
    assert all(len(p.phrases) == 7 for p in predicted(everything, corpus(7, 5)))
    with pytest.raises(ConfigError, match="least_present"):
        predictor.load(folder, settings=["least_present=2"])


@pytest.mark.parametrize("text", ["", "word", "!!! ???", "<digit> <digit>", "the of and", "数据"])
def test_poor_texts_are_no_trouble(model: Loaded, text: str) -> None:
    (prediction,) = predicted(model, [Document(title="", body=text)])
    assert all(phrase.text for phrase in prediction.phrases)


def test_a_strategy_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="ranker"):
        predictor.load(folder, decode="beam")


@pytest.mark.parametrize(
    "name", ["counts.npz", "topics.npz", "labels.json", "marker.onnx", "present.onnx"]
)
def test_a_damaged_or_missing_file_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(DataError, match=name):
        predictor.load(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=name):
        predictor.load(tmp_path)


def test_what_was_learnt_is_used_again(folder: Path, tmp_path: Path) -> None:
    again = shutil.copytree(folder, tmp_path / "model")
    said = refit(again, tmp_path)
    assert "counts and topics are there already" in said
    assert "the marker is there already" in said
    assert not any("counted" in text or "stems" in text for text in said)
    documents = corpus(8, 10)
    assert predicted(predictor.load(again), documents) == predicted(
        predictor.load(folder), documents
    )


def test_counts_that_know_the_trees_documents_are_not_used(folder: Path, tmp_path: Path) -> None:
    again = shutil.copytree(folder, tmp_path / "model")
    said = refit(again, tmp_path, held_out=200)  # 50 of them were counted
    assert any("200 documents counted" in text for text in said)
    assert any("marker: 200 documents" in text for text in said)


def refit(folder: Path, base: Path, held_out: int = 150) -> list[str]:
    said: list[str] = []
    ranker.fit(settings(base, held_out), folder, None, said.append)
    return said


def test_a_corpus_without_keyphrases_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"title": "a", "abstract": "b"}\n', encoding="utf-8")
    config = ranker.Config(train=(str(path),), valid=(str(path),))
    with pytest.raises(DataError, match="too few documents"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_documents_that_share_no_words_are_refused(tmp_path: Path) -> None:
    documents = [Document(title=f"t{i}", body=f"b{i}", keyphrases=(f"k{i}",)) for i in range(8)]
    path = write(tmp_path / "train.jsonl", documents)
    config = ranker.Config(train=(path,), valid=(path,))
    with pytest.raises(KeywrightError, match="topics cannot be learnt"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_keyphrases_that_are_never_candidates_are_refused(tmp_path: Path) -> None:
    documents = 8 * [
        Document(title="heat", body="a heat pump warms", keyphrases=("zebra",)),
        Document(title="fish", body="cod swim", keyphrases=("zebra",)),
    ]
    path = write(tmp_path / "train.jsonl", documents)
    config = ranker.Config(
        train=(path,), valid=(path,), topics=topics.Config(commonest=0.9), marker=SMALL
    )
    with pytest.raises(KeywrightError, match=r"0 of .* present candidates are keyphrases"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_windows_that_would_be_cut_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="reads at most 399 words"):
        Keywright(folder, window_words=400)


def test_a_calibration_for_other_documents_changes_what_is_stated(
    folder: Path, tmp_path: Path
) -> None:
    half = Isotonic((0.0, 1.0), (0.0, 0.5))
    path = tmp_path / "half.json"
    Recalibrator(method="isotonic", present=half, absent=half, source="stated").save(path)
    plain, halved = predictor.load(folder), predictor.load(folder, calibration=path)
    documents = corpus(9, 5)
    for before, after in zip(
        predicted(plain, documents), predicted(halved, documents), strict=True
    ):
        assert after.texts == before.texts
        assert [2 * (one.confidence or 0) for one in after.phrases] == pytest.approx(
            [one.confidence for one in before.phrases]
        )
    assert plain.settings != halved.settings
    text = documents[0].text
    assert Keywright(folder, calibration=path).generate(text)[0].probability == pytest.approx(
        (Keywright(folder).generate(text)[0].probability or 0) / 2
    )


def test_a_calibration_of_stated_probabilities_needs_some(tmp_path: Path) -> None:
    path = tmp_path / "stated.json"
    Recalibrator(method="isotonic", present=None, absent=None, source="stated").save(path)
    with pytest.raises(ConfigError, match="tfidf has none"):
        predictor.load("tfidf", calibration=path)
    Recalibrator(method="isotonic", present=None, absent=None).save(path)
    with pytest.raises(ConfigError, match="token probabilities, and tfidf gives none"):
        predictor.load("tfidf", calibration=path)
    path.write_text("{}")
    with pytest.raises(DataError, match="is no recalibrator"):
        predictor.load("tfidf", calibration=path)
