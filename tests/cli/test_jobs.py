from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from keywright.cli._jobs import _children_ignore_interrupts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be blocked there")
BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


@pytest.fixture(autouse=True)
def _interrupts_are_heard() -> Iterator[None]:
    """Also where the tests run in the background of a shell, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_while_processes_start_is_not_lost() -> None:
    events = []

    def start() -> None:
        with _children_ignore_interrupts():
            signal.raise_signal(signal.SIGINT)
            events.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert events == ["started"]


def test_processes_that_are_started_do_not_see_interrupts() -> None:
    command = [sys.executable, "-c", BLOCKED]
    with _children_ignore_interrupts():
        inside = subprocess.run(command, capture_output=True, text=True, check=True)
    outside = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (inside.stdout, outside.stdout) == ("True\n", "False\n")
