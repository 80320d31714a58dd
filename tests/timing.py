"""Measured times that do not depend on what else runs on the machine."""

from __future__ import annotations

import time
from collections.abc import Callable

ATTEMPTS = 5


def is_quick(work: Callable[[], object], seconds: float) -> bool:
    """Whether work takes less CPU time than this, at least in one of a few attempts.

    Other processes can make it slower, but none of them can make slow work quick.
    """

    def took() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    return any(took() < seconds for _ in range(ATTEMPTS))
