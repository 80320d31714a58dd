"""Samples have the log-probabilities of the distribution that they were drawn from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import pytest
import torch

from keywright import parts
from keywright.data.targets import Targets
from keywright.decoding.options import Options
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies.sample import uniform
from keywright.training.sampling import Samples, sample
from tests.decoding.fake import EOS, SEP, SPECIAL, A, B, C, FakeGenerator, batch, fixed
from tests.models.conftest import DOCUMENTS, MODELS, Case, vocabulary_for

HAS_TRANSFORMERS = find_spec("transformers") is not None
USABLE = [n for n in parts.names(MODELS) if n != "hf_seq2seq" or HAS_TRANSFORMERS]
ONE2SEQ = [n for n in USABLE if parts.module(MODELS, n).build.paradigm == "one2seq"]


def rules(max_length: int = 8) -> DecodingRules:
    return DecodingRules(Options(max_length=max_length), "one2seq", SPECIAL)


@pytest.fixture(params=ONE2SEQ)
def case(request: pytest.FixtureRequest) -> Case:
    module = parts.module(MODELS, request.param)
    return Case(request.param, module, vocabulary_for(request.param), Targets("one2seq"))


def samples(model: Any, case: Case, each: int = 2) -> Samples:
    made = case.batch(*DOCUMENTS, targets=False)
    return sample(model, made, rules(), uniform(1, made.documents, each, 8))


def test_in_evaluation_mode_they_are_those_of_the_score(case: Case) -> None:
    """Up to the tokens that are never generated, whose probability is distributed."""
    model = case.build().eval()
    with torch.inference_mode():
        found = samples(model, case, each=1)
        targets = case.batch(*DOCUMENTS)
        longest = max(len(sequence.tokens) for sequence in found.sequences)
        rows = [s.tokens + [0] * (longest - len(s.tokens)) for s in found.sequences]
        mask = torch.tensor([[token != 0 for token in row] for row in rows])
        scores = model.score(replace(targets, target=torch.tensor(rows), target_mask=mask))
    assert found.log_probs.shape == scores.shape
    assert (found.log_probs[~mask] == 0).all()
    difference = (found.log_probs - scores)[mask]
    assert (difference > 0).all()  # an untrained model gives never generated tokens some mass
    assert (difference < 0.5).all()


def test_in_training_mode_they_have_the_dropout_of_the_sampling(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = case.build(dropout=0.5).train()
    recorded = []
    step = model.step

    def recording(*arguments: Any) -> Any:
        result = step(*arguments)
        recorded.append(result.log_probs.detach().clone())
        return result

    monkeypatch.setattr(model, "step", recording)
    torch.manual_seed(3)
    found = samples(model, case)
    alive = list(range(len(found.sequences)))
    for t, log_probs in enumerate(recorded):
        allowed = log_probs.index_fill(1, torch.tensor([0, 1, 6]), -torch.inf).log_softmax(1)
        for row, sequence in zip(allowed, alive, strict=True):
            token = found.sequences[sequence].tokens[t]
            assert found.log_probs[sequence, t].item() == pytest.approx(row[token].item(), abs=1e-5)
        alive = [s for s in alive if len(found.sequences[s].tokens) > t + 1]
    assert not alive


def test_the_gradient_reaches_encoder_and_decoder(case: Case) -> None:
    model = case.build().train()
    if model.generated == "absent":
        pytest.skip("its tagging head has a part in the likelihood alone; it cannot be reinforced")
    samples(model, case, each=32).log_probs.sum().backward()  # some have several phrases
    missing = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # CatSeqD and SemiMulti train these with losses of their own.
    detached = ("target_encoder", "bilinear", "titles")
    assert [name for name in missing if not name.startswith(detached)] == []
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_tokens_are_drawn_as_often_as_their_probability_says() -> None:
    table = fixed({(): {A: 0.4, B: 0.2, C: 0.15, SEP: 0.05, 0: 0.2}})  # 0 is never generated
    made = batch("x")
    found = sample(FakeGenerator(table), made, rules(), uniform(5, made.documents, 4000, 8))
    counts = Counter(sequence.tokens[0] for sequence in found.sequences)
    # 4 standard deviations of a share among 4,000 draws are at most 0.032.
    expected = {A: 0.5, B: 0.25, C: 0.1875, SEP: 0.0625}
    assert {t: n / 4000 for t, n in counts.items()} == pytest.approx(expected, abs=0.032)
    firsts = {s.tokens[0]: p for s, p in zip(found.sequences, found.log_probs[:, 0], strict=True)}
    assert {t: p.exp().item() for t, p in firsts.items()} == pytest.approx(expected)


def test_the_samples_of_a_document_are_next_to_each_other_and_independent() -> None:
    table = fixed({(): {A: 0.5, B: 0.5}})
    made = batch("x", "y")
    found = sample(FakeGenerator(table), made, rules(), uniform(5, made.documents, 500, 8))
    first = [sequence.tokens[0] for sequence in found.sequences]
    assert first[:500] != first[500:]
    pairs = Counter(pairwise(first))
    assert pairs[A, A] / 999 == pytest.approx(0.25, abs=0.06)
    assert all(sequence.tokens[1:] == [EOS] for sequence in found.sequences)
