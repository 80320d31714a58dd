"""Which phrases are judged, and when they are correct."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from keywright import protocols
from keywright.calibration.perplexity import Length
from keywright.calibration.sample import Columns, Confidence, Sample
from keywright.errors import KeywrightError
from keywright.types import Document, Prediction, ScoredPhrase
from tests.calibration.toys import document, phrase, prediction

TEXT = "graph coloring assigns colors to the nodes of a planar graph"


def collect(
    pairs: list[tuple[Document, Prediction]],
    protocol: str = "chan19",
    confidence: Confidence = "auto",
    length: Length = "words",
) -> Sample:
    columns = Columns(protocols.load(protocol), length)
    for text, made in pairs:
        columns.add(text, made)
    return columns.sample(confidence)


def collected(made: Prediction, *gold: str, **options: Any) -> Sample:
    return collect([(document(TEXT, *gold), made)], **options)


def test_phrases_are_correct_within_their_part() -> None:
    made = prediction(
        phrase("planar graphs", 0.9, 0.4), phrase("four colors", 0.5, 0.5), phrase("nodes", 0.3)
    )
    found = collected(made, "planar graph", "four color", "chromatic number")
    assert found.present.tolist() == [True, False, True]
    assert found.correct.tolist() == [True, True, False]
    assert found.confidence == pytest.approx([0.6, 0.5, 0.3])
    assert found.gold.tolist() == [[1, 2]]
    assert found.words.tolist() == [2, 2, 1]
    assert found.rank.tolist() == [0, 1, 2]


def test_a_repeated_phrase_counts_once_with_its_first_confidence() -> None:
    made = prediction(phrase("planar graph", 0.9, 0.9), phrase("planar graphs", 0.1, 0.1))
    found = collected(made, "planar graph")
    assert found.confidence == pytest.approx([0.9])


def test_filters_of_f1_do_not_apply() -> None:
    made = prediction(phrase("<unk> graph", 0.2, 0.2), phrase("nodes , colors", 0.3, 0.3, 0.3))
    assert len(collected(made, "planar graph")) == 2


def test_a_phrase_without_words_is_left_out() -> None:
    assert len(collected(prediction(phrase("", 0.5), phrase(" ", 0.5)), "planar graph")) == 0


def test_position_is_where_the_phrase_first_occurs() -> None:
    made = prediction(phrase("graph", 0.5), phrase("planar", 0.5), phrase("matching", 0.5))
    found = collected(made, "graph")
    assert found.position[0] == 0.0
    assert found.position[1] == pytest.approx(TEXT.index("planar") / len(TEXT))


def test_phrases_without_probabilities_are_left_out_and_counted() -> None:
    made = prediction(ScoredPhrase(text="nodes"), phrase("planar graph", 0.5, 0.5))
    found = collected(made, "nodes")
    assert len(found) == 1
    assert found.without_confidence == 1
    assert found.rank.tolist() == [1]  # its rank is still the second


def test_stated_confidence_is_used_only_where_every_phrase_has_it() -> None:
    stated = ScoredPhrase(text="nodes", token_log_probs=(math.log(0.5),), confidence=0.2)
    both = collected(prediction(stated), "nodes")
    assert (both.source, both.confidence.tolist()) == ("stated", [0.2])
    assert both.own == pytest.approx([0.5])
    assert both.before.tolist() == [0.2]
    mixed = collected(prediction(stated, phrase("colors", 0.7)), "nodes")
    assert (mixed.source, mixed.confidence.tolist()) == ("kpp", pytest.approx([0.5, 0.7]))
    asked = collected(prediction(stated), "nodes", confidence="kpp")
    assert asked.confidence == asked.before == pytest.approx([0.5])
    own = collected(prediction(stated), "nodes", confidence="own")
    assert (own.source, own.confidence.tolist()) == ("kpp", pytest.approx([0.5]))
    alone = collected(
        prediction(ScoredPhrase(text="nodes", confidence=0.2)), "nodes", confidence="own"
    )
    assert (alone.source, alone.confidence.tolist()) == ("stated", [0.2])


@pytest.mark.parametrize("bad", [1.5, -0.1, math.nan])
def test_a_stated_confidence_must_be_a_probability(bad: float) -> None:
    with pytest.raises(KeywrightError, match="must be between 0 and 1"):
        collected(prediction(ScoredPhrase(text="nodes", confidence=bad)), "nodes")


def test_bad_probabilities_name_the_document() -> None:
    pairs = [
        (
            Document(title="", body=TEXT, keyphrases=("nodes",), id="d7"),
            prediction(ScoredPhrase(text="nodes", token_log_probs=(math.nan,))),
        )
    ]
    with pytest.raises(KeywrightError, match="document d7: phrase 'nodes'"):
        collect(pairs, "chan19")


def test_the_protocol_decides_what_a_phrase_is() -> None:
    made = prediction(phrase("client/server", 0.4))
    text = document("a client asks a server", "server")
    split = collect([(text, made)], "exhird")
    whole = collect([(text, made)], "chan19")
    assert (split.present.tolist(), split.correct.tolist()) == ([True, True], [False, True])
    assert split.confidence == pytest.approx([0.4, 0.4])
    assert whole.present.tolist() == [False]


def test_the_protocol_decides_what_is_present() -> None:
    made = prediction(phrase("plana", 0.4))
    assert collected(made, "nodes").present.tolist() == [False]
    assert collected(made, "nodes", protocol="kpdrop").present.tolist() == [True]  # by characters


def test_stemmed_gold_does_not_leave_predictions_unstemmed() -> None:
    """SemEval's gold is already stemmed; predictions must be stemmed to be compared with it."""
    made = prediction(phrase("planar graphs", 0.5, 0.5), phrase("databases", 0.5))
    found = collected(made, "planar graph", "databas", protocol="chan19:targets_stemmed=true")
    assert found.correct.tolist() == [True, True]


def test_any_name_of_a_gold_phrase_is_correct() -> None:
    made = prediction(phrase("colors", 0.5))
    found = collected(made, "hues|colors", protocol="chan19:variants=true")
    assert found.correct.tolist() == [True]


def test_parts_and_their_gold() -> None:
    made = prediction(phrase("nodes", 0.5), phrase("matching", 0.5))
    found = collected(made, "nodes", "matching", "flow")
    assert found.mask("present").tolist() == [True, False]
    assert found.mask("absent").tolist() == [False, True]
    assert found.mask("all").all()
    assert [found.targets(part).tolist() for part in ("present", "absent", "all")] == [
        [1],
        [2],
        [3],
    ]
    with pytest.raises(ValueError, match="unknown part"):
        found.mask("presents")


def test_missing_gold_is_not_counted_as_a_phrase() -> None:
    """chan19 reads an empty gold line as one empty target."""
    found = collected(prediction(phrase("nodes", 0.5)))
    assert found.gold.tolist() == [[0, 0]]


def test_no_predictions_at_all() -> None:
    found = collected(prediction(), "nodes")
    assert len(found) == 0
    assert found.documents == 1
    assert np.isnan(found.confidence).sum() == 0
