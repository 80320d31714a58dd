"""The command line: one file per verb, each with `register(app)`.

Verbs import what they need inside their function, so that `keywright --help` stays quick and a
missing optional library hurts only the verb that needs it.
"""

from __future__ import annotations

import errno
import os
import sys

import typer

from keywright import __version__, parts
from keywright.errors import KeywrightError

app = typer.Typer(
    name="keywright",
    help="Keyphrase generation, evaluation and calibration.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"keywright {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    pass


for _name in parts.names(__name__):
    parts.module(__name__, _name).register(app)


def main() -> None:
    try:
        app()
    except KeywrightError as error:
        typer.echo(f"keywright: error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # `keywright ... | head` is not an error
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _drop_output()
        typer.echo(f"keywright: error: the output cannot be written: {error.strerror}", err=True)
        sys.exit(2)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _drop_output() -> None:
    """Let what is still buffered go nowhere, or the interpreter would fail on it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
