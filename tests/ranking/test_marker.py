"""The marker: learns from context, in ONNX as in torch, alone as in company, resumed as at once."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from keywright.errors import DataError, KeywrightError
from keywright.ranking.marker import Marker, places, standings
from keywright.ranking.reading import LONGEST, Reading
from keywright.types import Document

pytest.importorskip("torch")

import torch

from keywright.training import marker
from keywright.training.marker import Config, Corpus, Marking
from keywright.training.marker_graph import write_marker

CONFIG = Config(stems=200, endings=50, width=16, span=8, dilations=(1, 2), passes=3200, warmup=5)
NAMES = [f"{a}{b}" for a in "bdfglmnprst" for b in ("arok", "elim", "odun", "umis")]


def document(rng: np.random.Generator) -> Document:
    """What is proposed is a keyphrase; what is used is none, and each may be either."""
    one, other, third = rng.choice(NAMES, 3, replace=False)
    more = " ".join(["days"] * int(rng.integers(1, 30)))
    body = f"here we propose {one} nets and often use {other} sets, as in {third} {more}"
    return Document(title="a study", body=body, keyphrases=(f"{one} nets",))


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    rng = np.random.default_rng(0)
    return [document(rng) for _ in range(400)]


@pytest.fixture(scope="module")
def corpus(documents: list[Document]) -> Corpus:
    return Corpus(documents, 400, CONFIG)


@pytest.fixture(scope="module")
def learnt(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Marking:
    path = tmp_path_factory.mktemp("marker") / "checkpoint"
    return marker.learn(corpus, CONFIG, path, "origin", lambda text: None)


@pytest.fixture(scope="module")
def exported(learnt: Marking, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Marker:
    folder = tmp_path_factory.mktemp("exported")
    write_marker(folder / "marker.onnx", learnt, corpus.batch(range(8)))
    (folder / "marker.json").write_bytes(msgspec.json.encode(corpus.known))
    return Marker(folder / "marker.onnx", folder / "marker.json")


def test_it_learns_which_context_makes_a_keyphrase(exported: Marker) -> None:
    body = "here we propose quilor nets and often use vabex sets, as in wex days"
    reading = Reading.of(Document(title="a study", body=body), 400)
    odds = exported(reading)
    assert odds.shape == (len(reading.words), LONGEST)
    start = reading.words.index("quilor")
    best = np.unravel_index(odds.argmax(), odds.shape)
    assert best == (start, 1)  # two words
    assert odds[best] > 0
    assert odds[reading.words.index("vabex"), 1] < -1


def test_the_graph_says_of_a_document_alone_what_the_network_says_in_company(
    exported: Marker, learnt: Marking, corpus: Corpus, documents: list[Document]
) -> None:
    with torch.no_grad():
        wanted = learnt(corpus.batch([3, 4, 5]))
    for row, number in enumerate([3, 4, 5]):
        odds = exported(Reading.of(documents[number], 400))
        size = len(odds)
        inside = np.arange(size)[:, None] + np.arange(1, LONGEST + 1) <= size
        np.testing.assert_allclose(odds[inside], wanted[row, :size].numpy()[inside], atol=0.1)


@pytest.mark.parametrize("words", range(8))
def test_short_documents_are_no_trouble(exported: Marker, words: int) -> None:
    reading = Reading.of(Document(title="", body=" ".join(["nets"] * words)), 400)
    odds = exported(reading)
    assert odds.shape == (words + 1, LONGEST)
    assert np.isfinite(odds).all()


def test_a_word_as_long_as_a_text_needs_no_more_memory_than_others(exported: Marker) -> None:
    reading = Reading.of(Document(title="", body="x" * 300_000 + " nets" * 390), 400)
    tracemalloc.start()
    exported(reading)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_candidates_and_keyphrases_are_marked_as_a_reading_has_them(
    corpus: Corpus, documents: list[Document]
) -> None:
    batch = corpus.batch(range(5))
    for row in range(5):
        reading = Reading.of(documents[row], 400)
        wanted = {
            (place, len(one.words) - 1)
            for one in reading.candidates.values()
            for place in one.places
        }
        assert {tuple(at) for at in batch.candidates[row].nonzero().tolist()} == wanted
        ((start, length),) = batch.right[row].nonzero().tolist()
        named = documents[row].keyphrases or ()
        assert " ".join(reading.words[start : start + length + 1]) in named


def test_interrupted_and_gone_on_it_is_the_same(
    corpus: Corpus, learnt: Marking, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    often = replace(CONFIG, checkpoint_minutes=1e-9)  # after each update

    saved = 0

    def stop_in_the_second_epoch(*arguments: object) -> None:
        nonlocal saved
        saved += 1
        original(*arguments)  # type: ignore[arg-type]
        if saved == 17:
            raise KeyboardInterrupt

    original = marker._save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marker, "_save", stop_in_the_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            marker.learn(corpus, often, path, "origin", lambda text: None)
    said: list[str] = []
    again = marker.learn(corpus, CONFIG, path, "origin", said.append)
    assert "from update 17 of 100" in said[0]
    for name, value in learnt.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_a_checkpoint_of_other_documents_is_not_gone_on_from(
    corpus: Corpus, learnt: Marking, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    optimiser = torch.optim.AdamW(learnt.parameters())
    marker._save(path, learnt, optimiser, marker._State(50, "another"))
    said: list[str] = []
    marker.learn(corpus, replace(CONFIG, passes=64), path, "origin", said.append)
    assert not said


def test_a_graph_that_says_something_else_is_refused(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Marking(CONFIG, corpus.known).eval()
    monkeypatch.setattr("keywright.training.marker_graph.ALIKE", -1.0)
    with pytest.raises(KeywrightError, match="differ"):
        write_marker(tmp_path / "marker.onnx", model, corpus.batch([0]))


def test_a_damaged_list_of_words_is_named(exported: Marker, tmp_path: Path) -> None:
    (tmp_path / "marker.json").write_text("[1")
    with pytest.raises(DataError, match=r"marker\.json"):
        Marker(tmp_path / "marker.onnx", tmp_path / "marker.json")


def test_a_standing_tells_how_often_and_whether_in_the_title() -> None:
    stems = np.array([0, 1, 2, 0, 3, 3])
    assert standings(stems, title=2).tolist() == [3 + 2, 0 + 2, 0, 3 + 1, 3, 3]
    assert standings(np.zeros(9, np.int64), title=0).tolist() == [15] * 9


def test_places_grow_and_end() -> None:
    found = places(2000)
    assert found[0] == 0
    assert (np.diff(found) >= 0).all()
    assert found[-1] == 15
