"""Tiny random T5 and BART, built here, against transformers' own `generate` and forward pass.

With the folder of real weights in KEYWRIGHT_WEIGHTS, the same tests run on them, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

import transformers
from safetensors import safe_open
from tokenizers import Tokenizer

from keywright import config as configs
from keywright import lexicon, predictor
from keywright.config import Data, Part
from keywright.data.batch import Batch, make_batch
from keywright.data.targets import Targets
from keywright.decoding.decoder import Decoder
from keywright.decoding.options import STRATEGIES
from keywright.decoding.phrases import Found
from keywright.decoding.rules import DecodingRules
from keywright.errors import ConfigError, KeywrightError
from keywright.lexicon import Lexicon
from keywright.models.hf_seq2seq import Config, Seq2Seq
from keywright.training import optimiser
from keywright.training.loop import train
from keywright.types import Document
from tests.lexicons.tokenizers_made import write
from tests.models.conftest import DOCUMENTS

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "t5": {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 2,
        "num_heads": 4,
        "decoder_start_token_id": 0,
    },
    "bart": {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "max_position_embeddings": 80,
    },
}
GATED = {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"}
KINDS = {"t5": {}, "flan-t5": GATED, "bart": {}}
LENGTH = 24
REAL = os.environ.get("KEYWRIGHT_WEIGHTS")


@dataclass(frozen=True)
class Made:
    """A pretrained model of transformers in a folder, and the same model read by keywright."""

    folder: Path
    network: Any
    vocabulary: Lexicon
    model: Seq2Seq

    def batch(self, *documents: Document, targets: bool = False) -> Batch:
        return make_batch(documents, self.vocabulary, None, Targets("one2seq") if targets else None)


def write_model(folder: Path, kind: str, sharp: float = 6.0) -> Path:
    """A pretrained model with a tokenizer, as transformers saves it.

    Larger weights give distributions that are far from uniform, so that sequences end and beams
    differ.
    """
    family = kind.removeprefix("flan-")
    write(folder, family)
    size = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    torch.manual_seed(len(kind))
    described = transformers.AutoConfig.for_model(
        family, vocab_size=size + 8, **ARCHITECTURES[family], **KINDS[kind]
    )
    network = transformers.AutoModelForSeq2SeqLM.from_config(described)
    if kind == "flan-t5":
        network.lm_head.weight = torch.nn.Parameter(torch.randn_like(network.lm_head.weight) / 5)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() == 2 and "relative" not in name:
                parameter.mul_(sharp if family == "bart" else 1.5)
    network.save_pretrained(folder)
    return folder


def read(folder: Path, **settings: Any) -> Made:
    part = Part("tokenizer", {"path": str(folder), "format": "kpp", **settings})
    vocabulary = lexicon.build(part, [])
    model = Seq2Seq(Config(weights=str(folder)), vocabulary)
    model.initialise()
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    network.resize_token_embeddings(vocabulary.size, mean_resizing=False)
    if not model.config.tied:  # resizing has tied the output to the embedding
        network.lm_head.weight = torch.nn.Parameter(network.lm_head.weight.detach().clone())
    network.load_state_dict(model.network.state_dict())
    return Made(folder, network.eval(), vocabulary, model.eval())


@pytest.fixture(scope="module", params=[*KINDS, *([REAL] if REAL else [])])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    if request.param == REAL:
        return read(Path(REAL))
    return read(write_model(tmp_path_factory.mktemp("hf") / request.param, request.param))


def searched(made: Made, strategy: str, batch: Batch, **settings: Any) -> Found:
    part = Part(strategy, {"max_length": LENGTH, **settings})
    module, config = configs.part(part, STRATEGIES, "decode")
    rules = DecodingRules(config, "one2seq", made.vocabulary.special)
    with torch.inference_mode():
        found: Found = module.search(config, made.model, batch, rules)
    return found


def generated(made: Made, batch: Batch, **settings: Any) -> Any:
    """What transformers generates when it starts and ends like our decoders."""
    special = made.vocabulary.special
    start = torch.tensor([made.model.prefix]).expand(len(batch), -1)
    return made.network.generate(
        input_ids=batch.source,
        attention_mask=batch.source_mask.long(),
        decoder_input_ids=start,
        max_new_tokens=LENGTH,
        do_sample=False,
        suppress_tokens=list(special.never_generated),
        forced_bos_token_id=None,
        forced_eos_token_id=None,
        eos_token_id=special.eos,
        pad_token_id=special.pad,
        return_dict_in_generate=True,
        output_logits=True,
        output_scores=True,
        **settings,
    )


def cut(tokens: list[int], eos: int) -> list[int]:
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


def test_the_weights_are_those_of_the_folder(made: Made) -> None:
    """The network as transformers loads it, which has more tokens than the vocabulary."""
    batch = made.batch(*DOCUMENTS)
    inputs = {
        "input_ids": batch.source,
        "attention_mask": batch.source_mask.long(),
        "decoder_input_ids": batch.source[:, :10],
    }
    saved = transformers.AutoModelForSeq2SeqLM.from_pretrained(made.folder).eval()
    with torch.inference_mode():
        theirs = saved(**inputs).logits[..., : made.vocabulary.size]
        assert torch.allclose(made.model.network(**inputs).logits, theirs, atol=1e-5)


def test_greedy_sequences_and_probabilities_are_those_of_generate(made: Made) -> None:
    batch = made.batch(*DOCUMENTS)
    theirs = generated(made, batch, num_beams=1)
    logits = torch.stack(theirs.logits, dim=1).log_softmax(-1)
    before = len(made.model.prefix)
    for row, (hypothesis,) in enumerate(searched(made, "greedy", batch)):
        tokens = cut(theirs.sequences[row, before:].tolist(), made.vocabulary.special.eos)
        assert hypothesis.tokens == tokens
        own = logits[row, range(len(tokens)), tokens]
        assert torch.allclose(torch.tensor(hypothesis.log_probs), own, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beam_sequences_are_those_of_generate(made: Made, alpha: float) -> None:
    batch = made.batch(*DOCUMENTS)
    theirs = generated(made, batch, num_beams=4, length_penalty=alpha, early_stopping="never")
    before = len(made.model.prefix)
    found = searched(made, "beam", batch, width=4, length_normalisation=alpha)
    for row, (hypothesis,) in enumerate(found):
        tokens = cut(theirs.sequences[row, before:].tolist(), made.vocabulary.special.eos)
        assert hypothesis.tokens == tokens
        assert hypothesis.score == pytest.approx(float(theirs.sequences_scores[row]), abs=1e-5)


def test_cached_steps_are_those_of_an_uncached_forward_pass(made: Made) -> None:
    batch = made.batch(*DOCUMENTS, targets=True)
    target, _ = batch.targets
    with torch.inference_mode():
        memory = made.model.encode(batch)
        tokens, state = made.model.start(memory)
        stepped = []
        for t in range(target.shape[1]):
            step = made.model.step(tokens, state, memory)
            stepped.append(step.log_probs)
            tokens, state = target[:, t], step.state
        start = torch.tensor([made.model.prefix]).expand(len(batch), -1)
        logits = made.network(
            input_ids=batch.source,
            attention_mask=batch.source_mask.long(),
            decoder_input_ids=torch.cat([start, target[:, :-1]], 1),
            use_cache=False,
        ).logits[:, start.shape[1] - 1 :]
    assert torch.allclose(torch.stack(stepped, 1), logits.log_softmax(-1), atol=1e-5)


def test_the_loss_is_that_of_transformers(made: Made) -> None:
    batch = made.batch(*DOCUMENTS, targets=True)
    target, mask = batch.targets
    bos = [] if len(made.model.prefix) == 1 else [made.vocabulary.special.bos]
    labels = target.masked_fill(~mask, -100)
    first = torch.tensor([bos], dtype=torch.long).expand(len(batch), -1)
    inputs = torch.cat([torch.full((len(batch), 1), made.model.prefix[0]), first, target], 1)
    with torch.inference_mode():
        logits = made.network(
            input_ids=batch.source,
            attention_mask=batch.source_mask.long(),
            decoder_input_ids=inputs[:, :-1],
        ).logits[:, len(bos) :]
        own = made.model.loss(batch)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    assert float(own.mean) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("strategy", ["greedy", "sample", "beam", "exhaustive"])
def test_every_strategy_predicts_the_same_alone_and_in_a_batch(made: Made, strategy: str) -> None:
    part = Part(strategy, {"max_length": 12, "unique_starts": True, "unknown": "keep"})
    decoder = Decoder(part, made.vocabulary, "one2seq")
    together = decoder(made.model, made.batch(*DOCUMENTS))
    for document, prediction in zip(DOCUMENTS, together, strict=True):
        (alone,) = decoder(made.model, made.batch(document))
        assert [p.text for p in alone.phrases] == [p.text for p in prediction.phrases]
        for ours, theirs in zip(alone.phrases, prediction.phrases, strict=True):
            assert ours.token_log_probs == pytest.approx(theirs.token_log_probs, abs=1e-5)


def test_new_tokens_start_from_the_mean_of_the_others(made: Made, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "b", "bart")
    own = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).get_input_embeddings().weight
    added = [f"<new{i}>" for i in range(12)]
    model = read(folder, added=added).model
    grown = model.network.get_input_embeddings().weight
    assert len(grown) == len(own) + 12 + 1 - 8  # with the separator; eight rows were unused
    assert torch.equal(grown[: len(own)], own)
    assert torch.allclose(grown[len(own) :], own.mean(0).expand(5, -1), atol=1e-6)


def settings(made: Made, **changes: Any) -> Data:
    vocabulary = Part("tokenizer", {"path": str(made.folder), "format": "kpp"})
    return replace(Data(train=("x",), vocabulary=vocabulary, max_source=40), **changes)


def test_a_completed_config_needs_the_weights_no_more(made: Made) -> None:
    completed = Seq2Seq.complete(Config(weights=str(made.folder)), settings(made))
    table = configs.to_table(completed)
    assert configs.fill(Config, table) == completed
    again = Seq2Seq(replace(completed, weights="no/longer/there"), made.vocabulary).eval()
    again.load_state_dict(made.model.state_dict())
    batch = made.batch(*DOCUMENTS, targets=True)
    assert torch.equal(again.score(batch), made.model.score(batch))


def test_untied_outputs_stay_untied_and_tied_ones_tied(made: Made) -> None:
    network = made.model.network
    tied = network.get_output_embeddings().weight is network.get_input_embeddings().weight
    with safe_open(made.folder / "model.safetensors", "pt") as saved:
        assert tied == ("lm_head.weight" not in set(saved.keys()))


def test_layers_can_be_frozen_one_by_one(made: Made) -> None:
    stage = configs.Stage(epochs=1, learning_rates={"encoder": 0, "encoder.1": 0.1, "embedding": 0})
    model = Seq2Seq(made.model.config, made.vocabulary)
    optimiser.build(model, stage, "train.stage[0]")
    groups = model.parameter_groups()
    assert not any(p.requires_grad for p in [*groups["embedding"], *groups["encoder.0"]])
    assert all(p.requires_grad for p in [*groups["encoder.1"], *groups["decoder.0"]])


def test_gradient_checkpointing_has_the_same_gradients(made: Made) -> None:
    batch = made.batch(*DOCUMENTS, targets=True)

    def gradients(checkpointing: bool) -> list[torch.Tensor]:
        config = replace(made.model.config, gradient_checkpointing=checkpointing, dropout=0.0)
        model = Seq2Seq(config, made.vocabulary).train()
        model.load_state_dict(made.model.state_dict())
        model.loss(batch).total.backward()
        return [p.grad for p in model.parameters() if p.grad is not None]

    for ours, theirs in zip(gradients(True), gradients(False), strict=True):
        size = max(1.0, float(theirs.abs().max()))
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * size)


def test_a_pretrained_model_predicts_without_training(made: Made) -> None:
    loaded = predictor.load(
        f"hf:{made.folder}", settings=["format=kpp", "max_length=12", "unknown=keep"]
    )
    expected = Decoder(
        Part("greedy", {"max_length": 12, "unknown": "keep"}), made.vocabulary, "one2seq"
    )(made.model, made.batch(*DOCUMENTS))
    assert [p.phrases for p in loaded.predict(DOCUMENTS)] == [p.phrases for p in expected]


def test_a_longer_source_than_the_network_has_positions_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "b", "bart")
    with pytest.raises(ConfigError, match="81 is more than the 80 tokens"):
        predictor.load(f"hf:{folder}", max_source=81)
    vocabulary = Part("tokenizer", {"path": str(folder)})
    data = Data(train=("x",), vocabulary=vocabulary, max_source=81)
    with pytest.raises(ConfigError, match=r"data\.max_source: 81 is more than the 80 positions"):
        Seq2Seq.complete(Config(weights=str(folder)), data)


def gpt2(folder: Path) -> None:
    edit(folder, model_type="gpt2")


def vision(folder: Path) -> None:
    edit(folder, model_type="vit")


def own_code(folder: Path) -> None:
    edit(folder, model_type="mine", auto_map={"AutoModel": "modeling_mine.Mine"})


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def damaged(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"not safetensors at all")


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def other_tokenizer(folder: Path) -> None:
    write(folder, "bart")


def many_tokens(folder: Path) -> None:
    edit(folder, vocab_size=5000)


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (gpt2, "a network of type 'gpt2' is not an encoder-decoder for text"),
        (vision, "a network of type 'vit' is not an encoder-decoder for text"),
        (own_code, "a network of type 'mine' is not an encoder-decoder"),
        (pickled, r"has no model.safetensors, only pytorch_model.bin, a pickle, .*save_pretrained"),
        (damaged, "model.safetensors: is damaged"),
        (no_config, "has no config.json"),
        (other_tokenizer, "is not the tokenizer of .*: its padding token has id 1, and .* 0"),
        (many_tokens, "is not the tokenizer of .* and the weights have 5000"),
    ],
)
def test_weights_that_do_not_fit_are_refused_before_data_is_read(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    folder = write_model(tmp_path / "t", "t5")
    spoil(folder)
    table = {
        "data": {
            "train": ["does-not-exist.jsonl"],
            "max_source": 40,
            "vocabulary": {"name": "tokenizer", "path": str(folder)},
        },
        "model": {"name": "hf_seq2seq", "weights": str(folder)},
        "train": {"stage": [{"epochs": 1}]},
    }
    with pytest.raises(ConfigError, match=message) as caught:
        train(configs.parse(table), tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "t", "t5")
    with pytest.raises(ConfigError, match=r"data\.vocabulary\.name: 'words' does not fit"):
        Seq2Seq.complete(Config(weights=str(folder)), Data(train=("x",)))


@pytest.mark.parametrize("name", ["no/such-model", "facebook/bart-large@refs/pr/1"])
def test_without_the_network_a_name_of_the_hub_gives_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(KeywrightError, match="hub cannot be reached") as caught:
        predictor.load(f"hf:{name}")
    assert "\n" not in str(caught.value)


def test_a_path_that_does_not_exist_is_not_looked_up_on_the_hub() -> None:
    with pytest.raises(KeywrightError, match="no such folder, and it is not a name on the"):
        predictor.load("hf:../no/such/folder")
