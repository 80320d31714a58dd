"""`keywright make-pairs`, `train` of a scorer and `score-pairs` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from keywright import config as configs
from keywright.cli import app, main
from keywright.scorers.scorer import load
from tests.scorers.made import config

DOCUMENTS = [
    {
        "id": "1",
        "title": "heat pumps",
        "abstract": "Heat pumps warm old houses .",
        "keywords": ["heat pumps", "insulation"],
    }
]
PREDICTIONS = [{"id": "1", "phrases": ["pumps", "house insulation"]}]


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.stderr
    return found.stderr


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The one line on standard error of a command that ends with exit code 2."""

    def fails(*arguments: object) -> str:
        monkeypatch.setattr("sys.argv", ["keywright", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        assert exit.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return fails


@pytest.fixture
def scorer(tmp_path: Path) -> Path:
    """A config on disk, trained by the command."""
    path = tmp_path / "little.toml"
    path.write_text(configs.to_toml(config(tmp_path)))
    folder = tmp_path / "scorer"
    report = run("train", path, "--run", folder, "--set", "train.epochs=1")
    assert "finished after 5 updates" in report
    assert "update 4: loss" in report
    return folder


def test_from_predictions_to_scores(tmp_path: Path, scorer: Path) -> None:
    documents = write(tmp_path / "documents.jsonl", DOCUMENTS)
    predictions = write(tmp_path / "predictions.jsonl", PREDICTIONS)
    pairs = tmp_path / "pairs.jsonl"
    report = run("make-pairs", predictions, "--documents", documents, "--output", pairs)
    assert f"2 pairs: {pairs}" in report
    assert read(pairs) == [
        {"prediction": "pump", "target": "heat pump", "score": pytest.approx(7 / 12)},
        {"prediction": "hous insul", "target": "insul", "score": pytest.approx(7 / 12)},
    ]
    scored = tmp_path / "scored.jsonl"
    report = run("score-pairs", pairs, "--scorer", scorer, "--output", scored, "--stems")
    assert "2 pairs in" in report
    expected = load(scorer)([("pump", "heat pump"), ("hous insul", "insul")])
    lines = read(scored)
    assert [line.pop("fb") for line in lines] == pytest.approx(expected)
    assert lines == read(pairs), "the other fields stay"


def test_phrases_of_people_are_stemmed(tmp_path: Path, scorer: Path) -> None:
    pairs = write(
        tmp_path / "pairs.jsonl", [{"prediction": "Old Houses", "target": "heat-pumps", "by": 3}]
    )
    run("score-pairs", pairs, "--scorer", scorer, "--output", tmp_path / "scored.jsonl")
    (expected,) = load(scorer)([("old hous", "heat pump")])
    (found,) = read(tmp_path / "scored.jsonl")
    assert found == {
        "prediction": "Old Houses",
        "target": "heat-pumps",
        "by": 3,
        "fb": pytest.approx(expected),
    }


def test_a_scorer_is_trained_on_after_a_stop(tmp_path: Path) -> None:
    path = tmp_path / "little.toml"
    path.write_text(configs.to_toml(config(tmp_path)))
    report = run("train", path, "--run", tmp_path / "scorer", "--minutes", "1e-6")
    assert "stopped after 1 updates" in report
    report = run("train", path, "--run", tmp_path / "scorer", "--resume")
    assert "finished after 10 updates" in report


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"prediction": "a"}, "target: must be a phrase, not None"),
        ({"prediction": 3, "target": "a"}, "prediction: must be a phrase, not 3"),
        ({"prediction": "-", "target": "a"}, "prediction: '-' has no word"),
    ],
)
def test_a_bad_pair_is_an_error_and_leaves_no_file(
    tmp_path: Path, scorer: Path, fails, record: dict[str, object], message: str
) -> None:
    pairs = write(tmp_path / "pairs.jsonl", [{"prediction": "a", "target": "b"}, record])
    output = tmp_path / "scored.jsonl"
    line = fails("score-pairs", pairs, "--scorer", scorer, "--output", output)
    assert line == f"keywright: error: {pairs}:2: {message}"
    assert not output.exists()


def test_a_file_without_pairs_is_an_error(tmp_path: Path, scorer: Path, fails) -> None:
    pairs = write(tmp_path / "pairs.jsonl", [])
    line = fails("score-pairs", pairs, "--scorer", scorer, "--output", tmp_path / "out.jsonl")
    assert line == f"keywright: error: {pairs}: has no pairs"
    assert not (tmp_path / "out.jsonl").exists()


def test_a_missing_scorer_is_an_error(tmp_path: Path, fails) -> None:
    pairs = write(tmp_path / "pairs.jsonl", [{"prediction": "a", "target": "b"}])
    line = fails("score-pairs", pairs, "--scorer", tmp_path, "--output", tmp_path / "out.jsonl")
    assert "is not the run folder of a scorer: it has no run.json" in line


def test_an_unknown_setting_of_a_scorer_is_an_error(tmp_path: Path, fails) -> None:
    path = tmp_path / "little.toml"
    path.write_text(configs.to_toml(config(tmp_path)))
    line = fails("train", path, "--set", "scorer.layer=2")
    assert "scorer.layer: unknown setting; did you mean 'layers'?" in line
    line = fails("train", path, "--set", "train.zero_weight=2")
    assert "train.zero_weight: expected float <= 1.0 (it is 2)" in line


def test_an_unknown_score_is_an_error(tmp_path: Path, fails) -> None:
    line = fails(
        "make-pairs", "p.jsonl", "--documents", "d.jsonl", "--output", "o.jsonl", "--score", "tokn"
    )
    assert "unknown score 'tokn'; did you mean 'token'?" in line
