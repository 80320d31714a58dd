"""YAKE, where its library is installed."""

import sys

import pytest

from keywright.errors import ConfigError, MissingExtraError
from keywright.extractors import yake
from keywright.predictor import load
from keywright.types import Document

TEXT = Document(
    id="d",
    title="Sand in slow rivers",
    body="Slow rivers carry sand to the sea. We measure how sand settles where rivers are slow, "
    "and model sediment transport by random walks. Random walks explain sediment transport.",
)


def test_a_missing_library_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "yake", None)
    with pytest.raises(MissingExtraError, match=r"keywright\[bench\]"):
        yake.build(yake.Config())


class TestWithTheLibrary:
    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("yake", reason="YAKE is not installed")

    def test_phrases_come_from_the_text_best_first(self):
        [made] = load("yake").predict([TEXT])
        assert made.document_id == "d"
        assert "sediment transport" in made.texts
        assert 1 < len(made.phrases) <= 10
        assert all(text.lower() in TEXT.text.lower() for text in made.texts)
        scores = [phrase.score for phrase in made.phrases]
        assert scores == sorted(scores, reverse=True)

    def test_settings_reach_the_library(self):
        [made] = load("yake", settings=["longest=1", "max_phrases=3"]).predict([TEXT])
        assert len(made.phrases) == 3
        assert all(phrase.words == 1 for phrase in made.phrases)
        with pytest.raises(ConfigError, match=r"yake\.top: unknown"):
            load("yake", settings=["top=3"])

    def test_a_document_is_judged_by_itself(self):
        other = Document(title="", body="Graphs with few edges are sparse graphs.")
        alone = list(load("yake").predict([TEXT]))
        assert list(load("yake").predict([other, TEXT]))[1:] == alone

    def test_texts_without_words_have_no_phrases(self):
        empty = [Document(title="", body=""), Document(title="", body="it is , and they were .")]
        assert [made.phrases for made in load("yake").predict(empty)] == [(), ()]
