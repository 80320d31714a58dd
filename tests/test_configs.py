"""Every file of configs/ can be used, and every model has a config and one for a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from keywright import config as configs
from keywright import parts
from keywright.files import read_text
from keywright.scorers.config import Config as ScorerConfig
from keywright.training import setup

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
RUNS = sorted({*CONFIGS.glob("*.toml"), *CONFIGS.glob("reinforce/*.toml")})
# Models without a `-small` config, and why.
WITHOUT_SMALL: dict[str, str] = {}
# Models whose weights are downloaded, with the names of their configs.
FROM_THE_HUB = {"hf_seq2seq": ("t5", "bart", "keybart")}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_config_of_a_run_has_only_known_settings(path: Path) -> None:
    if configs.SCORER in configs.read_table(path):
        configs.load_as(ScorerConfig, path)
        return
    config = configs.load(path)
    assert config.evaluate.documents
    if config.model.name not in FROM_THE_HUB:
        setup.check(config)


@pytest.mark.parametrize("path", sorted((CONFIGS / "rankers").iterdir()), ids=lambda p: p.stem)
def test_a_config_of_a_ranker_has_only_known_settings(path: Path) -> None:
    pytest.importorskip("sklearn")
    from keywright.ranking.fitting import ranker

    table = configs.parse_toml(read_text(path), path)
    chosen = configs.fill(ranker.Config, table)
    assert table.keys() <= configs.to_table(chosen).keys()
    assert chosen.most_words == table["most_words"]


@pytest.mark.parametrize("name", parts.names("keywright.models"))
def test_every_model_has_a_config_and_a_small_one(name: str) -> None:
    for file in FROM_THE_HUB.get(name, (name,)):
        full = configs.load(CONFIGS / f"{file}.toml")
        assert full.model.name == name
        if file in WITHOUT_SMALL:
            assert not (CONFIGS / f"{file}-small.toml").exists()
            continue
        small = configs.load(CONFIGS / f"{file}-small.toml")
        assert small.model.name == name
        assert small.data.train_documents is not None
        assert small.data.train_documents <= 20_000
