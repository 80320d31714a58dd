from __future__ import annotations

from keywright.config import Stage
from keywright.training.stopping import Tracker


def test_patience_counts_validations_since_the_best() -> None:
    stage, tracker = Stage(epochs=1, patience=2), Tracker()
    assert [tracker.add(score, stage) for score in (-3.0, -2.0, -2.0)] == [True, True, False]
    assert not tracker.exhausted(stage)
    assert tracker.add(-1.5, stage)
    assert not tracker.add(-1.6, stage)
    assert not tracker.exhausted(stage)
    assert not tracker.add(-1.7, stage)
    assert tracker.exhausted(stage)
    assert tracker.best == -1.5


def test_without_patience_a_stage_runs_to_its_end() -> None:
    stage, tracker = Stage(epochs=1), Tracker()
    for _ in range(100):
        tracker.add(0.0, stage)
    assert not tracker.exhausted(stage)


def test_a_plateau_reduces_the_rate_once_and_then_waits_again() -> None:
    stage = Stage(epochs=1, schedule="plateau", plateau_factor=0.5, plateau_patience=1)
    tracker = Tracker()
    rates = []
    for score in (1.0, 0.9, 0.9, 0.9, 0.9, 2.0, 0.0):
        tracker.add(score, stage)
        rates.append(tracker.rate)
    assert rates == [1, 1, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_other_schedules_ignore_plateaus() -> None:
    stage, tracker = Stage(epochs=1, schedule="cosine"), Tracker()
    for _ in range(5):
        tracker.add(0.0, stage)
    assert tracker.rate == 1
