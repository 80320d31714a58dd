"""Tables of every kind: read, extended with keyphrases, and refused with one line."""

from __future__ import annotations

import datetime
import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest

from keywright.data import tabular
from keywright.data.tabular import Added, excel
from keywright.errors import DataError, KeywrightError

ROWS = [["1", "Heat pumps"], ["2", None], ["3", "Drag, sails\nin orbit"]]
ADDED = Added(("found", "found_probability"), [(["a", "b"], [0.5, None]), ([], []), (["c"], [1.0])])


def make(path: Path) -> Path:
    """A table of `ROWS` with the columns id and text."""
    match path.suffix:
        case ".parquet":
            arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
            from pyarrow import parquet

            ids, texts = zip(*ROWS, strict=True)
            parquet.write_table(arrow.table({"id": ids, "text": texts}), path)
        case ".xlsx":
            openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
            book = openpyxl.Workbook()
            for row in (["id", "text"], *ROWS):
                book.active.append(row)
            book.save(path)
        case ".jsonl":
            path.write_text(
                '{"id": "1", "text": "Heat pumps"}\n\n{"id": "2", "text": null}\n'
                '{"id": "3", "text": "Drag, sails\\nin orbit"}\n'
            )
        case ".tsv":
            path.write_text('id\ttext\n1\tHeat pumps\n2\t\n3\t"Drag, sails\nin orbit"\n')
        case _:
            path.write_text('id,text\n1,Heat pumps\n\n2,\n3,"Drag, sails\nin orbit"\n')
    return path


def content(path: Path) -> tuple[list[str], list[list[Any]]]:
    header, rows = tabular.read(path)
    return header, [list(row) for _, row in rows]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_every_kind_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    header, rows = content(make(tmp_path / f"data{suffix}"))
    assert header == ["id", "text"]
    assert [[cell or None for cell in row] for row in rows] == ROWS


@pytest.mark.parametrize("output", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("source", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_a_table_is_extended(tmp_path: Path, source: str, output: str) -> None:
    made = tmp_path / f"out{output}"
    if output == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tabular.extend(make(tmp_path / f"data{source}"), made, ADDED)
    header, rows = content(made)
    assert header == ["id", "text", "found", "found_probability"]
    assert [[cell or None for cell in row[:2]] for row in rows] == ROWS
    lists = output in (".jsonl", ".parquet")
    assert rows[0][2:] == ([["a", "b"], [0.5, None]] if lists else ["a; b", "0.5; "])
    assert rows[1][2:] == ([[], []] if lists else ["", ""])


def test_values_keep_their_types(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    when = arrow.array([1_700_000_000_123_456_789], arrow.timestamp("ns", tz="UTC"))
    table = arrow.table({"when": when, "text": ["a"], "nested": [{"x": [1, 2]}]})
    parquet.write_table(table, tmp_path / "data.parquet")
    added = Added(("k", "k_probability"), [(["a"], [0.5])])
    tabular.extend(tmp_path / "data.parquet", tmp_path / "out.parquet", added)
    assert parquet.read_table(tmp_path / "out.parquet").select(table.column_names) == table
    (tmp_path / "data.jsonl").write_text('{"n": 12345678901234567890123, "x": 1.10}\n{"y": {}}\n')
    tabular.extend(
        tmp_path / "data.jsonl", tmp_path / "out.jsonl", Added(("k", "p"), [((), ())] * 2)
    )
    assert (tmp_path / "out.jsonl").read_text() == (
        '{"n":12345678901234567890123,"x":1.10,"k":[],"p":[]}\n{"y":{},"k":[],"p":[]}\n'
    )


def test_dates_of_excel_are_dates_and_formulas_have_their_values(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    book.active.append(["when", "text"])
    book.active.append([datetime.datetime(2024, 5, 6), "=1+1"])
    book.save(tmp_path / "data.xlsx")
    tabular.extend(tmp_path / "data.xlsx", tmp_path / "out.csv", Added(("k", "p"), [((), ())]))
    # The library does not compute, so the formula has no stored value.
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "2024-05-06 00:00:00,,,"


def test_semicolons_and_compression(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "data.csv.gz", "wt") as file:
        file.write("id;text\n1;Heat, pumps\n")
    assert content(tmp_path / "data.csv.gz") == (["id", "text"], [["1", "Heat, pumps"]])
    tabular.extend(
        tmp_path / "data.csv.gz", tmp_path / "out.csv", Added(("k", "p"), [(["a"], [0.5])])
    )
    assert (tmp_path / "out.csv").read_text() == "id;text;k;p\n1;Heat, pumps;a;0.5\n"


def test_a_phrase_does_not_become_a_formula(tmp_path: Path) -> None:
    added = Added(("k", "p"), [(["=HYPERLINK(1)", "b"], [0.5, 0.1])])
    (tmp_path / "data.csv").write_text("text\n=1+1\n")
    tabular.extend(tmp_path / "data.csv", tmp_path / "out.csv", added)
    # What was in the table is not ours to change.
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "=1+1,'=HYPERLINK(1); b,0.5; 0.1"


def test_ten_thousand_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(10_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + ",".join(["x"] * 10_000) + "\n")
    assert content(path) == (names, [["x"] * 10_000])


BAD = {
    "empty.csv": (b"", "is empty"),
    "ragged.csv": (b"a,b\n1\n", "has 1 cells, but the header has 2"),
    "quote.csv": (b'a,b\n1,"2\n', "unmatched double quote"),
    "latin.csv": (b"a,b\n1,caf\xe9\n", "is not UTF-8"),
    "two.csv": ("a,b\n1,é\n".encode() + "2,é\n".encode("latin-1"), "two.csv:3: is not UTF-8"),
    "binary.csv": (b"PK\x03\x04\x00\x00", "is a binary file"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), "is"),
    "empty.jsonl": (b"", "is empty"),
    "list.jsonl": (b"[1]\n", "not an object"),
    "cut.jsonl": (b'{"a": "b"}\n{"a": ', "cut.jsonl:2: is not JSON"),
    "other.jsonl": (b'{"a": "b"}\n{"c": 1}\n', "has the key 'c'"),
    "empty.parquet": (b"", "is not a complete Parquet file"),
    "text.parquet": (b"a,b\n1,2\n", "is not a complete Parquet file"),
    "cut.parquet": (b"PAR1" + b"\x15" * 50, "is not a complete Parquet file"),
    "empty.xlsx": (b"", "is not an Excel workbook"),
    "text.xlsx": (b"a,b\n1,2\n", "is not an Excel workbook"),
    "old.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is encrypted or of an old"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused(tmp_path: Path, name: str) -> None:
    raw, message = BAD[name]
    (tmp_path / name).write_bytes(raw)
    library = {".parquet": "pyarrow", ".xlsx": "openpyxl"}.get(Path(name).suffix)
    if library:
        pytest.importorskip(library, reason=f"{library} is not installed")
    with pytest.raises(KeywrightError, match=message):
        content(tmp_path / name)


def test_a_bomb_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    monkeypatch.setattr(excel, "MOST_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(2 << 20))
    with pytest.raises(DataError, match="2,097,152 bytes when decompressed"):
        content(tmp_path / "bomb.xlsx")


def test_a_sheet_of_empty_cells_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    book.active["A1"] = "text"
    book.active["XFD200"] = "far away"
    book.save(tmp_path / "far.xlsx")
    with pytest.raises(DataError, match=r"far\.xlsx:200: has a value in a column without a header"):
        content(tmp_path / "far.xlsx")
    monkeypatch.setattr(excel, "MOST_CELLS", 1000)
    with pytest.raises(DataError, match="more than 1,000 cells"):
        content(tmp_path / "far.xlsx")


def test_an_excel_file_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"name a .csv or .parquet file"):
        tabular.require_writable(tmp_path / "data.csv", tmp_path / "out.xlsx")
