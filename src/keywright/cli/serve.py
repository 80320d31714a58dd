"""`keywright serve`: keyphrases over HTTP, and a page to try them on."""

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
    host: str = typer.Option("127.0.0.1", help="The address to listen on; 0.0.0.0: all."),
    port: int = typer.Option(8000, min=0, max=65535, help="0: any free one."),
    model: str = typer.Option(
        "default", help="The model that comes with keywright, or the folder of another."
    ),
    calibration: Path | None = typer.Option(
        None, help="A file of `keywright calibrate --fit`: probabilities of documents like yours."
    ),
    keys: Path | None = typer.Option(
        None, help="A file of names and SHA-256 hashes of the keys that may ask."
    ),
    rate: int = typer.Option(0, min=0, help="Requests a minute for every key; 0: any."),
    threads: int | None = typer.Option(None, min=1, help="Threads that the model uses."),
    max_bytes: int = typer.Option(16 * 1024 * 1024, min=1, help="Of a request's body."),
    max_documents: int = typer.Option(64, min=1, help="Of a request."),
    max_characters: int = typer.Option(400_000, min=1, help="Of a request's documents together."),
    max_seconds: float = typer.Option(30.0, min=1, help="That a request may take."),
    queue: int = typer.Option(256, min=1, help="Documents that may wait; beyond it 503."),
) -> None:
    """Serve keyphrases over HTTP, and a page at /.

    It listens to this machine only unless --host says otherwise. Ctrl-C or SIGTERM ends it, after
    what it accepted is answered.
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
    )
    known = Keys.load(keys) if keys is not None else None
    # The folder's name and not where it lies: answers tell it to everybody.
    settings = Settings(Path(model).name or model, limits, known, rate)
    # Before the model is loaded: a port in use is told at once.
    listening = server.listen(host, port)
    engine = Keywright(model, threads=threads, calibration=calibration)
    app = create_app(engine, settings)
    engine.generate(WARM_UP)  # what models load when they are first used, nobody should wait for
    log.configure(sys.stderr)
    server.allow_files()
    # uvicorn raises the signal that ended it once more, for those who handled it before.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _announce(host, listening.getsockname()[1], known is not None)
    server.server(app, limits).run(sockets=[listening])


def _announce(host: str, port: int, has_keys: bool) -> None:
    shown = f"[{host}]" if ":" in host else host
    only = " (this machine only)" if _is_loopback(host) else ""
    typer.echo(f"keywright: listening on http://{shown}:{port}{only}", err=True)
    if not only and not has_keys:
        typer.echo(
            "keywright: warning: whoever reaches this address may use it; --keys asks for keys",
            err=True,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
