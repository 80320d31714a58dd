"""Training a scorer: it learns, resumes to the same weights, and refuses what cannot work."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import torch

from keywright import checkpoint, runs
from keywright.errors import ConfigError, DataError
from keywright.runs import RunExistsError
from keywright.scorers import folder as folders
from keywright.scorers.fitting import train
from keywright.scorers.pairs import ScoredPair, write_pairs
from keywright.scorers.scorer import load
from keywright.training.state import Status
from tests.scorers.made import PAIRS, PIECES, config, write_bert


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(checkpoint.load(folder / runs.LAST).model)


def assert_equal(one: Path, other: Path) -> None:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def test_it_learns_the_scores_of_pairs(tmp_path: Path) -> None:
    seen: list[Status] = []
    chosen = config(
        tmp_path,
        "train.epochs=60",
        "train.batch_size=6",
        "train.learning_rate=3e-3",
        "train.validate_every=60",
        "scorer.dropout=0.0",
    )
    outcome = train(chosen, tmp_path / "run", watch=seen.append)
    assert (outcome.reason, outcome.updates) == ("finished", 180)
    losses = [status.validation["loss"] for status in seen if status.validation]
    assert losses[-1] < losses[0]
    found = load(tmp_path / "run")([(pair.prediction, pair.target) for pair in PAIRS])
    assert found == pytest.approx([pair.score for pair in PAIRS], abs=0.1)


def test_the_folder_holds_all_a_scorer_needs(tmp_path: Path) -> None:
    train(config(tmp_path), tmp_path / "run")
    (tmp_path / "bert").rename(tmp_path / "gone")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.toml", "vocabulary.json", "run.json", "best.safetensors"} <= names
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in names)
    (score,) = load(tmp_path / "run")([("heat", "pump")])
    assert 0 < score < 1
    manifest = folders.read(tmp_path / "run").manifest
    assert (manifest.train.documents, manifest.valid.documents) == (18, 6)
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "run" / runs.METRICS).open()]
    assert kinds.count("train") == 5
    assert kinds.count("valid") == 3


def test_the_best_weights_are_those_that_are_loaded(tmp_path: Path) -> None:
    too_fast = config(tmp_path, "train.epochs=6", "train.learning_rate=0.1")
    train(too_fast, tmp_path / "run")
    before = load(tmp_path / "run")([("heat", "pump")])
    best = checkpoint.load(tmp_path / "run" / runs.BEST)
    lines = map(json.loads, (tmp_path / "run" / runs.METRICS).open())
    losses = [line["loss"] for line in lines if line["kind"] == "valid"]
    assert json.loads(best.state)["loss"] == min(losses) < losses[-1]
    (tmp_path / "run" / runs.BEST).unlink()
    assert load(tmp_path / "run")([("heat", "pump")]) != before, "the latest ones"


def test_a_run_stopped_again_and_again_ends_with_the_same_weights(tmp_path: Path) -> None:
    train(config(tmp_path), tmp_path / "whole")
    stopped = config(tmp_path, "train.minutes=1e-9")
    for updates in range(1, 10):
        outcome = train(stopped, tmp_path / "pieces", resume=True)
        assert (outcome.reason, outcome.updates) == ("minutes", updates)
    assert train(stopped, tmp_path / "pieces", resume=True).reason == "finished"
    assert_equal(tmp_path / "whole", tmp_path / "pieces")
    names = ("config.toml", runs.METRICS)
    assert "minutes" in (tmp_path / "pieces" / names[0]).read_text()
    kinds = [
        [(line["kind"], line["update"], line["loss"]) for line in map(json.loads, path.open())]
        for path in (tmp_path / "whole" / names[1], tmp_path / "pieces" / names[1])
    ]
    assert kinds[0] == kinds[1]
    assert train(stopped, tmp_path / "pieces", resume=True).reason == "finished", "nothing to do"


def test_a_killed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    train(config(tmp_path), tmp_path / "whole")
    killed = config(tmp_path, "train.checkpoint_minutes=0")
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)

        def kill(status: Status) -> None:
            if status.update == 7 and status.validation is None:
                os.kill(os.getpid(), signal.SIGKILL)

        train(killed, tmp_path / "killed", watch=kill)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert checkpoint.load_state(dict, tmp_path / "killed" / runs.LAST)["update"] == 6
    assert train(killed, tmp_path / "killed", resume=True).reason == "finished"
    assert_equal(tmp_path / "whole", tmp_path / "killed")


def test_ctrl_c_writes_a_checkpoint(tmp_path: Path) -> None:
    def interrupt(status: Status) -> None:
        if status.update == 3:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = train(config(tmp_path), tmp_path / "run", watch=interrupt)
    assert (outcome.reason, outcome.updates, outcome.signal) == ("signal", 3, signal.SIGINT)


def test_patience_ends_a_run(tmp_path: Path) -> None:
    frozen = config(
        tmp_path,
        "train.epochs=50",
        "train.learning_rate=1e-20",
        "train.patience=2",
        "train.weight_decay=0.0",
    )
    outcome = train(frozen, tmp_path / "run")
    assert (outcome.reason, outcome.updates) == ("finished", 12)


def test_pairs_that_share_nothing_count_less(tmp_path: Path) -> None:
    """With a weight of 0 it does not matter what they are."""
    zeros = [ScoredPair("x", "y", 0.0)] * 4
    similar = [ScoredPair("a b", "a", 0.5)] * 4
    for name, others in (("one", zeros), ("other", [ScoredPair("z", "v", 0.0)] * 4)):
        write_pairs([*similar, *others], tmp_path / f"{name}.jsonl")
        settings = ("pairs.valid=[]", "train.epochs=1", "train.batch_size=8", "scorer.dropout=0.0")
        for weight in (0.0, 0.5):
            paths = f'pairs.train=["{tmp_path / name}.jsonl"]'
            chosen = config(tmp_path, paths, f"train.zero_weight={weight}", *settings)
            train(chosen, tmp_path / f"{name}-{weight}")
    head = "output.weight"
    without = [weights(tmp_path / f"{name}-0.0")[head] for name in ("one", "other")]
    with_them = [weights(tmp_path / f"{name}-0.5")[head] for name in ("one", "other")]
    assert torch.allclose(*without, atol=1e-6)
    assert not torch.allclose(*with_them, atol=1e-6)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    train(config(tmp_path), tmp_path / "run")
    with pytest.raises(RunExistsError, match="already contains a run"):
        train(config(tmp_path), tmp_path / "run")


def test_a_run_is_resumed_under_its_own_settings_and_pairs(tmp_path: Path) -> None:
    train(config(tmp_path, "train.minutes=1e-9"), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"train\.batch_size: is 3 now and 4 in"):
        train(config(tmp_path, "train.batch_size=3"), tmp_path / "run", resume=True)
    write_pairs(PAIRS, tmp_path / "train.jsonl")
    with pytest.raises(DataError, match=r"pairs\.train: holds other pairs .*6 now, 18 then"):
        train(config(tmp_path), tmp_path / "run", resume=True)


def test_an_encoder_with_names_of_a_larger_model_can_be_used(tmp_path: Path) -> None:
    train(config(tmp_path), tmp_path / "plain")
    write_bert(tmp_path / "prefixed", prefix="bert.")
    train(config(tmp_path, f"scorer.encoder={tmp_path / 'prefixed'}"), tmp_path / "run")
    assert_equal(tmp_path / "plain", tmp_path / "run")


def test_the_first_layers_of_an_encoder_can_be_used(tmp_path: Path) -> None:
    train(config(tmp_path, "scorer.layers=1"), tmp_path / "run")
    names = weights(tmp_path / "run")
    assert any("layers.layers.0." in name for name in names)
    assert not any("layers.layers.1." in name for name in names)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("scorer.encoder=nowhere", r"scorer\.encoder: nowhere has no config\.json"),
        ("scorer.layers=3", r"scorer\.layers: 3 is more than the 2 layers"),
        ("scorer.max_pieces=23", r"scorer\.max_pieces: two phrases of 23 wordpieces"),
    ],
)
def test_what_cannot_be_begun_leaves_no_folder(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(config(tmp_path, override), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_encoder_that_is_no_bert_leaves_no_folder(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    path = tmp_path / "bert" / "config.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({**description, "model_type": "t5"}))
    with pytest.raises(ConfigError, match="describes a t5 with gelu; only a bert with gelu"):
        train(chosen, tmp_path / "run")
    path.write_text(json.dumps({**description, "intermediate_size": 40}))
    with pytest.raises(ConfigError, match="sizes are not those of the pretrained encoder"):
        train(chosen, tmp_path / "run")
    path.write_text(json.dumps({**description, "num_hidden_layers": 3}))
    with pytest.raises(ConfigError, match=r"lacks the tensor 'encoder\.layer\.2"):
        train(chosen, tmp_path / "run")
    path.write_text("{}")
    with pytest.raises(ConfigError, match="does not describe a BERT"):
        train(chosen, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_wordpieces_that_cannot_mark_a_pair_are_refused(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    lacking = ["x" if piece == "[CLS]" else piece for piece in PIECES]
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join(lacking) + "\n")
    with pytest.raises(DataError, match=r"vocab\.txt: cannot be used: the wordpieces lack \[CLS\]"):
        train(chosen, tmp_path / "run")


def test_patience_without_validation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"train\.patience needs validation pairs"):
        config(tmp_path, "pairs.valid=[]", "train.patience=2")
