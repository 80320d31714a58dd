"""unikp, by hand and against a second implementation of the release's counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from nltk.stem.porter import PorterStemmer

from keywright import protocols
from tests.protocols.lines import corpora, quick
from tests.protocols.scoring import SOURCE, Case, phrases, score

PORTER = PorterStemmer()
STEMS = "unikp:compare=stems,divide=stems"


def kept(protocol: str, prediction: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    found = phrases(protocol, (source, "a", prediction))
    return found["present"][0], found["absent"][0]


def gold(target: str, source: str = SOURCE, protocol: str = "unikp") -> tuple[list[str], list[str]]:
    found = phrases(protocol, (source, target, "a"))
    return found["present"][1], found["absent"][1]


@pytest.mark.parametrize(
    ("prediction", "present", "absent"),
    [
        ("a;x;a;A", ["a"], ["x"]),
        ("c d", ["c d"], []),  # across the border of title and body
        ("x y;xy", [], ["x y"]),  # blanks do not count
        ("none;x none", [], ["x none"]),  # only the whole phrase is ignored
        (", ;<unk>", [], [",", "<unk>"]),  # nothing is invalid
        (";a", ["a"], []),
        ("", [], []),
    ],
)
def test_phrases(prediction: str, present: list[str], absent: list[str]) -> None:
    assert kept("unikp", prediction) == (present, absent)


def test_words_and_stems() -> None:
    source = "neural networks <eos> ."
    assert kept("unikp", "neural network;neural networks", source) == (
        ["neural networks"],
        ["neural network"],
    )
    assert kept(STEMS, "neural network;neural networks", source) == (["neural network"], [])
    assert score("unikp", "present.micro.F1@M", (source, "neural networks", "neural network")) == 0
    assert score(STEMS, "present.micro.F1@M", (source, "neural networks", "neural network")) == 1
    only = "unikp:compare=stems"
    assert score(only, "absent.micro.F1@M", (source, "neural network", "neural network")) == 1


def test_phrases_that_differ_in_blanks_are_equal_if_they_are_in_the_same_part() -> None:
    assert score("unikp", "absent.micro.F1@M", (SOURCE, "data base", "database")) == 1
    assert score("unikp", "absent.micro.F1@M", ("database <eos> .", "data base", "database")) == 0


def test_gold_with_numbers_is_absent_even_if_it_is_in_the_text() -> None:
    source = "a <digit> b <eos> c"
    assert gold("a <digit>;b <digit>;c", source) == (["a <digit>", "c"], ["a <digit>", "b <digit>"])
    assert gold("a <digit>", source, STEMS) == (["a <digit>"], [])


def test_absent_gold_that_says_none_is_ignored() -> None:
    assert gold("none;x") == ([], ["x"])
    assert gold("none", "none of a <eos> b") == (["none"], [])


CORPUS: tuple[Case, ...] = (
    ("a b c d e f g <eos> h", "a;b;x", "a;c;d;e;f;b;x;y"),
    ("a b c d e f g <eos> h", "g;z", ""),
    ("a b c d e f g <eos> h", "x", "a;x;none"),
)


def test_scores_are_micro_averages_without_padding() -> None:
    # Present: 7 predictions, 2 hits; 3 gold. Of the first five of each document, 6 and 1.
    assert score("unikp", "present.micro.P@M", *CORPUS) == pytest.approx(2 / 7)
    assert score("unikp", "present.micro.R@M", *CORPUS) == pytest.approx(2 / 3)
    assert score("unikp", "present.micro.F1@M", *CORPUS) == pytest.approx(2 * 2 / (7 + 3))
    assert score("unikp", "present.micro.P@5", *CORPUS) == pytest.approx(1 / 6)
    assert score("unikp", "present.micro.F1@5", *CORPUS) == pytest.approx(2 * 1 / (6 + 3))
    # Absent: x and y, x; gold x, z, x.
    assert score("unikp", "absent.micro.P@M", *CORPUS) == pytest.approx(2 / 3)
    assert score("unikp", "absent.micro.R@M", *CORPUS) == pytest.approx(2 / 3)


def counted(corpus: list[Case], by_stems: bool) -> dict[str, float]:
    """Hits, predictions and gold as the release counts them: sets, added up."""

    def equal(words: str) -> str:
        if by_stems:
            return " ".join(PORTER.stem(word) for word in words.split())
        return words.replace(" ", "")

    def inside(words: str, text: str) -> bool:
        if by_stems:
            words, text = equal(words), equal(text)
        return bool(words) and f" {words} " in f" {text} "

    sums = dict.fromkeys([(part, what) for part in "pa" for what in ("hit", "made", "gold")], 0)
    for source, target, prediction in corpus:
        text = " ".join(source.replace("<eos>", " ", 1).lower().split())
        read = [
            [" ".join(piece.lower().split()) for piece in line.split(";")] if line.strip() else []
            for line in (target, prediction)
        ]
        right, made = read[0] or [""], [piece for piece in read[1] if piece]
        digits = set() if by_stems else {g for g in right if "<digit>" in g}
        sets = {
            "p": ({equal(g) for g in right if inside(g, text)},
                  {equal(m) for m in made if inside(m, text)}),
            "a": ({equal(g) for g in right if not inside(g, text) or g in digits} - {"none"},
                  {equal(m) for m in made if not inside(m, text)} - {"none"}),
        }  # fmt: skip
        for part, (wanted, found) in sets.items():
            sums[part, "hit"] += len(wanted & found)
            sums[part, "made"] += len(found)
            sums[part, "gold"] += len(wanted)
    return {
        f"{name}.micro.{measure}@M": sums[part, "hit"] / max(1, sums[part, below])
        for part, name in (("p", "present"), ("a", "absent"))
        for measure, below in (("P", "made"), ("R", "gold"))
    }


@pytest.mark.parametrize("by_stems", [False, True])
@given(corpus=corpora)
@quick
def test_the_numbers_are_those_of_sets_added_up(by_stems: bool, corpus: list[Case]) -> None:
    expected = counted(corpus, by_stems)
    protocol = STEMS if by_stems else "unikp"
    got = {metric: score(protocol, metric, *corpus) for metric in expected}
    assert got == pytest.approx(expected, abs=1e-9)


def test_the_signature_says_whether_phrases_are_stemmed() -> None:
    assert "|stem:none|" in protocols.load("unikp").signature()
    assert "|stem:porter|" in protocols.load(STEMS).signature()
