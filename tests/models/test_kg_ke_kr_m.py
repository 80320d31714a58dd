"""KG-KE-KR-M: extractor, rescaled copying and merging, by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import nn

from keywright import config as configs
from keywright import parts, predictor, runs
from keywright.config import Part
from keywright.data.batch import Batch
from keywright.data.targets import Targets
from keywright.decoding.decoder import Decoder
from keywright.errors import DataError
from keywright.models import kg_ke_kr_m
from keywright.models.kg_ke_kr_m import Extractor, important_phrases, merge
from keywright.training.loop import train
from keywright.types import Document, Prediction, ScoredPhrase
from tests.models.conftest import DOCUMENTS, SIMILAR, TINY, Case, vocabulary
from tests.training.conftest import tiny, write_corpus


@pytest.fixture
def case() -> Case:
    module = parts.module("keywright.models", "kg_ke_kr_m")
    return Case("kg_ke_kr_m", module, vocabulary(), Targets("one2one"))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_extractor_by_hand() -> None:
    """One feature: w = tanh(h), d = tanh(f); c = 2 (bias 1), S = 3, N = 5."""
    extractor = Extractor(1, 1)
    for layer, weight, bias in (
        (extractor.word, 1.0, 0.0),
        (extractor.document, 1.0, 0.0),
        (extractor.content, 2.0, 1.0),
        (extractor.salience, 3.0, None),
        (extractor.novelty, 5.0, None),
    ):
        nn.init.constant_(layer.weight, weight)
        if bias is not None:
            nn.init.constant_(layer.bias, bias)
    logits = extractor(torch.tensor([[[0.5], [1.0], [-2.0]]]), torch.tensor([[0.3]]))
    document, chosen, expected = math.tanh(0.3), 0.0, []
    for state in (0.5, 1.0, -2.0):
        word = math.tanh(state)
        logit = 2 * word + 1 + 3 * word * document - 5 * word * math.tanh(chosen)
        chosen += sigmoid(logit) * word
        expected.append(logit)
    assert logits[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_copying_is_attention_times_importance_normalised(case: Case) -> None:
    """Nothing is produced (the gate is closed), so that the whole distribution is copied."""
    model, batch = case.build().eval(), case.batch(DOCUMENTS[0], targets=False)
    nn.init.constant_(model.switch.bias, -1e4)
    with torch.inference_mode():
        memory = model.encode(batch)
        step = model.step(*model.start(memory), memory)
    assert step.attention is not None
    importance = memory.importance[0].sigmoid()
    share = step.attention[0] * importance / (step.attention[0] * importance).sum()
    expected = torch.zeros(case.vocabulary.size + batch.extension_size)
    expected.index_add_(0, batch.source_extended[0], share)
    assert torch.allclose(step.log_probs[0].exp(), expected, atol=1e-5)
    assert not torch.allclose(share, step.attention[0], atol=1e-4)


def test_what_is_retrieved_has_an_influence(case: Case) -> None:
    model, batch = case.build().eval(), case.batch(DOCUMENTS[0], targets=False)

    def first(model: Any) -> torch.Tensor:
        with torch.inference_mode():
            memory = model.encode(batch)
            log_probs: torch.Tensor = model.step(*model.start(memory), memory).log_probs
        return log_probs

    before = first(model)
    model.index.keyphrases = [("quiet rivers",)] * len(SIMILAR)
    assert not torch.allclose(first(model), before)


def test_a_document_without_similar_ones_is_read(case: Case) -> None:
    lonely = Document(title="Quartz", body="Nothing alike.", keyphrases=("quartz",))
    model, batch = case.build().eval(), case.batch(lonely, DOCUMENTS[0])
    assert model.retrieve(batch.documents)[0] == []
    assert torch.isfinite(model.score(batch)).all()
    memory = model.encode(batch)
    assert memory.retrieved_mask.sum(dim=1).tolist() == [1, 6]  # "paper boats", "river sand"


def test_words_of_gold_phrases_are_important(case: Case) -> None:
    document = Document(
        title="The art of robots",
        body="State of the art: two robot arms.",
        keyphrases=("state of the art", "robot arms"),
    )
    model, batch = case.build(), case.batch(document)
    words = [word.text for word in model._words(batch, 0)]
    marked = [word for word, label in zip(words, model.important(batch)[0], strict=True) if label]
    assert marked == ["art", "state", "art", "robot", "arms"]


def test_the_loss_of_the_extractor_by_hand(case: Case) -> None:
    """Every phrase counts the mean over the words once; important words count `positive` times."""
    model, batch = case.build(positive=9.0), case.batch(*DOCUMENTS)
    labels, mask = model.important(batch), batch.source_mask
    zeros = torch.zeros(batch.source.shape)
    expected = 0.0
    for row, phrases in enumerate((3, 4)):
        real = labels[row][mask[row]]
        expected += phrases * float((1 + 8 * real).mean()) * math.log(2)
    assert float(model.extraction_loss(zeros, batch)) == pytest.approx(expected, rel=1e-5)


def test_the_loss_has_two_parts_and_validation_one(case: Case) -> None:
    batch = case.batch(*DOCUMENTS)
    trained = case.build(extraction=2.0).train().loss(batch)
    validated = case.build(extraction=2.0).eval().loss(batch)
    assert torch.allclose(validated.total, trained.parts["nll"], rtol=1e-4)
    assert torch.allclose(trained.total, trained.parts["nll"] + 2 * trained.parts["extraction"])


def test_it_learns_what_is_important(case: Case) -> None:
    model, batch = case.build(), case.batch(*DOCUMENTS)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        model.loss(batch).mean.backward()
        optimiser.step()
    found = model.eval().encode(batch).importance > 0
    assert torch.equal(found & batch.source_mask, model.important(batch).bool())


def test_runs_of_important_words_are_phrases() -> None:
    title = [("heat", 0.9), ("pumps", 0.7)]
    body = [("houses", 0.8), ("with", 0.1), ("old", 0.69), ("stoves", 0.75)]
    assert important_phrases((title, body), 0.7) == [
        ("heat pumps", pytest.approx(0.8)),
        ("houses", 0.8),
        ("stoves", 0.75),
    ]


def test_the_threshold_falls_if_nothing_reaches_it() -> None:
    # 0.8 * 0.5 = 0.4
    text = [("heat", 0.5), ("pumps", 0.41), ("warm", 0.39)]
    assert important_phrases((text,), 0.7) == [("heat pumps", pytest.approx(0.455))]
    assert important_phrases(((), ()), 0.7) == []


def test_merging_by_hand() -> None:
    """Means: generated 0.3, retrieved 0.2 (scale 1.5), extracted 0.6 (scale 0.5)."""
    generated = [("heat pump", 0.4), ("old house", 0.2)]
    retrieved = [("stove", 0.2), ("heat pumps", 0.3), ("heat pump", 0.1)]
    extracted = [("old houses", 0.8), ("stoves", 0.4)]
    ones = dict.fromkeys([t for s in (generated, retrieved, extracted) for t, _ in s], 1.0)
    assert merge([generated, retrieved, extracted], ones) == [
        ("heat pump", pytest.approx(0.4 + 1.5 * 0.3)),  # the better one of the retriever
        ("old house", pytest.approx(0.2 + 0.5 * 0.8)),
        ("stove", pytest.approx(1.5 * 0.2 + 0.5 * 0.4)),
    ]
    weighted = merge([generated, retrieved, extracted], ones | {"heat pump": 0.1, "heat pumps": 0})
    assert weighted[-1] == ("heat pump", pytest.approx(0.1 * (0.4 + 1.5 * 0.1)))


def test_merging_needs_no_generated_phrase() -> None:
    assert merge([[], [("stove", 0.2)], []], {"stove": 0.5}) == [("stove", 0.1)]
    assert merge([[], [], []], {}) == []


def predicted(case: Case, documents: tuple[Document, ...], **settings: Any) -> list[Prediction]:
    model = case.build(**settings).eval()
    strategy = Part("exhaustive", {"width": 4, "max_length": 4})
    decoder = Decoder(strategy, case.vocabulary, "one2one")

    def decode(batch: Batch) -> list[Prediction]:
        return decoder(model, batch)

    found = model.predictor(case.vocabulary, decode)(case.batch(*documents, targets=False))
    assert isinstance(found, list)
    return found


def test_predictions_have_the_phrases_of_all_sources(case: Case) -> None:
    [prediction] = predicted(case, DOCUMENTS[:1])
    [alone] = predicted(case, DOCUMENTS[:1], merge=False)
    assert {"paper boats", "river sand"} <= set(prediction.texts)
    assert len(prediction.phrases) > len(alone.phrases) + 2
    scores = [phrase.score or 0.0 for phrase in prediction.phrases]
    assert scores == sorted(scores, reverse=True)
    for phrase in prediction.phrases:
        assert phrase.token_log_probs is not None
        assert phrase.words == len(phrase.token_log_probs)
        assert all(value < 0 for value in phrase.token_log_probs)


def test_merged_phrases_have_the_log_probabilities_of_the_generator(case: Case) -> None:
    [prediction] = predicted(case, DOCUMENTS[:1])
    [phrase] = [phrase for phrase in prediction.phrases if phrase.text == "paper boats"]
    gold = msgspec.structs.replace(DOCUMENTS[0], keyphrases=("paper boats",))
    with torch.inference_mode():
        expected = case.build().eval().score(case.batch(gold))[0].tolist()
    assert phrase.token_log_probs == pytest.approx(expected[:2], abs=1e-5)


def test_the_generator_as_scorer(case: Case) -> None:
    [plain] = predicted(case, DOCUMENTS[:1], scorer="none")
    [scored] = predicted(case, DOCUMENTS[:1], scorer="generator")
    [boats] = [phrase for phrase in plain.phrases if phrase.text == "paper boats"]
    [weighted] = [phrase for phrase in scored.phrases if phrase.text == "paper boats"]
    assert boats.token_log_probs is not None
    mean = math.exp(sum(boats.token_log_probs) / 2)
    assert weighted.score == pytest.approx((boats.score or 0.0) * mean, rel=1e-4)


def test_a_document_has_the_same_merged_phrases_alone_and_in_a_batch(case: Case) -> None:
    empty = Document(title="", body="")
    together = predicted(case, (*DOCUMENTS, empty))
    for document, prediction in zip((*DOCUMENTS, empty), together, strict=True):
        [alone] = predicted(case, (document,))
        assert alone.texts == prediction.texts
        for ours, theirs in zip(alone.phrases, prediction.phrases, strict=True):
            assert ours.score == pytest.approx(theirs.score, rel=1e-3)


def test_a_model_without_an_index_says_so(case: Case) -> None:
    model = case.build()
    model.index = None
    with pytest.raises(DataError, match="has no retrieval index"):
        model.encode(case.batch(*DOCUMENTS))


def test_a_copied_state_needs_a_decoder_of_its_size() -> None:
    with pytest.raises(ValueError, match="needs a decoder of 2 \\* encoder = 300"):
        kg_ke_kr_m.Config(decoder=150)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trained run, whose training documents are gone."""
    for name, count, seed in (("train", 16, 1), ("valid", 4, 2)):
        write_corpus(tmp_path / f"{name}.jsonl", count, seed)
    table = tiny(tmp_path)
    table["model"] = {"name": "kg_ke_kr_m", **TINY["kg_ke_kr_m"]}
    table["train"]["stage"][0]["epochs"] = 1
    table["decode"] = {"name": "exhaustive", "width": 3, "max_length": 3}
    train(configs.parse(table), tmp_path / "run")
    (tmp_path / "train.jsonl").unlink()
    return tmp_path / "run"


def test_the_index_comes_with_the_run_folder(run: Path) -> None:
    model = runs.load(run).model
    assert model.index is not None
    assert len(model.index) == 16
    loaded = predictor.load(run)
    [prediction] = loaded.predict([Document(title="banat demor", body="kipol losen banat")])
    assert "the absent one" in prediction.texts  # a keyphrase of all training documents
    assert all(isinstance(phrase, ScoredPhrase) for phrase in prediction.phrases)


def test_an_index_that_was_changed_or_removed_is_an_error(run: Path) -> None:
    path = run / runs.RETRIEVAL
    path.write_text(path.read_text(encoding="utf-8").replace("absent", "other"), encoding="utf-8")
    with pytest.raises(DataError, match=r"retrieval\.jsonl: is not the retrieval index that run"):
        runs.load(run)
    path.unlink()
    with pytest.raises(
        DataError, match=r"retrieval\.jsonl: no such file; the model of .* retrieves"
    ):
        runs.load(run)
