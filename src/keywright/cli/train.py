"""`keywright train`: train a model or a scorer from its config, or continue a stopped run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keywright.errors import MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console

    from keywright.config import Config
    from keywright.scorers.config import Config as ScorerConfig
    from keywright.tables import Row
    from keywright.training.loop import Watch
    from keywright.training.state import Outcome, Status


# What a line of progress has room for, of the values that an objective reports.
_SHOWN = ("reward", "baseline", "advantage", "entropy", "phrases", "repetition")


def register(app: typer.Typer) -> None:
    app.command("train")(train)


def train(
    config: Path = typer.Argument(help="TOML file that describes the run."),
    settings: list[str] = typer.Option(
        [], "--set", metavar="KEY=VALUE", help="Override a setting: --set model.dropout=0.2"
    ),
    run: Path | None = typer.Option(None, help="Folder of the run (default: runs/NAME-OF-CONFIG)."),
    resume: bool = typer.Option(
        False, "--resume", help="Continue the run in that folder; start one if there is none."
    ),
    minutes: float | None = typer.Option(
        None, help="Stop after this many minutes with a checkpoint, to be resumed."
    ),
) -> None:
    """Train a model, or a scorer of phrases. Ctrl-C writes a checkpoint; --resume continues it."""
    from rich.console import Console

    from keywright.config import Config

    if minutes is not None:
        settings = [*settings, f"train.minutes={minutes}"]
    parsed = _load(config, settings)
    folder = run or Path("runs") / config.stem
    try:
        from keywright import final_scores
        from keywright.scorers import fitting
        from keywright.training import loop
        from keywright.training.processes import Processes
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("training", error.name, "train") from None
    console = Console(stderr=True)
    with _watcher(console) as watch:
        if isinstance(parsed, Config):
            final_scores.check(parsed)
            outcome = loop.train(parsed, folder, resume=resume, watch=watch)
        else:
            outcome = fitting.train(parsed, folder, resume=resume, watch=watch)
    if Processes().main:
        console.print(_describe(outcome), highlight=False)
    if outcome.signal is not None:
        sys.exit(128 + outcome.signal)  # as a shell reports a process that a signal ended
    if outcome.reason == "finished" and isinstance(parsed, Config) and Processes().main:
        _print_scores(outcome.folder, console)


def _print_scores(folder: Path, console: Console) -> None:
    """The final scores of a run as one table; an interruption is continued by --resume."""
    from keywright.final_scores import final_scores
    from keywright.metric import Metric
    from keywright.tables import render

    try:
        found = final_scores(folder)
    except KeyboardInterrupt:
        console.print(f"stopped while predicting; --resume continues: {folder}", highlight=False)
        sys.exit(130)
    rows: list[Row] = [
        {
            "documents": scores.name,
            "count": scores.count,
            **{name: Metric.parse(name).show(value) for name, value in scores.scores.items()},
        }
        for scores in found
    ]
    if rows:
        typer.echo(f"Scores of {found[0].protocol}, times 100; counts as they are.\n")
        typer.echo(render(rows, "table"))


def _load(path: Path, settings: list[str]) -> Config | ScorerConfig:
    """The config of a keyphrase model, or of a scorer where there is a `[scorer]` section."""
    from keywright import config as configs
    from keywright.scorers.config import Config as ScorerConfig

    if configs.SCORER in configs.read_table(path):
        return configs.load_as(ScorerConfig, path, settings)
    return configs.load(path, settings)


def _describe(outcome: Outcome) -> str:
    if outcome.reason == "finished":
        return f"finished after {outcome.updates:,} updates: {outcome.folder}"
    return (
        f"stopped after {outcome.updates:,} updates; "
        f"the same command with --resume continues: {outcome.folder}"
    )


@contextmanager
def _watcher(console: Console) -> Iterator[Watch]:
    """On a terminal, a bar with loss, documents/s and remaining time; a line per validation."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("reading", total=None, figures="")

        def watch(status: Status) -> None:
            if status.warning is not None:
                bar.console.print(_warning(status), highlight=False)
                return
            if status.validation is not None:
                bar.console.print(_validation(status), highlight=False)
                return
            bar.update(
                task,
                description=f"stage {status.stage + 1}/{status.stages} epoch {status.epoch + 1}",
                completed=status.update,
                total=status.updates,
                figures=_figures(status),
            )

        yield watch


def _figures(status: Status) -> str:
    report = "".join(
        f"  {name} {status.report[name]:.2f}" for name in _SHOWN if name in status.report
    )
    return (
        f"loss {status.loss:.3f}{report}  {status.documents_per_second:.0f}/s  "
        f"{_clock(status.seconds_left)} left"
    )


def _warning(status: Status) -> str:
    return f"stage {status.stage + 1} update {status.update:,}: warning: {status.warning}"


def _validation(status: Status) -> str:
    scores = "  ".join(f"{name} {value:.4f}" for name, value in (status.validation or {}).items())
    return (
        f"stage {status.stage + 1} update {status.update:,}: {scores}"
        f"{'  (best so far)' if status.best else ''}"
    )


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
