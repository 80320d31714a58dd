"""Each protocol against a second implementation of its rules that shares no code with keywright.

chan19 is compared with `bench/plain_chan19.py` number by number. For the other protocols, the
phrases that count are compared; the metrics that follow from them have tests of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from bench.plain_chan19 import Flags, PlainChan19
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from keywright import protocols
from keywright.evaluate import Plan
from tests.protocols.lines import cases, corpora, free_corpora, quick, thorough
from tests.protocols.scoring import Case, match, phrases

Parts = dict[str, tuple[list[str], list[str]]]
PORTER = PorterStemmer()

FLAGS = {
    "chan19": Flags(),
    "chan19:precision=predicted": Flags(meng_precision=True),
    "chan19:release=rl": Flags(empty_line_is_a_phrase=True),
    "chan19:release=rl,one_word_filter=true,unk=valid": Flags(
        empty_line_is_a_phrase=True, one_word_filter=True, invalidate_unk=False
    ),
    "chan19:prediction_separated=true,target_separated=true": Flags(
        prediction_separated=True, target_separated=True
    ),
    "chan19:presence=characters": Flags(match_by_string=True),
}


def check_chan19(protocol: str, corpus: list[Case]) -> None:
    judge = protocols.load(protocol)
    plan = Plan(judge, judge.metrics())
    rows = plan.rows([match(protocol, case) for case in corpus])
    got = {name: float(value) for name, value in plan.scores(rows.sum(axis=0)).items()}
    plain = PlainChan19(FLAGS[protocol])
    for case in corpus:
        plain.add(*case)
    expected = plain.scores()
    assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-9)


any_chan19 = st.sampled_from(sorted(FLAGS))


@given(any_chan19, corpora | free_corpora)
@quick
def test_chan19_equals_the_plain_implementation(protocol: str, corpus: list[Case]) -> None:
    check_chan19(protocol, corpus)


@pytest.mark.slow
@given(any_chan19, corpora | free_corpora)
@thorough
def test_chan19_equals_the_plain_implementation_on_many_corpora(
    protocol: str, corpus: list[Case]
) -> None:
    check_chan19(protocol, corpus)


def stem(words: list[str]) -> str:
    return " ".join(PORTER.stem(word.lower()) for word in words)


def unique(made: list[str]) -> list[str]:
    return [phrase for place, phrase in enumerate(made) if phrase not in made[:place]]


def is_run(phrase: str, source: list[str]) -> bool:
    words = phrase.split()
    starts = range(len(source) - len(words) + 1)
    return any(source[start : start + len(words)] == words for start in starts)


def parts(made: list[str], gold: list[str], present: list[bool], in_text: list[bool]) -> Parts:
    def chosen(values: list[str], mask: list[bool], wanted: bool) -> list[str]:
        return [value for value, inside in zip(values, mask, strict=True) if inside is wanted]

    return {
        "present": (chosen(made, present, True), chosen(gold, in_text, True)),
        "absent": (chosen(made, present, False), chosen(gold, in_text, False)),
        "all": (made, gold),
    }


def kpdrop(source: str, target: str, prediction: str) -> Parts:
    text = stem(source.lower().strip().replace(" <eos>", "").split(" "))
    padded = " ".join(word for word in target.lower().replace(";", " ; ").split(" ") if word)
    kept = [piece for piece in padded.split(" ; ") if piece not in ("<peos>", "")]
    gold = unique([stem(piece.split()) for piece in kept])
    pieces = [piece.lower().strip() for piece in prediction.split("<eos>")[0].split(";")]
    dropped = ("", "<peos>", ",", ".", "<unk>")
    made = unique([stem(piece.split(" ")) for piece in pieces if piece not in dropped])
    return parts(
        made, gold, [phrase in text for phrase in made], [phrase in text for phrase in gold]
    )


def exhird(source: str, target: str, prediction: str) -> Parts:
    def read(line: str) -> list[str]:
        for mark in ("/", "<p_start>", "<a_start>", "<p_end>", "<a_end>"):
            line = line.replace(mark, ";")
        line = line.replace("<eokp>", "").replace("<blank>", "")
        pieces = [piece.strip() for piece in line.split(";")]
        return [stem(piece.split()) for piece in pieces if piece not in ("", "<absent_end>")]

    text = stem(source.split()).split()
    gold = unique(read(target))
    made = unique([phrase for phrase in read(prediction) if "<unk>" not in phrase])
    return parts(
        made,
        gold,
        [is_run(phrase, text) for phrase in made],
        [is_run(phrase, text) for phrase in gold],
    )


def yuan20(tokeniser: str, source: str, target: str, prediction: str) -> Parts:
    def tokens(text: str) -> list[str]:
        pieces = text.split() if tokeniser == "split" else re.split(r"\W", text)
        return [piece for piece in pieces if piece]

    unknown = "<unk>" if tokeniser == "split" else "unk"
    title, _, abstract = source.partition("<eos>")
    text = stem(tokens(f"{title.strip()} . {abstract.strip()}")).split()
    gold = [stem(tokens(piece)) for piece in target.strip().split(";")]
    pieces = [tokens(piece) for piece in prediction.strip().split(";")]
    made: list[str] = []
    seen: list[str] = []
    for piece in pieces:
        key = stem(piece).replace(" ", "_")
        bad = any(word.lower() in (".", ",", unknown) for word in piece)
        if piece and key not in seen and not bad:
            made.append(stem(piece))
        seen.append(key)
    return parts(
        made,
        gold,
        [is_run(phrase, text) for phrase in made],
        [is_run(phrase, text) for phrase in gold],
    )


ORACLES: dict[str, Callable[..., Parts]] = {
    "kpdrop": kpdrop,
    "exhird": exhird,
    "yuan20:tokeniser=split": partial(yuan20, "split"),
    "yuan20:tokeniser=split_nopunc": partial(yuan20, "split_nopunc"),
}


def check_phrases(protocol: str, case: Case) -> None:
    if protocol == "exhird":
        assume(not case[0].startswith(" "))  # a document without a title has no border in it
    assert phrases(protocol, case) == ORACLES[protocol](*case)


@pytest.mark.parametrize("protocol", ORACLES)
@given(case=cases)
@quick
def test_the_phrases_that_count_follow_the_rules(protocol: str, case: Case) -> None:
    check_phrases(protocol, case)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ORACLES)
@given(case=cases)
@thorough
def test_the_phrases_that_count_follow_the_rules_in_many_cases(protocol: str, case: Case) -> None:
    check_phrases(protocol, case)
