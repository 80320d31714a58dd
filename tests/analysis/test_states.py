"""Saved decoder states in the plane."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs the extra 'analysis'")

from keywright.analysis.states import project, read_states
from keywright.errors import DataError


def save(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def test_states_that_form_clusters_stay_apart(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    centres = np.repeat(np.eye(2, 8) * 10, 30, axis=0)
    states = centres + random.normal(0, 0.1, centres.shape)
    steps = np.ones(60, dtype=int)
    read = read_states(save(tmp_path / "s.npz", states=states, steps=steps))
    (found,) = project(*read, at=[1])
    points = found.points
    assert points.shape == (60, 2)
    first, second = points[:30], points[30:]
    gap = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    assert gap > 2 * max(first.std(), second.std())


def test_similarity_is_high_for_equal_and_low_for_different_states() -> None:
    random = np.random.default_rng(1)
    one_mass = np.ones((40, 8)) + random.normal(0, 0.01, (40, 8))
    spread = random.normal(0, 1, (40, 8))
    states = np.concatenate([one_mass, spread])
    steps = np.repeat([1, 2], 40)
    mass, wide = project(states, steps, at=[1, 2])
    assert mass.similarity == pytest.approx(1, abs=0.01)
    pairs = [
        np.dot(spread[i], spread[j]) / np.linalg.norm(spread[i]) / np.linalg.norm(spread[j])
        for i in range(40)
        for j in range(i)
    ]
    assert wide.similarity == pytest.approx(np.mean(pairs))


def test_a_sample_knows_its_rows() -> None:
    states = np.random.default_rng(2).normal(size=(50, 4))
    steps = np.array([1, 2] * 25)
    (found,) = project(states, steps, at=[2], sample=20)
    assert len(set(found.rows.tolist())) == 20
    assert (steps[found.rows] == 2).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"states": np.ones((4, 2))}, "no array 'steps"),
        ({"states": np.ones(4), "steps": np.ones(4)}, "must be"),
        ({"states": np.ones((4, 2)), "steps": np.ones(3)}, "must be"),
        ({"states": np.full((4, 2), np.nan), "steps": np.ones(4)}, "not finite"),
        ({"states": np.array([["x"]]), "steps": np.ones(1)}, "not an .npz file of numbers"),
    ],
)
def test_bad_files_say_what_is_wrong(
    tmp_path: Path, arrays: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_states(save(tmp_path / "bad.npz", **arrays))


def test_a_missing_file_and_one_that_is_not_npz(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_states(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match=r"not an \.npz file"):
        read_states(tmp_path / "text.npz")


def test_too_few_states_are_refused() -> None:
    with pytest.raises(DataError, match="there are 2 states at step 1"):
        project(np.ones((2, 3)), np.ones(2, dtype=int), at=[1])
