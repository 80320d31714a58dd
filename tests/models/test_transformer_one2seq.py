from __future__ import annotations

import pytest
import torch

from keywright.data.targets import Targets
from keywright.models import transformer_one2seq
from tests.models.conftest import DOCUMENTS, Case, vocabulary


def test_log_probabilities_of_targets_stand_where_the_targets_do() -> None:
    case = Case("transformer_one2seq", transformer_one2seq, vocabulary(), Targets("one2seq"))
    model = case.build().eval()
    batch = case.batch(*DOCUMENTS)
    _, mask = batch.targets
    with torch.inference_mode():
        log_probs = model.target_log_probs(batch)
        loss = model.loss(batch)
        alone = model.target_log_probs(case.batch(DOCUMENTS[0]))
    assert float(-log_probs.sum()) == pytest.approx(float(loss.total), rel=1e-6)
    assert (log_probs[~mask] == 0).all()
    assert torch.allclose(log_probs[0, : alone.shape[1]], alone[0], atol=1e-5)


def test_a_width_that_heads_cannot_share_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 7 heads"):
        transformer_one2seq.Config(heads=7)
