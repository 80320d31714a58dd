"""kpdrop, by hand."""

from __future__ import annotations

import pytest

from keywright import protocols
from keywright.types import Document
from tests.protocols.scoring import SOURCE, Case, phrases, score


def kept(prediction: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    found = phrases("kpdrop", (source, "a", prediction))
    return found["present"][0], found["absent"][0]


def gold(target: str, source: str = SOURCE, settings: str = "") -> tuple[list[str], list[str]]:
    found = phrases(f"kpdrop:{settings}", (source, target, "a"))
    return found["present"][1], found["absent"][1]


@pytest.mark.parametrize(
    ("prediction", "present", "absent"),
    [
        ("a;x;a;A", ["a"], ["x"]),
        ("c d", ["c d"], []),  # the border can be crossed
        ("<unk>;,;.;<peos>;;a", ["a"], []),  # dropped only if there is nothing else
        ("<unk> a;a .;, b", [], ["<unk> a", "a .", ", b"]),
        ("g .", ["g ."], []),
        ("a;b <eos> c;d", ["a", "b"], []),  # nothing counts after the first <eos>
        ("<eos> a", [], []),
        ("a  b", [], ["a  b"]),  # two blanks stay two
        ("a_b;a b", ["a b"], ["a_b"]),
        ("", [], []),
    ],
)
def test_which_predictions_count(prediction: str, present: list[str], absent: list[str]) -> None:
    assert kept(prediction) == (present, absent)


def test_presence_is_decided_by_characters() -> None:
    source = "networks <eos> generate d"
    assert kept("net;work gen;networks;xnet", source) == (["net", "work gen", "network"], ["xnet"])
    assert gold("net;work gen;z", source) == (["net", "work gen"], ["z"])


@pytest.mark.parametrize(
    ("target", "present", "absent"),
    [
        ("a;A;z", ["a"], ["z"]),
        ("a  b", ["a b"], []),  # unlike predictions, gold loses empty words
        ("<peos>;a", ["a"], []),
        ("a b;a_b", ["a b"], ["a_b"]),
        ("", [], []),  # no gold is none
        (",;<unk>", [], [",", "<unk>"]),
        ("a;;b", ["a"], ["; b"]),  # padded to "a ; ; b" and split at " ; "
    ],
)
def test_which_gold_counts(target: str, present: list[str], absent: list[str]) -> None:
    assert gold(target) == (present, absent)


ONE_HIT: Case = (SOURCE, "a;b;c;d", "a;g")


@pytest.mark.parametrize(
    ("metric", "by_predicted", "by_cutoff"),
    [
        ("present.P@5", 1 / 2, 1 / 5),
        ("present.P@5R", 1 / 5, 1 / 5),  # padded with wrong phrases
        ("present.P@10", 1 / 2, 1 / 10),
        ("present.P@M", 1 / 2, 1 / 2),
        ("present.R@5", 1 / 4, 1 / 4),
        ("present.F1@5", 1 / 3, 2 / 9),  # of 1/2 or 1/5 and 1/4
        ("present.F1@5R", 2 / 9, 2 / 9),
        ("absent.P@5", 0, 0),
    ],
)
def test_what_precision_divides_by(metric: str, by_predicted: float, by_cutoff: float) -> None:
    assert score("kpdrop", metric, ONE_HIT) == pytest.approx(by_predicted)
    assert score("kpdrop:precision=cutoff", metric, ONE_HIT) == pytest.approx(by_cutoff)


def test_a_long_list_is_cut() -> None:
    case = ("a b c d e f <eos> g", "f", "a;b;c;d;e;f")
    assert score("kpdrop", "present.R@5", case) == 0
    assert score("kpdrop", "present.P@10", case) == pytest.approx(1 / 6)
    assert score("kpdrop", "present.P@5R", case) == 0


def test_f1_is_of_means_over_all_documents() -> None:
    nothing: Case = (SOURCE, "z", "")
    # P = (1/2 + 0)/2, R = (1/4 + 0)/2: F1 = 2 * 1/4 * 1/8 / (3/8).
    assert score("kpdrop", "present.F1@5", ONE_HIT, nothing) == pytest.approx(1 / 6)
    assert score("kpdrop:average_over=with_targets", "present.F1@5", ONE_HIT, nothing) == (
        pytest.approx(1 / 3)
    )
    lucky: Case = (SOURCE, "b", "b")  # 1 and 1; with ONE_HIT: P 3/4, R 5/8, F1 15/22
    assert score("kpdrop", "present.F1@5", ONE_HIT, lucky) == pytest.approx(15 / 22)
    assert score("kpdrop:f1=mean_of_documents", "present.F1@5", ONE_HIT, lucky) == pytest.approx(
        (1 / 3 + 1) / 2
    )


def test_targets_stemmed() -> None:
    case = ("universes <eos> .", "univers", "universe")
    assert score("kpdrop", "absent.R@M", case) == 0  # univers -> univer, which is in the text
    assert score("kpdrop", "present.R@M", case) == 0
    assert score("kpdrop:targets_stemmed=true", "present.R@M", case) == 1


def test_raw_text_is_normalised_first() -> None:
    document = Document(title="Deep-Learning", body="", keyphrases=("Deep Learning",))
    found = protocols.load("kpdrop").match(document, ["deep learning."])
    assert found.present.targets == ["deep learn"]
    assert found.absent.predictions == ["deep learn ."]
