"""`Term`: one entry of a controlled vocabulary."""

from __future__ import annotations

import msgspec


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A term of a vocabulary: its preferred spelling, its identifier, its other names."""

    text: str
    id: str | None = None
    synonyms: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All names, each once, the preferred one first."""
        return list(dict.fromkeys((self.text, *self.synonyms)))
