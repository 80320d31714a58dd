"""A connection: slow clients are disconnected, and its errors look like all others."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from keywright.serving.guard import SECURITY, error_response
from keywright.serving.refusal import RefusalError


class Connection(H11Protocol):
    """uvicorn's connection, which on its own would wait forever for a slow client.

    The client has `seconds` to send its headers (or the rest of a body that is no longer read),
    and `seconds` to receive its answer. Between the headers and the answer, the application limits
    the time.
    """

    def __init__(self, *args: Any, seconds: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._seconds = seconds
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering and not self._unsent:
            self._drop_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._unsent or not self._answering:  # the next request may have arrived
            self._set_deadline()

    def send_400_response(self, msg: str) -> None:
        self._refuse(RefusalError(400, "bad_request", "The request is not valid HTTP."))

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _unsent(self) -> int:
        """The bytes of earlier answers that the client has not received."""
        return self.transport.get_write_buffer_size()

    def _set_deadline(self) -> None:
        self._drop_deadline()
        self._deadline = self.loop.call_later(self._seconds, self._too_late)

    def _drop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        if self._unsent:
            self.transport.abort()  # closing would wait until the client has read it all
        elif self._answering:
            return
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            message = f"The headers took longer than the limit of {self._seconds:g} seconds."
            self._refuse(RefusalError(408, "timeout", message))
        else:
            self.transport.close()

    def _refuse(self, refusal: RefusalError) -> None:
        """Answer a request that never reached the application, and close the connection."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # in the middle of another answer
            return
        answer = error_response(refusal)
        answer.headers.update({**SECURITY, "Connection": "close"})
        headers = [*self.server_state.default_headers, *answer.raw_headers]
        events = (
            h11.Response(status_code=refusal.status, headers=headers),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()
