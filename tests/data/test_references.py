"""BibTeX, RIS and CSL-JSON: what is read, and keywords that are written back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keywright.data import tabular
from keywright.data.tabular import Added
from keywright.data.tabular.bibtex import plain
from keywright.errors import DataError

BIB = """% a comment with an @ sign
@string{jacs = "J. Am. Chem. Soc."}
@article{one,
  author = "A. {M{\\"u}ller}",
  title = {Heat pumps in {O}ld Houses},
  journal = jacs # " suppl",
  abstract = {They warm
     houses \\& save energy.},
  keywords = {heat pumps, houses},
}
@book(two, title = "Drag sails")
@misc{three}
"""
RIS = """TY  - JOUR
TI  - Heat pumps
AB  - They warm houses
 and save energy.
KW  - houses
ER  - 

TY  - BOOK
T1  - Drag sails
ER  - 
"""
CSL = [
    {"id": "one", "title": "Heat pumps", "abstract": "They warm.", "keyword": "houses", "x": [1]},
    {"id": 2, "title": "Drag sails"},
]


def rows(path: Path) -> list[list[object]]:
    return [list(row) for _, row in tabular.read(path)[1]]


def extended(path: Path, *phrases: list[str]) -> str:
    output = path.with_name(f"out{path.suffix}")
    found = [(list(some), [0.5] * len(some)) for some in phrases]
    tabular.extend(path, output, Added(("keyphrases", "keyphrases_probability"), found))
    return output.read_text()


def test_bibtex(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(BIB)
    assert rows(path) == [
        [
            "one",
            "Heat pumps in Old Houses",
            "They warm houses & save energy.",
            "heat pumps, houses",
        ],
        ["two", "Drag sails", None, None],
        ["three", None, None, None],
    ]
    made = extended(path, ["Heat pumps", "R&D"], ["space debris"], [])
    assert made == BIB.replace("{heat pumps, houses}", "{heat pumps, houses, R\\&D}").replace(
        '"Drag sails")', '"Drag sails",\n  keywords = {space debris})'
    )
    assert extended(path, ["houses"], [], []) == BIB
    again = extended(path, [], [], ["a"])
    assert again.endswith("@misc{three,\n  keywords = {a}}\n")


def test_ris(tmp_path: Path) -> None:
    path = tmp_path / "refs.ris"
    path.write_text(RIS)
    assert rows(path) == [
        ["", "Heat pumps", "They warm houses and save energy.", "houses"],
        ["", "Drag sails", None, ""],
    ]
    made = extended(path, ["Houses", "energy"], ["orbit"])
    assert (
        made.splitlines()
        == RIS.replace("KW  - houses\n", "KW  - houses\nKW  - energy\n")
        .replace("Drag sails\n", "Drag sails\nKW  - orbit\n")
        .splitlines()
    )


def test_csl(tmp_path: Path) -> None:
    path = tmp_path / "refs.json"
    path.write_text(json.dumps(CSL))
    assert tabular.is_table(path)
    assert rows(path) == [
        ["one", "Heat pumps", "They warm.", "houses"],
        ["2", "Drag sails", None, None],
    ]
    first, second = json.loads(extended(path, ["Houses", "energy"], []))
    assert first == {**CSL[0], "keyword": "houses, energy"}
    assert second == CSL[1]


def test_references_become_a_table_but_not_the_other_way(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(BIB)
    tabular.require_writable(path, tmp_path / "out.csv")
    with pytest.raises(DataError, match=r"a \.bib file cannot be made of a \.csv file"):
        tabular.require_writable(tmp_path / "data.csv", tmp_path / "out.bib")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"M{\"u}ller and \'{E}tude", "Müller and Étude"),
        (r"{\o}re, stra{\ss}e, \c{c}a, na{\"\i}ve", "øre, straße, ça, naïve"),
        (r"\emph{In} vivo~10--20 \% of {DNA}", "In vivo 10–20 % of DNA"),
    ],
)
def test_latex_becomes_text(source: str, text: str) -> None:
    assert plain(source) == text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.bib", "@article{x, title = {a", r"a.bib:1: the entry that begins here is damaged"),
        ("b.bib", "\n@article{x, title = }", r"b.bib:2: .*a value is missing"),
        ("d.ris", "Heat pumps\n", r"d.ris:1: is not a line of a reference"),
        ("e.ris", "TY  - JOUR\nTI  - x\n", "has no end"),
        ("f.json", '[{"title": 1}, 2]', "is not a list of references"),
        ("g.json", '[{"title": ', "is not a list of references"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        rows(tmp_path / name)


def test_a_missing_comma_is_understood(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{x, title = {a} year = {b}}")
    assert rows(tmp_path / "refs.bib") == [["x", "a", None, None]]


def test_latin_1_is_refused(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_bytes("@misc{x,\n title = {Müller}}".encode("latin-1"))
    with pytest.raises(DataError, match=r"refs.bib:2: is not UTF-8"):
        rows(tmp_path / "refs.bib")
