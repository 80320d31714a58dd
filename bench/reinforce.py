"""What an update of reinforcement costs, compared with one of likelihood for the same batch.

    python -m bench.reinforce RUN --documents FILE [--reward f1] [--batch 32]
    python -m bench.reinforce RUN --documents FILE --reward fb --scorer runs/fb_scorer

RUN is a trained One2Seq run: an untrained policy would sample sequences of the greatest length. The
table has the CPU seconds of an update by its phases, with one thread.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before torch is imported

import argparse
from collections.abc import Callable
from itertools import islice
from time import process_time
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from keywright import runs
from keywright.config import Part, Stage
from keywright.data.batch import Batch, Batches
from keywright.data.corpus import read
from keywright.data.targets import Targets
from keywright.nn.loss import Loss
from keywright.reward import build
from keywright.training import optimiser as optimisers
from keywright.training.objective import Context, Position
from keywright.training.objectives.self_critical import Config, SelfCritical

UPDATES = 4
PHASES = {
    "sample": "sampling",
    "decode": "baseline",
    "episodes": "rewarding",
    "pay": "rewarding",
}


def main() -> None:
    arguments = parse()
    torch.set_num_threads(1)
    run = runs.load(arguments.run)
    settings = {"scorer": arguments.scorer} if arguments.scorer else {}
    objective = make_objective(run, Part(arguments.reward, settings))
    batches = make_batches(run, arguments)
    stage = Stage(updates=1, learning_rate=1e-9)
    optimiser = optimisers.build(run.model.train(), stage, "stage")
    spent: dict[str, float] = {}
    for method, phase in PHASES.items():
        setattr(objective, method, timed(getattr(objective, method), phase, spent))

    def update(loss: Callable[[Batch], Loss]) -> float:
        began = process_time()
        for batch in batches:
            optimiser.zero_grad()
            loss(batch).mean.backward()
            torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
            optimiser.step()
        return (process_time() - began) / len(batches)

    update(run.model.loss)
    likelihood = update(run.model.loss)
    update(lambda batch: objective.loss(run.model, batch, Position(0, 0)))
    spent.clear()
    reinforced = update(lambda batch: objective.loss(run.model, batch, Position(0, 1)))
    show(likelihood, reinforced, {phase: s / len(batches) for phase, s in spent.items()}, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run")
    parser.add_argument("--documents", required=True)
    parser.add_argument("--reward", default="f1")
    parser.add_argument("--scorer", help="the run of a scorer, for the reward fb")
    parser.add_argument("--batch", type=int, default=32)
    return parser.parse_args()


def make_objective(run: runs.Run, reward: Part) -> SelfCritical:
    targets = Targets("one2seq", mark_absent=run.config.data.mark_absent)
    context = Context(
        vocabulary=run.vocabulary,
        targets=targets,
        protocol_name="chan19",
        seed=1,
        max_source=run.config.data.max_source,
        path="objective",
    )
    config = Config(parts="separate" if targets.mark_absent else "together")
    return SelfCritical(config, context, build(reward, context, "reward"))


def make_batches(run: runs.Run, arguments: argparse.Namespace) -> list[Batch]:
    documents = read([arguments.documents], UPDATES * arguments.batch).documents
    data = run.config.data
    targets = Targets("one2seq", data.order, mark_absent=data.mark_absent)
    batches = Batches(
        documents, run.vocabulary, targets, size=arguments.batch, max_source=data.max_source
    )
    return list(islice(batches.epoch(0), UPDATES))


def timed(method: Callable[..., Any], phase: str, spent: dict[str, float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        began = process_time()
        found = method(*arguments)
        spent[phase] = spent.get(phase, 0.0) + process_time() - began
        return found

    return call


def show(
    likelihood: float, reinforced: float, spent: dict[str, float], arguments: argparse.Namespace
) -> None:
    table = Table(title=f"an update of {arguments.batch} documents, reward {arguments.reward}")
    for heading in ("update", "seconds", "documents/s", "share"):
        table.add_column(heading, justify="left" if heading == "update" else "right")
    rows = {"likelihood": likelihood, "reinforcement": reinforced, **spent}
    rows["updating"] = reinforced - sum(spent.values())
    for name, seconds in rows.items():
        whole = name in ("likelihood", "reinforcement")
        speed = f"{arguments.batch / seconds:.1f}" if whole else ""
        table.add_row(name, f"{seconds:.3f}", speed, "" if whole else f"{seconds / reinforced:.0%}")
    console = Console()
    console.print(table)
    console.print(f"reinforcement costs {reinforced / likelihood:.1f} times likelihood")


if __name__ == "__main__":
    main()
