"""What a report is made of, whatever it is written as: tables and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is shown, and what it sorts by (the text where it is None).

    `interval` and `mark` (of significance) go with the text; `best` is the best of its column.
    """

    text: str
    value: float | None = None
    interval: str = ""
    mark: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column names the row. `name` is short and unique in a report."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, what it shows in words, and the table of its values."""

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


def number(value: float | None, digits: int = 2) -> Cell:
    """A number as a cell; a dash, which sorts below every number, where there is none."""
    if value is None:
        return Cell("–", -math.inf)
    return Cell(f"{value:,.{digits}f}".replace("-", "−"), value)


def count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def percent(value: float | None, digits: int = 1) -> Cell:
    return number(None if value is None else 100 * value, digits)
