"""Decoder states after a delimiter, for a layout as in figure 2 of Yuan et al. (2020).

The model decodes greedily. A state is counted from the delimiter that the decoder has read last:
step 1 is the state from which the first token of the next phrase is predicted. States of a first
phrase follow no delimiter and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keywright import runs
from keywright.analysis.states import STEPS
from keywright.config import Part
from keywright.data.batch import Batch, make_batch
from keywright.decoding.batched import MAX_DOCUMENTS
from keywright.decoding.decoder import Decoder
from keywright.errors import DataError
from keywright.files import atomic_write
from keywright.nn.generator import Step
from keywright.nn.model import Model
from keywright.runs import Run
from keywright.types import Document

States = tuple[NDArray[np.float32], NDArray[np.int64]]
"""States [n, width], and how many steps after a delimiter they are [n]."""


@dataclass(frozen=True)
class _Counted:
    """The state of a model, and the steps since the last delimiter [R] (0: there was none)."""

    state: Any
    since: Tensor

    def select(self, index: Tensor) -> Self:
        return type(self)(self.state.select(index), self.since[index])


class _Recorder:
    """A model as decoders see it, which keeps the states that follow a delimiter."""

    rows_per_document = 1

    def __init__(self, model: Model, delimiters: Tensor):
        self._model = model
        self._delimiters = delimiters
        self.states: list[Tensor] = []
        self.steps: list[Tensor] = []

    def encode(self, batch: Batch) -> Any:
        return self._model.encode(batch)

    def start(self, memory: Any) -> tuple[Tensor, _Counted]:
        tokens, state = self._model.start(memory)
        return tokens, _Counted(state, torch.zeros_like(tokens))

    def step(self, tokens: Tensor, state: _Counted, memory: Any) -> Step[Any]:
        later = torch.where(state.since > 0, state.since + 1, 0)
        since = torch.where(torch.isin(tokens, self._delimiters), 1, later)
        made = self._model.step(tokens, state.state, memory)
        kept = (since >= STEPS[0]) & (since <= STEPS[-1])
        self.states.append(made.state.hidden[kept])
        self.steps.append(since[kept])
        return Step(made.log_probs, _Counted(made.state, since), made.attention)


def collect(run: Run, documents: Iterable[Document]) -> States:
    """The states that follow delimiters while the model of a run decodes documents."""
    if not (run.model.recurrent and run.model.paradigm == "one2seq"):
        raise DataError(
            "has no recurrent decoder that writes phrases one after another, so it has no states "
            "at delimiters; use a run of cat_seq or cat_seq_d, for example",
            run.folder,
        )
    length = run.config.decode.settings.get("max_length")
    strategy = Part("greedy", {} if length is None else {"max_length": length})
    decode = Decoder(strategy, run.vocabulary, "one2seq")
    recorder = _Recorder(run.model, torch.tensor(run.vocabulary.special.delimiters))
    remaining = iter(documents)
    while batch := list(islice(remaining, MAX_DOCUMENTS)):
        decode(recorder, make_batch(batch, run.vocabulary, runs.source_length(run.config)))
    if not recorder.states:
        raise DataError("there are no documents to decode")
    return torch.cat(recorder.states).numpy(), torch.cat(recorder.steps).numpy()


def save(found: States, path: Path) -> None:
    """Write states for `analysis.states.read_states`."""
    states, steps = found
    with atomic_write(path, "wb") as file:
        np.savez(cast(IO[bytes], file), states=states, steps=steps)
