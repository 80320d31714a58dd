from __future__ import annotations

import math

import pytest

from keywright.config import Stage
from keywright.training.schedule import factor


def factors(schedule: str, warmup: int, total: int, updates: list[int]) -> list[float]:
    stage = Stage(epochs=1, schedule=schedule, warmup=warmup)
    return [factor(stage, update, total) for update in updates]


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "plateau", "noam"])
def test_the_rate_rises_linearly_to_its_peak(schedule: str) -> None:
    assert factors(schedule, 4, 20, [1, 2, 3, 4]) == [0.25, 0.5, 0.75, 1.0]


def test_constant_and_plateau_stay_at_the_peak() -> None:
    assert factors("constant", 0, 10, [1, 5, 10]) == [1, 1, 1]
    assert factors("plateau", 2, 10, [3, 10]) == [1, 1]


def test_linear_reaches_zero_at_the_end() -> None:
    assert factors("linear", 2, 10, [4, 6, 10, 11]) == pytest.approx([0.75, 0.5, 0, 0])


def test_cosine_has_half_of_the_peak_in_the_middle() -> None:
    assert factors("cosine", 2, 10, [6, 10, 12]) == pytest.approx([0.5, 0, 0])


def test_noam_falls_with_the_square_root_of_the_updates() -> None:
    assert factors("noam", 4, 10**6, [16, 64]) == pytest.approx([0.5, 0.25])
    # Vaswani et al. (2017), eq. 3, relative to its own peak.
    rate = lambda update: min(update**-0.5, update * 4**-1.5)  # noqa: E731
    for update in (1, 3, 4, 5, 100):
        assert factors("noam", 4, 10, [update]) == [pytest.approx(rate(update) / rate(4))]
        assert math.isfinite(rate(update))


def test_the_warm_up_of_the_calibration_study_is_quadratic() -> None:
    stage = Stage(epochs=1, warmup=2000, warmup_power=2.0)
    assert [factor(stage, update, 5000) for update in (500, 1000, 2000, 2001)] == [
        pytest.approx(0.0625),
        pytest.approx(0.25),
        1.0,
        1.0,
    ]
