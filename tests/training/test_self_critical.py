"""The self-critical objective: its gradient, its draws, its runs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from keywright import config as configs
from keywright import reward as rewards
from keywright import runs
from keywright.config import Config, Part
from keywright.data.batch import Batch, make_batch
from keywright.data.targets import Targets
from keywright.decoding.decoder import Decoder
from keywright.errors import ConfigError
from keywright.lexicon import EOS, PEOS, SEP, UNK
from keywright.lexicons.words import Vocabulary
from keywright.models import cat_seq
from keywright.nn.model import Model
from keywright.training import sampling
from keywright.training.loop import train
from keywright.training.objective import Context, Position
from keywright.training.objectives import self_critical
from keywright.training.objectives.self_critical import SelfCritical
from keywright.training.state import Status
from keywright.types import Document
from tests.training.conftest import tiny
from tests.training.test_loop import (
    CrashError,
    assert_same,
    metrics,
    stop_at,
    untimed,
    weights,
)

VOCABULARY = Vocabulary(["a", "b"])
WORDS = {UNK: "<unk>", 7: "a", 8: "b"}
TOKENS = (EOS, UNK, SEP, PEOS, 7, 8)  # all that can be generated
LENGTH = 3
DOCUMENT = Document(title="", body="a b a", keyphrases=("a", "b"), tokenised=True)
BATCH = make_batch([DOCUMENT], VOCABULARY)
START = Position(stage=0, update=0)


def arbitrary(
    documents: Sequence[Document], phrases: Sequence[Sequence[str]], part: str
) -> list[float]:
    """A different number for each document, list of phrases and part."""
    keys = (repr((d.text, list(p), part)) for d, p in zip(documents, phrases, strict=True))
    digests = (hashlib.blake2b(key.encode(), digest_size=8).digest() for key in keys)
    return [int.from_bytes(digest, "big") / 2**64 for digest in digests]


def objective(
    reward: Any = arbitrary, marked: bool = True, vocabulary: Any = VOCABULARY, **settings: Any
) -> SelfCritical:
    parts = "separate" if marked else "together"
    config = self_critical.Config(
        **{"max_length": LENGTH, "unknown": "keep", "parts": parts, **settings}
    )
    targets = Targets("one2seq", mark_absent=marked)
    return SelfCritical(config, Context(vocabulary, targets, "chan19", 1, 400, "o"), reward)


def model(seed: int = 1, vocabulary: Any = VOCABULARY, **settings: Any) -> Model:
    torch.manual_seed(seed)
    sizes = {"embedding": 4, "encoder": 3, "decoder": 5, "dropout": 0.0, **settings}
    return cat_seq.build(cat_seq.Config(**sizes), vocabulary).double().train()


def gradients(total: Tensor, of: Model) -> list[Tensor]:
    return list(torch.autograd.grad(total, list(of.parameters()), materialize_grads=True))


# The gradient is that of the expected reward.


def sequences(prefix: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Everything that can be sampled."""
    if len(prefix) == LENGTH or (prefix and prefix[-1] == EOS):
        yield prefix
        return
    for token in TOKENS:
        yield from sequences((*prefix, token))


def probability(of: Model, tokens: Sequence[int]) -> Tensor:
    """Of a whole sequence, among those that can be sampled."""
    memory = of.encode(BATCH)
    inputs, state = of.start(memory)
    log_prob = torch.zeros((), dtype=torch.float64)
    for token in tokens:
        step = of.step(inputs, state, memory)
        possible = step.log_probs[0, list(TOKENS)]
        log_prob = log_prob + step.log_probs[0, token] - possible.logsumexp(0)
        inputs, state = torch.tensor([token]), step.state
    return log_prob.exp()


def reward_of(tokens: Sequence[int], marked: bool) -> float:
    """The sum of the rewards of all parts, by a reading of its own."""
    parts: list[list[str]] = [[]]
    words: list[str] = []
    for token in tokens:
        if token in WORDS:
            words.append(WORDS[token])
            continue
        if words:
            parts[-1].append(" ".join(words))
        words = []
        if token == PEOS and marked and len(parts) == 1:
            parts.append([])
    if not marked:
        return arbitrary([DOCUMENT], parts, "all")[0]
    absent = parts[1] if len(parts) > 1 else []
    return (
        arbitrary([DOCUMENT], [parts[0]], "present")[0]
        + (arbitrary([DOCUMENT], [absent], "absent")[0])
    )


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """What is sampled for each row, instead of random sequences."""
    script: list[tuple[int, ...]] = []

    def uniform(seed: int, documents: Sequence[Document], rows: int, length: int) -> Tensor:
        assert len(script) == len(documents) * rows
        return torch.tensor([[*tokens, *[EOS] * (length - len(tokens))] for tokens in script])

    monkeypatch.setattr(self_critical, "uniform", uniform)
    monkeypatch.setattr(sampling, "draw", lambda log_probs, tokens: tokens)
    return script


@pytest.mark.parametrize("marked", [True, False])
def test_the_expected_gradient_is_that_of_the_expected_reward(
    marked: bool, scripted: list[tuple[int, ...]]
) -> None:
    policy, criterion = model(), objective(marked=marked)
    everything = list(sequences())
    probabilities = torch.stack([probability(policy, tokens) for tokens in everything])
    assert len(everything) == 1 + 5 + 5**2 + 5**3
    assert probabilities.sum().item() == pytest.approx(1)
    rewards = torch.tensor([reward_of(tokens, marked) for tokens in everything]).double()
    exact = gradients(-(probabilities * rewards).sum(), policy)
    expected = [torch.zeros_like(gradient) for gradient in exact]
    for tokens, p in zip(everything, probabilities.tolist(), strict=True):
        scripted[:] = [tokens]
        loss = criterion.loss(policy, BATCH, START)
        for total, gradient in zip(expected, gradients(loss.total, policy), strict=True):
            total += p * gradient
    assert any(gradient.abs().max() > 1e-4 for gradient in exact)
    for ours, theirs in zip(expected, exact, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_several_samples_are_summed(scripted: list[tuple[int, ...]]) -> None:
    policy = model()
    pairs = [(7, SEP, EOS), (PEOS, 8, 8)]
    scripted[:] = pairs
    both = objective(samples=2).loss(policy, BATCH, START)
    alone = []
    for tokens in pairs:
        scripted[:] = [tokens]
        alone.append(objective().loss(policy, BATCH, START))
    assert both.total.item() == pytest.approx(sum(loss.total.item() for loss in alone))
    assert int(both.divisor) == 6 == sum(int(loss.divisor) for loss in alone)
    scripted[:] = pairs
    assert int(objective(samples=2, divide_by="sequences").loss(policy, BATCH, START).divisor) == 2


def test_a_better_sample_becomes_more_likely(scripted: list[tuple[int, ...]]) -> None:
    policy = model()
    sample = (8, EOS)
    scripted[:] = [sample]

    def reward(documents: Any, phrases: Sequence[Sequence[str]], part: str) -> list[float]:
        return [float(list(texts) == ["b"]) for texts in phrases]

    before = probability(policy, sample).item()
    loss = objective(reward, marked=False).loss(policy, BATCH, START)
    for parameter, gradient in zip(policy.parameters(), gradients(loss.total, policy), strict=True):
        parameter.data -= 0.1 * gradient
    assert probability(policy, sample).item() > before


@pytest.mark.parametrize("marked", [True, False])
def test_a_sample_equal_to_the_baseline_has_no_gradient(
    marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "draw", lambda log_probs, uniform: log_probs.argmax(1))
    policy = model()
    loss = objective(marked=marked, samples=2).loss(policy, BATCH, START)
    assert loss.total.item() == 0
    assert all((gradient == 0).all() for gradient in gradients(loss.total, policy))


def test_samples_have_dropout_and_the_baseline_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = model(dropout=0.5)
    modes = []
    encode = policy.encode

    def recording(batch: Batch) -> Any:
        modes.append((policy.training, torch.is_grad_enabled()))
        return encode(batch)

    monkeypatch.setattr(policy, "encode", recording)
    objective().loss(policy, BATCH, START)
    assert modes == [(True, True), (False, False)]
    assert all(module.training for module in policy.modules())


# Draws follow from the seed, the position and the document.

# The keyphrase is the first word.
DOCUMENTS = [
    Document(title="", body=f"{first} {second} {third}", keyphrases=(first,), tokenised=True)
    for first in "ab"
    for second in "ab"
    for third in "ab"
]


def drawn(*documents: Document, stage: int = 0, update: int = 0) -> list[list[int]]:
    batch = make_batch(documents, VOCABULARY)
    found = objective(samples=3).sample(model(), batch, Position(stage, update))
    return [sequence.tokens for sequence in found.sequences]


def test_samples_are_new_in_every_update_and_the_same_at_the_same_position() -> None:
    first = drawn(*DOCUMENTS)
    assert first == drawn(*DOCUMENTS)
    others = [drawn(*DOCUMENTS, update=1), drawn(*DOCUMENTS, update=4), drawn(*DOCUMENTS, stage=1)]
    for found in others:
        assert found != first
    assert others[0] != others[2]


def test_samples_do_not_depend_on_how_a_batch_is_divided() -> None:
    alone = [tokens for document in DOCUMENTS for tokens in drawn(document, update=2)]
    assert drawn(*DOCUMENTS, update=2) == alone
    policy, criterion = model(), objective(samples=2)
    whole = criterion.loss(policy, make_batch(DOCUMENTS, VOCABULARY), START)
    pieces = [criterion.loss(policy, make_batch([d], VOCABULARY), START) for d in DOCUMENTS]
    assert whole.total.item() == pytest.approx(sum(piece.total.item() for piece in pieces))
    assert int(whole.divisor) == sum(int(piece.divisor) for piece in pieces)


# It learns, validates and reports.


def learn(policy: Model, criterion: SelfCritical, batch: Batch, updates: int) -> None:
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.02)
    for update in range(updates):
        optimiser.zero_grad()
        criterion.loss(policy, batch, Position(0, update)).mean.backward()
        optimiser.step()


def test_a_toy_model_raises_its_reward() -> None:
    """It starts from random weights and sees nothing but the F1 of its samples."""
    batch = make_batch(DOCUMENTS, VOCABULARY)
    context = Context(VOCABULARY, Targets("one2seq"), "chan19", 1, 400, "o")
    reward = rewards.build(Part("f1"), context, "o.reward")
    criterion = objective(reward, marked=False, samples=4, max_length=4)
    policy = model(embedding=8, encoder=8, decoder=12)
    before = -criterion.validation_loss(policy.eval(), batch).mean.item()
    learn(policy.train(), criterion, batch, 40)
    after = -criterion.validation_loss(policy.eval(), batch).mean.item()
    assert before < 0.3
    assert after > 0.9
    report = criterion.report()
    assert before < report["reward"] < 1


def test_the_validation_loss_is_minus_the_reward_of_greedy_predictions() -> None:
    policy = model(seed=4).eval()
    batch = make_batch(DOCUMENTS, VOCABULARY)
    decoder = Decoder(
        Part("greedy", {"max_length": LENGTH, "unknown": "keep"}), VOCABULARY, "one2seq"
    )
    texts = [prediction.texts for prediction in decoder(policy, batch)]
    loss = objective(marked=False).validation_loss(policy, batch)
    assert loss.total.item() == pytest.approx(-math.fsum(arbitrary(DOCUMENTS, texts, "all")))
    assert int(loss.divisor) == len(DOCUMENTS)


def test_reports_are_means_since_the_last_report(scripted: list[tuple[int, ...]]) -> None:
    policy, criterion = model(), objective(marked=False)
    expected = []
    for tokens in [(7, SEP, EOS), (EOS,), (8, EOS)]:
        scripted[:] = [tokens]
        criterion.loss(policy, BATCH, START)
        expected.append(reward_of(tokens, marked=False))
    resumed = objective(marked=False)
    resumed.restore(criterion.state())
    report = criterion.report()
    assert report["reward"] == pytest.approx(sum(expected) / 3)
    assert report["phrases"] == pytest.approx(2 / 3)
    assert {"reward", "baseline", "advantage", "entropy", "phrases"} < set(report)
    assert resumed.report() == report
    assert criterion.report() == {}


# Whole runs.

# Enough for samples that are sometimes rewarded.
NLL = {"epochs": 4, "batch_size": 8, "learning_rate": 0.05}
RL = {
    "objective": {"name": "self_critical", "reward": "f1", "samples": 2, "max_length": 12},
    "updates": 6,
    "batch_size": 8,
    "validate_every": 3,
}


def config(corpus: Path, *stages: dict[str, Any], **model: Any) -> Config:
    table = tiny(corpus)
    table["model"] = {
        "name": "cat_seq", "embedding": 8, "encoder": 8, "decoder": 8, "dropout": 0.1, **model,
    }  # fmt: skip
    table["data"]["mark_absent"] = True
    table["train"]["log_every"] = 4  # checkpoints lie between reports
    table["train"]["stage"] = list(stages)
    return configs.parse(table)


def rewarded(folder: Path) -> bool:
    """Whether a run was rewarded at all; without rewards its weights would not change."""
    return any(line.get("reward", 0) > 0 for line in metrics(folder, "train"))


def test_the_config_of_a_run_has_the_settings_of_its_reward(corpus: Path) -> None:
    resolved = runs.resolve(config(corpus, RL)).train.stage[0].objective.settings
    assert resolved["reward"] == {"name": "f1", "adaptive": True}
    other = {**RL, "objective": {**RL["objective"], "reward": {"name": "fg", "edit": False}}}
    resolved = runs.resolve(config(corpus, other)).train.stage[0].objective.settings
    assert resolved["reward"]["edit"] is False
    assert resolved["reward"]["token"] is True


def crash_in(stage: int, update: int):
    def watch(status: Status) -> None:
        if (status.stage, status.update) == (stage, update) and status.validation is None:
            raise CrashError

    return watch


@pytest.mark.parametrize("update", [1, 3, 5])
def test_a_run_that_crashed_ends_with_the_same_weights(
    corpus: Path, tmp_path: Path, update: int
) -> None:
    two = config(corpus, NLL, RL)
    two = replace(two, train=replace(two.train, checkpoint_minutes=0))
    train(two, tmp_path / "whole")
    assert rewarded(tmp_path / "whole")
    with pytest.raises(CrashError):
        train(two, tmp_path / "cut", watch=crash_in(1, update))
    train(two, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")


def test_a_run_stopped_by_a_signal_ends_with_the_same_weights(corpus: Path, tmp_path: Path) -> None:
    two = config(corpus, NLL, RL)
    train(two, tmp_path / "whole")
    assert rewarded(tmp_path / "whole")
    assert train(two, tmp_path / "cut", watch=stop_at(5)).reason == "signal"
    assert train(two, tmp_path / "cut", resume=True, watch=stop_at(2)).reason == "signal"
    train(two, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")


def test_the_log_has_rewards_and_the_best_weights_have_the_best_reward(
    corpus: Path, tmp_path: Path
) -> None:
    train(config(corpus, NLL, RL), tmp_path / "r")
    lines = metrics(tmp_path / "r")
    trained = [line for line in lines if line["kind"] == "train" and line["stage"] == 1]
    assert trained
    for line in trained:
        assert 0 <= line["reward"] <= 2
        assert 0 <= line["baseline"] <= 2
        assert line["phrases"] >= 0
    valid = [line for line in lines if line["kind"] == "valid" and line["stage"] == 1]
    assert len(valid) == 3  # before the stage, and twice in it
    assert all(-2 <= line["loss"] <= 0 for line in valid)


def test_accumulation_makes_no_difference(corpus: Path, tmp_path: Path) -> None:
    train(config(corpus, NLL, RL, dropout=0.0), tmp_path / "one")
    assert rewarded(tmp_path / "one")
    train(config(corpus, NLL, {**RL, "accumulate": 3}, dropout=0.0), tmp_path / "many")
    for whole, divided in zip(metrics(tmp_path / "one"), metrics(tmp_path / "many"), strict=True):
        assert divided["loss"] == pytest.approx(whole["loss"], rel=1e-4, abs=1e-6)
        assert divided.get("reward") == pytest.approx(whole.get("reward"))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"reward": "f11"}, r"train\.stage\[0\]\.objective\.reward\.name: unknown reward 'f11'"),
        ({"reward": {"name": "f1", "adaptve": 1}}, r"reward\.adaptve: unknown setting"),
        ({"samples": 0}, r"train\.stage\[0\]\.objective\.samples: "),
        ({"sample": 2}, r"objective\.sample: unknown setting; did you mean 'samples'"),
    ],
)
def test_wrong_settings_are_errors_before_training(
    corpus: Path, tmp_path: Path, settings: dict[str, Any], expected: str
) -> None:
    stage = {**RL, "objective": {**RL["objective"], **settings}}
    with pytest.raises(ConfigError, match=expected):
        train(config(corpus, stage), tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "model",
    [{"name": "transformer_one2set"}, {"name": "copy_rnn"}, {"name": "unikp", "start": "random"}],
)
def test_models_of_other_paradigms_are_an_error(
    corpus: Path, tmp_path: Path, model: dict[str, str]
) -> None:
    table = tiny(corpus)
    table["model"] = model
    table["train"]["stage"] = [{"epochs": 1}, RL]
    with pytest.raises(
        ConfigError, match=r"train\.stage\[1\]\.objective: needs a model that writes all phrases"
    ):
        train(configs.parse(table), tmp_path / "r")
    assert not (tmp_path / "r").exists()
