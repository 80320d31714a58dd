"""`keywright mcp`: keyphrases as tools for assistants, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    app.command("mcp")(mcp)


def mcp(
    model: str = typer.Option(
        "default",
        help="default, the folder of a trained, exported or fitted model, or an extractor.",
    ),
    folder: list[Path] = typer.Option(
        [], help="A folder whose files may be read (may be repeated); by default none."
    ),
) -> None:
    """Offer keyphrases, tagging and evaluation to assistants, as an MCP server.

    Assistants start it and talk to it through standard input and output.
    """
    from keywright.generation.engine import Keywright
    from keywright.serving.assistants import Tools, server

    server(Tools(Keywright(model, threads=1), folder)).run("stdio")
