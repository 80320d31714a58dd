"""Scores against ratings: which values are paired, and what is said of those that cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from keywright.analysis.correlation import Design
from keywright.analysis.judgement import judge, metric_scores
from keywright.analysis.ratings import Item, Rating, Ratings, read_ratings
from keywright.data.writers import write_documents, write_predictions
from keywright.errors import DataError, KeywrightError
from keywright.evaluate import evaluate
from tests.analysis.toy import DOCUMENTS, A, B, plain

FEW = Design(resamples=50)


def made(*rows: tuple[str, str, float], system: str | None = None) -> Ratings:
    return Ratings(
        Path("ratings.csv"),
        tuple(
            Rating(Item(document, system), annotator, value, line)
            for line, (document, annotator, value) in enumerate(rows, 2)
        ),
    )


def both(*values: tuple[float, float]) -> Ratings:
    """Ratings of d1, d2, ... by ann and ben."""
    return made(
        *(
            (f"d{place}", annotator, value)
            for place, pair in enumerate(values, 1)
            for annotator, value in zip(("ann", "ben"), pair, strict=True)
        )
    )


def scored(*values: float) -> dict[Item, float]:
    return {Item(f"d{place}"): value for place, value in enumerate(values, 1)}


def test_mean_and_every_annotator() -> None:
    ratings = both((1, 3), (3, 1), (4, 6))  # means 2, 2, 5
    found = judge(ratings, {"F1": scored(0.1, 0.2, 0.3)}, FEW)
    assert (found.documents, found.items, found.annotators) == (3, 3, ("ann", "ben"))
    mean = found.between("F1").coefficients
    assert mean["pearson"].value == pytest.approx(3 / np.sqrt(2 * 6))
    assert mean["kendall"].value == pytest.approx(2 / np.sqrt(3 * 2))
    assert found.between("F1", "ann").coefficients["spearman"].value == pytest.approx(1)
    assert found.between("F1", "ben").coefficients["spearman"].value == pytest.approx(0.5)
    assert found.agreement is not None
    (pair,) = found.agreement.pairwise
    assert (pair.a, pair.b, pair.items) == ("ann", "ben", 3)
    assert pair.coefficients["kendall"].value == pytest.approx(1 / 3)
    assert found.notes == ()
    with pytest.raises(KeyError):
        found.between("F1", "carl")


def test_one_annotator_has_nobody_to_agree_with() -> None:
    found = judge(
        made(("d1", "ann", 1), ("d2", "ann", 2), ("d3", "ann", 3)), {"x": scored(1, 2, 4)}
    )
    assert len(found.correlations) == 1
    assert found.agreement is None
    assert found.between("x").coefficients["kendall"].value == 1


def test_values_that_differ_in_their_last_bits_are_tied() -> None:
    ratings = made(("d1", "ann", 1), ("d2", "ann", 2), ("d3", "ann", 3))
    found = judge(ratings, {"x": scored(0.1 + 0.2, 0.3, 0.5)}, FEW)
    assert found.between("x").coefficients["kendall"].value == pytest.approx(2 / np.sqrt(2 * 3))


def test_what_is_not_defined_is_said_once() -> None:
    ratings = made(
        ("d1", "ann", 1), ("d2", "ann", 2), ("d3", "ann", 5),
        ("d1", "ben", 3), ("d2", "ben", 3), ("d3", "ben", 3),
        ("d1", "carl", 1), ("d2", "carl", 2),
    )  # fmt: skip
    found = judge(ratings, {"F1": scored(0.1, 0.4, 0.3), "zero": scored(0, 0, 0)}, FEW)
    assert found.between("F1").coefficients["pearson"].value is not None
    assert found.between("zero").coefficients["pearson"].value is None
    assert found.between("F1", "ben").coefficients["kendall"].interval is None
    assert found.notes == (
        "the ratings of 'ben' are all 3, so their correlations are not defined",
        "the values of 'F1' and the ratings of 'carl' have 2 items in common; 3 are needed",
        "the values of 'zero' are all 0, so their correlations are not defined",
        "the values of 'zero' and the ratings of 'carl' have 2 items in common; 3 are needed",
        "the ratings of 'ann' and the ratings of 'carl' have 2 items in common; 3 are needed",
        "the ratings of 'ben' and the ratings of 'carl' have 2 items in common; 3 are needed",
    )


def test_annotators_without_a_common_item() -> None:
    ratings = made(
        ("d1", "a", 1), ("d2", "a", 2), ("d3", "a", 5),
        ("d4", "b", 1), ("d5", "b", 1), ("d6", "b", 2),
    )  # fmt: skip
    found = judge(ratings, {"x": scored(1, 3, 2, 4, 4, 4)}, FEW)
    assert found.agreement is not None
    assert found.agreement.items == 0
    assert found.agreement.alpha["ordinal"].value is None
    assert found.between("x", "b").coefficients["pearson"].value is None
    assert found.notes == (
        "the values of 'x' are all 4 for the items in common, so their correlations are not "
        "defined",
        "Krippendorff's alpha is not defined: no item was rated by two annotators, or all ratings "
        "of such items are the same",
        "the ratings of 'a' and the ratings of 'b' have 0 items in common; 3 are needed",
    )


def test_ratings_without_any_correlation_are_refused() -> None:
    with pytest.raises(DataError, match=r"ratings\.csv: has ratings of 2 items; .* at least 3"):
        judge(both((1, 2), (3, 4)), {"F1": scored(1, 2)})
    with pytest.raises(DataError, match=r"ratings\.csv:2: gives all 3 items the same rating \(2\)"):
        judge(both((1, 3), (2, 2), (3, 1)), {"F1": scored(1, 2, 3)})
    with pytest.raises(KeywrightError, match="no correlation is defined: the values of 'F1' are"):
        judge(both((1, 3), (2, 2), (3, 5)), {"F1": scored(1, 1, 1)})


def test_metrics_are_those_of_each_document() -> None:
    ratings = made(("d3", "ann", 1), ("d1", "ann", 2), ("d2", "ann", 3))
    found = metric_scores(DOCUMENTS, {"a": plain(A)}, ratings, metrics=["all.F1@M", "present.P@M"])
    for name, values in found.items():
        for document, prediction in zip(DOCUMENTS, plain(A), strict=True):
            alone = evaluate([document], [prediction], metrics=[name])
            assert values[Item(str(document.id))] == pytest.approx(alone[name])


def test_a_document_outside_a_metrics_average_has_no_value() -> None:
    """d3 has no absent gold phrase, and this protocol averages over documents that have one."""
    ratings = made(("d1", "ann", 1), ("d2", "ann", 2), ("d3", "ann", 3))
    found = metric_scores(
        DOCUMENTS, {"a": plain(A)}, ratings, metrics=["absent.R@M", "all.R@M"],
        protocol="yuan20:average_over=with_targets",
    )  # fmt: skip
    assert set(found["absent.R@M"]) == {Item("d1"), Item("d2")}
    assert set(found["all.R@M"]) == {Item("d1"), Item("d2"), Item("d3")}


def test_documents_without_ids_are_named_by_their_numbers() -> None:
    lists = [list(phrases) for phrases in A]
    documents = [structs.replace(document, id=None) for document in DOCUMENTS]
    ratings = made(("1", "ann", 1), ("3", "ann", 2))
    found = metric_scores(documents, {"a": lists}, ratings, metrics=["all.F1@M"])
    assert set(found["all.F1@M"]) == {Item("1"), Item("3")}


def test_systems_are_told_apart() -> None:
    rows = [("d1", "ann", 1.0), ("d2", "ann", 2.0)]
    ratings = Ratings(
        Path("ratings.csv"),
        made(*rows, system="a").ratings + made(*rows, system="b").ratings,
    )
    systems = {"a": plain(A), "b": plain(B)}
    found = metric_scores(DOCUMENTS, systems, ratings, metrics=["all.Predicted"])["all.Predicted"]
    assert found == {
        Item("d1", "a"): 4, Item("d2", "a"): 3, Item("d1", "b"): 4, Item("d2", "b"): 2
    }  # fmt: skip
    assert judge(ratings, {"x": dict(zip(found, (1, 2, 3, 4), strict=True))}, FEW).documents == 2


def test_ratings_of_what_is_not_there() -> None:
    systems = {"neural": plain(A)}
    with pytest.raises(DataError, match=r"ratings\.csv:3: document 'd9' is not in the documents"):
        metric_scores(DOCUMENTS, systems, made(("d1", "ann", 1), ("d9", "ann", 2)))
    with pytest.raises(DataError, match=r"csv:2: there are no .* 'neurl'; did you mean 'neural'"):
        metric_scores(DOCUMENTS, systems, made(("d1", "ann", 1), system="neurl"))
    with pytest.raises(DataError, match=r"csv:1: has no column 'system'.* predictions of 2"):
        metric_scores(DOCUMENTS, {"a": plain(A), "b": plain(B)}, made(("d1", "ann", 1)))


GUIDE = Path(__file__).parents[2] / "docs" / "human-judgement.md"


def test_the_examples_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_documents(DOCUMENTS, tmp_path / "docs.jsonl")
    write_predictions(plain(A), tmp_path / "a.jsonl")
    rows = "d1,ann,3\nd2,ann,4\nd3,ann,1\nd1,ben,5\nd2,ben,5\nd3,ben,5\n"
    (tmp_path / "ratings.csv").write_text("document,annotator,rating\n" + rows)
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    first, second = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(first, {})
    assert capsys.readouterr().out.startswith("1.0 (")
    exec(second, {})
    assert f"prints `{capsys.readouterr().out.strip()}`" in text


def test_the_ratings_of_the_guide_are_read(tmp_path: Path) -> None:
    (table,) = re.findall(r"```csv\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "ratings.csv").write_text(table)
    assert read_ratings(tmp_path / "ratings.csv").annotators == ["ann", "ben"]
