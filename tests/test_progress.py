"""How far a long run is, in a log and on a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from keywright import progress
from keywright.progress import Meter


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_log_gets_a_line_from_time_to_time(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Meter("Generating", every=60) as meter:
        meter.update(1000, 5000, 0)  # what an earlier run has done does not count for the speed
        for clock.now, done in ((130.0, 1500), (160.0, 2000), (170.0, 2100), (220.0, 3000)):
            meter.update(done, 5000, 2)
    assert capsys.readouterr().err.splitlines() == [
        "Generating: 2,000 of 5,000 documents (40.0%), 16.7 documents/s, 0:03:00 left, 2 failures",
        "Generating: 3,000 of 5,000 documents (60.0%), 16.7 documents/s, 0:02:00 left, 2 failures",
    ]


def test_a_terminal_shows_it_all_the_time(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    with Meter("Generating") as meter:
        meter.update(0, 10, 0)
        clock.now += 1
        meter.update(5, 10, 1)
    assert "5 of 10 documents (50.0%), 5.0 documents/s, 0:00:01 left, 1 failures" in " ".join(
        screen.getvalue().split()
    )


def test_nothing_to_do(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Meter("Generating", every=0) as meter:
        meter.update(0, 0, 0)
    assert capsys.readouterr().err == "Generating: 0 of 0 documents (100.0%), 0 failures\n"
