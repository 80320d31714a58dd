"""Tables that are read from the middle: all pieces together are the table."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from keywright.data import tabular
from keywright.errors import DataError

TEXTS = ["plain", 'with "quotes", commas', "two\nlines", "ümläut", "", "x" * 300, "last"]
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


def as_csv(texts: list[str], end: str = "\n") -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=end)
    writer.writerows([["id", "text"], *([str(n), text] for n, text in enumerate(texts))])
    return file.getvalue().encode()


def as_jsonl(texts: list[str]) -> bytes:
    return "".join(
        json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(texts)
    ).encode()


def pieces(path: Path, rows: int) -> list[list[object]]:
    """The ids and texts of the pieces of a file."""
    found = []
    for piece in tabular.cut(path, rows):
        read = list(tabular.read_piece(path, ["text", "id"], piece))
        assert len(read) == piece.rows
        found.append([values for _, values in read])
    return found


def expected(texts: list[str], rows: int) -> list[list[list[str]]]:
    all_rows = [[text, str(n)] for n, text in enumerate(texts)]
    return [all_rows[at : at + rows] for at in range(0, len(all_rows), rows)]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_pieces_of_text_files(tmp_path: Path, kind: str, packed: str, rows: int) -> None:
    path = tmp_path / f"data.{kind}{packed}"
    content = as_csv(TEXTS) if kind == "csv" else as_jsonl(TEXTS)
    path.write_bytes(PACK[packed](content))
    assert pieces(path, rows) == expected(TEXTS, rows)


@given(
    st.lists(st.text(alphabet='ab",\n é\u2028', max_size=6), min_size=1, max_size=12),
    st.integers(1, 5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_cells_are_cut_between_rows(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], rows: int, end: str
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "data.csv"
    path.write_bytes(as_csv(texts, end))
    _, whole = tabular.read(path)
    together = [row for piece in pieces(path, rows) for row in piece]
    assert together == [[text, key] for _, (key, text) in whole]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 100])
def test_pieces_of_parquet_do_not_depend_on_row_groups(tmp_path: Path, rows: int) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs keywright[tables]")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    table = arrow.table({"id": [str(n) for n in range(len(TEXTS))], "text": TEXTS})
    parquet.write_table(table, path, row_group_size=3)
    together = [[list(row) for row in piece] for piece in pieces(path, rows)]  # type: ignore[call-overload]
    assert together == expected(TEXTS, rows)


def test_line_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(as_csv(TEXTS))
    _, whole = tabular.read(path)
    cut = [row for piece in tabular.cut(path, 2) for row in tabular.read_piece(path, ["id"], piece)]
    assert [number for number, _ in cut] == [number for number, _ in whole]


def test_a_wrong_row_is_an_error_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"text": "a"}\n\nnot json\n{"other": 1}\n{"text": "\xff"}\n{"text": "b"}\n')
    (piece,) = tabular.cut(path, 10)
    assert piece.rows == 5
    read = list(tabular.read_piece(path, ["text"], piece))
    assert [number for number, _ in read] == [1, 3, 4, 5, 6]
    problems = [str(values) for _, values in read if isinstance(values, DataError)]
    assert len(problems) == 3
    assert f"{path}:3: is not JSON" in problems[0]
    assert problems[1] == f"{path}:4: has no 'text'"
    assert f"{path}:5: " in problems[2]


def test_a_wrong_row_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"id,text\n1,a\n2\n3,\xff\n4,\x00\n5,b\n")
    (piece,) = tabular.cut(path, 10)
    values = [values for _, values in tabular.read_piece(path, ["text"], piece)]
    assert [values[0], values[-1]] == [["a"], ["b"]]
    assert [str(error).partition(": ")[2][:14] for error in values[1:-1]] == [
        "has 1 cells, b",
        "is not UTF-8; ",
        "is a binary fi",
    ]


def test_an_unmatched_quote_is_found_when_the_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text('id,text\n1,a\n2,"b\n3,c\n')
    with pytest.raises(DataError, match=r"data\.csv:3: is not a valid row"):
        list(tabular.cut(path, 1))


def test_rows_that_are_gone_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(as_jsonl(TEXTS))
    (piece,) = tabular.cut(path, 10)
    path.write_bytes(as_jsonl(TEXTS[:5]))
    read = [values for _, values in tabular.read_piece(path, ["text"], piece)]
    assert len(read) == len(TEXTS)
    assert all("it had more rows" in str(values) for values in read[5:])


def test_a_truncated_file_is_found_when_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(gzip.compress(as_jsonl(TEXTS * 100))[:-20])
    with pytest.raises(DataError, match="truncated or damaged"):
        list(tabular.cut(path, 10))


def test_a_workbook_has_no_pieces(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not read in pieces"):
        tabular.cut(tmp_path / "data.xlsx", 10)
