"""Around every request: an id, a bounded body, errors as JSON, safe headers, a log line."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keywright.serving.log import LOGGER
from keywright.serving.messages import ErrorAnswer, ErrorDetail
from keywright.serving.refusal import RefusalError, come_back

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Who watches the service should learn of its state when it is busy, too; it costs nothing.
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LONGEST_PATH = 200
LARGEST_HEAD = 32 * 1024
_log = logging.getLogger(LOGGER)

Answered = Callable[[str, int, float], None]


def error_response(refusal: RefusalError) -> Response:
    body = ErrorAnswer(error=ErrorDetail(code=refusal.code, message=refusal.message))
    return Response(
        msgspec.json.encode(body),
        refusal.status,
        {"Cache-Control": "no-store", **refusal.headers},
        "application/json",
    )


class Guard:
    """The outermost layer of the application; `answered` is told path, status and seconds.

    It lets in `requests` at once: a client that sends its body slowly keeps what it sent in memory.
    """

    def __init__(self, app: ASGIApp, *, requests: int, body_bytes: int, answered: Answered) -> None:
        self._app = app
        self._requests = requests
        self._body_bytes = body_bytes
        self._answered = answered
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0  # until an answer has begun

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                for name, value in SECURITY.items():
                    headers[name] = value
            await send(message)

        self._open += 1
        try:
            objection = _objection(scope) or (None if self._has_room(scope) else _busy())
            app = self._app if objection is None else error_response(objection)
            await app(scope, _bounded(scope, receive, self._body_bytes), send_safely)
        except Exception:
            _log.exception("failed", extra={"fields": {"request_id": request_id}})
            if status:
                raise  # half an answer cannot be taken back: the connection is cut
            message = f"Something went wrong here; the log has it under {request_id}."
            refusal = RefusalError(500, "internal_error", message)
            await error_response(refusal)(scope, receive, send_safely)
        finally:
            self._open -= 1
            self._tell(scope, status, time.monotonic() - began)

    def _has_room(self, scope: Scope) -> bool:
        return self._open <= self._requests or scope["path"] in _ALWAYS

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        # The route and not the path: strangers' paths must not become endless time series.
        route = getattr(scope.get("route"), "path", "other")
        self._answered(route, status, seconds)
        fields = {
            "request_id": scope["state"]["request_id"],
            "method": scope["method"],
            "path": scope["path"][:_LONGEST_PATH],
            "status": status,
            "seconds": round(seconds, 4),
            **scope["state"].get("fields", {}),
        }
        _log.info("answered", extra={"fields": fields})


def _request_id(headers: Headers) -> str:
    """The caller's, if it is harmless, so that logs of several services fit together."""
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else uuid.uuid4().hex


def _objection(scope: Scope) -> RefusalError | None:
    """What is wrong with a request's head, whatever it asks for."""
    size = sum(len(name) + len(value) for name, value in scope["headers"])
    size += len(scope.get("raw_path") or b"") + len(scope["query_string"])
    if size > LARGEST_HEAD:
        message = f"Address and headers together are larger than {LARGEST_HEAD:,} bytes."
        return RefusalError(431, "head_too_large", message, {"Connection": "close"})
    if {"content-length", "transfer-encoding"} <= set(Headers(scope=scope).keys()):
        # A proxy in front may go by the one and we by the other: so requests are smuggled in.
        message = "The request has both Content-Length and Transfer-Encoding; send one of them."
        return RefusalError(400, "bad_request", message, {"Connection": "close"})
    return None


def _bounded(scope: Scope, receive: Receive, most: int) -> Receive:
    """A body that ends in a refusal as soon as it is known to be too large."""
    received = 0
    declared = Headers(scope=scope).get("content-length", "")

    async def receive_bounded() -> Message:
        nonlocal received
        if declared.isdecimal() and int(declared[:20]) > most:
            raise _too_large(most)
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > most:
                raise _too_large(most)
        return message

    return receive_bounded


def _too_large(most: int) -> RefusalError:
    # The connection stays open, and what still comes is dropped: closed before the client has
    # sent all, it would be reset, and the client might not get to read this.
    return RefusalError(
        413,
        "body_too_large",
        f"The body is larger than {most:,} bytes, which is the most that is allowed.",
    )


def _busy() -> RefusalError:
    return come_back(503, "busy", "Too many requests are open; try again soon.", 1)
