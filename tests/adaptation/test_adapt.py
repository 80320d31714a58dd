"""A model learns a user's keyphrases from invented documents."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import msgspec
import pytest

from keywright import Document, Keywright, Selection
from keywright.adaptation import adapt as adapting
from keywright.adaptation.adapt import adapt
from keywright.adaptation.judge import Change, Verdict
from keywright.errors import DataError, KeywrightError
from keywright.predictor import load
from keywright.ranking.adapted import COLLECTION, MANIFEST

# A tag never occurs in the texts that have it; only words of its subject do.
SUBJECTS = {
    "hot beverages": ["coffee", "kettle", "espresso", "grinder", "beans", "teapot"],
    "two wheels": ["bicycle", "chain", "pedals", "saddle", "helmet", "gears"],
    "green fingers": ["tomato", "compost", "seedling", "watering", "soil", "greenhouse"],
}


def documents(count: int, seed: int = 0) -> list[Document]:
    draw = random.Random(seed)
    found = []
    for number in range(count):
        tag, words = draw.choice(list(SUBJECTS.items()))
        topic = draw.choice(words)
        others = " and the ".join(draw.sample(words, 3))
        body = f"My question {number} is about the {topic}. I tried the {others} yesterday."
        found.append(
            Document(title=f"How to clean the {topic}?", body=body, keyphrases=(tag, topic))
        )
    return found


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    folder = tmp_path_factory.mktemp("adapted") / "model"
    return folder, adapt(documents(120), folder, "default", lambda text: None)


def test_it_predicts_tags_that_the_text_does_not_contain(adapted: tuple[Path, Verdict]) -> None:
    kw = Keywright(adapted[0])
    found = kw.generate("Where do I get a saddle? My bicycle lost its pedals and the chain.")
    absent = [phrase for phrase in found if not phrase.present]
    assert absent[0].text == "two wheels"
    assert absent[0].probability is not None
    assert absent[0].probability > 0.5


def test_a_gain_is_shown_with_its_interval(adapted: tuple[Path, Verdict]) -> None:
    changes = {change.metric: change for change in adapted[1].changes}
    absent = changes["absent.F1@M"]
    assert absent.gained
    assert absent.before < 0.1 < 0.9 < absent.after
    assert "better than before" in adapted[1].conclusion


def test_the_number_of_phrases_follows_the_documents(adapted: tuple[Path, Verdict]) -> None:
    new = documents(20, seed=1)
    counts = [len(prediction.phrases) for prediction in load(adapted[0]).predict(new)]
    assert 1 <= sum(counts) / len(counts) <= 3  # the documents have two each


def test_the_folder_remembers_its_scores_and_has_no_pickle(adapted: tuple[Path, Verdict]) -> None:
    manifest = msgspec.json.decode((adapted[0] / MANIFEST).read_bytes())
    assert manifest["documents"] == 120
    assert manifest["scores"]["absent.F1@M"]["after"] > 0.9
    assert {path.suffix for path in adapted[0].rglob("*") if path.is_file()} == {
        ".json",
        ".npz",
        ".onnx",
    }


def test_the_same_documents_in_another_order_give_the_same_model(
    adapted: tuple[Path, Verdict], tmp_path: Path
) -> None:
    adapt(documents(120)[::-1], tmp_path / "again", "default", lambda text: None)
    for name in (MANIFEST, "labels.json"):
        assert (tmp_path / "again" / name).read_bytes() == (adapted[0] / name).read_bytes()


def test_a_changed_file_is_refused(adapted: tuple[Path, Verdict], tmp_path: Path) -> None:
    shutil.copytree(adapted[0], tmp_path / "changed")
    with (tmp_path / "changed" / COLLECTION).open("ab") as file:
        file.write(b" ")
    with pytest.raises(DataError, match=r"is not the file that adapted\.json describes"):
        load(tmp_path / "changed")


def test_a_missing_file_is_named(adapted: tuple[Path, Verdict], tmp_path: Path) -> None:
    shutil.copytree(adapted[0], tmp_path / "incomplete")
    (tmp_path / "incomplete" / COLLECTION).unlink()
    with pytest.raises(DataError, match=r"collection\.npz: is missing"):
        load(tmp_path / "incomplete")


def test_an_empty_text_has_no_keyphrases(adapted: tuple[Path, Verdict]) -> None:
    assert Keywright(adapted[0]).generate("", Selection(top=5)) == []
    empty = Document(title="", body="")
    assert len(list(load(adapted[0]).predict([empty]))) == 1


def test_weights_of_another_length_are_refused(
    adapted: tuple[Path, Verdict], tmp_path: Path
) -> None:
    shutil.copytree(adapted[0], tmp_path / "short")
    path = tmp_path / "short" / MANIFEST
    manifest = msgspec.json.decode(path.read_bytes())
    manifest["absent"]["coefficients"].pop()
    path.write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(DataError, match="coefficients"):
        load(tmp_path / "short")


def test_an_adapted_model_is_not_adapted_again(
    adapted: tuple[Path, Verdict], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="is adapted already"):
        adapt(documents(120), tmp_path / "twice", adapted[0], lambda text: None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "none of 0 documents has keyphrases"),
        ([Document(title="", body="Tea.")] * 200, "none of 200 documents has keyphrases"),
        (documents(20), "20 of 20 documents have keyphrases"),
        (documents(1) * 200, "1 of 200 documents have keyphrases and different texts"),
    ],
)
def test_documents_that_teach_nothing_are_refused(
    given: list[Document], message: str, tmp_path: Path
) -> None:
    with pytest.raises(KeywrightError, match=message):
        adapt(given, tmp_path / "model", "default", lambda text: None)
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_exists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="exists and is not an empty folder"):
        adapt(documents(120), tmp_path / "model", "default", lambda text: None)
    assert (tmp_path / "model" / "mine.txt").read_text() == "mine"


def test_an_interrupted_adaptation_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(adapting, "collect", interrupt)
    with pytest.raises(KeyboardInterrupt):
        adapt(documents(120), tmp_path / "model", "default", lambda text: None)
    assert list(tmp_path.iterdir()) == []


def test_only_rankers_are_adapted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a ranker"):
        adapt(documents(120), tmp_path / "model", "textrank", lambda text: None)


@pytest.mark.parametrize(
    ("interval", "conclusion"),
    [((0.01, 0.2), "better than before"), ((-0.1, 0.2), "no gain"), ((-0.2, -0.1), "worse than")],
)
def test_a_gain_is_claimed_only_if_the_interval_excludes_zero(
    interval: tuple[float, float], conclusion: str
) -> None:
    verdict = Verdict(200, (Change("present.F1@M", 0.2, 0.3, interval),))
    assert verdict.conclusion.startswith(conclusion)


def test_in_python_it_returns_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    kw = Keywright.adapt(documents(120), report=lines.append)
    assert any(line.startswith("absent.F1@M") for line in lines)
    found = kw.generate("The compost and the seedling need watering. Which soil?")
    assert "green fingers" in [phrase.text for phrase in found]
