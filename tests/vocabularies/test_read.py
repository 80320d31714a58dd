"""Vocabularies from files: what is read, and how bad files are reported."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from keywright.errors import DataError, MissingExtraError
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

CARBON = Term(text="carbon dioxide", id="c1", synonyms=("CO2", "carbonic acid gas"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("terms.csv", "id,term,synonyms\nc1,carbon dioxide,CO2|carbonic acid gas\n"),
        ("terms.csv", "uri,prefLabel,altLabel\nc1,carbon dioxide,CO2;carbonic acid gas\n"),
        ("terms.csv", "term;id;synonyms\n\ncarbon  dioxide;c1;CO2|carbonic acid gas\n"),
        ("terms.tsv", "term\tnote\tid\tsynonyms\ncarbon dioxide\tx\tc1\tCO2|carbonic acid gas\n"),
        ("terms.csv", '\ufeffTerm,synonyms,ID\r\n"carbon dioxide","CO2;carbonic acid gas",c1\r\n'),
    ],
)
def test_tables(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    assert list(Terms.load(tmp_path / name)) == [CARBON]


def test_lists_and_compressed_files(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("carbon dioxide\n\n C#\n")
    assert [term.text for term in Terms.load(tmp_path / "terms.txt")] == ["carbon dioxide", "C#"]
    (tmp_path / "terms.txt.gz").write_bytes(gzip.compress(b"heat pump\n"))
    assert len(Terms.load(str(tmp_path / "terms.txt.gz"))) == 1


@pytest.mark.parametrize(
    ("name", "content", "place", "message"),
    [
        ("a.csv", "", ":1", "is empty"),
        ("a.txt", "\n\n", "", "no terms"),
        ("a.csv", "id,term\n", "", "no terms"),
        ("a.csv", "name,note\nx,y\n", ":1", "no column.*name, note"),
        ("a.csv", "term,prefLabel\nx,y\n", ":1", "several columns"),
        ("a.csv", "id,term\n1,heat pump\n2,\n", ":3", "no term"),
        ("a.csv", "id,term\n1,heat pump\n1,stove\n", ":3", "'1' already occurs in line 2"),
        ("a.csv", "term\nheat pump\nHeat Pump\n", ":3", "'Heat Pump' already occurs in line 2"),
        ("a.csv", "term,id\nheat, pump,1\n", ":2", "3 cells, but the header has 2"),
        ("a.csv", 'term\nheat\n"pump\n', ":3", "double quote"),
        ("a.txt", "heat\nheat\n", ":2", "already occurs in line 1"),
        ("a.txt", "heat\npump\tid\n", ":2", "tab"),
        ("a.txt", "heat\n+++\n", ":2", "no letter or digit"),
        ("a.docx", "heat\n", "", "names of vocabularies end in .csv"),
    ],
)
def test_problems_are_reported_with_their_line(
    tmp_path: Path, name: str, content: str, place: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        Terms.load(path)
    assert str(caught.value).startswith(f"{path}{place}: ")


def test_the_same_term_may_have_two_ids(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,term\nplanet,Mercury\nelement,Mercury\n")
    terms = Terms.load(tmp_path / "a.csv")
    assert (len(terms), terms.ambiguous) == (2, ["Mercury"])


TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:c1 a skos:Concept ;
    skos:prefLabel "carbon dioxide"@en , "Kohlendioxid"@de ;
    skos:altLabel "CO2" , "carbonic acid gas"@en-GB , "Kohlensäure"@de ;
    skos:hiddenLabel "carbon dioxyde"@en .
:c2 skos:prefLabel "heat pump" .
:c3 skos:prefLabel "nur deutsch"@de .
"""
RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="http://example.org/c1">
    <skos:prefLabel xml:lang="en">carbon dioxide</skos:prefLabel>
    <skos:altLabel>CO2</skos:altLabel>
  </skos:Concept>
</rdf:RDF>
"""


class TestSkos:
    @pytest.fixture(autouse=True)
    def rdflib(self) -> None:
        pytest.importorskip("rdflib", reason="the extra [skos] is not installed")

    def test_labels_with_the_language_and_without_any(self, tmp_path: Path) -> None:
        path = tmp_path / "skos.ttl"
        path.write_text(TURTLE, encoding="utf-8")
        english = Terms.load(path)
        assert [(term.text, term.id) for term in english] == [
            ("carbon dioxide", "http://example.org/c1"),
            ("heat pump", "http://example.org/c2"),
        ]
        for name in ("CO2", "carbonic acid gas", "carbon dioxyde"):
            assert english.find(name).term.text == "carbon dioxide"  # type: ignore[union-attr]
        assert english.find("Kohlensäure") is None
        german = Terms.load(path, language="de")
        assert [term.text for term in german] == ["Kohlendioxid", "heat pump", "nur deutsch"]

    def test_rdf_xml(self, tmp_path: Path) -> None:
        (tmp_path / "skos.rdf").write_text(RDF_XML)
        (term,) = Terms.load(tmp_path / "skos.rdf")
        assert term == Term(text="carbon dioxide", id="http://example.org/c1", synonyms=("CO2",))

    @pytest.mark.parametrize(
        ("name", "content", "place", "message"),
        [
            ("a.ttl", TURTLE + ":c4 skos:prefLabel ; .", ":9", "is not valid Turtle: "),
            (
                "a.ttl",
                TURTLE + '\n:c4 skos:prefLabel "x',
                "",
                "is not valid Turtle: Quote expected",
            ),
            ("a.rdf", RDF_XML.replace("</rdf:RDF>", "</rdf>"), ":8", "is not valid RDF/XML"),
            ("a.nt", "<http://a> <b\n", "", "is not valid N-Triples"),
            ("a.ttl", "\n", "", "is empty"),
            ("a.ttl", "<http://a> <http://b> <http://c> .", "", "no skos:prefLabel"),
        ],
    )
    def test_broken_files(
        self, tmp_path: Path, name: str, content: str, place: str, message: str
    ) -> None:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=message) as caught:
            Terms.load(path)
        assert str(caught.value).startswith(f"{path}{place}: ")
        assert "\n" not in str(caught.value)

    def test_the_available_languages_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ttl"
        path.write_text(TURTLE.replace(':c2 skos:prefLabel "heat pump" .', ""), encoding="utf-8")
        with pytest.raises(DataError, match="'fr'; its languages are de, en"):
            Terms.load(path, language="fr")


def test_without_rdflib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    (tmp_path / "a.ttl").write_text(TURTLE, encoding="utf-8")
    with pytest.raises(MissingExtraError, match=r"keywright\[skos\]"):
        Terms.load(tmp_path / "a.ttl")
