"""Runs the tutorials and writes what they print into them.

    python -m docs.executed                          # all
    python -m docs.executed tag-your-files           # one

A tutorial is Markdown. A block with a title is a file, `sh` blocks are commands, `python` blocks
are code, and a `text` block after one of them is what it printed. Other blocks are not run.
`tests/test_tutorials.py` runs the tutorials, too, and compares what they print except for numbers.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from keywright.cli import app

TUTORIALS = Path(__file__).resolve().parent / "tutorials"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def executed(text: str, folder: Path) -> str:
    """A tutorial with what its blocks print now; it is run in `folder`."""
    printed: str | None = None
    names: dict[str, object] = {"__name__": "__main__"}

    def run(block: re.Match[str]) -> str:
        nonlocal printed
        language, title, code = block.groups()
        if title is not None:
            file = folder / title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code, encoding="utf-8")
        elif language == "sh":
            printed = "".join(map(_command, _commands(code)))
        elif language == "python":
            screen = io.StringIO()
            with contextlib.redirect_stdout(screen):
                exec(compile(code, "tutorial", "exec"), names)
            printed = screen.getvalue()
        elif language == "text" and printed is not None:
            return f"```text\n{_tidy(printed)}\n```"
        return block[0]

    os.environ["COLUMNS"] = "80"
    with contextlib.chdir(folder):
        return _BLOCK.sub(run, text)


def _commands(code: str) -> list[list[str]]:
    lines = code.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def _command(words: list[str]) -> str:
    program, *arguments = words
    assert program == "keywright", f"tutorials run keywright only, not {program}"
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, f"{shlex.join(words)}\n{done.output}"
    return done.stdout


def _tidy(printed: str) -> str:
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


def main() -> None:
    for file in sorted(TUTORIALS.glob("*.md")):
        if sys.argv[1:] and file.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text = executed(file.read_text(encoding="utf-8"), Path(folder))
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
