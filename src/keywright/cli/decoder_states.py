"""`keywright decoder-states`: the states of a recurrent decoder after each delimiter."""

from __future__ import annotations

from pathlib import Path

import typer

from keywright.errors import ConfigError, MissingExtraError
from keywright.progress import progress


def register(app: typer.Typer) -> None:
    app.command("decoder-states")(decoder_states)


def decoder_states(
    model: Path = typer.Option(..., help="The folder of a trained run with a recurrent decoder."),
    documents: Path = typer.Option(..., help="Documents in any format that keywright reads."),
    output: Path = typer.Option(..., help="An .npz file with the arrays `states` and `steps`."),
) -> None:
    """Decode documents greedily, and save the decoder's states 1 to 3 steps after a delimiter.

    `keywright.analysis.states` lays them out by t-SNE."""
    try:
        from keywright import runs
        from keywright.studies.decoder_states import collect, save
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("a trained model", error.name, "train") from None
    from keywright.data.documents import read_documents

    if output.suffix != ".npz":  # numpy would add the suffix
        raise ConfigError(f"{output}: the name of the file must end in .npz")
    found = collect(runs.load(model), progress(read_documents(documents), "decoding"))
    save(found, output)
    typer.echo(f"{len(found[1]):,} states: {output}", err=True)
