"""`keywright export`: write a trained model for use without torch."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import typer

CHECKED = 64
"""The number of documents on which the exported model and its original are compared."""


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    run: Path = typer.Argument(..., help="The folder of a trained run."),
    output: Path | None = typer.Option(
        None, help="The new folder (default: RUN/onnx or RUN/onnx-int8)."
    ),
    int8: bool = typer.Option(
        False,
        "--int8",
        help="Store weights as 8-bit integers: a quarter to a third of the size, and faster.",
    ),
    documents: str | None = typer.Option(
        None, help=f"Compare with torch on the first {CHECKED} of these (default: random ones)."
    ),
    confidence: Path | None = typer.Option(
        None,
        help="A recalibrator (keywright calibrate --fit) for the model's predictions, which then "
        "include the probability that a phrase is correct.",
    ),
) -> None:
    """Export a trained model to ONNX, if it predicts the same as the original."""
    from keywright.errors import MissingExtraError

    try:
        from keywright.export.run import export as export_run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("exporting a model", error.name, "train,export") from None
    from keywright.data.documents import read_documents

    output = output or run / ("onnx-int8" if int8 else "onnx")
    checked = () if documents is None else tuple(islice(read_documents(documents), CHECKED))
    parity = export_run(run, output, int8=int8, documents=checked, confidence=confidence)
    size = sum(file.stat().st_size for file in output.iterdir()) / 1e6
    typer.echo(
        f"{output}: {size:.1f} MB; on {parity.documents} documents and {parity.steps:,} steps "
        f"log-probabilities differ from torch's by {parity.mean:.2g} on average and at most "
        f"{parity.largest:.2g}, and {parity.agreement:.2%} of the most likely tokens are the same"
    )
