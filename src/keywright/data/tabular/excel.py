"""Excel: the first sheet of a workbook. Formulas count with the values that Excel stored."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keywright.data.tabular import Reading, Row
from keywright.errors import DataError, KeywrightError, MissingExtraError

MOST_BYTES = 1 << 30  # of a workbook after decompression
MOST_CELLS = 100_000_000  # empty ones between others included
_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # a compound file: an encrypted workbook, or one of old Excel


def read(path: str | Path) -> Reading:
    rows = _rows(path)
    header = ["" if cell is None else str(cell).strip() for cell in next(rows, (1, ()))[1]]
    while header and not header[-1]:
        header.pop()
    if not header:
        raise DataError(
            "the first sheet is empty or starts with an empty row; a table needs a header", path, 1
        )
    return header, _filled(rows, len(header), path)


def _filled(rows: Iterator[Row], width: int, path: str | Path) -> Iterator[Row]:
    """Rows as wide as the header; empty rows are skipped."""
    for number, row in rows:
        if all(cell is None for cell in row):
            continue
        if any(cell is not None for cell in row[width:]):
            raise DataError("has a value in a column without a header", path, number)
        cells = list(row[:width])
        yield number, cells + [None] * (width - len(cells))


def _rows(path: str | Path) -> Iterator[Row]:
    _require_workbook(Path(path))
    with _opened(path) as book:
        if not book.worksheets:
            raise DataError("has no sheet with cells", path)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # those that the file states may be wrong
        cells = 0
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            cells += len(row) + 1
            if cells > MOST_CELLS:
                raise DataError(f"has more than {MOST_CELLS:,} cells; save it as CSV", path)
            yield number, row


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtraError("reading an Excel file", "openpyxl", "tables") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, which are not read
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            try:
                yield book
            finally:
                book.close()
    except (KeywrightError, GeneratorExit):
        raise
    except MemoryError:
        raise DataError("needs too much memory to read", path) from None
    except Exception as error:  # the library raises whatever the damaged place leads to
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"is not a complete Excel workbook ({reason})", path) from None


def _require_workbook(path: Path) -> None:
    """Refuse what is no workbook, or a small file that becomes a huge one."""
    if read_head(path).startswith(_ENCRYPTED):
        raise DataError("is encrypted or of an old Excel; save it as .xlsx without password", path)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataError(f"is not an Excel workbook ({error})", path) from None
    if size > MOST_BYTES:
        raise DataError(f"has {size:,} bytes when decompressed; save it as CSV", path)


def read_head(path: Path) -> bytes:
    """The first bytes of a file."""
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None
