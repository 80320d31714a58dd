"""Every prediction format is read with its phrases in order and with its scores."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from keywright.data.predictions import formats, read_predictions
from keywright.errors import DataError
from keywright.types import Prediction, ScoredPhrase
from tests.shared import SHARED, needs_data


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def only(path: Path) -> Prediction:
    (prediction,) = read_predictions(path)
    return prediction


def test_chan_text_keeps_empty_phrases_and_marks(tmp_path):
    (tmp_path / "p").write_text("  a b;c ; ;;<peos>;d|e; \n\n;\n")
    predictions = list(read_predictions(tmp_path / "p"))
    assert [prediction.texts for prediction in predictions] == [
        ("a b", "c ", " ", "", "<peos>", "d|e", ""),
        (),
        ("", ""),
    ]


def test_blank_lines_are_predictions_without_phrases(tmp_path):
    (tmp_path / "p").write_text("\n\n")
    assert list(read_predictions(tmp_path / "p")) == [Prediction(phrases=())] * 2


@pytest.mark.parametrize("field", ["prediction", "predictions"])
@pytest.mark.parametrize("value", ["a b ; c;", ["a b", "c"], [["a", "b"], ["c"]]])
def test_kpeval(tmp_path, field, value):
    record = {"source": "text", "target": "gold", field: value, "id": 3}
    prediction = only(lines(tmp_path / "p", record))
    assert prediction.texts == ("a b", "c")
    assert prediction.document_id == "3"


def test_opennmt_predictions_have_scores(tmp_path):
    record = {
        "src": "x",
        "pred_sents": [["a", "b"], ["c"]],
        "pred_scores": [-0.5, -2.0],
        "preds": [],
    }
    assert only(lines(tmp_path / "p", record)).phrases == (
        ScoredPhrase(text="a b", score=-0.5),
        ScoredPhrase(text="c", score=-2.0),
    )


def test_opennmt_scores_must_match_their_phrases(tmp_path):
    file = lines(tmp_path / "p", {"pred_sents": [["a"], ["b"]], "pred_scores": [-1.0]})
    with pytest.raises(DataError, match="p:1: has 2 pred_sents, but 1 pred_scores"):
        list(read_predictions(file))


def test_released_token_probabilities_become_logarithms(tmp_path):
    phrase = {"tokens": ["▁sub", "word", "▁x"], "token_probs": [0.5, 0.0, 1.0], "text": "subword x"}
    scored = only(lines(tmp_path / "p", {"id": "d1", "phrases": [phrase]})).phrases[0]
    assert scored.token_log_probs == (math.log(0.5), -math.inf, 0.0)
    assert scored.words == 2
    assert scored.log_prob == -math.inf


def test_plain_strings_are_phrases(tmp_path):
    prediction = only(lines(tmp_path / "p", {"id": "d1", "phrases": ["a b", "c"]}))
    assert prediction == Prediction(
        document_id="d1", phrases=(ScoredPhrase(text="a b"), ScoredPhrase(text="c"))
    )


@pytest.mark.parametrize(
    ("phrase", "message"),
    [
        ({"text": "a", "token_probs": [1.5]}, r"token_probs must be in \[0, 1\]"),
        ({"text": "a", "token_probs": [-0.1]}, r"token_probs must be in \[0, 1\]"),
        ({"text": "a", "token_log_probs": [-1, 2]}, "token_log_probs must be at most 0"),
        ({"text": "a", "token_probs": [0.5], "token_log_probs": [-1]}, "has both token_probs and"),
        ({"token_probs": [0.5]}, "missing required field `text`"),
        (7, "got `int`"),
        ({"text": "a b", "words": -2}, "'a b' has words=-2"),
        ({"text": "a", "confidence": 1.5}, r"a confidence of 1.5; it must be in \[0, 1\]"),
    ],
)
def test_impossible_scores_are_errors(tmp_path, phrase, message):
    file = lines(tmp_path / "p", {"phrases": ["fine"]}, {"phrases": [phrase]})
    with pytest.raises(DataError, match=f"p:2: .*{message}"):
        list(read_predictions(file))


def test_documents_are_not_read_as_predictions(tmp_path):
    file = lines(tmp_path / "p", {"title": "t", "abstract": "a", "keywords": []})
    with pytest.raises(DataError, match="no known prediction format has the fields 'title'"):
        read_predictions(file)


def test_the_list_of_formats():
    assert formats() == ["chan", "keywright", "kpeval", "lists", "opennmt"]


@needs_data
@pytest.mark.parametrize(
    ("model", "phrases"), [("bart", 6.26), ("catseq", 6.31), ("one2set", 7.15), ("t5", 7.93)]
)
def test_the_released_predictions(model, phrases):
    file = SHARED / "data" / "released" / model / "inspec.jsonl"
    predictions = list(read_predictions(file))
    assert len(predictions) == 500
    assert sum(len(p.phrases) for p in predictions) / 500 == pytest.approx(phrases, abs=0.005)
    assert all(phrase.token_log_probs for p in predictions for phrase in p.phrases)


def test_json_lists_are_predictions_not_text(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text('["graph coloring", "planar; graph"]\n[]\n')
    assert [made.texts for made in read_predictions(path)] == [
        ("graph coloring", "planar; graph"),
        (),
    ]
    path.write_text('{"id": 7, "keyphrases": ["graph coloring"]}\n')
    (made,) = read_predictions(path)
    assert (made.document_id, made.texts) == ("7", ("graph coloring",))
    path.write_text("[ 3 ] coloring;graph\n")  # brackets alone do not make it JSON
    (made,) = read_predictions(path)
    assert made.texts == ("[ 3 ] coloring", "graph")
