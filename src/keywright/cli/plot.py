"""`keywright plot`: the learning curves of one or several runs in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

import typer

from keywright.cli._options import listed, one_of


def register(app: typer.Typer) -> None:
    app.command("plot")(plot_command)


def plot_command(
    runs: list[Path] = typer.Argument(help="Run folders, or their metrics.jsonl files."),
    output: Path = typer.Option(..., help="The picture: a name that ends in .svg or .png."),
    values: list[str] = typer.Option(
        [],
        help="Values to plot, such as loss, valid.loss or valid.present.F1@M. "
        "Default: everything that the runs report.",
    ),
    by: str = typer.Option("documents", help="The horizontal axis: documents | updates | minutes."),
    smooth: float = typer.Option(
        0.05,
        min=0,
        max=1,
        help="Share of a stage that training values are averaged over (0 = none).",
    ),
    stage: int | None = typer.Option(
        None, min=1, help="Plot only this stage, counted from its beginning. Default: all stages."
    ),
    names: list[str] = typer.Option(
        [], help="Names of the runs. Default: from their folders, without what all of them share."
    ),
) -> None:
    """Draw learning curves, one panel per value, also while a run is still being trained."""
    from keywright.analysis import curve_plots, curves, plotting

    axis = cast(curves.Axis, one_of("axis", by, get_args(curves.Axis)))
    plotting.format_of(output)
    named = curves.run_names(runs, listed(names))
    logs = [curves.read_run(run) for run in runs]
    if stage is not None:
        logs = [log.only(stage - 1) for log in logs]
    chosen = curves.selected_values(logs, listed(values))
    view = curve_plots.View(axis, smooth)
    figure = curve_plots.draw(dict(zip(named, logs, strict=True)), chosen, view)
    plotting.save(figure, output)
    typer.echo(f"{output}: {', '.join(chosen)}", err=True)
