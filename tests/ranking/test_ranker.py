"""A ranker fitted on a random corpus: it learns, survives saving and loading, refuses damage."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keywright import Keywright, predictor
from keywright.calibration.recalibrate import Isotonic, Recalibrator
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.predictor import LoadedModel
from keywright.ranking import features
from keywright.ranking.fitting import span_tagger
from keywright.ranking.leaning import Leaning
from keywright.ranking.model import SECOND_TREES, best_count, read_manifest
from keywright.types import Document, Prediction

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from keywright.ranking.fitting import ranker, topics
from keywright.ranking.fitting.forest import Forest

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


SMALL = span_tagger.Config(stems=100, endings=50, width=16, span=8, passes=2000, warmup=5)


def document(rng: np.random.Generator, number: int) -> Document:
    """A text about one topic of one field, with one present and one absent keyphrase."""
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
        books=(
            ranker.Book(
                train=write(base / "train.jsonl", corpus(1, 400)),
                valid=write(base / "valid.jsonl", corpus(2, 60)),
                held_out=held_out,
            ),
        ),
        topics=topics.Config(width=8, labels=20, terms=500, commonest=0.9, epochs=12, batch=32),
        span_tagger=SMALL,
        trees=Forest(rounds=30, smallest=5),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("ranker")
    ranker.fit(settings(base), base / "model", None, lambda text: None)
    return base / "model"


@pytest.fixture(scope="module")
def model(folder: Path) -> LoadedModel:
    return predictor.load(folder)


def predicted(model: LoadedModel, documents: list[Document]) -> list[Prediction]:
    return list(model.predict(documents))


def test_it_predicts_present_and_absent_keyphrases_of_new_documents(model: LoadedModel) -> None:
    documents = corpus(3, 50)
    for document, prediction in zip(documents, predicted(model, documents), strict=True):
        assert set(document.keyphrases or ()) <= set(prediction.texts)


def test_phrases_are_sorted_by_probability_and_the_first_is_likely(model: LoadedModel) -> None:
    for prediction in predicted(model, corpus(4, 20)):
        probabilities = [phrase.confidence or 0.0 for phrase in prediction.phrases]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 <= min(probabilities) <= max(probabilities) <= 1
        assert probabilities[0] > 0.5


def test_a_document_is_predicted_the_same_way_alone_and_in_a_batch(model: LoadedModel) -> None:
    documents = corpus(5, 40)
    together = predicted(model, documents)
    assert [predicted(model, [document])[0] for document in documents] == together


def test_it_can_be_pickled(model: LoadedModel) -> None:
    documents = corpus(6, 5)
    again = pickle.loads(pickle.dumps(model))
    assert predicted(again, documents) == predicted(model, documents)


def test_the_number_of_phrases_is_the_one_expected_to_score_best() -> None:
    def count(*probabilities: float) -> int:
        return best_count(np.array(probabilities))

    assert count() == 0
    assert count(0.01, 0.01) == 0  # nothing but noise
    assert count(0.9, 0.03) == 1
    assert count(0.9, 0.9, 0.9, 0.03) == 3
    assert count(0.1, 0.1, 0.1, 0.03) == 3  # a small chance is better than none
    assert count(*[0.2] * 5, *[0.1] * 20) == 5
    for probabilities in np.sort(np.random.default_rng(0).random((50, 12)) ** 2)[:, ::-1]:
        gold = probabilities.sum()
        scores = [
            probabilities[:k].sum() / (k + gold) + probabilities[: min(k, 5)].sum() / (5 + gold)
            for k in range(1, 13)
            if probabilities[k - 1] >= 0.02
        ]
        assert best_count(probabilities) == 1 + int(np.argmax(scores))


def test_thresholds_can_be_set(folder: Path) -> None:
    everything = predictor.load(folder, settings=["present_threshold=0", "absent_threshold=0"])
    some = predictor.load(folder, settings=["top=7"])
    documents = corpus(7, 5)
    for all_, best in zip(
        predicted(everything, documents), predicted(some, documents), strict=True
    ):
        assert len(best.phrases) == 7
        assert best.texts == all_.texts[:7]
    with pytest.raises(ConfigError, match="present_threshold"):
        predictor.load(folder, settings=["present_threshold=2"])


@pytest.mark.parametrize("text", ["", "word", "!!! ???", "<digit> <digit>", "the of and", "数据"])
def test_texts_without_candidates_are_accepted(model: LoadedModel, text: str) -> None:
    (prediction,) = predicted(model, [Document(title="", body=text)])
    assert all(phrase.text for phrase in prediction.phrases)


def test_a_decoding_strategy_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="ranker"):
        predictor.load(folder, decode="beam")


@pytest.mark.parametrize(
    "name", ["counts.npz", "topics.npz", "labels.json", "span_tagger.onnx", "present.onnx"]
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


def test_files_that_exist_are_used_again(folder: Path, tmp_path: Path) -> None:
    again = shutil.copytree(folder, tmp_path / "model")
    messages = refit(again, tmp_path)
    for part in ("counts", "topics", "meaning", "span_tagger"):
        assert f"{part}: exists already" in messages
    assert not any("counted" in text or "stems" in text for text in messages)
    documents = corpus(8, 10)
    assert predicted(predictor.load(again), documents) == predicted(
        predictor.load(folder), documents
    )


def test_counts_of_documents_for_the_trees_are_not_used(folder: Path, tmp_path: Path) -> None:
    again = shutil.copytree(folder, tmp_path / "model")
    messages = refit(again, tmp_path, held_out=200)  # 50 of them were counted
    assert any("200 documents counted" in text for text in messages)
    assert any("span tagger: 200 documents" in text for text in messages)


def refit(folder: Path, base: Path, held_out: int = 150) -> list[str]:
    messages: list[str] = []
    ranker.fit(settings(base, held_out), folder, None, messages.append)
    return messages


def foreign(document: Document) -> Document:
    """The same document in words that the first genre does not have; its labels stay the same."""

    def words(text: str) -> str:
        return " ".join(f"zz{word}" for word in text.split())

    present, absent = document.keyphrases or ("", "")
    return Document(
        id=document.id,
        title=words(document.title),
        body=words(document.body),
        keyphrases=(words(present), absent),
    )


def sourced(path: Path, documents: list[Document]) -> str:
    """A file whose documents come from three sites."""
    write(path, documents)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines):
        line["source"] = f"site{min(number // 100, 2)}"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return str(path)


def test_a_ranker_can_be_extended_to_another_genre(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "MARGIN", 0.0)  # tiny books differ little when smoothed
    first = settings(tmp_path)
    train = sourced(tmp_path / "foreign.jsonl", [foreign(d) for d in corpus(11, 400)])
    valid = write(tmp_path / "foreign-valid.jsonl", [foreign(d) for d in corpus(12, 60)])
    added = ranker.Book(train, valid, held_out=100, by_source=True)
    config = replace(first, books=(*first.books, added), start=str(folder))
    messages: list[str] = []
    ranker.fit(config, tmp_path / "model", None, messages.append)
    assert "100 of 250 documents for the trees" in messages  # one of the small sites
    extended = predictor.load(tmp_path / "model")
    old, new = corpus(13, 20), [foreign(d) for d in corpus(14, 20)]
    start = predictor.load(folder)
    assert [p.texts for p in predicted(extended, old)] == [p.texts for p in predicted(start, old)]
    for document, prediction in zip(new, predicted(extended, new), strict=True):
        assert (document.keyphrases or ("",))[0] in prediction.texts


@pytest.fixture(scope="module")
def extended(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[ranker.Config, Path]:
    """A ranker with a start, whose settings have second trees, and its folder."""
    base = tmp_path_factory.mktemp("extended")
    first = settings(base)
    train = sourced(base / "foreign.jsonl", [foreign(d) for d in corpus(11, 400)])
    valid = write(base / "foreign-valid.jsonl", [foreign(d) for d in corpus(12, 60)])
    added = ranker.Book(train, valid, held_out=100, by_source=True)
    config = replace(first, books=(*first.books, added), start=str(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "MARGIN", 0.0)
        ranker.fit(config, base / "model", None, lambda text: None)
    second = ranker.Second(documents=150, valid_documents=60, trees=Forest(rounds=10, smallest=5))
    return replace(config, second=second, start_leaning=Leaning(length=0.5)), base / "model"


def test_a_ranker_can_be_refined(
    extended: tuple[ranker.Config, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "MARGIN", 0.0)
    config, before = extended
    refined = shutil.copytree(before, tmp_path / "model")
    messages: list[str] = []
    ranker.refine(config, refined, messages.append)
    assert any("second trees: 150 documents" in text for text in messages)
    manifest = read_manifest(refined)
    assert manifest.start is not None
    assert manifest.start.second is not None
    assert manifest.start.leaning == Leaning(length=0.5)
    assert SECOND_TREES in manifest.files
    documents = corpus(13, 20)

    def stated(folder: Path) -> list[float | None]:
        """The probabilities of the keyphrases that occur in the text."""
        found = predicted(predictor.load(folder), documents)
        names = [(document.keyphrases or ("",))[0] for document in documents]
        return [
            next(phrase.confidence for phrase in prediction.phrases if phrase.text == name)
            for name, prediction in zip(names, found, strict=True)
        ]

    assert min(value or 0.0 for value in stated(refined)) > 0.5
    assert stated(refined) != stated(before)


def test_only_a_ranker_with_a_start_can_be_refined(
    folder: Path, extended: tuple[ranker.Config, Path]
) -> None:
    config, model = extended
    with pytest.raises(ConfigError, match="second: to refine"):
        ranker.refine(config, folder, lambda text: None)
    with pytest.raises(ConfigError, match="second: to refine"):
        ranker.refine(replace(config, second=None), model, lambda text: None)
    with pytest.raises(ConfigError, match=r"books.*has 2, not 1"):
        ranker.refine(replace(config, books=config.books[:1]), model, lambda text: None)


def test_second_trees_learn_from_documents_that_were_held_out(
    extended: tuple[ranker.Config, Path],
) -> None:
    config, model = extended
    many = replace(config, second=ranker.Second(documents=151))
    with pytest.raises(ConfigError, match=r"second\.documents.*held_out"):
        ranker.refine(many, model, lambda text: None)


def test_a_start_that_is_not_a_ranker_is_an_error(tmp_path: Path) -> None:
    config = replace(settings(tmp_path), start=str(tmp_path))
    with pytest.raises(DataError, match=r"ranker\.json.*start from"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_holding_out_by_source_needs_sources(tmp_path: Path) -> None:
    config = settings(tmp_path)
    book = replace(config.books[0], by_source=True)
    with pytest.raises(DataError, match=r"train\.jsonl.*1.*source"):
        ranker.fit(replace(config, books=(book,)), tmp_path / "model", None, lambda text: None)


def test_a_corpus_without_keyphrases_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"title": "a", "abstract": "b"}\n', encoding="utf-8")
    config = ranker.Config(books=(ranker.Book(str(path), str(path)),))
    with pytest.raises(DataError, match="too few documents"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_documents_without_common_words_are_refused(tmp_path: Path) -> None:
    documents = [Document(title=f"t{i}", body=f"b{i}", keyphrases=(f"k{i}",)) for i in range(8)]
    path = write(tmp_path / "train.jsonl", documents)
    config = ranker.Config(books=(ranker.Book(path, path),))
    with pytest.raises(KeywrightError, match="topics cannot be learnt"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_keyphrases_that_are_never_candidates_are_refused(tmp_path: Path) -> None:
    documents = 8 * [
        Document(title="heat", body="a heat pump warms", keyphrases=("zebra",)),
        Document(title="fish", body="cod swim", keyphrases=("zebra",)),
    ]
    path = write(tmp_path / "train.jsonl", documents)
    config = ranker.Config(
        books=(ranker.Book(path, path),),
        topics=topics.Config(commonest=0.9),
        span_tagger=SMALL,
    )
    with pytest.raises(KeywrightError, match=r"0 of .* present candidates are keyphrases"):
        ranker.fit(config, tmp_path / "model", None, lambda text: None)


def test_windows_longer_than_what_is_read_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="reads at most 399 words"):
        Keywright(folder, window_words=400)


def test_a_calibration_changes_the_stated_probabilities(folder: Path, tmp_path: Path) -> None:
    half = Isotonic((0.0, 1.0), (0.0, 0.5))
    path = tmp_path / "half.json"
    Recalibrator(method="isotonic", present=half, absent=half, source="stated").save(path)
    plain, halved = predictor.load(folder), predictor.load(folder, calibration=path)
    documents = corpus(9, 5)
    for before, after in zip(
        predicted(plain, documents), predicted(halved, documents), strict=True
    ):
        assert after.texts == before.texts
        assert [2 * (phrase.confidence or 0) for phrase in after.phrases] == pytest.approx(
            [phrase.confidence for phrase in before.phrases]
        )
    assert plain.settings != halved.settings
    text = documents[0].text
    assert Keywright(folder, calibration=path).generate(text)[0].probability == pytest.approx(
        (Keywright(folder).generate(text)[0].probability or 0) / 2
    )


def test_a_calibration_of_stated_probabilities_needs_some(tmp_path: Path) -> None:
    path = tmp_path / "stated.json"
    Recalibrator(method="isotonic", present=None, absent=None, source="stated").save(path)
    with pytest.raises(ConfigError, match="tfidf states none"):
        predictor.load("tfidf", calibration=path)
    Recalibrator(method="isotonic", present=None, absent=None).save(path)
    with pytest.raises(ConfigError, match="token probabilities, and tfidf has none"):
        predictor.load("tfidf", calibration=path)
    path.write_text("{}")
    with pytest.raises(DataError, match="is not a recalibrator"):
        predictor.load("tfidf", calibration=path)
