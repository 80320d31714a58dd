"""`keywright study`: a table of a paper, from training to LaTeX, in one command."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keywright.errors import ConfigError

if TYPE_CHECKING:
    from rich.status import Status

    from keywright.studies.plan import Plan, Step
    from keywright.studies.run import Event

# Documents per second and core that -small configs are trained with (`python bench/train.py
# --small`), for an estimate before anything was measured; other models are taken for the slowest.
_TRAINED = {"copy_rnn": 43, "cat_seq": 54, "cat_seq_d": 46, "cat_seq_corr": 46, "cat_seq_tg": 24}
_TRAINED |= {"exhird": 41, "transformer_one2seq": 36, "transformer_one2set": 25}
_TRAINED |= {"scorer": 100}  # pairs
_SLOWEST, _PREDICTED, _EXTRACTED = 4.0, 20.0, 100.0
_MADE = {"pairs": 1000.0, "label": 10_000.0}


def register(app: typer.Typer) -> None:
    app.command("study")(study_command)


def study_command(
    definition: Path = typer.Argument(
        metavar="STUDY", help="TOML file that names systems, data sets, decoders and tables."
    ),
    run: Path | None = typer.Option(
        None, help="Folder of the study (default: runs/studies/NAME-OF-STUDY)."
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Continue the study in that folder; start one if there is none."
    ),
    jobs: int = typer.Option(0, min=0, help="Steps at a time (default: one per two cores)."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show the steps and about how long they take; do nothing."
    ),
) -> None:
    """Train, predict, score and compare what a study names, and write its tables.

    A study that was stopped or killed continues with --resume. A changed setting or file repeats
    only the steps that depend on it."""
    from keywright.analysis import plotting
    from keywright.studies import figures, loading, output, results, tables
    from keywright.studies import plan as plans
    from keywright.studies import run as runner

    study = loading.load(definition, weights=not dry_run)
    folder = run or Path("runs") / "studies" / definition.stem
    plan = plans.make(study, folder)
    jobs = jobs or max(1, (os.cpu_count() or 1) // 2)
    if dry_run:
        _show_plan(plan, jobs)
        return
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise ConfigError(f"{folder}: exists; add --resume to continue, or name another --run")
    if plan.runs:
        plotting.blank(1, 1)  # says what to install before anything is trained
    figures.require_libraries(study)
    plans.prepare(plan)
    began = time.monotonic()
    with _Watcher(plan) as watch:
        try:
            runner.run(plan, jobs, watch)
        except runner.InterruptedStudyError as stop:
            typer.echo(f"stopped; the same command with --resume continues: {folder}", err=True)
            sys.exit(128 + stop.number)
        found = results.score(plan, watch.say)
        watch.say("comparing")
        made = tables.make(found)
        files = output.write(found, made, figures.make(found, watch.say))
    typer.echo(output.document(study, made, "table"))
    others = f"{len(files) - 1} other files"
    typer.echo(f"{_clock(time.monotonic() - began)}: {folder / output.PAGE}, {others}", err=True)


def _show_plan(plan: Plan, jobs: int) -> None:
    from keywright.studies import run as runner
    from keywright.studies.plan import ordered
    from keywright.tables import Row, render

    rows: list[Row] = []
    steps = ordered(plan.steps)
    seconds = runner.estimates(plan, steps, _default_rate)
    missing = [step for step in steps if runner.record_of(plan, step) is None]
    for step in steps:
        rows.append(
            {
                "step": step.name,
                "documents": f"{step.work:,.0f}" if step.work else "?",
                "state": f"about {_clock(seconds[step.key])}" if step in missing else "finished",
            }
        )
    if rows:
        typer.echo(render(rows, "table"))
    left = runner.duration(missing, seconds, jobs)
    typer.echo(
        f"\n{len(rows)} steps, {len(missing)} to do, about {_clock(left)} with --jobs {jobs}. "
        "Rough until a step of the same kind has finished."
    )


def _default_rate(step: Step) -> float:
    from keywright import parts
    from keywright.predictor import DEFAULT, EXTRACTORS

    if step.kind == "train":
        return _TRAINED.get(step.model, _SLOWEST)
    if step.kind == "predict" and step.model in (DEFAULT, *parts.names(EXTRACTORS)):
        return _EXTRACTED
    return _MADE.get(step.kind, _PREDICTED) / step.effort


class _Watcher:
    """One line per step that starts or ends; on a terminal, also what is running."""

    def __init__(self, plan: Plan):
        from rich.console import Console

        self.console = Console(stderr=True)
        self.total = len(plan.steps)
        self.done = 0
        self.status: Status | None = None
        self.running: dict[str, float] = {}

    def __enter__(self) -> _Watcher:
        if self.console.is_terminal:
            self.status = self.console.status("")
            self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def say(self, what: str) -> None:
        if self.status is not None:
            self.status.update(what)

    def __call__(self, event: Event, step: Step, seconds: float) -> None:
        self.running.pop(step.name, None)
        if event == "running":
            self.running[step.name] = seconds
            self.say(", ".join(f"{name} {_clock(s)}" for name, s in self.running.items()))
            return
        if event in ("found", "finished"):
            self.done += 1
        said = {
            "found": "finished before",
            "started": "started",
            "finished": f"finished in {_clock(seconds)}",
            "failed": f"failed after {_clock(seconds)}",
        }[event]
        self.console.print(f"[{self.done}/{self.total}] {step.name}: {said}", markup=False)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
