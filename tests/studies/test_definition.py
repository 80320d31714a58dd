"""A study is checked before anything is trained; errors name file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright.errors import ConfigError
from keywright.studies.loading import load


def test_a_study_is_read(definition: Path) -> None:
    study = load(definition)
    assert [system.name for system in study.systems] == [
        "Short", "Longer", "First phrases", "Paper",
    ]  # fmt: skip
    assert study.seeds_of(study.system("Short")) == (1,)
    assert study.system("Longer").set == ("train.stage[0].epochs=3",)
    assert study.protocol_of(study.dataset("part")) == "chan19"


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ('model = "firstphrases"', 'model = "nobody"', 'model = "nobody"', "is neither the folder"),
        ('model = "firstphrases"', "", 'name = "First', "needs one of `config`"),
        ('baseline = "Short"', 'baseline = "Shrt"', "baseline", "did you mean 'Short'"),
        ('baseline = "Short"', 'baseline = "Paper"', "baseline", "published scores only"),
        ('name = "Longer"', 'name = "Short"', 'name = "Short"', "is used twice"),
        ('name = "Longer"', 'name = "a/b"', 'name = "a/b"', "cannot be part of a file name"),
        ("first = 5", "frist = 5", "frist", "did you mean 'first'"),
        ("first = 5", "first = 0", "first", ">= 1"),
        ("first = 5", 'protocol = "chan20"', "protocol", "did you mean 'chan19'"),
        ("test.jsonl", "gone.jsonl", "gone.jsonl", "gone.jsonl"),
        ("config.toml", "gone.toml", "gone.toml", "cannot be read"),
        ("epochs=3", "epochs=0", "config", "epochs"),
        ('"absent.F1@5"', '"absent.G1@5"', "metrics =", "G1"),
        ('systems = ["Short", "Longer"]', 'systems = ["Tall"]', 'systems = ["Tall"]', "'Tall'"),
        ('datasets = ["test"]', 'datasets = ["tset"]', 'datasets = ["tset"]', "'test'"),
        ('kind = "overlap"', 'kind = "overlop"', "overlop", "did you mean 'overlap'"),
    ],
)
def test_mistakes_name_the_line(
    definition: Path, old: str, new: str, where: str, message: str
) -> None:
    text = definition.read_text()
    assert old in text
    definition.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        load(definition)
    assert message in str(error.value)
    lines = [
        number
        for number, line in enumerate(definition.read_text().splitlines(), 1)
        if where in line
    ]
    assert any(str(error.value).startswith(f"{definition}:{line}: ") for line in lines), error.value


def test_a_cycle_is_an_error(definition: Path) -> None:
    text = definition.read_text()
    text = text.replace('name = "Short"', 'name = "Short"\nstart = "Longer"', 1)
    text = text.replace('name = "Longer"', 'name = "Longer"\nstart = "Short"', 1)
    definition.write_text(text)
    with pytest.raises(ConfigError, match="is a cycle: Short -> Longer -> Short; one of them"):
        load(definition)


def test_missing_training_data_is_named(definition: Path) -> None:
    (definition.parent / "train.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"train\.jsonl, which does not exist; get the data"):
        load(definition)


def test_what_is_not_trained_has_no_seeds(definition: Path) -> None:
    text = definition.read_text()
    definition.write_text(text.replace('"firstphrases"', '"firstphrases"\nseeds = [1, 2]', 1))
    with pytest.raises(ConfigError, match="only a system with a `config` has"):
        load(definition)
