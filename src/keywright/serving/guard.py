"""Wraps every request: an id, a bounded body, errors as JSON, safe headers, a log line."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable, Collection
from urllib.parse import urlsplit, urlunsplit

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keywright.serving.log import LOGGER
from keywright.serving.messages import ErrorAnswer, ErrorDetail
from keywright.serving.refusal import RefusalError, retry_later

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
# Monitoring must work while the service is busy; these requests cost nothing.
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MAX_PATH = 200
MAX_HEAD_BYTES = 32 * 1024
MAX_DISCARDED = 64 * 1024 * 1024  # bytes of a body that is too large
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
    """The outermost layer of the application; `answered` is called with path, status and seconds.

    It admits `requests` at a time: what a slow client has sent of its body stays in memory.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        requests: int,
        body_bytes: int,
        answered: Answered,
        hosts: Collection[str] = (),
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
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
        status = 0  # until the answer starts

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                headers.update(SECURITY)
                if "location" in headers:
                    headers["location"] = _relative(headers["location"])
            await send(message)

        self._open += 1
        try:
            refusal = _check_head(scope) or self._check_host(scope)
            refusal = refusal or (None if self._has_room(scope) else _busy())
            app = self._app if refusal is None else error_response(refusal)
            await app(scope, _bounded(scope, receive, self._body_bytes), send_safely)
        except Exception:
            _log.exception("failed", extra={"fields": {"request_id": request_id}})
            if status:
                raise  # a partly sent answer cannot be replaced: the connection is closed
            message = f"Internal error; see the log entry {request_id}."
            refusal = RefusalError(500, "internal_error", message)
            await error_response(refusal)(scope, receive, send_safely)
        finally:
            self._open -= 1
            self._record(scope, status, time.monotonic() - began)

    def _check_host(self, scope: Scope) -> RefusalError | None:
        """A refusal if the request is for another host; monitoring asks by address."""
        host = _host_name(Headers(scope=scope).get("host", ""))
        if not self._hosts or host in self._hosts or scope["path"] in _ALWAYS:
            return None
        return RefusalError(400, "unknown_host", "This service has another name.")

    def _has_room(self, scope: Scope) -> bool:
        return self._open <= self._requests or scope["path"] in _ALWAYS

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        # The route and not the path: clients must not create unlimited time series.
        route = getattr(scope.get("route"), "path", "other")
        self._answered(route, status, seconds)
        fields = {
            "request_id": scope["state"]["request_id"],
            "method": scope["method"],
            "path": scope["path"][:_MAX_PATH],
            "status": status,
            "seconds": round(seconds, 4),
            **scope["state"].get("fields", {}),
        }
        _log.info("answered", extra={"fields": fields})


def _host_name(host: str) -> str:
    """The name or address in a Host header, without its port."""
    name, colon, port = host.strip().lower().rpartition(":")
    return name if colon and port.isdecimal() else host.strip().lower()


def _relative(location: str) -> str:
    """A redirect without a host: the one that the client sent may be anyone's."""
    parts = urlsplit(location)
    return urlunsplit(("", "", "/" + parts.path.lstrip("/"), parts.query, ""))


def _request_id(headers: Headers) -> str:
    """The client's id if it is harmless, so that the logs of several services can be joined."""
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else uuid.uuid4().hex


def _check_head(scope: Scope) -> RefusalError | None:
    """A refusal if the URL or the headers are unacceptable for any request."""
    size = sum(len(name) + len(value) for name, value in scope["headers"])
    size += len(scope.get("raw_path") or b"") + len(scope["query_string"])
    if size > MAX_HEAD_BYTES:
        message = f"The URL and headers together are larger than {MAX_HEAD_BYTES:,} bytes."
        return RefusalError(431, "head_too_large", message, {"Connection": "close"})
    if {"content-length", "transfer-encoding"} <= set(Headers(scope=scope).keys()):
        # If a proxy in front uses one and we use the other, requests can be smuggled in.
        message = "The request has both Content-Length and Transfer-Encoding; send one of them."
        return RefusalError(400, "bad_request", message, {"Connection": "close"})
    return None


def _bounded(scope: Scope, receive: Receive, limit: int) -> Receive:
    """Receive a body, and refuse it as soon as it is known to be too large."""
    received = 0
    headers = Headers(scope=scope)
    declared = headers.get("content-length", "")
    size = int(declared[:20]) if declared.isdecimal() else 0

    async def receive_bounded() -> Message:
        nonlocal received
        if size > limit:
            if _closes(headers) and size <= MAX_DISCARDED:
                await _discard(receive)
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > limit:
                if _closes(headers) and message.get("more_body"):
                    await _discard(receive)
                raise _too_large(limit)
        return message

    return receive_bounded


def _closes(headers: Headers) -> bool:
    """Whether the connection is closed after the answer, and the body is already being sent."""
    return "close" in headers.get("connection", "").lower() and "expect" not in headers


async def _discard(receive: Receive) -> None:
    """Read the rest of a body, up to a limit.

    Closing the connection before would reset it, and the client might never read its answer.
    """
    discarded = 0
    while discarded <= MAX_DISCARDED:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            return
        discarded += len(message.get("body", b""))


def _too_large(limit: int) -> RefusalError:
    # A connection that stays open drops the rest; for one that is closed, see `_discard`.
    return RefusalError(
        413,
        "body_too_large",
        f"The body is larger than the limit of {limit:,} bytes.",
    )


def _busy() -> RefusalError:
    return retry_later(503, "busy", "Too many requests are open; try again soon.", 1)
