"""How fast models train: documents per second, utilisation of the CPU, peak memory.

    python bench/train.py [MODEL ...] [--small] [--batch 32] [--objective self_critical]
    python bench/train.py hf_seq2seq --small --weights FOLDER

There is one row per model, with the sizes and the batch size of its file in configs/ (of the -small
twin with --small). An update includes everything: loss, gradient, clipping and the step of the
optimiser. Documents are made up: 170 words and 5 keyphrases each. hf_seq2seq needs --weights, the
folder of a pretrained model.

"cost" is the time of an update relative to a likelihood update of the same batches. Before another
objective is measured, the model learns its documents by likelihood, so that the sequences that it
generates have a usual length.

Each row is measured in a separate process with one thread. Utilisation is the speed of the model's
matrix products relative to that of a large matrix product in the same process. Seconds are CPU
seconds, which depend less on other load than wall-clock time.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before torch is imported

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import corpus
from bench.decode import (
    PRETRAINED,
    config_file,
    index_of,
    machine_peak,
    pretrained,
    vocabulary_of,
)
from keywright import config as configs
from keywright import parts
from keywright.config import Config, Part
from keywright.data.batch import Batch, Batches
from keywright.data.retrieval import Index
from keywright.data.targets import Targets
from keywright.lexicon import Lexicon
from keywright.nn.model import Model
from keywright.runs import build_model, model_class
from keywright.training import optimiser as optimisers
from keywright.training.objective import Objective, Position
from keywright.training.setup import build_objective

UPDATES = 3
ROUNDS = 3
WARM_UP = 25  # rounds of likelihood before another objective
LIKELIHOOD = "nll"


def main() -> None:
    arguments = parse()
    if arguments.row:
        print(json.dumps(measure(arguments)))
        return
    table = Table(title="training, one thread")
    headings = ("model", "batch", "documents/s", "tokens/s", "utilisation", "peak memory", "cost")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "model" else "right")
    console = Console()
    for model in arguments.models or parts.names("keywright.models"):
        if not config_file(model, arguments.small).exists():
            console.print(f"{model}: has no config", highlight=False)
            continue
        if model == PRETRAINED and arguments.weights is None:
            console.print(f"{model}: needs --weights", highlight=False)
            continue
        row = in_process_of_its_own(model)
        table.add_row(
            model,
            str(row["batch"]),
            f"{row['documents'] / row['seconds']:.1f}",
            f"{row['tokens'] / row['seconds']:,.0f}",
            f"{row['flops'] / row['seconds'] / row['peak']:.0%}",
            f"{row['memory'] / 2**20:,.0f} MB",
            f"{row['seconds'] / row['likelihood']:.1f}",
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--batch", type=int, help="documents; default: those of the config")
    parser.add_argument("--objective", default=LIKELIHOOD)
    parser.add_argument("--weights", metavar="FOLDER")
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def in_process_of_its_own(model: str) -> dict[str, Any]:
    options = [word for word in sys.argv[1:] if word not in parts.names("keywright.models")]
    command = [sys.executable, __file__, model, *options, "--row"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds, matrix operations and memory of some updates of one model."""
    torch.set_flush_denormal(True)
    [name] = arguments.models
    overrides = list(pretrained(name, arguments.weights))
    if arguments.objective != LIKELIHOOD:
        overrides.append("data.mark_absent=true")  # present and absent phrases have own rewards
    config = configs.load(config_file(name, arguments.small), overrides)
    size = arguments.batch or config.train.stage[0].batch_size
    documents = [corpus.document_of(lines) for lines in corpus.generated(UPDATES * size)]
    vocabulary = vocabulary_of(config, documents)
    kind = model_class(config)
    targets = Targets(
        kind.paradigm,
        config.data.order,
        mark_absent=config.data.mark_absent,
        generated=kind.generated,
    )
    length = config.data.max_source
    batches = list(Batches(documents, vocabulary, targets, size=size, max_source=length).epoch(0))
    trainer = Trainer(config, vocabulary, targets, index_of(config, documents))
    likelihood = trainer.objective(LIKELIHOOD)
    objective = trainer.objective(arguments.objective)
    for _ in range(WARM_UP if arguments.objective != LIKELIHOOD else 0):
        trainer.train(likelihood, batches)
    with FlopCounterMode(display=False) as counter:
        trainer.train(objective, batches)
    return {
        "batch": size,
        "documents": len(documents),
        "tokens": sum(int(batch.targets[1].sum()) for batch in batches),
        "seconds": min(trainer.train(objective, batches) for _ in range(ROUNDS)),
        "likelihood": min(trainer.train(likelihood, batches) for _ in range(ROUNDS)),
        "flops": counter.get_total_flops(),
        "peak": machine_peak(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


class Trainer:
    """A model, and updates of it by any objective."""

    def __init__(self, config: Config, vocabulary: Lexicon, targets: Targets, index: Index | None):
        torch.manual_seed(1)
        self._config = config
        self._vocabulary = vocabulary
        self._targets = targets
        self._model: Model = build_model(config, vocabulary, index).train()
        self._stage = config.train.stage[0]
        self._optimiser = optimisers.build(self._model, self._stage, "train.stage[0]")
        self._updates = count()

    def objective(self, name: str) -> Objective:
        stage = replace(self._stage, objective=Part(name))
        config = replace(self._config, train=replace(self._config.train, stage=(stage,)))
        return build_objective(config, 0, self._vocabulary, self._targets)

    def train(self, objective: Objective, batches: Sequence[Batch]) -> float:
        """One update for each batch; returns the seconds that they take."""
        began = process_time()
        for batch in batches:
            loss = objective.loss(self._model, batch, Position(0, next(self._updates)))
            self._optimiser.zero_grad()
            loss.mean.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._stage.clip)
            self._optimiser.step()
        return process_time() - began


if __name__ == "__main__":
    main()
