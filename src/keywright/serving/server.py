"""The HTTP server below the application: its socket, its connections, its shutdown."""

from __future__ import annotations

import socket
import sys
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from keywright.errors import ConfigError
from keywright.serving.connection import Connection
from keywright.serving.limits import Limits

BACKLOG = 2048
# Every connection is a file. Many systems allow a process 1,024 of them unless it asks for more.
MAX_FILES = 65_536


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is given; without it the body of an answer,
    # which follows its headers, would wait 40 ms for the client's delayed ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen on {host} port {port} ({error.strerror}); try another --port or --host"
        ) from None
    return listening


def raise_file_limit() -> None:
    """Raise this process's limit of open files as far as allowed, up to MAX_FILES."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def server(app: ASGIApp, limits: Limits) -> uvicorn.Server:
    """A server to start with `run(sockets=[...])`; after SIGTERM it answers what it accepted."""
    config = uvicorn.Config(
        app,
        http=partial(Connection, seconds=limits.seconds),  # type: ignore[arg-type]
        ws="none",
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # An accepted request ends by itself within its time limit.
        timeout_graceful_shutdown=int(limits.seconds) + 5,
    )
    return uvicorn.Server(config)
