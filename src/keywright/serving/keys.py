"""Who may use the service, and how often: bearer keys, stored as hashes only."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from keywright.errors import DataError
from keywright.files import read_lines

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Keys:
    """The SHA-256 of every key, by the name of its holder.

    A plain hash is enough because keys are long and random; it would not be for passwords.
    """

    hashes: Mapping[str, str]

    @classmethod
    def load(cls, path: str | Path) -> Keys:
        """Read lines of a name and a hexadecimal hash; `#` starts a comment."""
        hashes: dict[str, str] = {}
        for number, line in read_lines(path):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 2 or not _HASH.fullmatch(words[1].lower()):
                # The line is not shown: it may contain the key itself.
                raise DataError(
                    "is not a name and the SHA-256 of a key in 64 hexadecimal digits", path, number
                )
            if words[0] in hashes:
                raise DataError(f"repeats the name {words[0]!r}", path, number)
            hashes[words[0]] = words[1].lower()
        if not hashes:
            raise DataError("has no keys; nobody could use the service", path)
        return cls(hashes)

    def holder(self, key: str) -> str | None:
        """The holder of a key, or None. A wrong key takes as long to check as a valid one."""
        given = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        found = None
        for name, known in self.hashes.items():
            if hmac.compare_digest(known, given):
                found = name
        return found


class RateLimit:
    """At most `per_minute` requests per minute for every name; they may come in one burst."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and at what time

    def wait(self, name: str) -> float:
        """0 if this request is allowed (it is then counted), else the seconds to wait."""
        now = self._clock()
        left, before = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - before) * self._per_second)
        allowed = left >= 1
        self._left[name] = (left - 1 if allowed else left, now)
        return 0.0 if allowed else (1 - left) / self._per_second
