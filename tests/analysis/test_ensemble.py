"""One list from several: its phrases, their order, and that it is better."""

from __future__ import annotations

import math

import pytest

from keywright.analysis.ensemble import ensemble, ensemble_scores, votes_by_confidence
from keywright.analysis.significance import Design, compare
from keywright.analysis.systems import read_panel
from keywright.errors import KeywrightError
from keywright.evaluate import evaluate
from keywright.types import Document, Prediction, ScoredPhrase
from tests.analysis.toy import DOCUMENTS, A, B, C, panel, plain
from tests.shared import SHARED, needs_data

DOCUMENT = Document(id="x", title="", body="red green blue yellow cars", tokenised=True)


def said(**phrases: float) -> list[Prediction]:
    """The prediction for one document: words with the probability of their single token."""
    return [
        Prediction(
            document_id="x",
            phrases=tuple(
                ScoredPhrase(text=word, token_log_probs=(math.log(p),), words=1)
                for word, p in phrases.items()
            ),
        )
    ]


def test_votes_are_confidences_discounted_by_rank() -> None:
    systems = {"a": said(red=0.5, green=0.4), "b": said(blue=0.6, green=0.9)}
    (union,) = ensemble([DOCUMENT], systems, "union")
    votes = {phrase.text: phrase.score for phrase in union.phrases}
    discount = 1 / math.log2(3)
    assert votes == pytest.approx(
        {"green": (0.4 + 0.9) * discount / 2, "blue": 0.6 / 2, "red": 0.5 / 2}
    )
    assert union.texts == ("green", "blue", "red")


def test_a_recalibrated_confidence_comes_before_the_models_own() -> None:
    sure = Prediction(
        document_id="x",
        phrases=(ScoredPhrase(text="red", token_log_probs=(-9.0,), words=1, confidence=0.8),),
    )
    (union,) = ensemble([DOCUMENT], {"a": [sure], "b": said(blue=0.5)}, "union")
    assert union.texts == ("red", "blue")


def test_a_system_without_probabilities_makes_all_confidences_1() -> None:
    plain_words = [Prediction(document_id="x", phrases=(ScoredPhrase(text="red"),))]
    assert not votes_by_confidence(plain_words)
    (union,) = ensemble([DOCUMENT], {"a": said(blue=0.01), "b": plain_words}, "union")
    assert [phrase.score for phrase in union.phrases] == [0.5, 0.5]
    assert union.texts == ("blue", "red")


def test_the_intersection_has_the_phrases_of_all_systems_by_stems() -> None:
    found = ensemble(DOCUMENTS, panel(a=A, b=B, c=C).predictions, "intersection")
    assert [set(prediction.texts) for prediction in found] == [
        {"greedy algorithm", "chromatic number"},
        {"language models"},  # spelled as by the system with the highest vote
        set(),
    ]


def test_the_vote_keeps_as_many_present_and_absent_phrases_as_usual() -> None:
    (found,) = ensemble(
        [DOCUMENT],
        {
            "a": said(red=0.9, green=0.8, boats=0.7),
            "b": said(blue=0.6, green=0.5, ships=0.9, planes=0.8),
        },
    )
    # 2 and 2 present phrases: the best 2; 1 and 2 absent ones: 1.5 makes the best 2.
    assert set(found.texts) == {"green", "red", "boats", "ships"}


def test_repeats_and_punctuation_get_no_votes() -> None:
    twice = [
        Prediction(
            document_id="x",
            phrases=tuple(ScoredPhrase(text=text) for text in ("red", "reds", "--", "blue")),
        )
    ]
    (found,) = ensemble([DOCUMENT], {"a": twice, "b": twice}, "union")
    assert found.texts == ("red", "blue")
    # The repeat and the marks take no rank from blue.
    assert found.phrases[1].score == pytest.approx(1 / math.log2(3))


def test_an_ensemble_needs_two_systems() -> None:
    with pytest.raises(KeywrightError, match="at least 2 systems"):
        ensemble(DOCUMENTS, {"a": plain(A)})


def test_scores_are_those_of_evaluate() -> None:
    both = panel(a=A, b=B)
    found = ensemble_scores(both, ["all.F1@M", "present.R@5"])
    assert list(found) == ["a", "b", "vote of 2", "union of 2", "intersection of 2"]
    union = ensemble(DOCUMENTS, both.predictions, "union")
    expected = evaluate(DOCUMENTS, union, metrics=["all.F1@M", "present.R@5"]).scores
    assert found["union of 2"] == pytest.approx(expected)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["inspec", "krapivin"])
def test_the_vote_of_released_systems_beats_each_of_them(corpus: str) -> None:
    folder = SHARED / "data"
    names = ("one2seq", "one2set", "t5", "bart", "exhird_h", "catseq")
    systems = {name: folder / "released" / name / f"{corpus}.jsonl" for name in names}
    real = read_panel(folder / "test" / f"{corpus}.jsonl", systems)
    vote = ensemble(real.documents, real.predictions)
    found = compare(
        real.documents,
        {**real.predictions, "vote": vote},
        metrics=["all.F1@M"],
        design=Design(baseline="vote"),
    )
    assert all(test.difference < 0 and test.worst_p < 0.05 for test in found.differences)
