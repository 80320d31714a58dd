"""Where the command line prints to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keywright import cli

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.is_char_device(), reason="this system has no /dev/full")
def test_a_full_disk_under_standard_output_is_one_line(tmp_path: Path) -> None:
    documents = tmp_path / "docs.jsonl"
    documents.write_text('{"title": "t", "abstract": "a b", "keywords": ["a b"]}\n')
    command = ["data", "convert", str(documents), "-"]
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from keywright.cli import main; main()", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=600, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "keywright: error: the output cannot be written: No space left on device\n"
    )


def test_memory_that_cannot_be_allocated_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhausted(**_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "app", exhausted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "keywright: error: not enough memory; a smaller batch needs less\n"
    )
