"""Imports point one way, there are no cycles, and evaluation does not import torch.

`ROWS` is the order of the tree: a row may import the rows above it, and nothing else. A new folder
or top-level module needs a place in a row. `tests/test_imports.py` and the tour in CONTRIBUTING.md
list the same rows.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import keywright

PACKAGE = Path(keywright.__file__).parent
CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"

# Each row may import only from the rows above it. A sub-package that needs a place of its own is
# written with a slash; its parent's place is that of all other modules of the parent.
ROWS = (
    "types errors",
    "parts files delimited tables progress",
    "config checkpoint",
    "text",
    "lexicon",
    "data",
    "matches",
    "metric",
    "metrics protocol",
    "protocols reward",
    "evaluate",
    "lexicons extractors sources vocabularies llm",
    "nn",
    "models decoding",
    "decoding/strategies runs runtime",
    "training",
    "training/objectives scorers",
    "rewards",
    "calibration ranking",
    "analysis export predictor",
    "adaptation",
    "ranking/fitting report generation default_model final_scores",
    "integrations serving explore studies corpora bulk",
    "cli",
)
# Imports between places of one row, (importing, imported) -> why they are allowed.
SIDEWAYS: dict[tuple[str, str], str] = {}

LEVEL = {place: level for level, row in enumerate(ROWS) for place in row.split()}
# The package itself only passes on the names that users import from `keywright`.
UNPLACED = ("__init__", "__main__")


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name within the package; a package has its folder's name."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        if parts not in [(name,) for name in UNPLACED]:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(file: Path) -> Iterator[str]:
    """What a file imports from the package, also inside functions and for type checks only."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            root, _, rest = name.partition(".")
            if root == "keywright" and rest and not rest.startswith("__"):
                yield rest


def place(name: str) -> str:
    """The place in `ROWS` of a module or of a name inside it: the longest one that fits."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if "/".join(parts[:end]) in LEVEL:
            return "/".join(parts[:end])
    raise AssertionError(
        f"{parts[0]} has no place: add it to a row of ROWS in tests/test_imports.py"
    )


def module_of(name: str) -> str | None:
    """The module that an imported name belongs to: `text.stem.stems` gives `text.stem`."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


def dependencies() -> dict[str, set[str | None]]:
    """Which modules each module imports, itself left out."""
    return {
        name: {module for module in map(module_of, imported(file)) if module not in (None, name)}
        for name, file in modules().items()
    }


def test_every_folder_and_module_has_a_place() -> None:
    assert {place(name) for name in modules()} <= set(LEVEL)


def test_no_place_is_listed_twice() -> None:
    places = " ".join(ROWS).split()
    assert sorted(places) == sorted(set(places))


@pytest.mark.parametrize("name", modules())
def test_imports_point_one_way(name: str) -> None:
    importing = place(name)
    for other in imported(modules()[name]):
        to = place(other)
        if to == importing or (importing, to) in SIDEWAYS:
            continue
        assert LEVEL[to] < LEVEL[importing], (
            f"{modules()[name].relative_to(PACKAGE.parent)} imports {other}: {importing!r} is in "
            f"row {LEVEL[importing] + 1} of ROWS ({ROWS[LEVEL[importing]]}), {to!r} in row "
            f"{LEVEL[to] + 1} ({ROWS[LEVEL[to]]}); import only from rows above, or move one of them"
        )


def test_sideways_imports_are_between_places_of_one_row_and_have_a_reason() -> None:
    for (importing, to), reason in SIDEWAYS.items():
        assert LEVEL[importing] == LEVEL[to], (importing, to)
        assert (to, importing) not in SIDEWAYS, "imports both ways are a cycle"
        assert reason


def test_there_are_no_cycles_of_modules() -> None:
    """Imports inside functions count: a cycle that is hidden there is a cycle all the same."""
    left = dependencies()
    while free := [name for name in left if not _both_ways(name, left)]:
        for name in free:
            del left[name]
    assert sorted(left) == [], "these modules import each other"


def _both_ways(name: str, left: dict[str, set[str | None]]) -> bool:
    """Whether a module imports some of the modules that are left, and is imported by some."""
    return bool(left[name] & left.keys()) and any(name in others for others in left.values())


def test_the_guide_has_the_same_rows() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8")
    _, _, table = text.partition("| where | what | knows nothing of |\n")
    rows = [line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()[1:]]
    guide = [re.findall(r"`([\w/]+?)(?:\.py|/)?`", row) for row in rows]
    assert guide == [row.split() for row in ROWS], "CONTRIBUTING.md and ROWS differ"


@pytest.mark.parametrize(
    "module",
    [
        "keywright",
        "keywright.evaluate",
        "keywright.metric",
        "keywright.protocols",
        "keywright.tables",
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
        "for protocol in ('chan19', 'exhird', 'fg', 'kpdrop', 'unikp', 'yuan20'):\n"
        "    keywright.evaluate([document], [['a']], protocol=protocol, resamples=10)\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
