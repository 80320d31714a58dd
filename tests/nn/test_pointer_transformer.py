from __future__ import annotations

from typing import Any

import pytest
import torch

from keywright.data.targets import Targets
from keywright.models import transformer_one2set
from tests.models.conftest import DOCUMENTS, Case, vocabulary


@pytest.fixture
def model() -> Any:
    case = Case("transformer_one2set", transformer_one2set, vocabulary(), Targets("one2set"))
    return case.build(slots=4).eval()


@pytest.fixture
def batch() -> Any:
    case = Case("transformer_one2set", transformer_one2set, vocabulary(), Targets("one2set"))
    return case.batch(*DOCUMENTS, DOCUMENTS[0], DOCUMENTS[1], targets=False)


@pytest.mark.parametrize(
    "index",
    [
        list(range(16)),  # all
        [0, 1, 2, 3, 12, 13, 14, 15],  # whole documents
        [5],  # one document is left
        [15, 2, 2, 9, 4],  # some rows of all documents, in any order
    ],
    ids=str,
)
def test_selected_rows_continue_as_they_would_among_all_rows(
    model: Any, batch: Any, index: list[int]
) -> None:
    chosen = torch.tensor(index)
    with torch.inference_mode():
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        step = model.step(tokens, state, memory)
        tokens = torch.arange(7, 7 + len(tokens))
        everything = model.step(tokens, step.state, memory).log_probs
        ours, cache = memory.select(chosen), step.state.select(chosen)
        some = model.step(tokens[chosen], cache, ours)
        again = ours.select(torch.tensor([0, 0]))  # selections can be selected from
        twice = model.step(tokens[chosen][[0, 0]], cache.select(torch.tensor([0, 0])), again)
    assert torch.allclose(some.log_probs, everything[chosen], atol=1e-5)
    assert torch.allclose(twice.log_probs, everything[chosen][[0, 0]], atol=1e-5)


def test_documents_without_rows_are_removed_from_memory(model: Any, batch: Any) -> None:
    memory = model.encode(batch)
    assert len(memory.select(torch.tensor([0, 4, 8])).mask) == 4  # most are read: no copy
    assert len(memory.select(torch.tensor([0, 1, 15])).mask) == 2
