"""The limits of the service."""

from __future__ import annotations

from dataclasses import dataclass, fields

from keywright.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """Limits of a request, of the queue and of a batch; each but `batch_wait` is at least 1."""

    body_bytes: int = 16 * 1024 * 1024
    documents: int = 64  # per request
    characters: int = 400_000  # per request, all documents together
    terms: int = 1000  # of a request's vocabulary
    seconds: float = 30.0  # from the first byte of a request to its answer
    requests: int = 1000  # open at the same time
    queue: int = 256  # documents waiting for the model
    batch: int = 32  # documents per batch
    batch_characters: int = 64_000  # per batch, unless a single document has more
    batch_wait: float = 0.005  # seconds that an idle model waits for more documents; may be 0
    long_characters: int = 10_000  # a request with more is processed in the lane for long ones
    short_terms: int = 50  # so does one with a longer vocabulary
    long_workers: int = 1  # processes of that lane
    long_requests: int = 16  # in that lane, being processed or waiting
    files: int = 16  # uploads being read or waiting to be read

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "batch_wait" and value < 1:
                raise ConfigError(f"{field.name} is {value}; it must be at least 1")
        if self.batch_wait < 0:
            raise ConfigError(f"batch_wait is {self.batch_wait}; it must not be negative")
        if self.queue < self.documents:
            # Such a request would be told to try again later, forever.
            raise ConfigError(
                f"a queue of {self.queue} cannot hold a request of {self.documents} documents; "
                "make the queue longer, or allow fewer documents per request"
            )
