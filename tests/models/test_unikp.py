"""What is special about UniKP: tags, masked tokens, several losses, and its predictor."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from bench import unikp_relation
from safetensors.torch import load_file, save_file

from keywright import runs
from keywright.config import Part
from keywright.data.batch import Batch
from keywright.data.tags import NO_TAG, B, I, O
from keywright.data.targets import Targets
from keywright.decoding.decoder import Decoder
from keywright.errors import ConfigError
from keywright.models import unikp
from keywright.models.unikp import UniKP, choose
from keywright.nn.model import Model
from keywright.nn.prefix_lm import prefix_mask
from keywright.nn.relation import Streams
from keywright.predictor import load
from keywright.types import Document, Prediction
from tests.models.conftest import DOCUMENTS, TINY, Case, wordpiece_vocabulary
from tests.runs import untrained_run

VOCABULARY = wordpiece_vocabulary()
CASE = Case("unikp", unikp, VOCABULARY, Targets("one2seq", generated="absent"))


def build(**settings: Any) -> UniKP:
    model: UniKP = CASE.build(**settings)
    return model


@pytest.fixture(scope="module")
def trained() -> UniKP:
    """A model that knows two documents by heart."""
    model = build(bag_weight=1.0, dropout=0.0)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    batch = CASE.batch(*DOCUMENTS)
    for update in range(250):
        model.train()
        model.begin_update(update / 250)
        optimiser.zero_grad()
        model.loss(batch).mean.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval()


@torch.inference_mode()
def predict(model: UniKP, *documents: Document, strategy: str = "beam") -> list[Prediction]:
    decoder = Decoder(Part(strategy), VOCABULARY, "one2seq")
    predictor = model.predictor(VOCABULARY, partial(decoder, model))
    return predictor(CASE.batch(*documents, targets=False))


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_it_tags_present_phrases_and_generates_absent_ones(trained: UniKP, strategy: str) -> None:
    first, second = predict(trained, *DOCUMENTS, strategy=strategy)
    assert set(first.texts[:2]) == {"robot arms", "zygofold planner"}
    assert first.texts[2:] == ("machine origami",)
    # The two words of the title are gold only by their stems.
    assert {"quartzsand", "meandering river"} <= set(second.texts[:-2])
    assert second.texts[-2:] == ("sea salt", "erosion")


def test_phrases_have_the_probabilities_of_tags_and_of_tokens(trained: UniKP) -> None:
    batch = CASE.batch(DOCUMENTS[0], targets=False)
    [prediction] = predict(trained, DOCUMENTS[0])
    by_text = {phrase.text: phrase for phrase in prediction.phrases}
    with torch.inference_mode():
        tags = trained.tag_output(trained._encode(batch)[1]).log_softmax(-1)[0]
        scores = trained.score(CASE.batch(DOCUMENTS[0]))[0]
    pieces = [VOCABULARY.pieces[i] for i in batch.source[0].tolist()]
    at = pieces.index("zygo")  # zygo ##fold planner
    expected = [tags[at, B], tags[at + 1, 3], tags[at + 2, I]]
    phrase = by_text["zygofold planner"]
    assert phrase.token_log_probs == pytest.approx([float(p) for p in expected], abs=1e-5)
    assert phrase.words == 2
    absent = by_text["machine origami"]
    assert absent.token_log_probs == pytest.approx(scores[:2].tolist(), abs=1e-5)


def test_a_document_is_predicted_the_same_alone_and_in_a_batch(trained: UniKP) -> None:
    together = predict(trained, *DOCUMENTS)
    for document, prediction in zip(DOCUMENTS, together, strict=True):
        [alone] = predict(trained, document)
        assert alone.texts == prediction.texts
        for ours, theirs in zip(alone.phrases, prediction.phrases, strict=True):
            assert ours.token_log_probs == pytest.approx(theirs.token_log_probs, abs=1e-5)


def test_saved_weights_predict_the_same(trained: UniKP, tmp_path: Path) -> None:
    save_file(dict(trained.state_dict()), tmp_path / "weights.safetensors")
    other = build(seed=2).eval()
    other.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    assert predict(other, *DOCUMENTS) == predict(trained, *DOCUMENTS)


def test_predictions_without_the_relation_layers_are_others(trained: UniKP) -> None:
    """They are not optional at decoding: the outputs have learnt to read their states."""
    without = build(decoding_relation="off").eval()
    without.load_state_dict(trained.state_dict())
    batch = CASE.batch(*DOCUMENTS)
    with torch.inference_mode():
        assert float(without.loss(batch).mean) > 2 * float(trained.loss(batch).mean)
    assert predict(without, *DOCUMENTS) != predict(trained, *DOCUMENTS)


@pytest.mark.parametrize("relation", ["newest", "off"])
def test_steps_and_scores_agree_in_other_ways_of_decoding(relation: str) -> None:
    model = build(decoding_relation=relation).eval()
    batch = CASE.batch(*DOCUMENTS)
    with torch.inference_mode():
        scores = model.score(batch)
        assert torch.allclose(scores, Model.score(model, batch), atol=1e-5)
        assert not torch.allclose(scores, build().eval().score(batch), atol=1e-3)


def test_newest_sees_the_last_token_and_leaves_the_other_stream_as_it_is() -> None:
    model = build(decoding_relation="newest", relation_layers=2, width=8, heads=2).eval()
    batch = CASE.batch(DOCUMENTS[0])
    target = batch.targets[0]
    with torch.inference_mode():
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        state = model.step(tokens, state, memory).state
        got = model.step(target[:, 0], state, memory).log_probs
        # The second step by hand: the encoder's states of the first token and of [MASK].
        size = batch.source.shape[1]
        ids = torch.cat([batch.source, model._inputs(target[:, :1], batch.extension_inputs)], 1)
        ids = torch.cat([ids, torch.tensor([[model.mask_id]])], dim=1)
        mask = prefix_mask(batch.source_mask, torch.ones(1, 2, dtype=torch.bool))
        place = torch.arange(size + 2)
        states = model.encoder(ids, place[None], place >= size, mask)[:, size:]
        absent = states
        for layer in model.relation:
            both = torch.ones(1, 2, 2, dtype=torch.bool)
            absent = layer(Streams(states, absent), both).absent
        expected = model._log_probs(absent[:, 1], batch.extension_inputs)
    assert torch.allclose(got, expected, atol=1e-5)


def test_a_phrase_that_is_tagged_is_not_generated_again(trained: UniKP) -> None:
    def decode(batch: Batch) -> list[Prediction]:
        [prediction] = predict(trained, DOCUMENTS[0])
        return [prediction]

    batch = CASE.batch(DOCUMENTS[0], targets=False)
    with torch.inference_mode():
        [merged] = trained.predictor(VOCABULARY, decode)(batch)
    assert len(merged.texts) == len(set(merged.texts)) == 3


def test_confidences_of_generated_phrases_are_not_mixed_with_tagged_ones(trained: UniKP) -> None:
    [prediction] = predict(trained, DOCUMENTS[0], strategy="expected_f1")
    assert "machine origami" in prediction.texts
    assert all(phrase.confidence is None for phrase in prediction.phrases)


def test_a_run_predicts_with_its_own_strategy_or_another(tmp_path: Path) -> None:
    model = {"name": "unikp", "start": "random", **TINY["unikp"]}
    beam = {"name": "beam", "width": 2, "max_length": 6, "min_phrases": 1}
    folder = untrained_run(tmp_path / "run", DOCUMENTS, model, beam)
    loaded = load(folder)
    assert loaded.settings["decode"]["width"] == 2
    assert loaded.settings["max_source"] == 48  # the other positions are for the target
    made = list(loaded.predict(DOCUMENTS))
    assert all(p.token_log_probs is not None for found in made for p in found.phrases)
    assert any(found.phrases for found in made)
    other = load(folder, decode="greedy", settings=["max_phrases=1"])
    assert other.settings["decode"]["name"] == "greedy"
    rows = [unikp_relation.row(runs.load(folder), DOCUMENTS, r) for r in ("full", "off")]
    assert rows[0].keys() == rows[1].keys()
    mean = sum(len(found.phrases) for found in made) / len(made)
    counts = float(rows[0]["present.Predicted"]) + float(rows[0]["absent.Predicted"])
    assert counts == pytest.approx(mean, abs=0.01)
    assert rows[0] != rows[1]


def test_targets_are_absent_phrases_only() -> None:
    batch = CASE.batch(*DOCUMENTS, Document(title="sea", body="", keyphrases=("sea",)))
    target, mask = batch.targets
    texts = [
        VOCABULARY.decode(ids[: int(count)], extension)
        for ids, count, extension in zip(target.tolist(), mask.sum(1), batch.extension, strict=True)
    ]
    assert texts[0] == ["machine", "origami", "<eos>"]
    assert texts[1] == ["sea", "salt", "<sep>", "erosion", "<eos>"]
    assert texts[2] == ["<eos>"]


def test_seventy_percent_of_a_target_are_masked_and_at_least_one_token() -> None:
    torch.manual_seed(0)
    lengths = torch.tensor([1, 2, 3, 10, 0])
    mask = torch.arange(10) < lengths[:, None]
    chosen = choose(mask, 0.7)
    assert chosen.sum(1).tolist() == [1, 1, 2, 7, 0]
    assert not (chosen & ~mask).any()
    assert not torch.equal(choose(mask, 0.7), chosen)


def test_most_chosen_tokens_become_masks_some_others_and_some_stay() -> None:
    torch.manual_seed(0)
    model = build()
    ids = torch.full((100, 100), VOCABULARY.pieces.index("salt"))
    chosen = torch.rand(ids.shape) < 0.5
    corrupted = model._corrupted(ids, chosen)
    assert torch.equal(corrupted[~chosen], ids[~chosen])
    masks = (corrupted[chosen] == model.mask_id).float().mean()
    kept = (corrupted[chosen] == ids[chosen]).float().mean()
    assert float(masks) == pytest.approx(0.8, abs=0.03)  # a random token may be [MASK], too
    assert float(kept) == pytest.approx(0.1, abs=0.02)
    assert VOCABULARY.pieces[model.mask_id] == "[MASK]"


def test_the_loss_of_tags_is_a_mean_weighted_by_class() -> None:
    model = build(tag_weight=5.0).eval()
    logits = torch.log(torch.tensor([[[0.5, 0.25, 0.125, 0.125]] * 3] * 2))
    tags = torch.tensor([[O, B, NO_TAG], [NO_TAG, NO_TAG, NO_TAG]])
    expected = (1 * math.log(2) + 5 * math.log(4)) / 6
    assert model._tag_losses(logits, tags).tolist() == pytest.approx([expected, 0.0])


def test_without_the_label_mask_all_positions_are_trained_to_be_outside() -> None:
    model = build(tag_weight=5.0, label_mask=False).train()
    logits = torch.log(torch.tensor([[[0.5, 0.25, 0.125, 0.125]] * 4]))
    tags = torch.tensor([[B, NO_TAG, NO_TAG]])  # and a target position
    expected = (3 * math.log(2) + 5 * math.log(4)) / 8
    assert model._tag_losses(logits, tags).tolist() == pytest.approx([expected])


def test_the_loss_is_the_sum_of_its_parts() -> None:
    model = build(document_weight=3.0).eval()
    batch = CASE.batch(*DOCUMENTS)
    with torch.inference_mode():
        loss = model.loss(batch)
        nll = -float(model.score(batch).sum())
        logits = model.tag_output(model._encode(batch)[1])
        tagging = 3.0 * float(model._tag_losses(logits, model._gold_tags(batch)).sum())
    assert float(loss.total) == pytest.approx(nll + tagging, rel=1e-5)
    assert float(loss.parts["tags"]) == pytest.approx(tagging, rel=1e-5)


def test_label_smoothing_mixes_in_the_mean_of_the_vocabulary() -> None:
    model = build().eval()
    batch = CASE.batch(DOCUMENTS[0])
    with torch.inference_mode():
        read = model._read_exactly(batch)
        mean = -float(read.log_probs[:, : VOCABULARY.size].mean(1).sum())
        plain, smooth = model.loss(batch).parts["nll"], model.loss(batch, 0.1).parts["nll"]
    assert float(smooth) == pytest.approx(0.9 * float(plain) + 0.1 * mean, rel=1e-5)


def test_the_constraint_grows_with_progress_and_can_be_switched_off() -> None:
    def part(progress: float, **settings: Any) -> float:
        model = build(**settings).train()
        model.begin_update(progress)
        torch.manual_seed(0)
        return float(model.loss(CASE.batch(*DOCUMENTS)).parts.get("bags", 0.0))

    assert part(0.0) == 0
    full = part(1.0)
    assert full > 0
    assert part(0.5) == pytest.approx(full * math.log((math.e - 1) * 0.5 + 1), rel=1e-5)
    assert part(1.0, bag_weight=0.0) == 0
    assert part(1.0, bag="release") != pytest.approx(full)


def test_the_constraint_compares_expected_words_with_gold_words() -> None:
    """Certain and correct predictions have no difference; each missing word costs its square."""
    model = build().train()
    batch = CASE.batch(DOCUMENTS[0])
    tags = model._gold_tags(batch)
    logits = torch.nn.functional.one_hot(tags.clamp(min=0), 4) * 100.0
    target = batch.targets[0][0]
    space = VOCABULARY.size + batch.extension_size
    certain = torch.nn.functional.one_hot(target, space).float().log()
    rows = torch.zeros_like(target)
    read = unikp.Reading(logits, certain, rows, target, torch.ones(len(target)))
    assert model._bag_losses(batch, read, logits, tags).tolist() == pytest.approx([0.0])
    # Nothing is tagged: five gold tokens (robot arms, zygo ##fold planner) are missing.
    nothing = torch.zeros_like(logits)
    nothing[..., O] = 100.0
    assert model._bag_losses(batch, read, nothing, tags).tolist() == pytest.approx([0.5])


def test_without_its_mask_the_relation_layer_sees_later_tokens_in_training() -> None:
    target = torch.tensor([[7, 8, 9, 2]])
    changed = torch.tensor([[7, 8, 10, 2]])
    for masked in (True, False):
        # In so few dimensions, a position does not attend to itself alone.
        model = build(relation_mask=masked, width=8, heads=2).train()
        batch = CASE.batch(DOCUMENTS[0])
        mask = prefix_mask(batch.source_mask, torch.ones_like(target).bool())
        batch = replace(batch, target=target, target_mask=torch.ones_like(target).bool())
        size = batch.source.shape[1]
        with torch.no_grad():
            first, second = (model._streams(batch, ids, mask) for ids in (target, changed))
        same = torch.equal(first.absent[:, size + 1], second.absent[:, size + 1])
        assert same == masked
        assert torch.equal(first.present[:, 0], second.present[:, 0]) == masked


def bert_folder(folder: Path, model: UniKP, head: bool) -> Path:
    """A checkpoint in the layout of Hugging Face with random weights of the model's sizes."""
    torch.manual_seed(5)
    width, pieces = model.settings.width, VOCABULARY.input_size
    shapes = {
        "embeddings.word_embeddings.weight": (pieces, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.position_embeddings.weight": (64, width),
        **_norm("embeddings.LayerNorm", width),
    }
    for number in range(model.settings.encoder_layers):
        layer = f"encoder.layer.{number}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _linear(f"{layer}.attention.{name}", width, width)
        shapes |= _norm(f"{layer}.attention.output.LayerNorm", width)
        shapes |= _linear(f"{layer}.intermediate.dense", model.settings.inner, width)
        shapes |= _linear(f"{layer}.output.dense", width, model.settings.inner)
        shapes |= _norm(f"{layer}.output.LayerNorm", width)
    tensors = {f"bert.{name}": torch.randn(shape) for name, shape in shapes.items()}
    if head:
        output = _linear("cls.predictions.transform.dense", width, width)
        output |= _norm("cls.predictions.transform.LayerNorm", width)
        output["cls.predictions.bias"] = (pieces,)
        tensors |= {name: torch.randn(shape) for name, shape in output.items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def _linear(name: str, rows: int, columns: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


@pytest.mark.parametrize("head", [True, False])
def test_a_new_run_starts_from_the_weights_in_a_folder(tmp_path: Path, head: bool) -> None:
    folder = bert_folder(tmp_path, build(), head)
    model = build(start=str(folder))
    before = model.transform.weight.clone()
    model.initialise()
    tensors = load_file(folder / "model.safetensors")
    kinds = tensors["bert.embeddings.token_type_embeddings.weight"]
    places = tensors["bert.embeddings.position_embeddings.weight"]
    assert torch.equal(
        model.encoder.bert.embedding.weight, tensors["bert.embeddings.word_embeddings.weight"]
    )
    # A target position has the second token type of BERT.
    got = model.encoder.bert.positions.weight[3] + model.encoder.segment
    assert torch.allclose(got, places[3] + kinds[1], atol=1e-6)
    dense = tensors.get("cls.predictions.transform.dense.weight", before)
    assert torch.equal(model.transform.weight, dense)


def test_weights_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"model.start: .*missing: there is no such folder, .*, or 'minilm'"
    ):
        build(start=str(tmp_path / "missing")).initialise()
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(ConfigError, match=r"pytorch_model.bin is a pickle, .* convert it"):
        build(start=str(tmp_path)).initialise()
    folder = bert_folder(tmp_path, build(), head=False)
    with pytest.raises(ConfigError, match="its sizes are not those of the pretrained encoder"):
        build(start=str(folder), width=16).initialise()


def test_a_name_of_the_hub_needs_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def unreachable(*_: object, **__: object) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr(hub, "snapshot_download", unreachable)
    with pytest.raises(ConfigError, match=r"microsoft/unilm: .*cannot be reached \(no route to"):
        build(start="microsoft/unilm").initialise()


def test_a_source_that_is_too_long_is_an_error() -> None:
    long = Document(title="", body="river " * 60, keyphrases=("sea",))
    model = build().eval()
    for method in (model.encode, model.loss):
        with pytest.raises(ConfigError, match=r"62 tokens, but model.positions is 48"):
            method(CASE.batch(long))


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="their sum must be at most 1"):
        unikp.Config(replaced=0.6, kept=0.6)
    with pytest.raises(ValueError, match="relation_layers"):
        unikp.Config(relation_layers=-1)
