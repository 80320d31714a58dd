"""The command line: one file per verb, each with `register(app)`.

The file name is the name of the verb, with hyphens for underscores. Only the verb that was asked
for is imported, and verbs import what they need inside their function, so that every verb starts
quickly and a missing optional library affects only the verb that needs it.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from keywright import __version__, parts
from keywright.cli import _settings
from keywright.errors import KeywrightError

if TYPE_CHECKING:
    from typer._click import Command, Context


class Verbs(TyperGroup):
    """All verbs by name; each is imported when it is looked up."""

    def list_commands(self, ctx: Context) -> list[str]:
        return sorted(name.replace("_", "-") for name in parts.names(__name__))

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        known = self.list_commands(ctx)
        # For an unknown name all of them, because typer suggests a loaded one in its place.
        for name in [cmd_name] if cmd_name in known else known:
            if name not in self.commands:
                self.commands[name] = _load(name)
        found = self.commands.get(cmd_name)
        if found is not None and ctx.default_map and cmd_name in ctx.default_map:
            own = _settings.defaults(ctx.default_map[cmd_name], cmd_name, found)
            ctx.default_map = {**ctx.default_map, cmd_name: own}
        return found


def _load(name: str) -> Command:
    verb = typer.Typer()
    parts.module(__name__, name.replace("-", "_")).register(verb)
    return typer.main.get_group(verb).commands[name]


app = typer.Typer(
    name="keywright",
    cls=Verbs,
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
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    try:
        app(default_map=_settings.load(Path.cwd()))
    except KeywrightError as error:
        typer.echo(f"keywright: error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # `keywright ... | head` is not an error
        _drop_output()
        sys.exit(0)
    except MemoryError:
        typer.echo("keywright: error: not enough memory; a smaller batch needs less", err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            typer.echo(f"keywright: error: {error.filename}: {error.strerror}", err=True)
            sys.exit(2)
        if error.errno not in _FULL:
            raise
        _drop_output()
        typer.echo(f"keywright: error: the output cannot be written: {error.strerror}", err=True)
        sys.exit(2)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _drop_output() -> None:
    """Discard what is still buffered; the interpreter would fail to write it when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
