from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from keywright.errors import DataError
from keywright.scorers.making import make
from keywright.scorers.pairs import (
    ScoredPair,
    read_all,
    read_pairs,
    screened,
    similarity,
    write_pairs,
)
from tests.metrics.made import part


@pytest.mark.parametrize(
    ("prediction", "target", "both", "edit", "token"),
    [
        ("a b", "a b", 1, 1, 1),
        ("a", "a b", 7 / 12, 1 / 2, 2 / 3),
        ("b a", "a b", 1 / 2, 0, 1),
        ("x y", "a b", 0, 0, 0),
    ],
)
def test_the_score_is_the_similarity_of_fg(
    prediction: str, target: str, both: float, edit: float, token: float
) -> None:
    found = [similarity(prediction, target, kind) for kind in ("both", "edit", "token")]
    assert found == pytest.approx([both, edit, token])


def test_screening_keeps_all_similar_pairs_and_one_other_for_each_prediction() -> None:
    document = part("a;x;a b", "a b;c;d")
    found = list(screened(document, "both", 1, random.Random(1)))
    similar = {(pair.prediction, pair.target) for pair in found if pair.score > 0}
    assert similar == {("a", "a b"), ("a b", "a b")}
    others = Counter(pair.prediction for pair in found if pair.score == 0)
    assert others == {"a": 1, "x": 1, "a b": 1}


def test_which_of_the_others_is_kept_is_random_and_follows_from_the_seed() -> None:
    document = part("x", "a;b;c;d;e;f;g;h")

    def drawn(seed: int) -> list[str]:
        return [pair.target for pair in screened(document, "both", 2, random.Random(seed))]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(20)}) > 5
    assert len(set(drawn(3))) == 2


def test_as_many_others_as_there_are() -> None:
    document = part("x", "a;b")
    assert len(list(screened(document, "both", 5, random.Random(1)))) == 2
    assert list(screened(document, "both", 0, random.Random(1))) == []


def test_nothing_to_compare_gives_no_pair() -> None:
    assert list(screened(part("", "a"), "both", 1, random.Random(1))) == []
    assert list(screened(part("a", ""), "both", 1, random.Random(1))) == []


def test_pairs_survive_a_file(tmp_path: Path) -> None:
    pairs = [ScoredPair("heat pump", "pump", 0.25), ScoredPair("a", "b", 0.0)]
    assert write_pairs(pairs, tmp_path / "pairs.jsonl.xz") == 2
    assert list(read_pairs(tmp_path / "pairs.jsonl.xz")) == pairs


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"prediction": "a", "target": "b"}', "missing required field `score`"),
        ('{"prediction": "a", "target": "b", "score": "high"}', "score: Expected `float`"),
        ('{"prediction": "a", "target": "b", "score": NaN}', "NaN"),
        ('{"prediction": "a", "target": "b", "score": 1.5}', "must be a number from 0 to 1"),
        ('{"prediction": " ", "target": "b", "score": 1}', "prediction: is empty"),
        ("a\tb\t1.0", "is not JSON"),
    ],
)
def test_a_bad_line_is_an_error_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"prediction": "a", "target": "a", "score": 1}\n' + line + "\n")
    with pytest.raises(DataError, match=r"pairs\.jsonl:2: ") as error:
        list(read_pairs(path))
    assert message in str(error.value)


def test_a_file_without_pairs_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(DataError, match=r"pairs\.train: there is no pair in"):
        read_all([str(tmp_path / "none.jsonl")], None, "pairs.train")


def test_only_the_first_pairs_are_read(tmp_path: Path) -> None:
    pairs = [ScoredPair(str(number), "a", 0.0) for number in range(5)]
    write_pairs(pairs, tmp_path / "pairs.jsonl")
    paths = [str(tmp_path / "pairs.jsonl")] * 2
    assert list(read_all(paths, 7, "pairs.train").pairs) == [*pairs, *pairs[:2]]
    assert read_all(paths, 7, "x").digest != read_all(paths, 6, "x").digest


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_pairs_of_systems_are_made_within_each_part(tmp_path: Path) -> None:
    documents = write(
        tmp_path / "documents.jsonl",
        [
            {
                "id": "1",
                "title": "heat pumps",
                "abstract": "Heat pumps warm old houses .",
                "keywords": ["heat pumps", "insulation"],
            }
        ],
    )
    systems = [
        write(tmp_path / "a.jsonl", [{"id": "1", "phrases": ["pumps", "house insulation"]}]),
        write(tmp_path / "b.jsonl", [{"id": "1", "phrases": ["heat pump"]}]),
    ]
    found = [(pair.prediction, pair.target, pair.score) for pair in make(documents, systems)]
    assert found == [
        ("pump", "heat pump", pytest.approx(7 / 12)),
        ("hous insul", "insul", pytest.approx(7 / 12)),
        ("heat pump", "heat pump", 1),
    ]
