"""What several verbs share: lists, names and vocabularies on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from keywright.errors import UnknownNameError

if TYPE_CHECKING:
    from keywright.generation.job import VocabularyFile
    from keywright.generation.vocabulary import Mode


def listed(values: list[str] | None) -> list[str]:
    """The names of `--metrics a,b --metrics c`, or of `--metrics "a b c"`, which means the same."""
    return [name for value in values or () for name in value.replace(",", " ").split()]


def one_of(kind: str, value: str, known: Iterable[str]) -> str:
    """The value, or an error that names the nearest known one."""
    known = list(known)
    if value not in known:
        raise UnknownNameError(kind, value, known)
    return value


def vocabulary_file(
    path: Path | None, mode: str, language: str, fuzzy: float | None
) -> VocabularyFile | None:
    """The vocabulary to use. It is read here, so that errors in it are reported at the start."""
    from keywright.generation.job import VocabularyFile, terms
    from keywright.generation.vocabulary import MODES

    one_of("vocabulary mode", mode, MODES)
    if path is None:
        return None
    chosen = VocabularyFile(path, cast("Mode", mode), language, fuzzy)
    if shared := terms(chosen).ambiguous:
        typer.echo(
            f"keywright: warning: {path}: {len(shared)} names belong to several terms and match "
            f"none of them, such as {shared[0]!r}",
            err=True,
        )
    return chosen
