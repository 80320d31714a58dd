from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from keywright import config as configs
from keywright.config import Count, Fraction, Part
from keywright.errors import ConfigError

SMALLEST = """
[data]
train = ["train.jsonl"]
[model]
name = "some_model"
[[train.stage]]
epochs = 3
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str = SMALLEST) -> Path:
        path = tmp_path / "run.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@dataclass(frozen=True)
class Inner:
    rate: Fraction = 0.1


@dataclass(frozen=True)
class Sample:
    kind: Literal["gru", "lstm"]
    layers: Count = 1
    inner: Inner = Inner()
    name: str | None = None

    def __post_init__(self) -> None:
        if self.kind == "gru" and self.layers > 4:
            raise ValueError("a gru has at most 4 layers")


def test_only_data_model_and_the_end_of_training_have_no_defaults(write) -> None:
    config = configs.load(write())
    assert config.data.train == ("train.jsonl",)
    assert config.model == Part("some_model")
    assert config.train.stage[0].epochs == 3
    assert config.train.stage[0].objective == Part("nll")
    assert config.data.vocabulary == Part("words")
    assert config.decode == Part("greedy")
    assert config.evaluate.protocol == "chan19"


def test_the_settings_of_a_part_exclude_its_name(write) -> None:
    config = configs.load(write(SMALLEST.replace("[[train", "dropout = 0.5\n[[train")))
    assert config.model.name == "some_model"
    assert config.model.settings == {"dropout": 0.5}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('vocabulary = "wordpieces"', Part("wordpieces")),
        ('[data.vocabulary]\nname = "words"\nsize = 9', Part("words", {"size": 9})),
    ],
)
def test_a_string_is_a_part_with_default_settings(write, written: str, expected: Part) -> None:
    text = SMALLEST.replace("[model]", f"{written}\n[model]")
    assert configs.load(write(text)).data.vocabulary == expected


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("data.train=[]", "data: train is empty"),
        ('data.train="a.jsonl"', "data.train: expected a list"),
        ("data.train=[1]", "data.train[0]: expected str"),
        (
            "data.order=rndom",
            "data.order: 'rndom' is not one of the choices; did you mean 'random'?",
        ),
        ("data.vocabulry=words", "data.vocabulry: unknown setting; did you mean 'vocabulary'"),
        ("data.kpdrop.rate=2", "data.kpdrop.rate: expected float <= 1.0 (it is 2)"),
        ("data.kpdrop.rate=nan", "data.kpdrop.rate: must be a number, not nan"),
        ("data.vocabulary.size=3", "data.vocabulary: needs a name"),
        ("model=3", "model: expected a table with a name"),
        ("model={layers=1}", "model: needs a name"),
        ("trian.seed=1", "trian: unknown setting; did you mean 'train'?"),
        ("train.seed=-1", "train.seed: expected int >= 0"),
        ("train.seed=1.5", "train.seed: expected int"),
        ("train.seed=true", "train.seed: expected int"),
        ("train.stage=[]", "train: has no stage"),
        ("train.stage[0]={}", "train.stage[0]: has no end"),
        ("train.stage[0].clip=0", "train.stage[0].clip: expected float > 0.0"),
        ("train.stage.0.betas=[1, 2]", "train.stage[0].betas[0]: expected float < 1.0"),
        ("train.stage[0].schedule=noam", "train.stage[0]: schedule 'noam' needs warmup"),
        (
            "train.stage[0].accumulate=64",
            "train.stage[0]: accumulate (64) is greater than batch_size (32)",
        ),
        ("train.stage[0].patience=2", "train.stage[0] uses patience"),
        ("data.mark_absent=true,data.order=random", "data: mark_absent needs order"),
    ],
)
def test_invalid_values_are_named_with_their_path(write, override: str, expected: str) -> None:
    overrides = override.split(",") if "," in override and "[" not in override else [override]
    with pytest.raises(ConfigError) as error:
        configs.load(write(), overrides)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    assert "run.toml" in str(error.value)


@pytest.mark.parametrize("section", ["data", "model", "train"])
def test_a_missing_section_is_named(write, section: str) -> None:
    table = tomllib.loads(SMALLEST)
    del table[section]
    with pytest.raises(ConfigError, match=f"^{section}: is required and missing"):
        configs.parse(table)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.seed", "write it as section.key=value"),
        ("=3", "write it as section.key=value"),
        ("train.stage[4].epochs=1", "'4' is not an index of a list of length 1"),
        ("train.stage.first.epochs=1", "'first' is not an index of a list of length 1"),
        ("model.name.x=1", "name is a value, not a table"),
    ],
)
def test_an_override_of_an_unknown_path_is_an_error(write, override: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        configs.load(write(), [override])
    assert expected in str(error.value)


def test_overrides_are_toml_values_or_strings(write) -> None:
    config = configs.load(
        write(),
        [
            "train.seed=7",
            "data.order=random",
            'model.name="other"',
            "data.valid=['a', 'b']",
            "train.stage[0].learning_rates.encoder=1e-5",
            "decode.name=beam",
            "decode.width=5",
        ],
    )
    assert config.train.seed == 7
    assert config.data.order == "random"
    assert config.model.name == "other"
    assert config.data.valid == ("a", "b")
    assert config.train.stage[0].learning_rates == {"encoder": 1e-5}
    assert config.decode == Part("beam", {"width": 5})


def test_a_config_survives_writing_and_reading(write) -> None:
    awkward = 'quote " backslash \\ tab \t delete \x7f ümlaut'
    config = configs.parse(
        {
            "data": {"train": [awkward], "kpdrop": {"mode": "replace", "rate": 0.5}},
            "model": {"name": "m", "sizes": [1, 2], "deep": {"a b": True, "c": {"d": 1e-9}}},
            "train": {
                "stage": [
                    {"epochs": 1, "clip": float("inf"), "learning_rates": {"encoder": 0.1}},
                    {"updates": 5, "objective": {"name": "other", "reward": {"name": "f1"}}},
                ]
            },
        }
    )
    assert configs.load(write(configs.to_toml(config))) == config


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"[data\n", "is not valid TOML"), (b"\xff\xfe", "is not UTF-8")],
)
def test_a_file_that_is_not_a_config_is_an_error(tmp_path: Path, content: bytes, expected: str):
    path = tmp_path / "run.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=expected):
        configs.load(path)


def test_a_missing_config_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        configs.load(tmp_path / "none.toml")


def test_fill_checks_the_dataclass_of_a_part() -> None:
    assert configs.fill(Sample, {"kind": "lstm", "inner": {"rate": 0}}, "model") == Sample(
        "lstm", inner=Inner(0.0)
    )
    for table, expected in (
        ({}, "model.kind: is required and missing"),
        ({"kind": "rnn"}, "model.kind: 'rnn' is not one of the choices"),
        ({"kind": "gru", "layers": 0}, "model.layers: expected int >= 1 (it is 0)"),
        ({"kind": "gru", "layers": 5}, "model: a gru has at most 4 layers"),
        ({"kind": "gru", "inner": {"rates": 1}}, "model.inner.rates: unknown setting"),
        ({"kind": "gru", "inner": {"rate": 1}}, "model.inner.rate: expected float < 1.0"),
        ({"kind": "gru", "name": 3}, "model.name: expected str | null, got int"),
    ):
        with pytest.raises(ConfigError) as error:
            configs.fill(Sample, table, "model")
        assert str(error.value).startswith(expected)


def test_an_unknown_part_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"^evaluate\.protocol.name: .*did you mean 'chan19'"):
        configs.part(Part("chan9"), "keywright.protocols", "evaluate.protocol")
