"""yuan20 (OpenNMT-kpg), by hand."""

from __future__ import annotations

from math import log2

import pytest

from keywright import protocols
from tests.protocols.scoring import SOURCE, Case, match, phrases, score

SPLIT = "yuan20:tokeniser=split"


def kept(protocol: str, prediction: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    found = phrases(protocol, (source, "a", prediction))
    return found["present"][0], found["absent"][0]


def gold(protocol: str, target: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    found = phrases(protocol, (source, target, "a"))
    return found["present"][1], found["absent"][1]


@pytest.mark.parametrize(
    ("prediction", "present", "absent"),
    [
        ("a;x;a;A", ["a"], ["x"]),
        ("c d", ["c d"], []),  # punctuation is dropped, and with it the dot at the border
        ("a-b;x/y", ["a b"], ["x y"]),
        ("<digit>", [], ["digit"]),
        ("a , b;a.b", ["a b"], []),  # the same words, so the second is a repeat
        (",;.;( );a", ["a"], []),  # without a word there is no phrase
        ("<unk>;<unk> a;unk;b", ["b"], []),  # the unknown word is `unk` here
        ("unks", [], ["unk"]),  # judged before stemming
        ("unk;unks", [], []),  # but then it repeats an invalid phrase
        ("a_b", [], ["a_b"]),  # the underscore belongs to words
        ("a b;a_b", ["a b"], []),  # the release compares words joined by "_"
        ("a_b;a b", [], ["a_b"]),
        ("a  b", ["a b"], []),
        ("a;;b", ["a", "b"], []),
        ("", [], []),
    ],
)
def test_split_nopunc(prediction: str, present: list[str], absent: list[str]) -> None:
    assert kept("yuan20", prediction) == (present, absent)


@pytest.mark.parametrize(
    ("prediction", "present", "absent"),
    [
        ("a;x;a;A", ["a"], ["x"]),
        ("c d;c . d", [], ["c d"]),  # there is a dot at the border, and in no valid phrase
        ("a-b", [], ["a-b"]),
        ("a , b;. a;,", [], []),
        ("(;a", ["a"], ["("]),
        ("<unk> a;<unk>;b", ["b"], []),
        ("unk", [], ["unk"]),
        ("a_b;a b", [], ["a_b"]),
        ("a  b", ["a b"], []),
        ("a;;b", ["a", "b"], []),
    ],
)
def test_split(prediction: str, present: list[str], absent: list[str]) -> None:
    assert kept(SPLIT, prediction) == (present, absent)


def test_gold_keeps_its_repeats() -> None:
    assert gold("yuan20", "a;A;z;z") == (["a", "a"], ["z", "z"])
    assert gold("yuan20", "a b;a_b;,") == (["a b", ""], ["a_b"]), "nothing is filtered either"
    case = (SOURCE, "a;a;b", "a;b")
    assert score("yuan20", "present.R@5", case) == pytest.approx(2 / 3)
    assert score("yuan20", "present.Gold", case) == 3


def test_gold_without_words_is_present() -> None:
    """The search for an empty run succeeds at once."""
    assert gold("yuan20", "") == ([""], [])
    assert gold(SPLIT, "") == ([""], [])
    assert gold("yuan20", "...") == ([""], [])
    assert gold(SPLIT, "...") == ([], ["..."])


def test_an_empty_prediction_never_hits_it() -> None:
    assert match("yuan20", (SOURCE, "", ";a")).present.hits == []


SHORT: Case = (SOURCE, "a;b;d", "a;x;f")  # present: a hit and f; three targets


@pytest.mark.parametrize(
    ("metric", "usual", "hard"),
    [
        ("present.P@5", 1 / 2, 1 / 5),
        ("present.P@1", 1, 1),
        ("present.P@O", 1 / 2, 1 / 3),
        ("present.P@M", 1 / 2, 1 / 2),
        ("present.R@5", 1 / 3, 1 / 3),
        ("present.F1@5", 2 / 5, 1 / 4),  # of 1/2 or 1/5 and 1/3
        ("present.F1@O", 2 / 5, 1 / 3),
        ("all.P@3", 1 / 3, 1 / 3),
    ],
)
def test_usual_and_hard_precision(metric: str, usual: float, hard: float) -> None:
    assert score("yuan20", metric, SHORT) == pytest.approx(usual)
    assert score("yuan20:precision=cutoff", metric, SHORT) == pytest.approx(hard)


CORPUS: tuple[Case, ...] = (
    SHORT,  # F1@5 2/5, P 1/2, R 1/3
    (SOURCE, "b", "b"),  # 1
    (SOURCE, "z", "a"),  # no present gold: every present score is 0
)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", (2 / 5 + 1) / 3),
        ("average_over=with_targets", (2 / 5 + 1) / 2),
        ("f1=of_means", 4 / 9 * 2 / (4 / 9 + 1 / 2) * 1 / 2),  # P (1/2 + 1)/3, R (1/3 + 1)/3
    ],
)
def test_averages(settings: str, expected: float) -> None:
    assert score(f"yuan20:{settings}", "present.F1@5", *CORPUS) == pytest.approx(expected)


def test_ranking_metrics_equal_those_of_the_release() -> None:
    # Present predictions c, a, e, d against a, d: hits at ranks 2 and 4, two targets.
    case = (SOURCE, "a;d", "c;a;e;d")
    for metric, expected in {
        "present.MAP@M": (1 / 2 + 2 / 4) / 2,
        "present.MRR": (1 / 2 + 1 / 4) / 2,
        "present.SADR": (1 + 1 / log2(4 - 2 + 2)) / 2,
        "present.NDCG@M": (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)),
        # The first two only: a at rank 2.
        "present.AlphaNDCG@5": (1 / log2(3)) / (1 + 1 / log2(3)),
    }.items():
        assert score("yuan20", metric, case) == pytest.approx(expected), metric


def test_targets_stemmed() -> None:
    case = ("universes <eos> .", "univers", "universe")
    assert score("yuan20", "present.F1@M", case) == 0
    assert score("yuan20:targets_stemmed=true", "present.F1@M", case) == 1


def test_other_names_of_the_protocol() -> None:
    assert str(protocols.load("meng")) == str(protocols.load("meng_yuan20")) == "yuan20"


def test_unknown_words_are_recognised_in_any_case() -> None:
    assert kept("yuan20", "UNK a;Unk;b") == (["b"], [])
    assert kept(SPLIT, "<UNK> a;<Unk>;b") == (["b"], [])
