"""Real processes: killed without warning, or several of them training together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keywright import config as configs
from keywright import runs
from keywright.config import Config
from tests.training.conftest import Make
from tests.training.test_loop import assert_same, metrics, untimed, weights

pytestmark = pytest.mark.slow

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(Path(runs.__file__).parents[1]),  # the package that is tested here
}


def command(folder: Path, name: str) -> list[str]:
    return ["-m", "keywright", "train", "run.toml", "--resume", "--run", str(folder / name)]


def keywright(folder: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *command(folder, name)],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(path: Path, process: subprocess.Popen[bytes], changes: int) -> None:
    """Wait until a file has been replaced `changes` times, or the process has ended."""
    seen: set[tuple[int, int]] = set()
    while len(seen) < changes and process.poll() is None:
        if path.exists():
            status = path.stat()
            seen.add((status.st_ino, status.st_mtime_ns))
        time.sleep(0.002)


STAGES = {
    "nll": "[{epochs=8, batch_size=4, validate_every=5, schedule='plateau'}, "
    "{updates=60, batch_size=8, optimiser='adamw', weight_decay=0.1}]",
    "self_critical": "[{epochs=4, batch_size=8, learning_rate=0.02}, "
    "{updates=40, batch_size=8, accumulate=2, validate_every=5, learning_rate=0.005, "
    "objective={name='self_critical', parts='together', samples=2, max_length=12}}]",
}


def rewards(folder: Path) -> list[float]:
    return [line["reward"] for line in metrics(folder, "train") if "reward" in line]


def assert_kills_change_nothing(folder: Path, config: Config) -> None:
    """A run that is killed three times ends like one that is left alone."""
    (folder / "run.toml").write_text(configs.to_toml(config))
    assert keywright(folder, "whole").wait() == 0
    kills = 0
    for changes in (1, 4, 6):  # at arbitrary times, usually well before the end of the run
        process = keywright(folder, "killed")
        wait_for(folder / "killed" / runs.LAST, process, changes)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills  # on a busy machine a run may end before it is killed
    assert keywright(folder, "killed").wait() == 0
    assert_same(weights(folder / "whole"), weights(folder / "killed"))
    assert_same(weights(folder / "whole", runs.BEST), weights(folder / "killed", runs.BEST))
    assert untimed(folder / "whole") == untimed(folder / "killed")


OFTEN = "train.checkpoint_minutes=0.001"  # every kill loses updates, which are then repeated


@pytest.mark.parametrize("stages", STAGES)
def test_a_run_killed_several_times_ends_with_the_same_weights(
    make: Make, tmp_path: Path, stages: str
) -> None:
    assert_kills_change_nothing(tmp_path, make(OFTEN, f"train.stage={STAGES[stages]}"))
    assert stages == "nll" or sum(rewards(tmp_path / "whole")) > 0


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_a_pretrained_model_killed_several_times_ends_with_the_same_weights(
    make: Make, tmp_path: Path, kind: str
) -> None:
    pytest.importorskip("transformers")
    from tests.models.test_hf_seq2seq import write_model

    weights = str(write_model(tmp_path / kind, kind))
    config = make(
        OFTEN,
        f"data.vocabulary={{name='tokenizer', path={weights!r}, format='kpp'}}",
        f"model={{name='hf_seq2seq', weights={weights!r}}}",
        "train.stage=[{epochs=8, batch_size=4, validate_every=5, optimiser='adafactor'}]",
    )
    assert_kills_change_nothing(tmp_path, config)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_a_checkpoint_and_its_exit_code(
    make: Make, tmp_path: Path, number: int
) -> None:
    (tmp_path / "run.toml").write_text(configs.to_toml(make("train.stage[0].epochs=5000")))
    process = keywright(tmp_path, "r")
    wait_for(tmp_path / "r" / runs.LAST, process, 2)
    process.send_signal(number)
    assert process.wait() == 128 + number
    assert runs.load(tmp_path / "r", runs.LAST).config.model.name == "transformer_one2seq"


@pytest.mark.parametrize(
    "stages",
    [
        "[{epochs=4, batch_size=8, accumulate=2, select='all.F1@O'}]",
        # Few updates: rounding grows with each of them, until it changes a token that is drawn.
        STAGES["self_critical"].replace("updates=40", "updates=4"),
    ],
    ids=["nll", "self_critical"],
)
def test_two_processes_learn_what_one_does(make: Make, tmp_path: Path, stages: str) -> None:
    config = make("model.dropout=0", f"train.stage={stages}")
    (tmp_path / "run.toml").write_text(configs.to_toml(config))
    assert keywright(tmp_path, "one").wait() == 0
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "--"]
    subprocess.run(
        [sys.executable, *launch, *command(tmp_path, "two")[1:]],
        cwd=tmp_path,
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
    )
    one, two = metrics(tmp_path / "one"), metrics(tmp_path / "two")
    assert len(one) == len(two) > 10
    for line, other in zip(one, two, strict=True):
        assert line["loss"] == pytest.approx(other["loss"], rel=1e-3, abs=1e-4)
        assert line["documents"] == other["documents"]
    assert "self_critical" not in stages or sum(rewards(tmp_path / "one")) > 0
    for name, tensor in weights(tmp_path / "one").items():
        if "key" in name and name.endswith("bias"):
            continue  # a softmax ignores the bias of keys: its gradient is rounding, scaled by Adam
        difference = tensor - weights(tmp_path / "two")[name]
        assert difference.norm() <= 0.01 * tensor.norm(), name
