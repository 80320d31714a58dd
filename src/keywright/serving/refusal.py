"""Why a request is refused; every error answer is made from a `RefusalError`."""

from __future__ import annotations

import math


class RefusalError(Exception):
    """Ends a request with a status, a code for programs and a message for people."""

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}


def retry_later(status: int, code: str, message: str, seconds: float) -> RefusalError:
    """A refusal that asks the client to try again after `seconds`."""
    return RefusalError(status, code, message, {"Retry-After": str(max(1, math.ceil(seconds)))})


def too_long(characters: int, limit: int) -> RefusalError:
    return RefusalError(
        413,
        "text_too_long",
        f"The text has {characters:,} characters; at most {limit:,} are allowed.",
    )
