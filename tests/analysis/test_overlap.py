"""What systems share, on a corpus small enough to count by hand (see `toy`)."""

from __future__ import annotations

import pytest

from keywright import protocols
from keywright.analysis.overlap import (
    MissingGold,
    Split,
    agreed,
    complement,
    missing_gold,
    overlap,
    overlaps,
)
from keywright.analysis.systems import read_panel
from keywright.types import Document, Prediction, ScoredPhrase
from tests.analysis.toy import DOCUMENTS, A, B, C, panel, plain
from tests.shared import SHARED, needs_data


def test_present_overlap_by_hand() -> None:
    found = overlap(panel(a=A, b=B), "a", "b", "present")
    # d1: {coloring, planar, greedy} and {planar, greedy}: 2/3. d2: {beam, language model} and
    # {language model, decoder}: 1/3. d3: nothing and {prime number}: 0.
    assert found.documents == 3
    assert found.agreement == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)
    assert found.shared == Split(correct=1, wrong=2)
    assert found.only_a == Split(correct=2, wrong=0)
    assert found.only_b == Split(correct=1, wrong=1)
    by_bracket = {round(b.low, 1): (b.documents, b.shared) for b in found.brackets if b.documents}
    assert by_bracket == {
        0.0: (1, Split(0, 0)),
        0.3: (1, Split(0, 1)),
        0.6: (1, Split(1, 1)),
    }


def test_absent_overlap_leaves_out_documents_without_predictions() -> None:
    found = overlap(panel(a=A, b=B), "a", "b", "absent")
    # d1: {chromatic number} and {chromatic number, graph theory}; d2: {decoding strategy}, none.
    assert found.documents == 2
    assert found.agreement == pytest.approx((1 / 2 + 0) / 2)
    assert found.shared == Split(correct=0, wrong=1)


def test_an_edge_belongs_to_the_bracket_above() -> None:
    """3 shared of 10."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    document = Document(id="x", title="", body=" ".join(words), keyphrases=("one",), tokenised=True)
    systems = {"a": [words], "b": [words[:3]]}
    found = overlap(read_panel([document], systems), "a", "b", "present")
    assert [b.documents for b in found.brackets] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_full_agreement_is_in_the_last_bracket_and_no_predictions_in_none() -> None:
    same = overlap(panel(a=C, b=C), "a", "b", "present")
    assert same.agreement == 1
    assert same.brackets[-1].documents == same.documents
    silent = ((), (), ())
    nothing = overlap(panel(a=silent, b=silent), "a", "b", "all")
    assert (nothing.documents, nothing.agreement) == (0, None)


def test_shared_and_own_phrases_are_all_that_the_protocol_counts() -> None:
    both = panel(a=A, b=B)
    for found in overlaps(both):
        for system, own in ((found.a, found.only_a), (found.b, found.only_b)):
            parts = [getattr(match, found.part) for match in both.matches[system]]
            assert found.shared.total + own.total == sum(len(p.predictions) for p in parts)
            assert found.shared.correct + own.correct == sum(len(p.hits) for p in parts)


def test_gold_by_the_systems_that_find_it() -> None:
    found = complement(panel(a=A, b=B, c=C), "present")
    # Present gold: graph coloring (a), planar graphs (a, b), beam search (a), prime numbers (b, c).
    assert found.gold == 4
    assert found.found_by == (0, 2, 2, 0)
    assert found.found == {"a": 3, "b": 2, "c": 1}
    assert found.alone == {"a": 2, "b": 0, "c": 0}
    assert found.best_recall == 1
    absent = complement(panel(a=A, b=B, c=C), "absent")
    # four color theorem (nobody), decoding strategies (a).
    assert absent.found_by == (1, 1, 0, 0)
    assert absent.best_recall == 0.5


def test_precision_by_number_of_systems() -> None:
    by_one, by_two, by_three = agreed(panel(a=A, b=B, c=C), "present")
    # All three: greedy algorithm, language model. Two: planar graph, prime number. One: graph
    # coloring, beam search, decoder, short note.
    assert by_three.phrases == Split(correct=0, wrong=2)
    assert by_two.phrases == Split(correct=2, wrong=0)
    assert by_one.phrases == Split(correct=2, wrong=2)
    assert by_one.phrases.precision == 0.5


def test_candidates_for_the_gold_are_spelled_as_a_system_wrote_them() -> None:
    found = missing_gold(panel(a=A, b=B, c=C))
    assert found == [
        MissingGold("d1", "present", "greedy algorithm", ("a", "b", "c")),
        MissingGold("d1", "absent", "chromatic number", ("a", "b", "c")),
        MissingGold("d2", "present", "language model", ("a", "b", "c")),
    ]
    assert missing_gold(panel(a=A, b=B, c=C), least=4) == []
    assert "graph theory" in [
        candidate.text for candidate in missing_gold(panel(a=A, b=B), least=1)
    ]


def test_a_document_without_gold_has_no_missing_gold() -> None:
    bare = Document(id="x", title="beam search", body="", keyphrases=(), tokenised=True)
    same = {"a": [["beam search"]], "b": [["beam search"]]}
    assert missing_gold(read_panel([bare], same)) == []


@pytest.mark.parametrize("protocol", protocols.names())
def test_candidates_are_spelled_as_predicted_under_every_protocol(protocol: str) -> None:
    """Candidates have the words that a system wrote, also if the protocol splits phrases."""
    odd = ["client/server computing", "C++ templates", "x;y", "Running Dogs", "e.g. tests"]
    document = Document(id="x", title="Toys", body="About toys.", keyphrases=("toys",))
    made = [Prediction(document_id="x", phrases=tuple(ScoredPhrase(text=t) for t in odd))]
    both = read_panel([document], {"a": made, "b": made}, protocol=protocol)
    texts = {candidate.text for candidate in missing_gold(both)}
    assert texts <= set(odd)
    assert "Running Dogs" in texts


@needs_data
@pytest.mark.slow
def test_precision_rises_with_agreement_on_released_systems() -> None:
    folder = SHARED / "data"
    systems = {
        name: folder / "released" / name / "inspec.jsonl" for name in ("one2seq", "t5", "bart")
    }
    real = read_panel(folder / "test" / "inspec.jsonl", systems)
    precision = [found.phrases.precision or 0.0 for found in agreed(real, "present")]
    assert precision == sorted(precision)
    assert precision[-1] > 2 * precision[0]


def test_plain_lists_match_by_line() -> None:
    by_line = read_panel(DOCUMENTS, {"a": [list(texts) for texts in A], "b": plain(B)})
    assert overlap(by_line, "a", "b", "all") == overlap(panel(a=A, b=B), "a", "b", "all")
