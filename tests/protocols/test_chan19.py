"""chan19, by hand: every rule and every parameter."""

from __future__ import annotations

import pytest

from keywright import protocols
from keywright.types import Document
from tests.protocols.scoring import SOURCE, phrases, score


def kept(settings: str, prediction: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    """The present and the absent predictions that pass the filters."""
    found = phrases(f"chan19:{settings}", (source, "a", prediction))
    return found["present"][0], found["absent"][0]


def gold(settings: str, target: str, source: str = SOURCE) -> tuple[list[str], list[str]]:
    found = phrases(f"chan19:{settings}", (source, target, "a"))
    return found["present"][1], found["absent"][1]


@pytest.mark.parametrize(
    ("prediction", "present", "absent"),
    [
        ("a;x;d e", ["a", "d e"], ["x"]),
        ("c d", ["c d"], []),  # the border between title and abstract can be crossed
        ("a c", [], ["a c"]),
        ("g .", [], []),  # a dot is never part of a phrase
        ("a;a", ["a"], []),
        ("A B;a b", ["a b"], []),
        ("a b;a_b", ["a b"], []),  # the release compares words joined by "_"
        ("a_b;a b", [], ["a_b"]),
        ("", [], []),
        ("a;;b", ["a", "b"], [""]),  # an empty piece is a phrase of one empty word
        ("a;;;b", ["a", "b"], [""]),
        ("a;", ["a"], [""]),
        (" a ; b ", ["a", "b"], []),
        ("a  b", [], ["a  b"]),  # a double blank is an empty word in between
        ("(;a ( b", [], ["(", "a ( b"]),
        (",;.;a ,;. b", [], []),
        ("a,;b.", [], ["a,", "b."]),  # only a separate mark is one
        ("<unk>;<unk> a;b", ["b"], []),
        (", a;, a;a", ["a"], []),
        ("<peos>;a", ["a"], ["<peos>"]),
    ],
)
def test_which_predictions_count(prediction: str, present: list[str], absent: list[str]) -> None:
    assert kept("", prediction) == (present, absent)


def test_words_are_stemmed_and_lower_cased() -> None:
    source = "Neural Networks <eos> generating phrases"
    assert kept("", "neural network;NETWORKS;network;generates", source) == (
        ["neural network", "network", "gener"],
        [],
    )


def test_words_end_at_blanks_only_and_are_stripped() -> None:
    """As in the release: no other white space splits, but none is part of a word."""
    source = "neural networks\u00a0 <eos> text\tmining"
    assert kept("", "networks;text;text\tmining", source) == (["network", "text\tmin"], ["text"])


def test_an_empty_word_of_the_source_is_matched() -> None:
    assert kept("", "a  b", "a  b <eos> c") == (["a  b"], [])
    assert kept("", "a;", "a  b <eos> c") == (["a"], [""]), "the empty phrase is always absent"


def test_the_border_mark_is_not_a_word_of_the_source() -> None:
    assert kept("", "<eos>;c <eos> d;c d") == (["c d"], ["<eos>", "c <eos> d"])
    assert kept("", "b c", "a <eos> b <eos> c") == (["b c"], [])


@pytest.mark.parametrize(
    ("target", "present", "absent"),
    [
        ("a;z;d e", ["a", "d e"], ["z"]),
        ("a;A;a", ["a"], []),  # repeats are dropped
        ("a b;a_b", ["a b"], []),
        ("", [], [""]),  # no gold is one empty, absent phrase
        ("a;;b", ["a", "b"], [""]),
        ("<unk>;,;a .", [], ["<unk>", ",", "a ."]),  # and nothing else is dropped
        ("a;<peos>;z", ["a"], ["<peos>", "z"]),
    ],
)
def test_which_gold_counts(target: str, present: list[str], absent: list[str]) -> None:
    assert gold("", target) == (present, absent)


def test_an_empty_piece_finds_the_empty_gold() -> None:
    assert score("chan19", "absent.F1@M", (SOURCE, "", "a;")) == 1


def test_scores_of_a_document() -> None:
    case = (SOURCE, "a;d e;z", "a;x;d e")
    for metric, expected in {
        "present.P@5": 2 / 5,
        "present.R@5": 1,
        "present.F1@5": 4 / 7,  # of 2/5 and 1
        "present.F1@M": 1,
        "absent.F1@M": 0,
        "all.F1@5": 1 / 2,  # of 2/5 and 2/3
        "all.F1@M": 2 / 3,
        "all.F1@O": 2 / 3,
        "all.MAP@M": (1 + 2 / 3) / 3,
        "all.MAE": 0,
        "absent.Predicted": 1,
        "present.Gold": 2,
    }.items():
        assert score("chan19", metric, case) == pytest.approx(expected), metric


def test_a_hit_among_all_phrases_is_a_hit_of_its_part() -> None:
    """Whether a phrase is present depends on the phrase alone."""
    case = (SOURCE, "a;z", "z;a")
    assert score("chan19", "present.F1@M", case) == score("chan19", "absent.F1@M", case) == 1


CORPUS = (
    ("a b c d <eos> e f", "a;b", "a;b"),
    ("a b c d <eos> e f", "a;b;c;d", "a;x"),
    ("a b c d <eos> e f", "z", ""),
)


@pytest.mark.parametrize(
    ("protocol", "f1", "micro"),
    [
        # P = (2/5 + 1/5 + 0)/3 = 1/5, R = (1 + 1/4 + 0)/3 = 5/12. Micro: 3 hits of 10, of 6.
        ("chan19", 10 / 37, 3 / 8),
        ("chan19:f1=mean_of_documents", (4 / 7 + 2 / 9) / 3, 3 / 8),
        ("chan19:average_over=with_targets", 15 / 37, 3 / 8),  # P = 3/10, R = 5/8
        ("chan19:f1=mean_of_documents,average_over=with_targets", (4 / 7 + 2 / 9) / 2, 3 / 8),
        ("chan19:precision=predicted", 20 / 39, 2 / 3),  # P = 2/3; micro 3/3 and 3/6
    ],
)
def test_averages(protocol: str, f1: float, micro: float) -> None:
    assert score(protocol, "present.F1@5", *CORPUS) == pytest.approx(f1)
    assert score(protocol, "present.micro.F1@5", *CORPUS) == pytest.approx(micro)


def test_the_release_decides_how_an_empty_line_is_read() -> None:
    """The RL code reads one empty phrase: absent, valid, and counted."""
    case = (SOURCE, "a;z", "")
    assert kept("release=one2set", "") == ([], [])
    assert kept("release=rl", "") == ([], [""])
    assert score("chan19:release=one2set", "all.MAE", case) == 2
    assert score("chan19:release=rl", "all.MAE", case) == 1
    hit = (SOURCE, "z", "z")  # absent micro P@5: 1/5, or 1/10 with the empty phrase's document
    assert score("chan19:release=one2set", "absent.micro.P@5", case, hit) == pytest.approx(1 / 5)
    assert score("chan19:release=rl", "absent.micro.P@5", case, hit) == pytest.approx(1 / 10)
    assert kept("release=rl", "a;b") == (["a", "b"], [])


@pytest.mark.parametrize(
    ("prediction", "present", "absent"),
    [
        ("a b;a;b;d e", ["a b", "a", "d e"], []),
        (",;a;d e", ["d e"], []),  # the first one-word phrase is the comma, which is invalid
        ("a b;a_b;c", ["a b"], []),  # the first one-word phrase is a repeat
        ("x;a", [], ["x"]),
        (";a;b c", ["b c"], [""]),  # an empty piece has one word
        ("a;a;b", ["a"], []),
    ],
)
def test_one_word_filter(prediction: str, present: list[str], absent: list[str]) -> None:
    assert kept("one_word_filter=true", prediction) == (present, absent)


def test_unk() -> None:
    assert kept("unk=invalid", "<unk> a;<unk>;b") == (["b"], [])
    assert kept("unk=valid", "<unk> a;<unk>;b") == (["b"], ["<unk> a", "<unk>"])
    # The flags of the program itself: the first one-word phrase may be <unk>.
    assert kept("unk=valid,one_word_filter=true", "<unk>;b") == ([], ["<unk>"])
    assert kept("unk=invalid,one_word_filter=true", "<unk>;b") == ([], [])


def test_prediction_separated() -> None:
    line = "a;<peos>;x;<peos> y;b"
    assert kept("", line) == (["a", "b"], ["<peos>", "x", "<peos> y"])
    assert kept("prediction_separated=true", line) == (["a", "b"], ["x"])
    # For the duplicate ratio, each separator is one more phrase, and none is a repeat.
    case = (SOURCE, "a", "a;<peos>;a;<peos>")
    assert score("chan19", "all.Dup", case) == pytest.approx(2 / 4)
    assert score("chan19:prediction_separated", "all.Dup", case) == pytest.approx(1 / 4)


def test_target_separated() -> None:
    """Gold belongs to the part in which it is written; predictions to the part of the text."""
    settings = "target_separated=true"
    assert gold(settings, "z;<peos>;a;y") == (["z"], ["a", "y"])
    assert gold(settings, "a;z") == (["a", "z"], [])
    assert gold(settings, "<peos>;a;<peos>;b") == ([], ["a", "b"])
    protocol = f"chan19:{settings}"
    case = (SOURCE, "z;<peos>;a", "a;z")
    assert score(protocol, "present.F1@M", case) == 0
    assert score(protocol, "absent.F1@M", case) == 0
    assert score(protocol, "all.R@M", case) == pytest.approx(2 / 3), "all contains the separator"
    assert score(protocol, "all.MAE", case) == 0, "but the number of phrases does not"


def test_presence_by_characters() -> None:
    source = "network <eos> d e"
    assert kept("", "net;work d;etwork d", source) == ([], ["net", "work d", "etwork d"])
    assert kept("presence=characters", "net;work d;netd", source) == (["net", "work d"], ["netd"])
    assert gold("presence=characters", "net;wrk", source) == (["net"], ["wrk"])
    assert kept("presence=characters", "a;", source)[1] == ["a", ""]


def test_most_predictions() -> None:
    many = ";".join(f"x{number}" for number in range(199))
    assert len(kept("", f"{many};a;b")[1]) == 199
    assert kept("", f"{many};a;b")[0] == ["a"], "the release reads 200 phrases"
    assert kept("most_predictions=2", "a;x;b") == (["a"], ["x"])
    assert kept("most_predictions=2", "a;a;b") == (["a"], []), "repeats are read, too"


def test_targets_stemmed() -> None:
    # Porter is not idempotent: universe -> univers -> univer.
    case = ("universes <eos> .", "univers", "universe")
    assert score("chan19", "present.F1@M", case) == 0
    assert score("chan19:targets_stemmed=true", "present.F1@M", case) == 1
    assert gold("targets_stemmed=true", "Univers", "universe <eos>") == ([], ["Univers"])


VARIANTS = "chan19:variants=true"


def test_any_name_of_a_gold_phrase_is_correct() -> None:
    source = "a b c <eos> d"
    # "a b" is in the text, its other name is not: the phrase belongs to both parts.
    found = phrases(VARIANTS, (source, "a b|q r;z", "q r;a b"))
    assert found["present"] == (["a b"], ["a b"])
    assert found["absent"] == (["q r"], ["a b", "z"])
    assert found["all"][1] == ["a b", "z"]
    case = (source, "a b|q r;z", "q r;x")
    assert score(VARIANTS, "present.R@M", case) == 0
    assert score(VARIANTS, "absent.R@M", case) == pytest.approx(1 / 2)
    assert score(VARIANTS, "all.P@M", case) == pytest.approx(1 / 2)
    assert score("chan19", "all.P@M", case) == 0, "without the parameter | does not separate names"


def test_two_names_of_one_phrase_count_twice_as_in_the_release() -> None:
    assert score(VARIANTS, "all.R@M", ("a <eos> b", "p|q", "p;q")) == 2


def test_variants_of_raw_text() -> None:
    """Normalising a gold phrase must not join its names."""
    document = Document(
        title="GANs", body="Generative adversarial networks.", keyphrases=("GAN|Adversarial Net",)
    )
    found = protocols.load(VARIANTS).match(document, ["gan", "adversarial nets"])
    assert found.present.hits == [0]
    assert found.absent.hits == [0]


def test_raw_text_is_normalised_first() -> None:
    document = Document(
        title="Client/Server Systems",
        body="We use C++, in 12 ways.",
        keyphrases=("client-server system", "12 Ways", "UML"),
    )
    found = protocols.load("chan19").match(document, ["Client server", "c++", "uml", "99 ways"])
    assert found.present.targets == ["client server system", "<digit> way"]
    assert found.present.predictions == ["client server", "c++", "<digit> way"]
    assert found.absent.hits == [0]
