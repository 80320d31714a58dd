"""A service on a real socket, in a thread of the test, with a fake engine."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from keywright.serving.app import Settings, create_app
from keywright.serving.limits import Limits
from keywright.serving.server import listen, server
from tests.serving.fakes import FakeEngine

PATIENCE = 60.0  # seconds; a busy machine may need some of them


@dataclass(frozen=True)
class Local:
    engine: FakeEngine
    server: uvicorn.Server
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.address}{path}", timeout=PATIENCE)

    def connections(self) -> int:
        return len(self.server.server_state.connections)


@contextmanager
def local(**limits: Any) -> Iterator[Local]:
    engine, chosen = FakeEngine(), Limits(**limits)
    listening = listen("127.0.0.1", 0)
    running = server(create_app(engine, Settings(limits=chosen)), chosen)
    thread = threading.Thread(target=running.run, args=([listening],))
    port = listening.getsockname()[1]
    thread.start()
    try:
        wait_until(lambda: running.started)
        yield Local(engine, running, port)
    finally:
        engine.open.set()
        running.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was never met"
        time.sleep(0.01)


def request(body: bytes | Any, length: int | None = None) -> bytes:
    """The bytes of a request for keyphrases; `length` replaces the declared length."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    declared = len(content) if length is None else length
    head = "POST /v1/keyphrases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {declared}\r\n\r\n".encode() + content
