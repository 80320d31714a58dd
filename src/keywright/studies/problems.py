"""How problems of a study are reported: by the path of a setting, whose line is found later."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from keywright.errors import UnknownNameError

Problem = tuple[str, str]
"""The path of a setting, such as `systems[1].config`, and what to do about it."""


def unknown(kind: str, name: str, known: Collection[str], place: str) -> Iterator[Problem]:
    if name not in known:
        yield place, str(UnknownNameError(kind, name, known))
