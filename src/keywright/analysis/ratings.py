"""People's ratings of predictions, and scores computed elsewhere: tables with a header.

Ratings have the columns `document`, `annotator` and `rating`, and `system` where predictions of
several systems were rated. Scores have `document`, `system` if the ratings have it, and a column
for each score; they may also be JSON lines, in which every field that is a number is a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from keywright import delimited
from keywright.data.records import explain
from keywright.errors import DataError
from keywright.files import NOT_JSON, first_lines, read_lines
from keywright.metric import Array

_ITEM: tuple[str, ...] = ("document", "system")
_COLUMNS = (*_ITEM, "annotator", "rating")
_DELIMITERS = ("\t", ",", ";")


class Item(NamedTuple):
    """What was rated: the prediction for a document, by a system where there are several."""

    document: str
    system: str | None = None

    def __str__(self) -> str:
        of = "" if self.system is None else f" of system {self.system!r}"
        return f"document {self.document!r}{of}"


Scores = Mapping[str, Mapping[Item, float]]
"""Score -> item -> value."""


class Rating(NamedTuple):
    item: Item
    annotator: str
    value: float
    line: int


@dataclass(frozen=True)
class Ratings:
    """All ratings of a file; no annotator has rated an item twice."""

    path: Path
    ratings: tuple[Rating, ...]

    @property
    def annotators(self) -> list[str]:
        return list(dict.fromkeys(rating.annotator for rating in self.ratings))

    @property
    def items(self) -> list[Item]:
        return list(dict.fromkeys(rating.item for rating in self.ratings))

    @property
    def has_systems(self) -> bool:
        return self.ratings[0].item.system is not None

    def of(self, annotator: str) -> dict[Item, float]:
        return {
            rating.item: rating.value for rating in self.ratings if rating.annotator == annotator
        }

    def means(self) -> dict[Item, float]:
        """The mean of the annotators who rated an item."""
        values: dict[Item, list[float]] = {}
        for rating in self.ratings:
            values.setdefault(rating.item, []).append(rating.value)
        # `fsum` does not depend on the order of annotators, so that equal means stay equal.
        return {item: math.fsum(found) / len(found) for item, found in values.items()}

    def table(self) -> Array:
        """[items, annotators], NaN where there is no rating."""
        table = np.full((len(self.items), len(self.annotators)), np.nan)
        rows = {item: place for place, item in enumerate(self.items)}
        columns = {annotator: place for place, annotator in enumerate(self.annotators)}
        for rating in self.ratings:
            table[rows[rating.item], columns[rating.annotator]] = rating.value
        return table


def read_ratings(path: str | Path) -> Ratings:
    """Ratings from a CSV or TSV file; every mistake in it is an error that names its line."""
    path = Path(path)
    ratings: list[Rating] = []
    seen: dict[tuple[Item, str], int] = {}
    for number, row in _rows(path, ("document", "annotator", "rating")):
        item, annotator = _item(row, path, number), _filled(row, "annotator", path, number)
        first = seen.setdefault((item, annotator), number)
        if first != number:
            raise DataError(
                f"annotator {annotator!r} rates {item} again, first in line {first}; "
                "keep one of the two ratings",
                path,
                number,
            )
        ratings.append(Rating(item, annotator, _number(row, "rating", path, number), number))
    if not ratings:
        raise DataError("has a header and no ratings", path)
    return Ratings(path, tuple(ratings))


def read_scores(path: str | Path, ratings: Ratings) -> dict[str, dict[Item, float]]:
    """Scores from a CSV, TSV or JSON lines file, by their names; every rated item must be there."""
    path = Path(path)
    scores: dict[str, dict[Item, float]] = {}
    lines: dict[Item, int] = {}
    for number, item, values in _score_rows(path, ratings.has_systems):
        first = lines.setdefault(item, number)
        if first != number:
            raise DataError(f"has {item} again, first in line {first}", path, number)
        for name, value in values.items():
            scores.setdefault(name, {})[item] = value
    if not scores:
        raise DataError("has no column of scores beside the document's", path)
    for name, found in scores.items():
        require_items(ratings, found, f"has no value of {name!r} in {path}")
    return scores


def require_items(ratings: Ratings, known: Mapping[Item, object], complaint: str) -> None:
    """An error that names the first rating of an item that is not known."""
    for rating in ratings.ratings:
        if rating.item not in known:
            raise DataError(f"{rating.item} {complaint}", ratings.path, rating.line)


def _score_rows(path: Path, has_systems: bool) -> Iterator[tuple[int, Item, dict[str, float]]]:
    if next((line for line in first_lines(path) if line.strip()), "").lstrip().startswith("{"):
        rows = _records(path)
    else:
        rows = _tables(path)
    for number, item, values in rows:
        if (item.system is not None) != has_systems:
            side, other = ("ratings", "scores") if item.system else ("scores", "ratings")
            raise DataError(
                f"the {side} have no column 'system', the {other} have; give both or neither",
                path,
                number,
            )
        yield number, item, values


def _tables(path: Path) -> Iterator[tuple[int, Item, dict[str, float]]]:
    for number, row in _rows(path, ("document",)):
        names = [name for name in row if name not in _ITEM]
        yield (
            number,
            _item(row, path, number),
            {name: _number(row, name, path, number) for name in names},
        )


def _records(path: Path) -> Iterator[tuple[int, Item, dict[str, float]]]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            record: dict[str, object] = msgspec.json.decode(line, type=dict)
        except NOT_JSON as error:
            raise DataError(explain(error, line), path, number) from None
        cells = {name: str(record[name]) for name in _ITEM if name in record}
        values = {
            name: float(value)
            for name, value in record.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in cells
        }
        yield number, _item(cells, path, number), values


def _item(row: Mapping[str, str], path: Path, line: int) -> Item:
    system = _filled(row, "system", path, line) if "system" in row else None
    return Item(_filled(row, "document", path, line), system)


def _filled(row: Mapping[str, str], column: str, path: Path, line: int) -> str:
    text = row.get(column, "").strip()
    if not text:
        raise DataError(f"has no value for {column!r}", path, line)
    return text


def _number(row: Mapping[str, str], column: str, path: Path, line: int) -> float:
    text = _filled(row, column, path, line)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{column!r} is {text!r}, not a number", path, line)
    return value


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows by column, with the number of the line in which they begin; blank ones are left out."""
    lines = (line + "\n" for _, line in read_lines(path))
    header = next(lines, "")
    columns, delimiter = _header(header, needed, path)
    for number, cells in delimited.rows(lines, delimiter, path, first=2):
        if not any(map(str.strip, cells)):
            continue
        if len(cells) != len(columns):
            raise DataError(
                f"has {len(cells)} cells, the header {len(columns)}; put cells that contain "
                f"{delimiter!r} in double quotes",
                path,
                number,
            )
        yield number, dict(zip(columns, cells, strict=True))


def _header(header: str, needed: Sequence[str], path: Path) -> tuple[list[str], str]:
    """The columns' names, and the delimiter that separates them."""
    if not header.strip():
        raise DataError("is empty, or its first line is; a table begins with a header", path, 1)
    readings = {delimiter: _names(header, delimiter, path) for delimiter in _DELIMITERS}
    # The delimiter that finds most of the columns; a comma where all of them do equally well.
    found = {delimiter: len({*needed} & {*names}) for delimiter, names in readings.items()}
    delimiter = max(_DELIMITERS, key=lambda mark: (found[mark], mark == ","))
    names = readings[delimiter]
    missing = next((name for name in needed if name not in names), None)
    if missing is not None:
        raise DataError(
            f"has no column {missing!r} (its header: {', '.join(names)}); needed: "
            f"{', '.join(needed)}",
            path,
            1,
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"has two columns {repeated!r}", path, 1)
    return names, delimiter


def _names(header: str, delimiter: str, path: Path) -> list[str]:
    cells = delimited.cells(header, delimiter, path)
    names = [cell.strip() for cell in cells]
    return [name.lower() if name.lower() in _COLUMNS else name for name in names]
