"""How good the weights are now: loss on held-out documents, and scores of greedy predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from keywright import protocols
from keywright.config import Config, Part
from keywright.data.batch import Batches, make_batch
from keywright.data.targets import Paradigm
from keywright.data.vocab import Lexicon
from keywright.decoding import Decoder
from keywright.errors import ConfigError, KeywrightError
from keywright.evaluate import evaluate, resolve
from keywright.nn.loss import Loss
from keywright.training.processes import Processes
from keywright.types import Document, Prediction

LOSS = "loss"
Objective = Callable[[Any, Any], Loss]


def check(config: Config, paradigm: str) -> None:
    """Whether what the stages select by can be computed, said before the work and not after it."""
    for number, stage in enumerate(config.train.stage):
        path = f"train.stage[{number}].select"
        if stage.select == LOSS:
            continue
        if paradigm == "one2one":
            raise ConfigError(
                f"{path}: greedy decoding gives a one2one model a single phrase, so "
                f"{stage.select} would say little; select by 'loss'"
            )
        try:
            resolve([stage.select], protocols.load(config.evaluate.protocol))
        except KeywrightError as error:
            raise ConfigError(f"{path}: {error}; or 'loss'") from None


@torch.no_grad()
def loss(model: Any, objective: Objective, batches: Batches, processes: Processes) -> float:
    """The mean loss of a target token, each process taking its share of the batches."""
    total = count = 0.0
    for indices in batches.plan(0)[processes.rank :: processes.count]:
        part = objective(model, batches.build(0, indices).to(processes.device))
        total += float(part.total)
        count += float(part.count)
    total, count = processes.sum([total, count])
    return total / count


@dataclass(frozen=True)
class Judge:
    """What predictions are made with and scored by."""

    metric: str  # such as `all.F1@O`
    protocol: str
    vocabulary: Lexicon
    paradigm: Paradigm
    max_source: int


def score(model: Any, documents: Sequence[Document], judge: Judge, batch_size: int) -> float:
    """The metric of the model's greedy predictions."""
    decode = Decoder(Part("greedy"), judge.vocabulary, judge.paradigm)
    device = next(model.parameters()).device
    predictions: list[Prediction] = []
    for start in range(0, len(documents), batch_size):
        some = documents[start : start + batch_size]
        batch = make_batch(some, judge.vocabulary, judge.max_source)
        predictions += decode(model, batch.to(device))
    found = evaluate(
        documents, predictions, protocol=judge.protocol, metrics=[judge.metric], match="line"
    )
    return found[judge.metric]
