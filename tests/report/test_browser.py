"""Verdicts and places of phrases, and data that is safe inside the page."""

from __future__ import annotations

import json

import pytest

from keywright import protocols
from keywright.analysis.systems import read_panel
from keywright.report.browser import embedded, pages
from keywright.types import Document
from tests.report.toy import both, findings, panel, predictions


def test_every_phrase_has_its_verdict() -> None:
    first, second, _ = pages(both(), 10)
    good, poor = first.systems
    assert [(phrase.text, phrase.verdict, phrase.kind) for phrase in good] == [
        ("graph coloring", "correct", "present"),
        ("planar graphs", "correct", "present"),
        ("greedy algorithm", "wrong", "present"),
    ]
    assert [phrase.verdict for phrase in poor] == ["correct", "wrong"]
    assert [phrase.verdict for phrase in second.systems[0]] == ["correct", "correct", "ignored"]
    assert good[0].confidence == pytest.approx(0.8)


def test_gold_names_the_systems_that_find_it() -> None:
    first = pages(both(), 1)[0]
    assert [(phrase.text, phrase.kind, phrase.found) for phrase in first.gold] == [
        ("graph coloring", "present", [0]),
        ("planar graph", "present", [0, 1]),
        ("four color theorem", "absent", []),
    ]


def test_half_right_is_partial_and_repeats_are_shown_once() -> None:
    document = Document(id="d1", title="", body="x", keyphrases=("neural network",))
    made = predictions([["deep network", "deep net", "deep net", "deep nets", "deep net"]])
    shown = pages(findings(panel([document], a=made)), 1)[0].systems[0]
    assert [(phrase.text, phrase.verdict, phrase.times) for phrase in shown] == [
        ("deep network", "partial", 1),
        ("deep net", "wrong", 1),
        ("deep net", "ignored", 2),
        ("deep nets", "ignored", 1),
    ]


def test_a_phrase_that_is_not_counted_says_why_and_where_it_belongs() -> None:
    document = Document(
        id="d1", title="", body="nodes , edges", keyphrases=("nodes",), tokenised=True
    )
    made = predictions([["nodes", "nodes , edges", "node"]])
    shown = pages(findings(panel([document], a=made)), 1)[0].systems[0]
    assert [(phrase.verdict, phrase.kind, phrase.reason) for phrase in shown] == [
        ("correct", "present", ""),
        (
            "ignored",
            "present",
            "it contains an invalid token, such as <unk> or a single comma",
        ),
        ("ignored", "present", "it repeats an earlier phrase"),
    ]


@pytest.mark.parametrize(
    ("title", "body", "tokenised", "found"),
    [
        ("Graphs", "A Graph, and GRAPHS.", False, ["Graphs", "Graph", "GRAPHS"]),
        ("graphs .", "a graph , and graphs .", True, ["graphs", "graph", "graphs"]),
        ("𝔾 and 😀", "a graph", False, ["graph"]),
    ],
)
def test_places_are_utf_16_offsets(
    title: str, body: str, tokenised: bool, found: list[str]
) -> None:
    document = Document(id="d1", title=title, body=body, keyphrases=("graph",), tokenised=tokenised)
    page = pages(findings(panel([document], a=predictions([["graph"]]))), 1)[0]
    units = f"{title}\n{body}".encode("utf-16-le")
    places = page.systems[0][0].places
    assert page.gold[0].places == places
    pairs = zip(places[::2], places[1::2], strict=True)
    assert [units[2 * a : 2 * b].decode("utf-16-le") for a, b in pairs] == found


@pytest.mark.parametrize("protocol", protocols.names())
def test_verdicts_agree_with_the_score_under_every_protocol(protocol: str) -> None:
    made = both().panel
    judged = findings(read_panel(made.documents, made.predictions, protocol=protocol))
    for number, page in enumerate(pages(judged, 10)):
        for system, shown in zip(judged.systems, page.systems, strict=True):
            match = judged.panel.matches[system][number]
            right = sum(phrase.verdict == "correct" for phrase in shown)
            assert right == len(match.present.hits) + len(match.absent.hits)


def test_name_variants_are_found_by_any_name() -> None:
    document = Document(
        id="d1", title="", body="x", keyphrases=("svm|support vector machine",), tokenised=True
    )
    made = panel([document], a=predictions([["support vector machines"]]))
    judged = read_panel([document], made.predictions, protocol="chan19:variants=true")
    page = pages(findings(judged), 1)[0]
    assert page.gold[0].found == [0]
    assert page.systems[0][0].verdict == "correct"


def test_embedded_data_cannot_end_its_element() -> None:
    hostile = "</script><script>alert(1)</script><!-- & \u2028 \u2029 ' \" \\"
    text = embedded({"text": hostile})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"text": hostile}
