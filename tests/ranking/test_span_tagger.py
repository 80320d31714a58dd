"""The span tagger learns from context; ONNX equals torch, a resumed run an uninterrupted one."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from keywright.errors import DataError, KeywrightError
from keywright.ranking.candidates import LONGEST, RankerView
from keywright.ranking.fitting import span_tagger
from keywright.ranking.span_tagger import SpanTagger, places, standings
from keywright.types import Document

pytest.importorskip("torch")

import torch

from keywright.export.span_tagger import write_span_tagger
from keywright.nn.span_tagger import SpanTaggerNetwork
from keywright.ranking.fitting.span_tagger import Config, TaggedCorpus

CONFIG = Config(stems=200, endings=50, width=16, span=8, dilations=(1, 2), passes=3200, warmup=5)
NAMES = [f"{a}{b}" for a in "bdfglmnprst" for b in ("arok", "elim", "odun", "umis")]


def document(rng: np.random.Generator) -> Document:
    """The proposed net is a keyphrase and the used set is not; any name can be either."""
    net, other, third = rng.choice(NAMES, 3, replace=False)
    more = " ".join(["days"] * int(rng.integers(1, 30)))
    body = f"here we propose {net} nets and often use {other} sets, as in {third} {more}"
    return Document(title="a study", body=body, keyphrases=(f"{net} nets",))


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    rng = np.random.default_rng(0)
    return [document(rng) for _ in range(400)]


@pytest.fixture(scope="module")
def corpus(documents: list[Document]) -> TaggedCorpus:
    return TaggedCorpus(documents, 400, CONFIG)


@pytest.fixture(scope="module")
def trained(corpus: TaggedCorpus, tmp_path_factory: pytest.TempPathFactory) -> SpanTaggerNetwork:
    path = tmp_path_factory.mktemp("trained") / "checkpoint"
    return span_tagger.train(corpus, CONFIG, path, "origin", lambda text: None)


@pytest.fixture(scope="module")
def exported(
    trained: SpanTaggerNetwork, corpus: TaggedCorpus, tmp_path_factory: pytest.TempPathFactory
) -> SpanTagger:
    folder = tmp_path_factory.mktemp("exported")
    write_span_tagger(folder / "tagger.onnx", trained, corpus.batch(range(8)).inputs)
    (folder / "words.json").write_bytes(msgspec.json.encode(corpus.known))
    return SpanTagger(folder / "tagger.onnx", folder / "words.json")


def test_it_learns_which_context_makes_a_keyphrase(exported: SpanTagger) -> None:
    body = "here we propose quilor nets and often use vabex sets, as in wex days"
    reading = RankerView.of(Document(title="a study", body=body), 400)
    odds = exported(reading)
    assert odds.shape == (len(reading.words), LONGEST)
    start = reading.words.index("quilor")
    best = np.unravel_index(odds.argmax(), odds.shape)
    assert best == (start, 1)  # two words
    assert odds[best] > 0
    assert odds[reading.words.index("vabex"), 1] < -1


def test_the_graph_scores_a_single_document_as_the_network_scores_a_batch(
    exported: SpanTagger,
    trained: SpanTaggerNetwork,
    corpus: TaggedCorpus,
    documents: list[Document],
) -> None:
    with torch.no_grad():
        expected = trained(corpus.batch([3, 4, 5]).inputs)
    for row, number in enumerate([3, 4, 5]):
        odds = exported(RankerView.of(documents[number], 400))
        size = len(odds)
        inside = np.arange(size)[:, None] + np.arange(1, LONGEST + 1) <= size
        np.testing.assert_allclose(odds[inside], expected[row, :size].numpy()[inside], atol=0.1)


@pytest.mark.parametrize("words", range(8))
def test_short_documents_are_scored(exported: SpanTagger, words: int) -> None:
    reading = RankerView.of(Document(title="", body=" ".join(["nets"] * words)), 400)
    odds = exported(reading)
    assert odds.shape == (words + 1, LONGEST)
    assert np.isfinite(odds).all()


def test_a_very_long_word_needs_no_more_memory_than_others(exported: SpanTagger) -> None:
    reading = RankerView.of(Document(title="", body="x" * 300_000 + " nets" * 390), 400)
    tracemalloc.start()
    exported(reading)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_candidates_and_keyphrases_are_those_of_a_reading(
    corpus: TaggedCorpus, documents: list[Document]
) -> None:
    batch = corpus.batch(range(5))
    for row in range(5):
        reading = RankerView.of(documents[row], 400)
        expected = {
            (place, len(candidate.words) - 1)
            for candidate in reading.candidates.values()
            for place in candidate.places
        }
        assert {tuple(at) for at in batch.candidates[row].nonzero().tolist()} == expected
        ((start, length),) = batch.correct[row].nonzero().tolist()
        named = documents[row].keyphrases or ()
        assert " ".join(reading.words[start : start + length + 1]) in named


def test_an_interrupted_training_ends_with_the_same_weights(
    corpus: TaggedCorpus, trained: SpanTaggerNetwork, tmp_path: Path
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

    original = span_tagger._save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(span_tagger, "_save", stop_in_the_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            span_tagger.train(corpus, often, path, "origin", lambda text: None)
    messages: list[str] = []
    again = span_tagger.train(corpus, CONFIG, path, "origin", messages.append)
    assert "continues from update 17 of 100" in messages[0]
    for name, value in trained.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_a_checkpoint_of_other_documents_is_not_continued(
    corpus: TaggedCorpus, trained: SpanTaggerNetwork, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    optimiser = torch.optim.AdamW(trained.parameters())
    span_tagger._save(path, trained, optimiser, span_tagger._State(50, "another"))
    messages: list[str] = []
    span_tagger.train(corpus, replace(CONFIG, passes=64), path, "origin", messages.append)
    assert not messages


def test_a_graph_that_differs_from_the_network_is_refused(
    corpus: TaggedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CONFIG.network(corpus.known).eval()
    monkeypatch.setattr("keywright.export.span_tagger.TOLERANCE", -1.0)
    with pytest.raises(KeywrightError, match="differ"):
        write_span_tagger(tmp_path / "tagger.onnx", model, corpus.batch([0]).inputs)


def test_a_damaged_list_of_words_is_named(exported: SpanTagger, tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text("[1")
    with pytest.raises(DataError, match=r"words\.json"):
        SpanTagger(tmp_path / "tagger.onnx", tmp_path / "words.json")


def test_a_standing_encodes_the_frequency_and_the_title() -> None:
    stems = np.array([0, 1, 2, 0, 3, 3])
    assert standings(stems, title=2).tolist() == [3 + 2, 0 + 2, 0, 3 + 1, 3, 3]
    assert standings(np.zeros(9, np.int64), title=0).tolist() == [15] * 9


def test_places_grow_up_to_a_limit() -> None:
    found = places(2000)
    assert found[0] == 0
    assert (np.diff(found) >= 0).all()
    assert found[-1] == 15
