"""Tiny documents and models, and the least a decoder can be."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from keywright import parts
from keywright.data.batch import Batch, make_batch
from keywright.data.targets import Targets, split
from keywright.data.vocab import EOS, NULL, Lexicon, Vocabulary
from keywright.types import Document

MODELS = "keywright.models"

DOCUMENTS = (
    Document(
        title="Folding paper cranes with robots",
        body="We fold paper cranes with two robot arms. The zygofold planner bends paper slowly.",
        keyphrases=("robot arms", "zygofold planner", "machine origami"),
    ),
    Document(
        title="Slow rivers",
        body="Rivers that meander carry quartzsand to the sea, and the sea returns salt. "
        "We measure how much sand a meandering river carries in a year, and why.",
        keyphrases=("meandering river", "quartzsand", "sea salt", "erosion"),
    ),
)
UNKNOWN = ("zygofold", "quartzsand", "cranes", "salt")
"""Words left out of the vocabulary: they can only be copied."""

# Sizes that make a model quick to train; a model that is not listed is tested as it is.
TINY: dict[str, dict[str, Any]] = {
    name: {"embedding": 16, "encoder": 24, "decoder": 32, "dropout": 0.0}
    for name in ("copy_rnn", "cat_seq", "cat_seq_d", "cat_seq_corr", "cat_seq_tg")
}
# So few units cannot be as orthogonal as the paper's 150.
TINY["cat_seq_d"] |= {"target_encoder": 16, "orthogonal": 0.03}
TRANSFORMER = {"width": 32, "heads": 4, "inner": 64, "encoder_layers": 2, "dropout": 0.0}
TINY["transformer_one2seq"] = {**TRANSFORMER, "decoder_layers": 2}
TINY["pretrained_one2seq"] = {**TRANSFORMER, "positions": 64, "encoder_dropout": 0.0}
TINY["transformer_one2set"] = {**TINY["transformer_one2seq"], "slots": 8}
TINY["exhird"] = {"embedding": 16, "encoder": 16}
TINY["pretrained_one2set"] = {**TINY["pretrained_one2seq"], "slots": 8}

# Where the usual one is too high or too low.
LEARNING_RATES: dict[str, float] = {
    f"{encoder}_{paradigm}": 3e-3
    for encoder in ("transformer", "pretrained")
    for paradigm in ("one2seq", "one2set")
}


@dataclass(frozen=True)
class Case:
    """A model of a published kind, with what it takes to train it."""

    name: str
    module: ModuleType
    vocabulary: Lexicon
    targets: Targets

    def build(self, seed: int = 1, **settings: Any) -> Any:
        torch.manual_seed(seed)
        config = self.module.Config(**{**TINY.get(self.name, {}), **settings})
        model: nn.Module = self.module.build(config, self.vocabulary)
        return model

    @property
    def learning_rate(self) -> float:
        return LEARNING_RATES.get(self.name, 1e-2)

    def batch(self, *documents: Document, targets: bool = True) -> Batch:
        return make_batch(documents, self.vocabulary, None, self.targets if targets else None)


def vocabulary() -> Vocabulary:
    words = Vocabulary.build(DOCUMENTS, 1000).words[7:]
    return Vocabulary([word for word in words if word not in UNKNOWN])


@pytest.fixture(params=parts.names(MODELS))
def case(request: pytest.FixtureRequest) -> Case:
    module = parts.module(MODELS, request.param)
    # One2One has as many right answers as phrases, so greedy decoding can learn only one.
    most = 1 if module.PARADIGM == "one2one" else None
    return Case(request.param, module, vocabulary(), Targets(module.PARADIGM, max_phrases=most))


@torch.inference_mode()
def greedy(model: Any, batch: Batch, longest: int = 40) -> list[list[int]]:
    """The likeliest token at every step: one list of ids per row, its end mark included."""
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    rows: list[Tensor] = []
    done = torch.zeros(len(tokens), dtype=torch.bool)
    while not done.all() and len(rows) < longest:
        step = model.step(tokens, state, memory)
        tokens, state = step.log_probs.argmax(dim=-1), step.state
        rows.append(tokens.masked_fill(done, EOS))
        done |= (tokens == EOS) | (tokens == NULL)
    return torch.stack(rows, dim=1).tolist()


def phrases(model: Any, case: Case, batch: Batch) -> list[list[str]]:
    """The phrases that greedy decoding gives for every document."""
    rows = greedy(model, batch)
    per_document = model.rows_per_document
    return [
        [
            " ".join(case.vocabulary.decode(ids[start:end], extension))
            for ids in rows[i * per_document : (i + 1) * per_document]
            for start, end in split(ids)
        ]
        for i, extension in enumerate(batch.extension)
    ]
