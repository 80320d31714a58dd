"""Phrases of an answer, by hand."""

from __future__ import annotations

import pytest

from keywright.llm.answers import Echo, phrases
from keywright.llm.endpoint import Answer, Token
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.text.tokenise import normalise

NO_ECHO = Echo("", ())


def answer(text: str, tokens: list[tuple[str, float]] | None = None, complete: bool = True):
    found = None if tokens is None else tuple(Token(t.encode(), p) for t, p in tokens)
    return Answer(text, complete, found, 0, 0)


def texts(text: str, *, source: str = "", echo: Echo = NO_ECHO, complete: bool = True) -> list[str]:
    stemmed = padded(stems(normalise(source)))
    return [p.text for p in phrases(answer(text, None, complete), stemmed, echo, 8)]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("heat pumps; old houses", ["heat pumps", "old houses"]),
        ("Keyphrases: heat pumps; old houses.", ["heat pumps", "old houses"]),
        ("**Keyphrases:** heat pumps; old houses", ["heat pumps", "old houses"]),
        ("heat pumps, old houses", ["heat pumps", "old houses"]),
        ("pumps, hot; old houses", ["pumps, hot", "old houses"]),
        ("1. heat pumps\n2. old houses", ["heat pumps", "old houses"]),
        ("- *heat pumps*\n- \"old houses\"", ["heat pumps", "old houses"]),
        ('["heat pumps", "old houses"]', ["heat pumps", "old houses"]),
        ("Here are the keyphrases:\n- heat pumps\n- old houses", ["heat pumps", "old houses"]),
        ("heat pumps; heat pump; Heat Pumps", ["heat pumps"]),
        ("<think>old; houses</think>\nheat pumps", ["heat pumps"]),
        ("<think>heat pumps; old", []),
        ("heat pumps; ; --- ; 3.14", ["heat pumps", "3.14"]),
        ("heat pumps\nI hope this helps you", ["heat pumps"]),
        ("heat pumps; Note that these are examples", ["heat pumps"]),
        ("The document is about heat pumps in very old houses of the north", []),
        ("internet of things (iot); c++", ["internet of things (iot)", "c++"]),
        ("", []),
        ("\n\n", []),
        ("热泵; 老房子", ["热泵", "老房子"]),
    ],
)  # fmt: skip
def test_only_phrases_are_read(said: str, found: list[str]) -> None:
    assert texts(said) == found


def test_an_answer_that_was_cut_off_loses_its_last_item() -> None:
    assert texts("heat pumps; old hou", complete=False) == ["heat pumps"]


def test_words_of_the_prompt_are_dropped_unless_the_document_has_them() -> None:
    echo = Echo(
        padded(stems(normalise("List the keyphrases of this document"))), {("heat", "pump")}
    )
    said = "keyphrases; document; heat pumps; old houses"
    assert texts(said, echo=echo) == ["old houses"]
    assert texts(said, echo=echo, source="a document on heat pumps") == [
        "document",
        "heat pumps",
        "old houses",
    ]


def test_every_phrase_has_the_tokens_that_form_it() -> None:
    tokens = [
        ("he", -0.5),
        ("at", -0.25),
        (" pumps", -1.0),
        (";", -9.0),
        (" old", -2.0),
        ("", -7.0),
    ]
    found = phrases(answer("heat pumps; old", tokens), "", NO_ECHO, 8)
    assert [p.token_log_probs for p in found] == [(-0.5, -0.25, -1.0), (-2.0,)]


def test_tokens_may_end_inside_a_character_and_surround_the_text() -> None:
    content = "é; b".encode()
    tokens = (
        Token(b"thought", -8.0),
        Token(content[:1], -1.0),
        Token(content[1:2], -2.0),
        Token(content[2:], -3.0),
        Token(b"<end>", -9.0),
    )
    found = phrases(Answer("é; b", True, tokens, 0, 0), "", NO_ECHO, 8)
    assert [p.token_log_probs for p in found] == [(-1.0, -2.0), (-3.0,)]


def test_tokens_that_are_not_those_of_the_text_are_not_used() -> None:
    (found,) = phrases(answer("heat pumps", [("cold", -1.0)]), "", NO_ECHO, 8)
    assert found.token_log_probs is None
