"""Runs the tutorials and writes what they print into them, and into notebooks.

    python -m docs.executed                          # all
    python -m docs.executed tag-your-files           # one

A tutorial is Markdown. A block with a title is a file, `sh` blocks are commands, `python` blocks
are code, and a `text` block after one of them is what it printed. Other blocks are not run.
The notebook beside it has the same text and code as cells, and is run in a kernel of its own
(`pip install 'keywright[docs]'`); it stores what cells print, without standard error.
`tests/test_tutorials.py` runs the tutorials, too, and compares what they print except for numbers.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from keywright.cli import app

TUTORIALS = Path(__file__).resolve().parent / "tutorials"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)

# The line of a tutorial that links to its notebook.
_NOTEBOOK = re.compile(r"^This page is also a \[notebook\]\([\w-]+\.ipynb\)\.\n\n", re.MULTILINE)


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


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a tutorial's notebook: (`markdown` or `code`, source)."""
    text = _NOTEBOOK.sub("", text)
    found: list[tuple[str, str]] = []
    end, ran = 0, False
    for block in _BLOCK.finditer(text):
        language, title, code = block.groups()
        before = text[end : block.start()].strip()
        found += [("markdown", before)] if before else []
        end = block.end()
        if title is not None:
            if "/" in title:
                folder = title.rpartition("/")[0]
                found.append(("code", f'import os\n\nos.makedirs("{folder}", exist_ok=True)'))
            found.append(("code", f"%%writefile {title}\n{code.rstrip()}"))
        elif language in ("sh", "python"):
            found.append(("code", ("%%sh\n" if language == "sh" else "") + code.rstrip()))
        elif language != "text" or not ran:  # what was printed is the output of its cell
            found.append(("markdown", block[0]))
        ran = title is None and language in ("sh", "python", "text")
    found.append(("markdown", text[end:].strip()))
    return found


def notebook(text: str) -> dict[str, Any]:
    """The notebook of a tutorial, not yet run."""
    made = []
    for number, (kind, source) in enumerate(cells(text), 1):
        cell = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": source}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def run_notebook(text: str, folder: Path) -> dict[str, Any]:
    """The notebook of a tutorial, run in `folder`, with what its cells printed."""
    import nbformat
    from nbclient import NotebookClient

    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"COLUMNS": "80", "PATH": programs, "IPYTHONDIR": home}
        client = NotebookClient(
            nbformat.from_dict(notebook(text)),
            resources={"metadata": {"path": str(folder)}},
            timeout=None,
        )
        done = client.execute(env=environment)
    for cell in done.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = _outputs(cell.outputs)
    return json.loads(nbformat.writes(done, version=4))  # type: ignore[no-any-return]


def _outputs(outputs: list[Any]) -> list[Any]:
    """What a cell printed in one piece, and its value if it has one."""
    import nbformat

    printed = "".join(output.text for output in outputs if output.get("name") == "stdout")
    first = [nbformat.v4.new_output("stream", name="stdout", text=_tidy(printed) + "\n")]
    values = [output for output in outputs if output.output_type != "stream"]
    return (first if printed.strip() else []) + values


def main() -> None:
    for file in sorted(TUTORIALS.glob("*.md")):
        if sys.argv[1:] and file.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text = executed(file.read_text(encoding="utf-8"), Path(folder))
        file.write_text(text, encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            made = json.dumps(run_notebook(text, Path(folder)), indent=1, ensure_ascii=False)
        file.with_suffix(".ipynb").write_text(made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
