"""How fast models train: documents a second, use of the machine, peak memory.

    python bench/train.py [MODEL ...] [--small] [--batch 32]

A row per model with the sizes and the batch of its file in configs/ (of the -small twin with
--small). An update is all of it: the loss, its gradient, clipping, the optimiser's step. Documents
are made up: 170 words and 5 keyphrases each.

Each row is a process of its own with one thread. Utilisation is the share of the speed of a large
matrix product, measured in the same process, that the model's own matrix products reach. Seconds
are CPU seconds, so that a busy machine disturbs the numbers less.
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
from pathlib import Path
from time import process_time
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import corpus
from bench.decode import config_file, machine_peak, vocabulary_of
from keywright import config as configs
from keywright import parts
from keywright.data.batch import Batch, Batches
from keywright.data.targets import Targets
from keywright.training import optimiser as optimisers
from keywright.training.run import build_model, paradigm

UPDATES = 3
ROUNDS = 3


def main() -> None:
    arguments = parse()
    if arguments.row:
        print(json.dumps(measure(arguments)))
        return
    table = Table(title="training, one thread")
    for heading in ("model", "batch", "documents/s", "tokens/s", "utilisation", "peak memory"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    console = Console()
    for model in arguments.models or parts.names("keywright.models"):
        if not config_file(model, arguments.small).exists():
            console.print(f"{model}: has no config", highlight=False)
            continue
        row = in_process_of_its_own(model)
        table.add_row(
            model,
            str(row["batch"]),
            f"{row['documents'] / row['seconds']:.1f}",
            f"{row['tokens'] / row['seconds']:,.0f}",
            f"{row['flops'] / row['seconds'] / row['peak']:.0%}",
            f"{row['memory'] / 2**20:,.0f} MB",
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--batch", type=int, help="documents; the config's by default")
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
    config = configs.load(config_file(arguments.models[0], arguments.small))
    stage = config.train.stage[0]
    size = arguments.batch or stage.batch_size
    documents = [corpus.document_of(lines) for lines in corpus.generated(UPDATES * size)]
    vocabulary = vocabulary_of(config, documents)
    targets = Targets(paradigm(config), config.data.order, mark_absent=config.data.mark_absent)
    batches = list(
        Batches(documents, vocabulary, targets, size=size, max_source=config.data.max_source).epoch(
            0
        )
    )
    torch.manual_seed(1)
    model: Any = build_model(config, vocabulary).train()
    optimiser = optimisers.build(model, stage, "train.stage[0]")
    with FlopCounterMode(display=False) as counter:
        train(model, optimiser, batches, stage.clip)
    return {
        "batch": size,
        "documents": len(documents),
        "tokens": sum(int(batch.targets[1].sum()) for batch in batches),
        "seconds": min(train(model, optimiser, batches, stage.clip) for _ in range(ROUNDS)),
        "flops": counter.get_total_flops(),
        "peak": machine_peak(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def train(
    model: Any, optimiser: torch.optim.Optimizer, batches: Sequence[Batch], clip: float
) -> float:
    began = process_time()
    for batch in batches:
        loss = model.loss(batch)
        optimiser.zero_grad()
        (loss.total / loss.count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
    return process_time() - began


if __name__ == "__main__":
    main()
