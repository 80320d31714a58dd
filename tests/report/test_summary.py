"""The report in words: which system is better, by how much, and whether that is significant."""

from __future__ import annotations

from keywright.report.summary import listed, shown_p, summary
from keywright.types import Document
from tests.report.toy import GOOD, POOR, both, findings, panel, predictions


def test_few_documents_give_no_significant_difference() -> None:
    said = summary(both())
    assert said[0].startswith("On present F1@M, good and poor do not differ significantly: ")


def test_a_clear_difference_has_a_margin_and_p() -> None:
    documents = [
        Document(id=f"d{number}", title="graph", body="node", keyphrases=("graph", "tree"))
        for number in range(1, 41)
    ]
    right = predictions([["graph", "tree"]] * 40, 0.9)
    wrong = predictions([["node", "leaf"]] * 40, 0.9)
    said = summary(findings(panel(documents, b=right, a=wrong)))
    # 200 resamples allow p = 1/201 at the least, which Holm multiplies by six.
    assert (
        said[0] == "b beats a on present F1@M by 100.0 ± 0.0 points, p = 0.030 (100.0 against 0.0)."
    )
    assert any(line.startswith("b is better calibrated: ECE 10.0 ") for line in said)
    assert any("a 90.0% and 0.0% (overconfident)" in line for line in said)
    assert any("b 90.0% and 100.0% (underconfident)" in line for line in said)


def test_agreement_and_complement_are_counted() -> None:
    said = "\n".join(summary(both()))
    # Shared: planar graphs, prime numbers, both right; good alone has 4, three right; poor 3.
    assert "100.0% of the shared phrases are right, 75.0% of those that only good predicts" in said
    assert "0.0% of those that only poor predicts" in said
    assert "Together the systems find 83.3% of the gold phrases, good alone 83.3%." in said
    assert "Phrases per document: gold 2.0, good 2.0, poor 1.7." in said
    assert "good 14.3%" in said  # beam search is predicted twice: 1 of 7 phrases


def test_one_system_is_described_alone() -> None:
    said = summary(findings(panel(good=predictions(GOOD))))
    assert said[0].startswith("good has present F1@M ")
    assert not any("beats" in line or "agree" in line for line in said)


def test_three_systems_are_ranked() -> None:
    three = panel(good=predictions(GOOD), poor=predictions(POOR), copy=predictions(GOOD))
    said = summary(findings(three))
    assert said[0].startswith("good has the best present F1@M, ")
    assert "it does not differ significantly from copy (" in said[0]


def test_words() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert [shown_p(p) for p in (0.0004, 0.0314, 0.5)] == ["p < 0.001", "p = 0.031", "p = 0.50"]
