"""The pictures of README.md, made by the program itself.

    python -m docs.pictures              # all; needs Chromium for the page
    python -m docs.pictures terminal     # only what needs no browser

Run it after the shipped model, the table of `keywright generate` or the page has changed.
`tests/test_pictures.py` compares the terminal's picture with what the program prints.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from keywright.cli import app

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
COMMAND = "keywright generate examples/heat-pumps.md --top 8"
WIDTH = 72  # characters
PAGE_WIDTH = 900  # pixels: what is written on it can still be read on a phone
LAST = """Math.ceil(Math.max(...[...document.querySelectorAll('.chip, mark')]
    .map((each) => each.getBoundingClientRect().bottom)))"""
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # rich names fonts on a server


def printed() -> str:
    """What the command prints, run in this process."""
    os.environ["COLUMNS"] = str(WIDTH)
    screen = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(screen):
        app(shlex.split(COMMAND)[1:], standalone_mode=False)
    return screen.getvalue()


def terminal() -> str:
    """The command and its output as a picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print(Text.from_ansi(printed()))
    svg = console.export_svg(title="keywright", theme=MONOKAI, unique_id="keywright")
    return _FONT.sub("", svg)


def page(files: Mapping[str, Path]) -> None:
    """The service's page with the keyphrases of its example, by colour scheme."""
    from tests.chromium import browser

    with (
        _service() as address,
        tempfile.TemporaryDirectory() as profile,
        browser(Path(profile)) as tab,
    ):
        for scheme, file in files.items():
            tab.look(PAGE_WIDTH, 1000, scheme)
            tab.open(address)
            tab.click("#example")
            tab.run(
                "new Promise((resolve) => { const look = () => document.querySelector('.chip') ? "
                "resolve() : setTimeout(look, 50); look(); })"
            )
            tab.run("scrollTo(0, 0)")
            # Down to the last phrase in the text: half a filter below it would say nothing.
            tab.look(PAGE_WIDTH, tab.run(LAST) + 24, scheme)
            tab.screenshot(file)


@contextlib.contextmanager
def _service() -> Iterator[str]:
    command = [sys.executable, "-m", "keywright", "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://[\d.]+:\d+", line):
                break
        else:
            sys.exit("the service did not start")
        urlopen(f"{found[0]}/readyz", timeout=60).close()
        yield f"{found[0]}/"
    finally:
        process.terminate()
        process.wait(30)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "terminal.svg").write_text(terminal(), encoding="utf-8")
    if sys.argv[1:] != ["terminal"]:
        page({"light": PICTURES / "page.png", "dark": PICTURES / "page-dark.png"})


if __name__ == "__main__":
    main()
