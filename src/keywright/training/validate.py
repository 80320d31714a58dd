"""How good the weights are now: the loss of held-out documents, and scores of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch

from keywright import protocols
from keywright.config import Config, Part
from keywright.data.batch import Batches, make_batch
from keywright.data.targets import Paradigm
from keywright.decoding.decoder import Decoder
from keywright.errors import ConfigError, KeywrightError
from keywright.evaluate import evaluate, resolve
from keywright.lexicon import Lexicon
from keywright.nn.model import Model
from keywright.training.objective import Objective
from keywright.training.processes import Processes
from keywright.types import Document, Prediction

LOSS = "loss"


def check(config: Config, paradigm: Paradigm) -> None:
    """Check, before training starts, that `select` of every stage can be computed."""
    for number, stage in enumerate(config.train.stage):
        path = f"train.stage[{number}].select"
        if stage.select == LOSS:
            continue
        if paradigm == "one2one":
            raise ConfigError(
                f"{path}: greedy decoding gives a one2one model a single phrase, so "
                f"{stage.select} would mean little; select by 'loss'"
            )
        try:
            resolve([stage.select], protocols.load(config.evaluate.protocol))
        except KeywrightError as error:
            raise ConfigError(f"{path}: {error}; or 'loss'") from None


@torch.no_grad()
def loss(model: Model, objective: Objective, batches: Batches, processes: Processes) -> float:
    """The validation loss; each process computes its share of the batches."""
    total = divisor = 0.0
    for indices in batches.plan(0)[processes.rank :: processes.count]:
        batch = batches.build(0, indices).to(processes.device)
        found = objective.validation_loss(model, batch)
        total += float(found.total)
        divisor += float(found.divisor)
    total, divisor = processes.sum([total, divisor])
    return total / divisor


@dataclass(frozen=True)
class Judge:
    """How predictions are made and scored."""

    metric: str  # such as `all.F1@O`
    protocol: str
    vocabulary: Lexicon
    paradigm: Paradigm
    max_source: int


def score(model: Model, documents: Sequence[Document], judge: Judge, batch_size: int) -> float:
    """The metric of the model's predictions with greedy decoding."""
    decoder = Decoder(Part("greedy"), judge.vocabulary, judge.paradigm)
    predict = model.predictor(judge.vocabulary, partial(decoder, model))
    device = next(model.parameters()).device
    predictions: list[Prediction] = []
    for start in range(0, len(documents), batch_size):
        some = documents[start : start + batch_size]
        batch = make_batch(some, judge.vocabulary, judge.max_source)
        predictions += predict(batch.to(device))
    found = evaluate(
        documents, predictions, protocol=judge.protocol, metrics=[judge.metric], match="line"
    )
    return found[judge.metric]
