"""The decoding rules applied to arrays of numpy, for models run by ONNX Runtime."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keywright.data.padding import Ids
from keywright.decoding.rules import DecodingRules

LogProbs = NDArray[np.float32]


def forbid(rules: DecodingRules, log_probs: LogProbs, tokens: Ids) -> None:
    """Set to -inf in `log_probs` [R, V + X] what must not follow `tokens` [R, t]."""
    found = rules.forbidden(tokens)
    end = log_probs[:, rules.special.eos].copy()
    if found.must_close is not None:
        closing = log_probs[np.ix_(found.must_close, rules.delimiters)]
        log_probs[found.must_close] = -np.inf
        log_probs[np.ix_(found.must_close, rules.delimiters)] = closing
    log_probs[:, found.everywhere] = -np.inf
    log_probs[found.rows, found.tokens] = -np.inf
    stuck = log_probs.max(axis=1) == -np.inf
    log_probs[stuck, rules.special.eos] = end[stuck]
