"""The documentation site can be built, contains every guide, and needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chromium import BARRIERS, EXECUTABLE, axe_script, browser

ROOT = Path(__file__).resolve().parents[1]
GUIDES = sorted(file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md"))


def test_every_guide_is_in_the_navigation() -> None:
    named = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == [str(guide) for guide in GUIDES]


@pytest.mark.slow
def test_it_can_be_built_without_a_warning(tmp_path: Path) -> None:
    reason = "needs keywright[docs]; `make docs` installs it"
    pytest.importorskip("material", reason=reason)
    pytest.importorskip("mkdocstrings", reason=reason)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for guide in GUIDES:
        page = (tmp_path / guide).with_suffix(".html").read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', page) == [], guide
    assert "Selection" in (tmp_path / "api.html").read_text(encoding="utf-8")
    if EXECUTABLE is not None:
        _search(tmp_path)
        _accessible(tmp_path)


def _search(site: Path) -> None:
    """The search finds a guide, from files and without a network."""
    with browser(site / "profile") as tab:
        tab.look(1200)
        tab.open(site / "index.html")
        tab.click("input.md-search__input")
        tab.send("Input.insertText", text="calibration")
        found = tab.run(
            "(async () => { for (let n = 0; n < 500; n++) {"
            "if (document.querySelector('.md-search-result__item')) return true;"
            "await new Promise((done) => setTimeout(done, 20)); } return false; })()"
        )
        assert found
        assert tab.complaints == []


def _accessible(site: Path) -> None:
    """axe-core finds no serious barrier, and nothing but tables and code scrolls sideways."""
    axe = axe_script()
    if axe is None:
        return
    with browser(site / "other-profile") as tab:
        for name in ("index", "generate", "results", "api", "tutorials/tag-your-files"):
            for width, scheme in ((1280, "light"), (390, "dark")):
                tab.look(width, scheme=scheme)
                tab.open(site / f"{name}.html")
                tab.run(axe)
                assert tab.run(BARRIERS) == [], (name, width, scheme)
                assert not tab.run("document.documentElement.scrollWidth > innerWidth"), name
