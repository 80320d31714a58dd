"""exhird, by hand."""

from __future__ import annotations

import pytest

from tests.protocols.scoring import SOURCE, Case, phrases, score


def kept(prediction: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    found = phrases("exhird", (source, "a", prediction))
    return found["present"][0], found["absent"][0]


def gold(target: str, source: str = SOURCE, settings: str = "") -> tuple[list[str], list[str]]:
    found = phrases(f"exhird:{settings}", (source, target, "a"))
    return found["present"][1], found["absent"][1]


@pytest.mark.parametrize(
    ("phrases_line", "present", "absent"),
    [
        ("a;x;a;A", ["a"], ["x"]),
        ("a/b;x/y", ["a", "b"], ["x", "y"]),  # a slash splits
        ("c d", [], ["c d"]),  # the border is a word
        ("c <eos> d;<eos>", ["c <eos> d", "<eos>"], []),
        ("<p_start>a<p_end><a_start>x<a_end>", ["a"], ["x"]),
        ("a <eokp>;<blank> b", ["a", "b"], []),
        ("a <absent_end>;<absent_end>", [], ["a <absent_end>"]),  # dropped only if alone
        (";a;; ;b;", ["a", "b"], []),  # empty pieces are dropped
        ("a  b", ["a b"], []),  # any white space separates words
        ("g .;,;.", ["g .", "."], [","]),  # marks are kept, despite the option's name
        ("a_b;a b", ["a b"], ["a_b"]),
        ("", [], []),
    ],
)
def test_phrases(phrases_line: str, present: list[str], absent: list[str]) -> None:
    assert kept(phrases_line) == (present, absent)
    assert gold(phrases_line) == (present, absent), "gold and predictions are read alike"


def test_only_predictions_with_unk_are_dropped() -> None:
    assert kept("<unk>;<unk> a;b<unk>;b") == (["b"], [])
    assert gold("<unk>;b") == (["b"], ["<unk>"])


def test_a_source_without_title_has_no_border() -> None:
    assert kept("a b", "a b c") == (["a b"], [])


CORPUS: tuple[Case, ...] = (
    ("a b c d <eos> e f", "a;b", "a;b"),
    ("a b c d <eos> e f", "a;b;c;d", "a;x"),
    ("a b c d <eos> e f", "z", ""),
)


def test_both_averages_of_f1() -> None:
    # Documents: 4/7, 2/9, 0. Means: P 1/5, R 5/12.
    assert score("exhird", "present.F1@5", *CORPUS) == pytest.approx((4 / 7 + 2 / 9) / 3)
    assert score("exhird:f1=of_means", "present.F1@5", *CORPUS) == pytest.approx(10 / 37)
    with_targets = "exhird:average_over=with_targets"
    assert score(with_targets, "present.F1@5", *CORPUS) == pytest.approx((4 / 7 + 2 / 9) / 2)


def test_micro_counts_k_predictions_for_every_document() -> None:
    assert score("exhird", "present.micro.P@5", *CORPUS) == pytest.approx(3 / 15)
    assert score("exhird", "present.micro.P@M", *CORPUS) == pytest.approx(3 / 3)
    assert score("exhird", "present.micro.R@5", *CORPUS) == pytest.approx(3 / 6)


def test_precision() -> None:
    assert score("exhird", "present.P@5", CORPUS[1]) == pytest.approx(1 / 5)
    assert score("exhird:precision=predicted", "present.P@5", CORPUS[1]) == 1
    assert score("exhird", "present.P@M", CORPUS[1]) == 1
    assert score("exhird", "present.P@M", CORPUS[2]) == 0


def test_map() -> None:
    # Hits at ranks 2 and 3 of three targets: (1/2 + 2/3)/3.
    case = (SOURCE, "a;b;z", "c;a;b")
    assert score("exhird", "present.MAP@5", case) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert score("exhird", "all.MAP@5", case) == pytest.approx((1 / 2 + 2 / 3) / 3)


def test_duplicate_ratio_is_a_mean_over_documents_with_predictions() -> None:
    # 2 of 4, 0 of 1; nothing; and nothing again once <unk> is gone.
    cases = [(SOURCE, "a", line) for line in ("a;a;b;A", "a", "", "<unk>;<unk>")]
    assert score("exhird", "all.Dup", *cases) == pytest.approx((2 / 4) / 2)


def test_targets_stemmed() -> None:
    case = ("universes <eos> .", "univers", "universe")
    assert score("exhird", "present.F1@M", case) == 0
    assert score("exhird:targets_stemmed=true", "present.F1@M", case) == 1
