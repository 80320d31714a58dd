"""Killed at any moment, and continued by the same command, a run has the same result."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from keywright import Selection
from keywright.bulk import plan
from keywright.bulk.engines import Resources, local
from keywright.bulk.plan import ColumnNames
from keywright.bulk.run import Request, run
from keywright.errors import KeywrightError
from keywright.generation.job import Job, engine
from tests import faults
from tests.bulk.conftest import MODEL, content, documents, write


def request(table: Path, out: Path, workers: int = 1) -> Request:
    return Request(
        [str(table)],
        str(out),
        Job(MODEL, Selection(), 1),
        ColumnNames(),
        "jsonl",
        5,
        "local",
        Resources(workers),
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = documents(20)
    rows[7]["abstract"] = ["fails"]  # type: ignore[assignment]
    return write(tmp_path / "data.jsonl", rows)


@pytest.fixture
def expected(table: Path, tmp_path: Path) -> dict[str, bytes]:
    run(request(table, tmp_path / "whole"))
    return content(tmp_path / "whole")


@pytest.mark.parametrize("mode", ["error", "kill"])
def test_a_fault_at_any_write(
    table: Path, tmp_path: Path, expected: dict[str, bytes], mode: faults.Mode
) -> None:
    engine(Job(MODEL, Selection(), 1))  # loaded once, before the processes are forked
    folder = tmp_path / "faults"
    folder.mkdir()
    outcome, events = faults.run(lambda: run(request(table, folder / "none")))
    assert outcome == faults.DONE
    assert events > 15
    stopped = faults.REFUSED if mode == "error" else faults.KILLED
    for at in range(1, events + 1):
        out = folder / f"out{at}"
        outcome, _ = faults.run(lambda out=out: run(request(table, out)), at, mode)  # type: ignore[misc]
        assert outcome == stopped, at
        whole = content(out) if out.exists() else {}
        for name, found in whole.items():
            assert name.endswith(".part") or found == expected[name], (at, name)
        run(request(table, out))
        assert content(out) == expected, at
        assert faults.leftovers(folder) == []


@pytest.mark.slow
def test_files_are_planned_by_several_processes(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write(tmp_path / "other.jsonl", documents(7))
    wanted = replace(request(table, tmp_path / "one"), inputs=[str(table), str(other)])
    run(wanted)
    monkeypatch.setattr(plan, "MANY_BYTES", 1)
    monkeypatch.setattr("keywright.bulk.run.usable_cpus", lambda: 2)
    run(replace(wanted, output=str(tmp_path / "two")))
    assert content(tmp_path / "two") == content(tmp_path / "one")
    other.write_text(other.read_text() + '{"id": "cut')
    with pytest.raises(KeywrightError, match=r"other\.jsonl: [\d,]+ bytes -> [\d,]+ bytes"):
        run(wanted)
    (tmp_path / "bad.csv").write_text('id,text\n1,"a')
    with pytest.raises(KeywrightError, match=r"bad\.csv:2: is not a valid row"):
        run(
            replace(
                wanted,
                inputs=[str(table), str(tmp_path / "bad.csv")],
                output=str(tmp_path / "three"),
            )
        )
    assert not (tmp_path / "three").exists()


@pytest.mark.slow
def test_a_killed_worker_is_replaced(
    table: Path, tmp_path: Path, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    start = local._start

    def counted(task: local.Task) -> object:
        process, connection = start(task)
        started.append(process.pid)
        if len(started) <= 3:  # before it can have made its first shard
            os.kill(process.pid, signal.SIGKILL)
        return process, connection

    monkeypatch.setattr(local, "_start", counted)
    done = run(request(table, tmp_path / "out", workers=2))
    assert done.complete
    assert len(started) == 5
    assert content(tmp_path / "out") == expected
    assert active_children() == []


@pytest.mark.slow
def test_a_shard_that_kills_every_worker_is_given_up(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = local._start

    def killed(task: local.Task) -> object:
        process, connection = start(task)
        os.kill(process.pid, signal.SIGKILL)
        return process, connection

    monkeypatch.setattr(local, "_start", killed)
    monkeypatch.setattr(local, "ATTEMPTS", 2)
    with pytest.raises(Exception, match=r"workers were lost while they made this shard.*0 of 4"):
        run(request(table, tmp_path / "out", workers=2))
    assert active_children() == []


@pytest.mark.slow
def test_a_killed_driver_is_continued(
    table: Path, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "keywright", "bulk", str(table), "--output", str(out)]
    command += ["--model", MODEL, "--shard-size", "5", "--workers", "2"]
    moments = random.Random(1)
    for _ in range(6):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            process.wait(moments.uniform(0.05, 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    assert content(out) == expected
