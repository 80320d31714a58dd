"""Decoders with every model: repeated, reordered and dropped rows keep their state."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from keywright.config import Part
from keywright.decoding.decoder import Decoder
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies import beam, exhaustive, expected_f1, greedy, sample
from keywright.decoding.strategies._rows import Hypothesis
from tests.models.conftest import DOCUMENTS, Case

STRATEGIES = [
    (greedy, {}),
    (sample, {"temperature": 1.5}),
    (beam, {"width": 3}),
    (exhaustive, {"width": 4, "unique_tokens": True}),
    (expected_f1, {"samples": 3}),
]


@torch.inference_mode()
def followed(model: Any, case: Case, place: int, hypothesis: Hypothesis) -> list[float]:
    """The log-probabilities of a sequence that is generated alone, without a search."""
    document, row = divmod(place, model.rows_per_document)
    memory = model.encode(case.batch(DOCUMENTS[document], targets=False))
    tokens, state = model.start(memory)
    log_probs = []
    for token in hypothesis.tokens:
        step = model.step(tokens, state, memory)
        log_probs.append(step.log_probs[row, token].item())
        tokens, state = torch.full_like(tokens, token), step.state
    return log_probs


@pytest.mark.parametrize(
    ("strategy", "options"), STRATEGIES, ids=[s.__name__.rpartition(".")[2] for s, _ in STRATEGIES]
)
def test_a_sequence_has_the_same_probability_in_a_search_and_alone(case, strategy, options):
    paradigm = case.module.build.paradigm
    if strategy is expected_f1 and paradigm == "one2one":
        pytest.skip("One2One models are refused, see tests/decoding/test_agreement.py")
    model = case.build().eval()
    config = strategy.Config(max_length=6, **options)
    with torch.inference_mode():
        found = strategy.search(
            config,
            model,
            case.batch(*DOCUMENTS, targets=False),
            DecodingRules(config, paradigm, case.vocabulary.special),
        )
    for place in range(0, len(found), max(1, len(found) // 6)):
        for hypothesis in found[place]:
            expected = followed(model, case, place, hypothesis)
            assert hypothesis.log_probs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["greedy", "beam", "exhaustive"])
def test_a_document_has_the_same_prediction_alone_and_in_a_batch(case, name):
    model = case.build(seed=2).eval()
    settings = {"max_length": 6, "max_phrases": 5} | ({} if name == "greedy" else {"width": 3})
    decoder = Decoder(Part(name, settings), case.vocabulary, case.module.build.paradigm)
    together = decoder(model, case.batch(*DOCUMENTS, targets=False))
    for document, prediction in zip(DOCUMENTS, together, strict=True):
        [alone] = decoder(model, case.batch(document, targets=False))
        assert alone.texts == prediction.texts
        for ours, theirs in zip(alone.phrases, prediction.phrases, strict=True):
            assert ours.token_log_probs == pytest.approx(theirs.token_log_probs, abs=1e-4)
