"""Imports point one way, and evaluation does without torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import keywright

PACKAGE = Path(keywright.__file__).parent

# From what may be imported by all to what may be imported by none.
LEVELS = (
    "types config parts errors files",
    "text",
    "data metrics protocols nn",
    "sources vocabularies models extractors runtime",
    "decoding ranking",
    "training evaluate",
    "calibration analysis",
    "predictor default_model",
    "generation export",
    "integrations bulk serving report cli",
)
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names.split()}


def imported(file: Path) -> Iterator[str]:
    """The rooms of keywright that a file imports from, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are written in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            root, _, rest = name.partition(".")
            if root == "keywright" and rest and not rest.startswith("__"):
                yield rest.partition(".")[0]


def rooms() -> list[str]:
    found = (path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir())
    return sorted(name for name in found if not name.startswith("__"))


def test_every_room_has_its_level() -> None:
    assert set(rooms()) <= set(LEVEL)


@pytest.mark.parametrize("room", rooms())
def test_imports_point_one_way(room: str) -> None:
    folder = PACKAGE / room
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    for file in files:
        for other in imported(file):
            assert LEVEL[other] <= LEVEL[room], f"{file.relative_to(PACKAGE)} imports {other}"


@pytest.mark.parametrize(
    "module",
    [
        "keywright",
        "keywright.evaluate",
        "keywright.metrics._base",
        "keywright.protocols",
        "keywright.text.presence",
        "keywright.data.documents",
        "keywright.data.predictions",
        "keywright.cli",
    ],
)
def test_scoring_needs_no_torch(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "heavy = {'torch', 'transformers', 'datasets', 'scipy', 'sklearn', 'matplotlib', 'nltk'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.split() == []


def test_an_evaluation_imports_no_torch() -> None:
    """Readers, protocols and metrics are imported by name when they are needed."""
    code = (
        "import sys, keywright\n"
        "document = keywright.Document(title='a', body='b', keyphrases=('a',))\n"
        "for protocol in ('chan19', 'exhird', 'fg', 'kpdrop', 'yuan20'):\n"
        "    keywright.evaluate([document], [['a']], protocol=protocol, resamples=10)\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
