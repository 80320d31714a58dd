"""Every file of the fuzz corpus is read or refused, and the fuzzer notices what is neither."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz import run
from tests.fuzz.run import CORPUS, corpus, mutated, problem
from tests.fuzz.targets import REFUSALS, TARGETS

FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


LIBRARIES = {"excel": "openpyxl", "parquet": "pyarrow"}


def test_every_target_has_files_and_reads_some() -> None:
    for name, target in TARGETS.items():
        if name in LIBRARIES and find_spec(LIBRARIES[name]) is None:
            continue
        read = 0
        for content in corpus(name):
            try:
                target(content)
                read += 1
            except REFUSALS:
                pass
        assert read or name == "manifest", name  # a manifest is refused without its other files


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_is_read_or_refused(path: Path) -> None:
    assert problem(path.parent.name, path.read_bytes()) is None


def test_a_fault_is_noticed_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(content: bytes) -> None:
        raise IndexError("a fault")

    monkeypatch.setattr(run, "FOUND", tmp_path)
    monkeypatch.setitem(TARGETS, "text", broken)
    assert run.fuzz(["text"], 60.0, seed=0, most=3) == 3
    assert "text: IndexError: a fault" in capsys.readouterr().out
    assert list(tmp_path.iterdir())


def test_mutations_follow_from_the_seed() -> None:
    seeds = corpus("html")
    first, second = ([mutated(seeds[0], seeds, random.Random(3)) for _ in range(5)] for _ in "ab")
    assert first == second
    assert len(set(first)) == 1
    assert mutated(seeds[0], seeds, random.Random(4)) != first[0]


def test_a_number_of_inputs_bounds_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.fuzz(["config"], 60.0, seed=0, most=7) == 0
    assert "config: 7 inputs" in capsys.readouterr().out
