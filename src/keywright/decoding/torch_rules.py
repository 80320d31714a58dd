"""The decoding rules applied to tensors of torch."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from keywright.decoding.rules import DecodingRules


def ended(rules: DecodingRules, tokens: Tensor) -> Tensor:
    """Which tokens end their sequence."""
    return torch.isin(tokens, torch.from_numpy(rules.ends).to(tokens.device))


def allowed(rules: DecodingRules, log_probs: Tensor, tokens: Tensor) -> Tensor:
    """`log_probs` [R, V + X] with -inf for what must not follow `tokens` [R, t].

    Other tokens keep the model's own log-probabilities: a rule decides what is generated, not how
    likely the model considers it.
    """
    found = rules.forbidden(tokens.cpu().numpy())
    device = log_probs.device
    masked = log_probs.index_fill(1, torch.from_numpy(found.everywhere).to(device), -math.inf)
    if found.must_close is not None:
        rows = torch.from_numpy(found.must_close).to(device)
        delimiters = torch.from_numpy(rules.delimiters).to(device)
        closing = masked[:, delimiters]
        masked.masked_fill_(rows[:, None], -math.inf)
        masked[:, delimiters] = closing
    if len(found.rows):
        pairs = (torch.from_numpy(found.rows).to(device), torch.from_numpy(found.tokens).to(device))
        masked[pairs] = -math.inf
    eos = rules.special.eos
    stuck = masked.amax(1) == -math.inf
    masked[:, eos] = torch.where(stuck, log_probs[:, eos], masked[:, eos])
    return masked
