from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keywright.cli import main

MODEL = "rake"


class Result(NamedTuple):
    code: int
    out: str
    err: str


Bulk = Callable[..., Result]


@pytest.fixture
def bulk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bulk:
    """`keywright bulk` with a quick extractor, in this process."""

    def call(*arguments: object) -> Result:
        given = ["keywright", "bulk", *map(str, arguments)]
        if "--model" not in given and "--status" not in given:
            given += ["--model", MODEL]
        if "--workers" not in given and "--status" not in given:
            given += ["--workers", "1"]
        monkeypatch.setattr(sys, "argv", given)
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        return Result(int(code or 0), captured.out, captured.err)

    return call


def documents(count: int) -> list[dict[str, str]]:
    return [
        {
            "id": f"d{n}",
            "title": f"Heat pump number{n}",
            "abstract": f"Heat pumps warm old house number{n} and save energy in cold winters.",
        }
        for n in range(count)
    ]


def write(path: Path, records: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def records(folder: Path) -> list[dict[str, Any]]:
    """The output in the order of the shards."""
    lines = [
        line
        for file in sorted(folder.glob("part-*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    return [json.loads(line) for line in lines]


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
