"""A study from its TOML file, checked completely before anything is trained."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from keywright import config as configs
from keywright.errors import ConfigError
from keywright.studies.checks import problems
from keywright.studies.definition import Study
from keywright.studies.trainable import missing_weights


def load(path: str | Path, *, weights: bool = False) -> Study:
    """The study of a TOML file; errors name the line.

    `weights`: check also that pretrained weights are there, which may ask a hub.
    """
    lines = _Lines(Path(path))
    table = configs.read_table(path)
    try:
        study = configs.fill(Study, table)
    except ConfigError as error:
        raise lines.error(str(error)) from None
    for place, message in chain(problems(study), missing_weights(study) if weights else ()):
        raise lines.error(f"{place}: {message}")
    return study


class _Lines:
    """In which line of a TOML file a setting such as `systems[1].config` is."""

    def __init__(self, path: Path):
        self.path = path

    def error(self, message: str) -> ConfigError:
        """An error that names the file and the line, if the setting it begins with is there."""
        place = message.partition(":")[0]
        line = self._line(place)
        return ConfigError(f"{self.path}:{line}: {message}" if line else f"{self.path}: {message}")

    def _line(self, place: str) -> int | None:
        known = self._places()
        while place:
            if place in known:
                return known[place]
            place = re.sub(r"(\.[^.\[]+|\[\d+\])$", "", place) if re.search(r"[.\[]", place) else ""
        return None

    def _places(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        counts: dict[str, int] = {}
        table = ""
        for number, line in enumerate(self.path.read_text("utf-8").splitlines(), start=1):
            text = line.strip()
            if header := re.match(r"\[\[([\w.]+)\]\]", text):
                counts[header[1]] = counts.get(header[1], -1) + 1
                table = f"{header[1]}[{counts[header[1]]}]"
                found.setdefault(header[1], number)
                found[table] = number
            elif header := re.match(r"\[([\w.]+)\]", text):
                table = self._inner(header[1], counts)
                found[table] = number
            elif key := re.match(r"[\w.-]+(?=\s*=)", text):
                found.setdefault(f"{table}.{key[0]}" if table else key[0], number)
        return found

    @staticmethod
    def _inner(header: str, counts: Mapping[str, int]) -> str:
        """`systems.published` after the second `[[systems]]` is `systems[1].published`."""
        first, dot, rest = header.partition(".")
        return f"{first}[{counts[first]}]{dot}{rest}" if first in counts else header
