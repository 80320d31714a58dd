"""How protocols read phrases one by one: stems, part, places, and why a phrase is dropped."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given

from keywright import protocols
from keywright.data.readers.chan import split_phrases
from keywright.matches import PARTS, REASONS, Dropped, JudgedPhrase
from keywright.text.reading import Reading
from keywright.types import Document
from tests.protocols.lines import cases, quick
from tests.protocols.scoring import SOURCE, Case, document, match

EVERY_PROTOCOL = (
    *protocols.names(),
    "yuan20:tokeniser=split",
    "chan19:release=rl,one_word_filter=true,unk=valid",
    "chan19:variants=true",
    "chan19:prediction_separated=true,target_separated=true",
    "chan19:presence=characters,most_predictions=2",
)


def read(protocol: str, prediction: str, gold: str = "a", source: str = SOURCE) -> list[str]:
    """Each phrase as `index stems`, with why it is dropped."""
    phrases = protocols.load(protocol).read(document(source, gold), split_phrases(prediction))
    return [f"{phrase.index} {phrase.stems}: {phrase.dropped}" for phrase in phrases]


@pytest.mark.parametrize(
    ("protocol", "prediction", "expected"),
    [
        ("chan19", "a;x;A", ["0 a: None", "1 x: None", "2 a: repeat"]),
        ("chan19", "a , b;<unk>", ["0 a , b: invalid token", "1 <unk>: invalid token"]),
        ("chan19", "a , b;a , b", ["0 a , b: invalid token", "1 a , b: repeat"]),
        ("chan19:unk=valid", "<unk>", ["0 <unk>: None"]),
        (
            "chan19:one_word_filter=true",
            "a;b;d e;a",
            ["0 a: None", "1 b: one-word filter", "2 d e: None", "3 a: repeat"],
        ),
        (
            "chan19:most_predictions=1",
            "a;a;b",
            ["0 a: None", "1 a: beyond the limit", "2 b: beyond the limit"],
        ),
        ("chan19:prediction_separated=true", "<peos>;a", ["0 <peos>: separator", "1 a: None"]),
        ("chan19", "", []),
        ("chan19:release=rl", "", ["None : None"]),
        ("yuan20", "a-b;,;unk;a b", ["0 a b: None", "1 : no words", "2 unk: invalid token",
                                     "3 a b: repeat"]),
        ("exhird", "a/x;<unk> b;;x", ["0 a: None", "0 x: None", "1 <unk> b: invalid token",
                                      "3 x: repeat"]),
        ("kpdrop", "a;;,;<peos>;a", ["0 a: None", "2 ,: invalid token", "3 <peos>: separator",
                                     "4 a: repeat"]),
        ("kpdrop", "a;b <eos> c;d", ["0 a: None", "1 b: None", "1 c: beyond the limit",
                                     "2 d: beyond the limit"]),
    ],
)  # fmt: skip
def test_every_phrase_says_why_it_does_not_count(
    protocol: str, prediction: str, expected: list[str]
) -> None:
    assert read(protocol, prediction) == expected


def test_a_phrase_with_a_semicolon_is_two_phrases_of_one_text_under_kpdrop() -> None:
    found = protocols.load("kpdrop").read(document(SOURCE, "a"), ["a;x", "b"])
    assert [(phrase.index, phrase.stems) for phrase in found] == [(0, "a"), (0, "x"), (1, "b")]


def test_every_reason_has_a_sentence() -> None:
    assert set(REASONS) == set(get_args(Dropped))


def test_correct_means_equal_to_gold_of_the_same_part_even_if_the_phrase_is_dropped() -> None:
    text = document(SOURCE, "a;x;b ,")
    found = protocols.load("chan19").read(text, ["a", "x", "A", "b ,", "d"])
    assert [phrase.correct for phrase in found] == [True, True, True, True, False]
    assert [phrase.dropped for phrase in found] == [None, None, "repeat", "invalid token", None]


def test_gold_in_the_other_part_does_not_make_a_phrase_correct() -> None:
    protocol = protocols.load("chan19:target_separated=true")
    found = protocol.read(document(SOURCE, "<peos>;a"), ["a"])  # "a" is declared absent
    assert (found[0].present, found[0].correct) == (True, False)


@pytest.mark.parametrize("tokenised", [True, False])
def test_places_are_characters_of_the_text(tokenised: bool) -> None:
    text = Document(
        title="neural networks",
        body="a neural network and networks .",
        keyphrases=(),
        tokenised=tokenised,
    )
    phrases = ["neural network", "networks a", "network", "graph"]
    for phrase, expected in zip(
        protocols.load("chan19").read(text, phrases),
        [
            ["neural networks", "neural network"],
            ["networks\na"],
            ["networks", "network", "networks"],
            [],
        ],
        strict=True,
    ):
        assert [text.text[start:end] for start, end in phrase.places] == expected


def test_only_present_phrases_have_places() -> None:
    text = document("a b <eos> c", "a")
    crossing = protocols.load("exhird").read(text, ["b c"])[0]
    assert (crossing.present, crossing.places) == (False, ())
    assert protocols.load("chan19").read(text, ["b c"])[0].places != ()


def test_a_phrase_inside_a_word_is_present_under_kpdrop_but_has_no_place() -> None:
    found = protocols.load("kpdrop").read(document("networks <eos> .", "a"), ["net"])[0]
    assert (found.present, found.places) == (True, ())


def test_reading_does_not_look_for_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: object) -> list[str]:
        raise AssertionError("the text was searched")

    monkeypatch.setattr(Reading, "of", unexpected)
    found = protocols.load("chan19").read(document(SOURCE, "a"), ["a"])
    with pytest.raises(AssertionError, match="searched"):
        _ = found[0].places


def test_gold_remembers_the_keyphrase_it_was_read_from() -> None:
    text = Document(title="client", body="", keyphrases=("a", "client/server", "a"), tokenised=True)
    found = protocols.load("exhird").read_gold(text)
    assert [(phrase.index, phrase.stems, phrase.present) for phrase in found] == [
        (0, "a", False),
        (1, "client", True),
        (1, "server", False),
    ]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("a;b", [(0, "a"), (1, "b")]),
        (";b", [(1, "; b")]),  # an empty piece glues the semicolon to its neighbour
        ("a;;b", [(0, "a"), (2, "; b")]),
        ("a;", [(0, "a ;")]),
        ("a;<peos>;b;a", [(0, "a"), (2, "b")]),
        ("", []),
    ],
)
def test_gold_of_kpdrop_by_number(target: str, expected: list[tuple[int, str]]) -> None:
    found = protocols.load("kpdrop").read_gold(document(SOURCE, target))
    assert [(phrase.index, phrase.stems) for phrase in found] == expected


def test_missing_gold_read_as_an_empty_phrase_has_no_number() -> None:
    for protocol in ("chan19", "yuan20", "chan19:variants=true"):
        found = protocols.load(protocol).read_gold(document(SOURCE, ""))
        assert [(phrase.index, phrase.stems) for phrase in found] == [(None, "")]


def test_gold_with_several_names_may_belong_to_both_parts() -> None:
    found = protocols.load("chan19:variants=true").read_gold(document(SOURCE, "a b|q r;z"))
    assert [(phrase.stems, phrase.names, phrase.present, phrase.absent) for phrase in found] == [
        ("a b", ("a b", "q r"), True, True),
        ("z", ("z",), False, True),
    ]


def test_a_separator_among_the_gold_belongs_to_no_part() -> None:
    protocol = protocols.load("chan19:target_separated=true")
    found = protocol.read_gold(document(SOURCE, "z;<peos>;a"))
    assert [(phrase.stems, phrase.present, phrase.absent) for phrase in found] == [
        ("z", True, False),
        ("<peos>", False, False),
        ("a", False, True),
    ]


@pytest.mark.parametrize("protocol", EVERY_PROTOCOL)
@given(case=cases)
@quick
def test_reading_and_matching_agree(protocol: str, case: Case) -> None:
    source, target, prediction = case
    texts = split_phrases(prediction)
    judge, text = protocols.load(protocol), document(source, target)
    phrases = judge.read(text, texts)
    indices = [phrase.index for phrase in phrases if phrase.index is not None]
    assert indices == sorted(indices)
    assert all(0 <= index < len(texts) for index in indices)
    found = match(protocol, case)
    for part in PARTS:
        kept = [phrase for phrase in phrases if phrase.dropped is None and belongs(phrase, part)]
        assert found.part(part).predictions == [phrase.stems for phrase in kept]
        if part != "all":
            hits = [rank for rank, phrase in enumerate(kept) if phrase.correct]
            assert found.part(part).hits == hits
            gold = [
                phrase.stems
                for phrase in judge.read_gold(text)
                if (phrase.present if part == "present" else phrase.absent)
            ]
            assert found.part(part).targets == gold


def belongs(phrase: JudgedPhrase, part: str) -> bool:
    return part == "all" or phrase.present == (part == "present")
