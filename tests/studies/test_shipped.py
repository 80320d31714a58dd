"""The studies in studies/: each is complete, and has a twin that is sized for a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright import config as configs
from keywright.studies.loading import load
from keywright.studies.plan import make
from keywright.studies.run import duration, estimates
from tests.shared import needs_data

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.toml"))


TRAINS_NOTHING = {"000-released"}
# Studies that are as small as they can be, and those of no paper.
ONE_SIZE = TRAINS_NOTHING | {"equal-budgets", "learning-from-predictions", "one2set", "transfer"}


def test_every_study_has_a_small_twin() -> None:
    names = {path.stem for path in STUDIES} - ONE_SIZE
    full = {name for name in names if not name.endswith("-small")}
    assert full
    assert names - full == {f"{name}-small" for name in full}


@needs_data
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_can_start(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    study = load(path)
    assert study.title
    for shown in (*study.tables, *study.figures):
        assert shown.title
    plan = make(study, tmp_path / "run")
    assert bool(plan.steps) == (path.stem not in TRAINS_NOTHING)
    assert all(step.work for step in plan.steps), "a step whose time cannot be estimated"
    seconds = estimates(plan, plan.steps, lambda step: 1.0)
    alone, together = (duration(plan.steps, seconds, jobs) for jobs in (1, 2))
    assert alone == pytest.approx(sum(seconds.values()))
    assert alone / 2 - 1e-6 <= together <= alone
    assert not (tmp_path / "run").exists()


@needs_data
def test_twins_show_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for path in STUDIES:
        if path.stem.endswith("-small") or path.stem in ONE_SIZE:
            continue
        full, small = (configs.read_table(p) for p in (path, path.with_stem(f"{path.stem}-small")))
        for group in ("systems", "tables", "figures", "datasets", "decoders"):
            names = [[one["name"] for one in study.get(group, [])] for study in (full, small)]
            assert names[0] == names[1], (path.stem, group)
