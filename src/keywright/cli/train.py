"""`keywright train`: train a model as a config describes it, or go on where that stopped."""

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

    from keywright.training.loop import Watch
    from keywright.training.state import Outcome, Status


def register(app: typer.Typer) -> None:
    app.command("train")(train)


def train(
    config: Path = typer.Argument(help="TOML file that describes the run."),
    settings: list[str] = typer.Option(
        [], "--set", metavar="KEY=VALUE", help="Override a setting: --set model.dropout=0.2"
    ),
    run: Path | None = typer.Option(
        None, help="Folder of the run; runs/NAME-OF-CONFIG by default."
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Go on with the run in that folder; begin it if there is none."
    ),
    minutes: float | None = typer.Option(
        None, help="Stop cleanly after so many minutes, to be resumed."
    ),
) -> None:
    """Train a model. Ctrl-C stops with a checkpoint, --resume goes on from it."""
    from rich.console import Console

    from keywright import config as configs

    if minutes is not None:
        settings = [*settings, f"train.minutes={minutes}"]
    parsed = configs.load(config, settings)
    folder = run or Path("runs") / config.stem
    try:
        from keywright.training import loop
        from keywright.training.processes import Processes
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("training", error.name, "train") from None
    console = Console(stderr=True)
    with _watcher(console) as watch:
        outcome = loop.train(parsed, folder, resume=resume, watch=watch)
    if Processes().main:
        console.print(_describe(outcome), highlight=False)
    if outcome.signal is not None:
        sys.exit(128 + outcome.signal)  # as a shell reports a process that a signal ended


def _describe(outcome: Outcome) -> str:
    if outcome.reason == "finished":
        return f"finished after {outcome.updates:,} updates: {outcome.folder}"
    return (
        f"stopped after {outcome.updates:,} updates; "
        f"the same command with --resume goes on from there: {outcome.folder}"
    )


@contextmanager
def _watcher(console: Console) -> Iterator[Watch]:
    """A bar with loss, documents a second and time left on a terminal; a line a validation."""
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
            if status.validation is not None:
                bar.console.print(_validation(status), highlight=False)
                return
            bar.update(
                task,
                description=f"stage {status.stage + 1}/{status.stages} epoch {status.epoch + 1}",
                completed=status.update,
                total=status.updates,
                figures=f"loss {status.loss:.3f}  {status.documents_per_second:.0f} documents/s  "
                f"{_clock(status.seconds_left)} left",
            )

        yield watch


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
