"""Keyphrases of spaCy's Docs: single, in batches, saved and loaded, in processes."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from keywright import Keywright
from keywright.errors import ConfigError, DataError
from keywright.generation.keyphrases import Keyphrase

pytest.importorskip("spacy", reason="the extra [spacy] is not installed")

import spacy
from spacy.tokens import Doc, DocBin

from keywright.integrations.spacy import make

TEXTS = ["Heat pumps in old houses.", "", "Drag sails remove space debris (SD)."]


def pipeline(**settings: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("keywright", config=settings)
    return nlp


@pytest.fixture
def nlp() -> Any:
    return pipeline(model="textrank", top=2)


def words(doc: Doc) -> list[str]:
    return [span.text for span in doc.spans["keyphrases"]]


def test_the_default_model_is_used_unless_another_is_named() -> None:
    text = "Heat pumps need electricity. A heat pump in an old house saves gas."
    doc = pipeline()(text)
    assert doc._.keyphrases == Keywright().generate(text)
    assert words(doc) == [
        text[start:end]
        for start, end in sorted(place for phrase in doc._.keyphrases for place in phrase.places)
    ]
    assert "Heat pumps" in words(doc)


def test_phrases_are_sorted_by_score_and_spans_by_position(nlp: Any) -> None:
    doc = nlp("Bees sing. The heat pumps of the house sing. The heat pumps of the garden sing.")
    assert [phrase.text for phrase in doc._.keyphrases] == ["heat pumps", "Bees"]
    assert words(doc) == ["Bees", "heat pumps", "heat pumps"]
    assert {span.label_ for span in doc.spans["keyphrases"]} == {"KEYPHRASE"}


def test_spans_cover_whole_tokens(nlp: Any) -> None:
    read = nlp.get_pipe("keywright")
    doc = read(Doc(nlp.vocab, ["Heat", "pumps.", "Bees", "sing."]))
    assert [phrase.text for phrase in doc._.keyphrases] == ["Heat pumps", "Bees"]
    assert words(doc) == ["Heat pumps.", "Bees"]


def test_overlapping_phrases_have_all_their_spans(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Keyphrase(text="pumps warm", probability=0.9, present=True, places=((5, 15),)),
        Keyphrase(text="heat pumps", probability=0.8, present=True, places=((0, 10),)),
        Keyphrase(text="heating", probability=0.7, present=False),
    ]
    monkeypatch.setattr(Keywright, "generate", lambda *_: found)
    doc = nlp("heat pumps warm houses")
    assert doc._.keyphrases == found
    assert words(doc) == ["heat pumps", "pumps warm"]


def test_batches_give_the_same_results_in_order(nlp: Any) -> None:
    alone = [nlp(text)._.keyphrases for text in TEXTS]
    assert [doc._.keyphrases for doc in nlp.pipe(TEXTS, batch_size=2)] == alone
    assert [len(found) for found in alone] == [2, 0, 2]


def test_a_saved_and_loaded_pipeline_gives_the_same(nlp: Any, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded(TEXTS[2])._.keyphrases == nlp(TEXTS[2])._.keyphrases
    assert len(loaded(TEXTS[2])._.keyphrases) == 2


def test_docs_keep_their_keyphrases_when_stored(nlp: Any) -> None:
    doc = nlp(TEXTS[0])
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (restored,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert restored._.keyphrases == doc._.keyphrases
    assert words(restored) == words(doc)


def test_an_unprocessed_doc_has_none(nlp: Any) -> None:
    assert nlp.make_doc(TEXTS[0])._.keyphrases is None


def test_a_vocabulary_controls_the_phrases_and_names_the_spans(tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text("term,id\nheat pump,T1\n")
    doc = pipeline(model="textrank", vocabulary=str(tmp_path / "terms.csv"))(
        "Heat pumps. Drag sails."
    )
    assert [phrase.text for phrase in doc._.keyphrases] == ["heat pump"]
    assert [(span.text, span.kb_id_) for span in doc.spans["keyphrases"]] == [("Heat pumps", "T1")]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"model": "tfidf"}, ConfigError, "compares all documents"),
        ({"model": "textrank", "precision": 0.8}, ConfigError, "no calibrated probabilities"),
        ({"model": "textrank", "top": -1}, ConfigError, "at least 1"),
        ({"model": "textrank", "vocabulary": "nowhere.csv"}, DataError, "no such file"),
        ({"model": "textrank", "top": "ten"}, ValueError, "top"),
        ({"model": "textrank", "vocabulary_mode": "all"}, ValueError, "vocabulary_mode"),
    ],
)
def test_bad_settings_are_refused_when_the_component_is_added(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pipeline(**settings)


def test_an_attribute_of_another_library_is_not_replaced(nlp: Any) -> None:
    own = Doc.get_extension("keyphrases")
    Doc.set_extension("keyphrases", default=(), force=True)
    try:
        with pytest.raises(ConfigError, match="remove_extension"):
            pipeline(model="textrank")
    finally:
        Doc.set_extension("keyphrases", getter=own[2], force=True)


def test_spacy_finds_the_component_without_an_import() -> None:
    (found,) = entry_points(group="spacy_factories", name="keywright")
    assert found.load() is make


@pytest.mark.slow
@pytest.mark.parametrize("model", ["textrank", "default"])
def test_several_processes_give_the_same(model: str) -> None:
    nlp = pipeline(model=model)
    docs = list(nlp.pipe(TEXTS * 3, n_process=2, batch_size=2))
    assert [doc._.keyphrases for doc in docs] == [nlp(text)._.keyphrases for text in TEXTS * 3]
    assert [words(doc) for doc in docs] == [words(nlp(text)) for text in TEXTS * 3]
