"""Defaults for options from `keywright.toml`, or from `[tool.keywright]` in `pyproject.toml`.

[generate]
model = "my-model"
top = 8
format = "jsonl"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keywright.errors import ConfigError, nearest

if TYPE_CHECKING:
    from typer._click import Command

OWN, SHARED = "keywright.toml", "pyproject.toml"
_MARK = "tool.keywright"


def load(folder: Path) -> dict[str, Any]:
    """The settings of the nearest file, in this folder or above it: a table for every verb."""
    for place in (folder, *folder.parents):
        for name in (OWN, SHARED):
            settings = _read(place / name)
            if settings is not None:
                return settings
    return {}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    if path.name == SHARED and _MARK not in text:
        return None
    try:
        table: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None
    if path.name == SHARED:
        table = table.get("tool", {}).get("keywright")
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {_MARK} is not a table")
    for verb, values in table.items():
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: {verb} is not a table; write options below [generate]")
    return table


def defaults(values: Mapping[str, Any], verb: str, command: Command) -> dict[str, Any]:
    """The defaults of a verb by the names of its parameters."""
    known = {
        option.lstrip("-").replace("-", "_"): parameter.name
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and option != "--help"
    }
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = known.get(key.replace("-", "_"))
        if name is None:
            raise ConfigError(
                f"the settings file has an unknown option {key!r} of {verb}{nearest(key, known)}"
            )
        found[name] = value
    return found
