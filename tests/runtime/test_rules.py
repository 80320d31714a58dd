"""The rules of the runtime are those of torch's decoders."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from keywright.data.vocab import EOS, NULL, SEP
from keywright.decoding._rules import Rules as TorchRules
from keywright.runtime.options import Options
from keywright.runtime.rules import Rules

OPTIONS = (
    {},
    {"unique_tokens": True},
    {"unique_starts": True},
    {"unique_starts": True, "starts_window": 2, "unique_tokens": True},
    {"max_phrase": 2},
    {"max_phrases": 2},
    {"max_phrase": 1, "unique_tokens": True, "unique_starts": True},
)


def _same(options: dict[str, object], paradigm: str, length: int) -> None:
    rng = np.random.default_rng(length)
    log_probs = np.log(rng.dirichlet(np.ones(14), 50)).astype(np.float32)
    tokens = rng.choice([SEP, SEP, 7, 8, 9, 10, 11, 12], (50, length))
    expected = TorchRules(Options(**options), paradigm).allowed(
        torch.from_numpy(log_probs), torch.from_numpy(tokens)
    )
    rules = Rules(Options(**options), paradigm)
    rules.forbid(log_probs, tokens)
    assert np.array_equal(log_probs, expected.numpy())
    assert rules.ended(np.array([EOS, NULL, SEP])).tolist() == [True, paradigm == "one2set", False]


@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("paradigm", ["one2seq", "one2set"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_forbid_what_torch_forbids(options, paradigm, length):
    _same(options, paradigm, length)


@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_put_off_the_end_as_torch_does(length):
    _same({"min_phrases": 3}, "one2seq", length)
