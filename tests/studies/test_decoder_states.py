"""States are counted from the delimiter that the decoder has read last."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import torch

from keywright.analysis.states import project, read_states
from keywright.nn.generator import Step
from keywright.nn.model import Model
from keywright.nn.rows import TensorRows
from keywright.report.comparisons import state_clouds
from keywright.studies.decoder_states import _Recorder, save

WORD, SEP = 7, 4


@dataclass(frozen=True)
class State(TensorRows):
    hidden: Any  # [R, 1]


class Counting:
    """A model whose state is the number of tokens that it has read."""

    def start(self, memory: object) -> tuple[Any, State]:
        return torch.tensor([1, 1]), State(torch.zeros(2, 1))

    def step(self, tokens: Any, state: State, memory: object) -> Step[State]:
        return Step(torch.zeros(len(tokens), 9), State(state.hidden + 1))


def test_states_are_counted_from_the_last_delimiter() -> None:
    recorder = _Recorder(cast(Model, Counting()), torch.tensor([SEP]))
    tokens, state = recorder.start(None)
    # The second row ends after its first phrase and is removed.
    for first, second in ((WORD, WORD), (SEP, WORD)):
        state = recorder.step(tokens, state, None).state
        tokens = torch.tensor([first, second])
    state, tokens = state.select(torch.tensor([0])), tokens[:1]
    for token in (WORD, WORD, WORD, WORD, SEP):
        state = recorder.step(tokens, state, None).state
        tokens = torch.tensor([token])
    # It has read the delimiter as its third token; four steps later is too late, until the next.
    assert torch.cat(recorder.steps).tolist() == [1, 2, 3]
    assert torch.cat(recorder.states).flatten().tolist() == [3, 4, 5]
    recorder.step(tokens, state, None)
    assert torch.cat(recorder.steps).tolist() == [1, 2, 3, 1]


def test_saved_states_are_drawn(tmp_path: Path) -> None:
    states = np.random.default_rng(1).normal(size=(24, 5)).astype(np.float32)
    steps = np.repeat([1, 2, 3], 8)
    save((states, steps), tmp_path / "states.npz")
    found = project(*read_states(tmp_path / "states.npz"))
    figure = state_clouds("layout", "Decoder states", found)
    assert figure.svg.count("<circle") == 24
    assert [row[1].text for row in figure.table.rows] == ["8", "8", "8"]
    again = state_clouds("layout", "Decoder states", project(*read_states(tmp_path / "states.npz")))
    assert again == figure
    assert "Too few states" in state_clouds("layout", "Decoder states", []).description
