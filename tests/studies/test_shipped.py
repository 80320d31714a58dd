"""The studies in studies/: each is complete, and has a twin that is sized for a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright.studies.loading import load
from tests.shared import needs_data

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.toml"))


def test_every_study_has_a_small_twin() -> None:
    names = {path.stem for path in STUDIES}
    full = {name for name in names if not name.endswith("-small")}
    assert full
    assert names - full == {f"{name}-small" for name in full}


@needs_data
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_can_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    study = load(path)
    assert study.title
    for table in study.tables:
        assert table.title
