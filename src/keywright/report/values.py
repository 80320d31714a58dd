"""What a report is made of besides tables, whatever format it is written in."""

from __future__ import annotations

from dataclasses import dataclass

from keywright.tables import Table


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, a description of what it shows, and the table of its values."""

    name: str
    title: str
    description: str
    svg: str
    table: Table


@dataclass(frozen=True)
class Gallery:
    """Drawings of the same kind side by side; `folded` where there are many."""

    title: str
    text: str
    figures: tuple[Figure, ...]
    folded: bool = False
