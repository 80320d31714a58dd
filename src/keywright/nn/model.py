"""The contract of a model: what decoders, the training loop, export and predictors rely on.

A file of `keywright.models` exposes

- `Config`, a frozen dataclass with the settings of `[model]`;
- `build`, a subclass of `Model` that is called with a `Config` and a vocabulary.

Decoders use the four members of `Generator`; the training loop uses `loss`, `begin_update`,
`parameter_groups` and `initialise`; objectives may also use `score` and `step`; predictors use
`predictor`. All but `encode`, `start`, `step`, `loss` and `paradigm` have defaults.
`tests/models/test_every_model.py` checks the contract for every file of the folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Generic

import torch
from torch import Tensor, nn

from keywright.config import Data
from keywright.data.batch import Batch
from keywright.data.retrieval import Index
from keywright.data.targets import Generated, Paradigm
from keywright.lexicon import Lexicon
from keywright.nn.generator import Memory, State, Step
from keywright.nn.loss import Loss
from keywright.types import Prediction

BatchPredictor = Callable[[Batch], list[Prediction]]
"""The predictions of the documents of a batch, in their order."""


class Model(nn.Module, ABC, Generic[Memory, State]):
    """A keyphrase model; also a `Generator`.

    R is the number of rows, `rows_per_document` for each document. Log-probabilities are those of
    one distribution over the V + X ids of the output space; `step` and `score` agree on them in
    value and in gradient, whether a document is alone or in a batch.
    """

    paradigm: ClassVar[Paradigm]
    generated: ClassVar[Generated] = "all"
    """Which phrases the targets contain; a model finds others in another way (see `predictor`)."""
    unlabelled: ClassVar[bool] = False
    """Whether it also learns from documents without keyphrases; otherwise they are an error."""
    retrieves: ClassVar[bool] = False
    """Whether it reads the keyphrases of similar training documents, which it finds in `index`."""
    index: Index | None = None
    """The training documents of a model that `retrieves`; it is saved in the run folder."""
    recurrent: ClassVar[bool] = False
    """Whether `State` has `hidden` [R, D], the state of a recurrent decoder after each token."""
    graphs: str | None = None
    """The module of `keywright.export.graphs` that writes this model's ONNX graphs. None: the model
    cannot be exported. A subclass that computes something else must set it again."""
    rows_per_document: int = 1
    prefix: tuple[int, ...] = ()
    """The tokens that a decoder reads before the first generated one, if it does not simply start
    from `bos`; the last of them is what `start` returns."""

    @classmethod
    def complete(cls, settings: Any, data: Data) -> Any:
        """The model's `Config` with everything written out that is read from elsewhere.

        Called when a run starts, before documents are read: what this returns is saved with the
        run, so that the run can be loaded without the files that a model started from. A
        `ConfigError` says what does not fit.
        """
        return settings

    @abstractmethod
    def encode(self, batch: Batch) -> Memory:
        """See `Generator`."""

    @abstractmethod
    def start(self, memory: Memory) -> tuple[Tensor, State]:
        """See `Generator`."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State, memory: Memory) -> Step[State]:
        """See `Generator`."""

    @abstractmethod
    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The training loss of the model's paper, with label smoothing.

        In evaluation mode it involves no randomness, and it does not depend on how documents are
        divided into batches.
        """

    def score(self, batch: Batch) -> Tensor:
        """log p of every target token given those before it [R, T]; 0 at padding.

        The targets are one sequence for each document (One2Seq, R = B), any number of phrases
        (One2One, R = B * N) or one sequence for each slot (One2Set, R = B * slots), row-major.
        This implementation takes one step after the other; most models can do better.
        """
        target, mask = (x if x.dim() == 2 else x.flatten(0, 1) for x in batch.targets)
        memory = self.encode(batch)
        if self.paradigm == "one2one":
            documents = torch.arange(len(batch), device=target.device)
            memory = memory.select(documents.repeat_interleave(len(target) // len(batch)))
        tokens, state = self.start(memory)
        columns = []
        for t in range(target.shape[1]):
            step = self.step(tokens, state, memory)
            tokens, state = target[:, t], step.state
            columns.append(step.log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1))
        return torch.stack(columns, dim=1).where(mask, 0.0)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Groups that can have learning rates of their own (`learning_rates` of a stage).

        Parameters that are in no group form the group `rest`.
        """
        return {}

    def separate_parameters(self) -> list[nn.Parameter]:
        """The parameters that `Loss.separate` trains, if the model's loss has it."""
        return []

    def trained_groups(self) -> Collection[str] | None:
        """The parameter groups that are trained unless `learning_rates` says more; None: all."""
        return None

    def initialise(self) -> None:
        """Load pretrained weights. Called once, when a new run starts; not for loaded models."""

    def fold(self) -> None:
        """Add what was trained beside the weights to them, before the model is exported."""

    def begin_update(self, progress: float) -> None:
        """Called before every update with the share of the stage's updates that are done.

        For losses whose weights change in the course of training.
        """

    def predictor(self, vocabulary: Lexicon, decode: BatchPredictor) -> BatchPredictor:
        """How this model predicts, in evaluation mode. `decode` generates sequences with a strategy
        and its rules; a model may add to its phrases (those of a tagging head, for example).
        """
        return decode


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode (no dropout), and in its former mode afterwards."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)
