"""What the service accepts, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from keywright.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """Bounds of a request, of the queue and of a batch; every one is at least 1."""

    body_bytes: int = 16 * 1024 * 1024
    documents: int = 64  # of a request
    characters: int = 400_000  # of a request, all documents together
    seconds: float = 30.0  # from the first byte of a request to its answer
    requests: int = 1000  # that are read, wait or are worked on
    queue: int = 256  # documents that wait for the model
    batch: int = 32  # documents that the model takes at once
    batch_characters: int = 64_000  # that the model takes at once, unless one document has more
    batch_wait: float = 0.005  # seconds that an idle model waits for company; may be 0
    files: int = 16  # uploads that are read or wait for it

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "batch_wait" and value < 1:
                raise ConfigError(f"{field.name} is {value}; it must be at least 1")
        if self.batch_wait < 0:
            raise ConfigError(f"batch_wait is {self.batch_wait}; it must not be negative")
        if self.queue < self.documents:
            # Such a request would be told to come back later, for ever.
            raise ConfigError(
                f"the queue of {self.queue} cannot hold a request of {self.documents} documents; "
                "make it longer, or allow fewer documents"
            )
