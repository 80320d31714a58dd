"""Real processes: killed without warning, and several training together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keywright import config as configs
from keywright.training import run
from tests.training.conftest import Make
from tests.training.test_loop import assert_same, metrics, untimed, weights

pytestmark = pytest.mark.slow

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
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
    """Until a file has been replaced so many times, or the process has ended."""
    seen: set[tuple[int, int]] = set()
    while len(seen) < changes and process.poll() is None:
        if path.exists():
            status = path.stat()
            seen.add((status.st_ino, status.st_mtime_ns))
        time.sleep(0.002)


def test_a_run_killed_again_and_again_ends_with_the_same_weights(
    make: Make, tmp_path: Path
) -> None:
    config = make(
        "train.checkpoint_minutes=0.001",  # updates are lost by every kill and made again
        "train.stage=[{epochs=8, batch_size=4, validate_every=5, schedule='plateau'}, "
        "{updates=60, batch_size=8, optimiser='adamw', weight_decay=0.1}]",
    )
    (tmp_path / "run.toml").write_text(configs.to_toml(config))
    assert keywright(tmp_path, "whole").wait() == 0
    kills = 0
    for changes in (1, 4, 6):  # at moments that nobody chose, and well before a quick run ends
        process = keywright(tmp_path, "killed")
        wait_for(tmp_path / "killed" / run.LAST, process, changes)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills == 3
    assert keywright(tmp_path, "killed").wait() == 0
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))
    assert_same(weights(tmp_path / "whole", run.BEST), weights(tmp_path / "killed", run.BEST))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "killed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_a_checkpoint_and_says_so(
    make: Make, tmp_path: Path, number: int
) -> None:
    (tmp_path / "run.toml").write_text(configs.to_toml(make("train.stage[0].epochs=5000")))
    process = keywright(tmp_path, "r")
    wait_for(tmp_path / "r" / run.LAST, process, 2)
    process.send_signal(number)
    assert process.wait() == 128 + number
    assert run.load(tmp_path / "r", run.LAST).config.model.name == "transformer_one2seq"


def test_two_processes_learn_what_one_does(make: Make, tmp_path: Path) -> None:
    config = make(
        "model.dropout=0",
        "train.stage[0].batch_size=8",
        "train.stage[0].accumulate=2",
        "train.stage[0].epochs=4",
        "train.stage[0].select='all.F1@O'",
    )
    (tmp_path / "run.toml").write_text(configs.to_toml(config))
    assert keywright(tmp_path, "one").wait() == 0
    launch = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    subprocess.run(
        [sys.executable, *launch, *command(tmp_path, "two")],
        cwd=tmp_path,
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
    )
    one, two = metrics(tmp_path / "one"), metrics(tmp_path / "two")
    assert len(one) == len(two) == 12
    for line, other in zip(one, two, strict=True):
        assert line["loss"] == pytest.approx(other["loss"], rel=1e-5)
        assert line["documents"] == other["documents"]
    for name, tensor in weights(tmp_path / "one").items():
        assert tensor.allclose(weights(tmp_path / "two")[name], rtol=1e-3, atol=1e-4), name
