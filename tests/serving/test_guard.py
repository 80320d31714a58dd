"""The outermost layer of the service by itself, without a server or an application around it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keywright.serving.guard import Guard
from keywright.serving.refusal import RefusalError


def scope(path: str = "/", **headers: str) -> Scope:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": pairs,
    }


class Client:
    """Sends a body in pieces, and keeps what it is answered."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)
        self.received = 0
        self.answers: list[Message] = []

    async def receive(self) -> Message:
        self.received += 1
        body = self.pieces.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self.pieces)}

    async def send(self, message: Message) -> None:
        self.answers.append(message)

    @property
    def statuses(self) -> list[int]:
        return [m["status"] for m in self.answers if m["type"] == "http.response.start"]


def guarded(app: ASGIApp, **settings: Any) -> Guard:
    return Guard(app, answered=lambda *_: None, **{"requests": 2, "body_bytes": 10, **settings})


async def answer(send: Send, status: int = 200, body: bytes = b"") -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})


def reading(then: Callable[[Send], Awaitable[None]]) -> ASGIApp:
    """An application that reads its whole body; a refusal becomes its answer."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            while (await receive()).get("more_body"):
                pass
        except RefusalError as refusal:
            await answer(send, refusal.status)
            return
        await then(send)

    return app


@pytest.mark.parametrize(
    ("declared", "pieces", "status", "received"),
    [
        ("10", (b"a" * 10,), 200, 1),
        ("11", (b"a" * 11,), 413, 0),  # nothing is read of what is too large by its own words
        ("", (b"a" * 5, b"a" * 5), 200, 2),
        ("", (b"a" * 5, b"a" * 6, b"a"), 413, 2),
        ("5", (b"a" * 5, b"a" * 6, b"a"), 413, 2),  # a client may lie
    ],
)
def test_a_body_is_refused_as_soon_as_it_is_known_to_be_too_large(
    declared: str, pieces: tuple[bytes, ...], status: int, received: int
) -> None:
    client = Client(*pieces)
    head = scope(content_length=declared) if declared else scope()
    asyncio.run(guarded(reading(answer))(head, client.receive, client.send))
    assert client.statuses == [status]
    assert client.received == received


@pytest.mark.parametrize("admitted", [1, 3])
def test_exactly_as_many_requests_as_allowed_are_admitted(admitted: int) -> None:
    async def work() -> list[int]:
        leave = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await leave.wait()
            await answer(send)

        guard = guarded(app, requests=admitted)
        clients = [Client() for _ in range(admitted + 1)]
        monitor = Client()
        tasks = [asyncio.create_task(guard(scope(), c.receive, c.send)) for c in clients]
        await asyncio.sleep(0)
        assert [c.statuses for c in clients] == [[]] * admitted + [[503]]
        task = asyncio.create_task(guard(scope("/healthz"), monitor.receive, monitor.send))
        leave.set()
        await asyncio.gather(*tasks, task)
        last = Client()
        await guard(scope(), last.receive, last.send)
        return [status for c in (*clients, monitor, last) for status in c.statuses]

    assert asyncio.run(work()) == [200] * admitted + [503, 200, 200]


def test_a_half_sent_answer_is_not_followed_by_another() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError("a fault")

    client = Client()
    with pytest.raises(ValueError, match="a fault"):
        asyncio.run(guarded(app)(scope(), client.receive, client.send))
    assert client.statuses == [200]


def test_a_fault_before_the_answer_becomes_a_500() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("a fault")

    client = Client()
    asyncio.run(guarded(app)(scope(), client.receive, client.send))
    assert client.statuses == [500]
    assert b"a fault" not in b"".join(m.get("body", b"") for m in client.answers)
