"""One chat request to an OpenAI-compatible endpoint: retried, bounded, and checked."""

from __future__ import annotations

import http.client
import os
import random
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from keywright.errors import ConfigError, DataError

# Statuses after which the same request may succeed.
_TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LARGEST_ANSWER = 32 << 20  # bytes
_CHUNK = 1 << 16
_LONGEST_WAIT = 60.0  # seconds between two attempts, whatever the server asks for
_LONGEST_QUOTE = 200  # characters of a server's message that an error repeats
_KEY = re.compile(r"[!-~]+")  # visible ASCII: what a header can hold


class Token(Struct, frozen=True, array_like=True):
    """A generated token as UTF-8 (which may end inside a character), and its log-probability."""

    content: bytes
    log_prob: float


class Answer(Struct, frozen=True):
    """What a model answered. `tokens` is None if the server gives no log-probabilities."""

    text: str
    complete: bool  # False if the limit of tokens ended it
    tokens: tuple[Token, ...] | None
    prompt_tokens: int
    answer_tokens: int


class _TokenContent(Struct):
    token: str
    logprob: float | None = None
    bytes: list[int] | None = None


class _LogProbs(Struct):
    content: list[_TokenContent] | None = None


class _Message(Struct):
    content: str | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _LogProbs | None = None


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _TemporaryError(Exception):
    def __init__(self, message: str, wait: float | None = None):
        super().__init__(message)
        self.wait = wait


@dataclass
class Endpoint:
    """`ask` sends a request to `URL/chat/completions`; threads may share an endpoint.

    The key is read from the environment variable `key`, and no message repeats it.
    """

    url: str
    key: str
    timeout: float  # seconds for one answer
    attempts: int
    wait: float  # seconds before the second attempt; doubled before every further one
    stopped: threading.Event = field(default_factory=threading.Event)
    _reached: bool = False

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ConfigError(f"{self.url}: is not an address such as http://localhost:8080/v1")
        if parts.username is not None or parts.password is not None:
            raise ConfigError(
                f"the address of {parts.hostname} contains a password; put the key into the "
                f"environment variable {self.key}"
            )
        self._secret = os.environ.get(self.key, "").strip()
        if self._secret and not _KEY.fullmatch(self._secret):
            raise ConfigError(f"the environment variable {self.key} does not hold a key")
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(self, request: Mapping[str, Any]) -> Answer:
        """The answer, after as many attempts as it takes; a `DataError` if none succeeds."""
        body = msgspec.json.encode(request)
        for attempt in range(1, self.attempts + 1):
            try:
                return self._read(self._send(body))
            except _TemporaryError as error:
                if attempt == self.attempts or self.stopped.is_set():
                    raise DataError(
                        f"{error}; {attempt} attempts failed. What is done is kept", self.url
                    ) from None
                self._pause(attempt, error.wait)
        raise AssertionError("attempts is at least 1")

    def _pause(self, attempt: int, asked: float | None) -> None:
        wait = self.wait * 2 ** (attempt - 1) * random.uniform(0.5, 1)
        self.stopped.wait(min(wait if asked is None else asked, _LONGEST_WAIT))

    def _send(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._secret:
            headers["Authorization"] = f"Bearer {self._secret}"
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions", body, headers, method="POST"
        )
        deadline = time.monotonic() + self.timeout
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                content = _bounded(response, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error, deadline) from None
        except TimeoutError:
            raise self._slow() from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._slow() from None
            raise self._unreachable(error.reason) from None
        except (http.client.HTTPException, OSError) as error:
            # `IncompleteRead`, a connection that was reset: the answer was cut off.
            raise _TemporaryError(
                f"the connection ended in the middle of an answer ({type(error).__name__})"
            ) from None
        self._reached = True
        return content

    def _slow(self) -> _TemporaryError:
        return _TemporaryError(
            f"no complete answer within {self.timeout:g} s; --set timeout=SECONDS waits longer"
        )

    def _unreachable(self, reason: object) -> Exception:
        why = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
        message = f"cannot be reached ({why}); start the server, or correct the address"
        # A server that has answered before may be restarting.
        return _TemporaryError(message) if self._reached else DataError(message, self.url)

    def _refused(self, error: urllib.error.HTTPError, deadline: float) -> Exception:
        self._reached = True
        if 300 <= error.code < 400:
            where = self._quoted(error.headers.get("Location", "").encode())
            return DataError(f"redirects to {where}; name that address", self.url)
        try:
            said = self._quoted(_message(_bounded(error, deadline)))
        except (http.client.HTTPException, OSError):
            said = ""
        status = f"answers {error.code} {error.reason}" + (f" ({said})" if said else "")
        if error.code in _TEMPORARY:
            return _TemporaryError(status, _seconds(error.headers.get("Retry-After")))
        return DataError(f"{status}; {self._remedy(error.code)}", self.url)

    def _remedy(self, status: int) -> str:
        if status in (401, 403):
            has = "is refused" if self._secret else "is missing"
            return f"the key {has}: put it into the environment variable {self.key}"
        if status == 404:
            return "check the name of the model, and the address, which often ends in /v1"
        if status == 413:
            return "send fewer words with --max-source"
        return (
            "check the settings: --set logprobs=false for servers without log-probabilities, "
            "--max-source for a shorter text"
        )

    def _quoted(self, content: bytes) -> str:
        """A server's words in one line, without the key, which some servers repeat."""
        text = content.decode("utf-8", errors="replace")
        if self._secret:
            text = text.replace(self._secret, "***")
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."

    def _read(self, content: bytes) -> Answer:
        if content.lstrip()[:1] == b"<":
            raise DataError(
                "answers HTML instead of JSON; the address of an API often ends in /v1", self.url
            )
        try:
            completion = msgspec.json.decode(content, type=_Completion)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise DataError(
                f"its answer is not that of an OpenAI-compatible API: {error}", self.url
            ) from None
        if not completion.choices:
            raise DataError("its answer is empty: it has no choices", self.url)
        choice, usage = completion.choices[0], completion.usage or _Usage()
        return Answer(
            choice.message.content or "",
            choice.finish_reason != "length",
            _tokens(choice.logprobs),
            usage.prompt_tokens,
            usage.completion_tokens,
        )


def _bounded(response: Any, deadline: float) -> bytes:
    """The whole content. A server that sends a byte now and then must not keep us forever."""
    content = bytearray()
    while chunk := response.read1(_CHUNK):
        content += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(content) > _LARGEST_ANSWER:
            raise http.client.HTTPException("the answer is too large")
    if response.length:  # `read1` does not notice that bytes are missing
        raise http.client.IncompleteRead(bytes(content), response.length)
    return bytes(content)


def _message(content: bytes) -> bytes:
    """What an error says: `error.message` of a JSON object, or a text that is not HTML."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return b"" if content.lstrip()[:1] == b"<" else content
    for key in ("error", "message"):
        found = found.get(key, found) if isinstance(found, dict) else found
    return found.encode() if isinstance(found, str) else b""


def _seconds(header: str | None) -> float | None:
    try:
        return max(float(header or ""), 0.0)
    except ValueError:  # a date, or nothing
        return None


def _tokens(found: _LogProbs | None) -> tuple[Token, ...] | None:
    if found is None or not found.content:
        return None
    tokens = []
    for token in found.content:
        if token.logprob is None:
            return None
        try:
            content = token.token.encode() if token.bytes is None else bytes(token.bytes)
        except ValueError:  # not bytes
            return None
        # In single precision the log-probability of a certain token may be slightly above 0.
        tokens.append(Token(content, min(token.logprob, 0.0)))
    return tuple(tokens)
