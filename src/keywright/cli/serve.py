"""`keywright serve`: keyphrases over HTTP, and a page to try it on."""

from __future__ import annotations

import ipaddress
import signal
import sys
from pathlib import Path

import typer

from keywright.errors import MissingExtraError

WARM_UP = "Keyphrases tell what a text is about."


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    host: str = typer.Option("127.0.0.1", help="Address to listen on (0.0.0.0 = all)."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on (0 = any free port)."),
    model: str = typer.Option(
        "default",
        help="The model shipped with keywright (default), the folder of another, or the name of "
        "an extractor.",
    ),
    calibration: Path | None = typer.Option(
        None,
        help="File written by `keywright calibrate --fit`: probabilities for documents like yours.",
    ),
    vocabulary: Path | None = typer.Option(
        None, help="A .csv, .tsv, .txt or SKOS file with the terms to use as keyphrases."
    ),
    keys: Path | None = typer.Option(
        None, help="File with the names and SHA-256 hashes of the accepted keys."
    ),
    rate: int = typer.Option(0, min=0, help="Requests per minute and key (0 = no limit)."),
    allowed_host: list[str] = typer.Option(
        [], help="Accept requests for this host name only (may be repeated; default: any)."
    ),
    threads: int | None = typer.Option(None, min=1, help="Number of threads of the model."),
    max_bytes: int = typer.Option(16 * 1024 * 1024, min=1, help="Maximum size of a request body."),
    max_documents: int = typer.Option(64, min=1, help="Maximum number of documents per request."),
    max_characters: int = typer.Option(
        400_000, min=1, help="Maximum number of characters per request, all documents together."
    ),
    max_seconds: float = typer.Option(30.0, min=1, help="Time limit of a request."),
    queue: int = typer.Option(
        256, min=1, help="Maximum number of waiting documents; more are refused with 503."
    ),
    long_workers: int = typer.Option(
        1, min=1, help="Processes for long requests, which do not delay short ones."
    ),
) -> None:
    """Serve keyphrases over HTTP, and a page at /.

    Only this machine can connect, unless --host says otherwise. Ctrl-C or SIGTERM stops the
    service after it has answered the requests it accepted.
    """
    try:
        from keywright.serving import server
        from keywright.serving.app import Settings, create_app
        from keywright.serving.keys import Keys
        from keywright.serving.limits import Limits
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("the service", error.name, "serve") from None
    from keywright.generation.engine import Keywright
    from keywright.serving import log

    limits = Limits(
        body_bytes=max_bytes,
        documents=max_documents,
        characters=max_characters,
        seconds=max_seconds,
        queue=queue,
        long_workers=long_workers,
    )
    accepted = Keys.load(keys) if keys is not None else None
    # The folder's name without its path: every answer contains it.
    settings = Settings(Path(model).name or model, limits, accepted, rate, tuple(allowed_host))
    # Before the model is loaded, so that a port in use is reported at once.
    listening = server.listen(host, port)
    engine = Keywright(model, threads=threads, calibration=calibration, vocabulary=vocabulary)
    app = create_app(engine, settings)
    engine.generate(WARM_UP)  # so that no client waits for what models load on first use
    log.configure(sys.stderr)
    server.raise_file_limit()
    # uvicorn raises the signal that stopped it again, for handlers installed before.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _announce(host, listening.getsockname()[1], accepted is not None)
    server.server(app, limits).run(sockets=[listening])


def _announce(host: str, port: int, has_keys: bool) -> None:
    shown = f"[{host}]" if ":" in host else host
    only = " (this machine only)" if _is_loopback(host) else ""
    typer.echo(f"keywright: listening on http://{shown}:{port}{only}", err=True)
    if not only and not has_keys:
        typer.echo(
            "keywright: warning: anyone who can reach this address can use the service; "
            "use --keys to require keys",
            err=True,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
