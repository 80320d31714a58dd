"""Tables of ratings and scores: what is read, and what is wrong with a line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from keywright.analysis.ratings import Item, Ratings, read_ratings, read_scores
from keywright.errors import DataError

PLAIN = "document,annotator,rating\nd1,ann,3\nd2,ann,4.5\nd1,ben,5\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ratings.csv"


def read(path: Path, text: str) -> Ratings:
    path.write_text(text, encoding="utf-8")
    return read_ratings(path)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        "\ufeff" + PLAIN.replace("\n", "\r\n"),
        'Rating,comment,Annotator, Document\n3,,ann,d1\n4.5,"good, but short",ann,d2\n\n5,,ben,d1',
    ],
)
def test_tables_in_every_spelling(path: Path, text: str) -> None:
    ratings = read(path, text)
    assert ratings.annotators == ["ann", "ben"]
    assert ratings.items == [Item("d1"), Item("d2")]
    assert not ratings.has_systems
    assert ratings.of("ann") == {Item("d1"): 3, Item("d2"): 4.5}
    assert ratings.means() == {Item("d1"): 4, Item("d2"): 4.5}
    assert np.array_equal(ratings.table(), [[3, 5], [4.5, np.nan]], equal_nan=True)


def test_a_compressed_table(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert len(read_ratings(path).ratings) == 3


def test_systems_are_part_of_what_is_rated(path: Path) -> None:
    ratings = read(path, "document,system,annotator,rating\nd1,a,ann,3\nd1,b,ann,4\n")
    assert ratings.has_systems
    assert ratings.items == [Item("d1", "a"), Item("d1", "b")]
    assert str(ratings.items[0]) == "document 'd1' of system 'a'"


def test_means_do_not_depend_on_the_order_of_annotators(path: Path) -> None:
    head = "document,annotator,rating\n"
    rows = ["d1,a,0.1", "d1,b,0.2", "d1,c,0.3", "d2,a,0.3", "d2,b,0.1", "d2,c,0.2"]
    assert len(set(read(path, head + "\n".join(rows)).means().values())) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: is empty"),
        ("\ndocument,annotator,rating", ":1: is empty, or its first line is"),
        ("document,annotator,score\nd1,a,3", ":1: has no column 'rating' (its header: document, "),
        ("d1,ann,3\nd2,ann,4", ":1: has no column 'document'"),
        ("document,annotator,rating,rating\n", ":1: has two columns 'rating'"),
        ("document,annotator,rating\n", ": has a header and no ratings"),
        (PLAIN + "d2,ben,good", ":5: 'rating' is 'good', not a number"),
        (PLAIN + "d2,ben,nan", ":5: 'rating' is 'nan', not a number"),
        (PLAIN + "d2,ben,inf", ":5: 'rating' is 'inf', not a number"),
        (PLAIN + "d2,ben,", ":5: has no value for 'rating'"),
        (PLAIN + "d2, ,4", ":5: has no value for 'annotator'"),
        (PLAIN + ",ben,4", ":5: has no value for 'document'"),
        (PLAIN + "d2,ben", ":5: has 2 cells, the header 3"),
        (PLAIN + "d2,ben,3,5", ":5: has 4 cells, the header 3; put cells that contain ','"),
        (PLAIN + "d1,ben,4", ":5: annotator 'ben' rates document 'd1' again, first in line 4"),
        (PLAIN + '"d2,ben,4\n', ":5: is not a valid row"),
        (PLAIN + 'd2,"b\ne\nn",4\nd3,ann,x', ":8: 'rating' is 'x'"),
    ],
)
def test_every_mistake_names_its_line(path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read(path, text)
    assert f"ratings.csv{message}" in str(error.value)


def test_scores_of_a_table_and_of_json_lines(path: Path, tmp_path: Path) -> None:
    ratings = read(path, PLAIN)
    expected = {"F1": {Item("d1"): 0.5, Item("d2"): 1.0}, "fb": {Item("d1"): 0.25, Item("d2"): 0}}
    table = tmp_path / "scores.tsv"
    table.write_text("document\tF1\tfb\nd2\t1\t0\nd1\t0.5\t0.25\n")
    assert read_scores(table, ratings) == expected
    lines = tmp_path / "scores.jsonl"
    lines.write_text(
        '{"document": "d1", "target": "heat pump", "F1": 0.5, "fb": 0.25, "correct": true}\n\n'
        '{"document": "d2", "target": "house", "F1": 1, "fb": 0.0, "correct": false}\n'
    )
    assert read_scores(lines, ratings) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("document,F1\nd1,0.5\n", "ratings.csv:3: document 'd2' has no value of 'F1' in "),
        ("document,F1\nd1,x\n", "scores:2: 'F1' is 'x', not a number"),
        ("document,F1\nd1,1\nd1,0\n", "scores:3: has document 'd1' again, first in line 2"),
        ("document\nd1\nd2\n", "scores: has no column of scores"),
        ("id,F1\nd1,1\n", "scores:1: has no column 'document'"),
        ("document,system,F1\nd1,a,1\n", "scores:2: the ratings have no column 'system'"),
        ('{"document": "d1", "F1": NaN}\n', "scores:1: is not JSON (NaN"),
        ('{"F1": 1}\n', "scores:1: has no value for 'document'"),
        ('{"document": "d1", "F1": 1}\n[]\n', "scores:2: "),
    ],
)
def test_bad_scores(path: Path, tmp_path: Path, text: str, message: str) -> None:
    ratings = read(path, PLAIN)
    (tmp_path / "scores").write_text(text)
    with pytest.raises(DataError) as error:
        read_scores(tmp_path / "scores", ratings)
    assert message in str(error.value)


def test_scores_without_the_systems_that_the_ratings_have(path: Path, tmp_path: Path) -> None:
    ratings = read(path, "document,system,annotator,rating\nd1,a,ann,3\n")
    (tmp_path / "scores").write_text("document,F1\nd1,1\n")
    with pytest.raises(DataError, match="scores:2: the scores have no column 'system'"):
        read_scores(tmp_path / "scores", ratings)
