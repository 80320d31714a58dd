"""Real outputs of published models: the paper's tables, as docs/reproduction.md reports them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import reproduce_000
from bench.reproduce_000 import DATASETS, MODELS, REPETITIONS, SYSTEMS, TABLE_2, TABLE_3

from keywright.calibration import ece
from keywright.calibration.fit import cross_validate
from tests.shared import SHARED, needs_data

DATA = SHARED / "data"
DOCUMENT = Path(__file__).parents[2] / "docs" / "reproduction.md"
pytestmark = [needs_data, pytest.mark.slow]


@pytest.mark.parametrize("dataset", DATASETS)
def test_table_3_is_reproduced_exactly(dataset: str) -> None:
    sources = reproduce_000.lines_of(DATA / "test" / f"{dataset}.jsonl", reproduce_000.Source)
    found = reproduce_000.release_sections(sources, same_scale=False)
    assert tuple(found) == TABLE_3[dataset]


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize(("model", "within"), [("t5", 0.05), ("bart", 0.25)])
def test_published_errors_of_subword_models_follow_from_the_released_programs(
    model: str, within: float, dataset: str
) -> None:
    found = reproduce_000.release_ece(DATA, model, dataset)
    assert found == pytest.approx(TABLE_2[model, dataset], abs=within)


def test_recalibration_leaves_less_than_three_points() -> None:
    for model in SYSTEMS:
        for dataset in DATASETS:
            sample = reproduce_000.sample_of(DATA, model, dataset)
            runs = [cross_validate(sample, "logistic", seed=seed) for seed in range(REPETITIONS)]
            for part in ("present", "absent"):
                mask = sample.mask(part)
                left = [ece.ece(after[mask], sample.correct[mask]) for after in runs]
                assert sum(left) / len(left) < 0.03, (model, dataset, part)


def test_the_guide_has_the_computed_numbers() -> None:
    text = DOCUMENT.read_text()
    for name in ("table 1", "table 2", "table 3"):
        table = reproduce_000.TABLES[name](DATA)
        assert reproduce_000.updated(text, name, table) == text, f"{name} is out of date"
        assert table in text
    assert len(MODELS) == 5
