"""Chooses the reader of a vocabulary file by its file name extension."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keywright.errors import DataError
from keywright.vocabularies import skos, table
from keywright.vocabularies.term import Term

_COMPRESSED = (".gz", ".xz", ".zst")
_Reader = Callable[[Path, str], list[Term]]
_READERS: dict[str, _Reader] = {
    ".csv": lambda path, language: table.read_table(path),
    ".tsv": lambda path, language: table.read_table(path),
    ".txt": lambda path, language: table.read_list(path),
    ".ttl": lambda path, language: skos.read(path, "turtle", language),
    ".nt": lambda path, language: skos.read(path, "nt", language),
    ".rdf": lambda path, language: skos.read(path, "xml", language),
    ".xml": lambda path, language: skos.read(path, "xml", language),
}


def read_terms(path: str | Path, language: str) -> list[Term]:
    """The terms of a vocabulary file, at least one."""
    path = Path(path)
    name = path.with_suffix("") if path.suffix in _COMPRESSED else path
    reader = _READERS.get(name.suffix.lower())
    if reader is None:
        raise DataError(
            f"is not a vocabulary by its name; names of vocabularies end in {', '.join(_READERS)}",
            path,
        )
    terms = reader(path, language)
    if not terms:
        raise DataError("contains no terms", path)
    return terms
