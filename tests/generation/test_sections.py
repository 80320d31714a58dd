"""The text proper of a paper, and the keywords that its authors state."""

from __future__ import annotations

import pytest

from keywright.generation.keyphrases import keyphrases
from keywright.generation.sections import proper, stated
from keywright.generation.windows import windows
from keywright.types import Document, Prediction, ScoredPhrase

PAPER = """Heat pumps in old houses
Jane Doe, University of Nowhere
Abstract. We measure heat pumps.
Keywords: heat pump; old houses;
seasonal performance factor
1 Introduction
Heat pumps warm old houses. {body}
References
[1] Doe, J.: Pumps. 2001.
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PAPER, ["heat pump", "old houses", "seasonal performance factor"]),
        ("Key words - cats, dogs.\nMore.", ["cats", "dogs"]),
        ("INDEX TERMS—Cats, mice\n\nI. Cats are", ["Cats", "mice"]),
        ("Keywords and phrases: cats · dogs", ["cats", "dogs"]),
        ("General Terms\nTheory\nKeywords\ncats, dogs\n1. INTRODUCTION", ["cats", "dogs"]),
        ("Keywords: cats", ["cats"]),
        ("We feed animals. Keywords: cats; dogs\n1 Introduction", ["cats", "dogs"]),
        ("We list e.g. the keywords: of a text.", []),
        ("These keywords are cats, dogs.", []),
        ("The keywords: of a text are few.", []),
        ("Keywords: " + "a very long sentence that is not a keyword at all, dogs", ["dogs"]),
        ("", []),
    ],
)
def test_stated_keywords_are_found(text: str, expected: list[str]) -> None:
    found = [" ".join(text[start:end].split()) for start, end in stated(text)]
    assert found == expected


def test_authors_and_references_are_not_part_of_the_text_proper() -> None:
    text = PAPER.format(body="They are old. " * 20)
    start, end = proper(text, len("Heat pumps in old houses\n"))
    assert text[start:end].lstrip().startswith("We measure")
    assert text[start:end].rstrip().endswith("They are old.")


@pytest.mark.parametrize("text", ["No headings at all.", "References\nare first. " + "More. " * 9])
def test_other_texts_are_read_whole(text: str) -> None:
    assert proper(text, 0) == (0, len(text))


def test_windows_leave_out_authors_and_references() -> None:
    body = "They are old. " * 60
    document = Document(title="Heat pumps", body=PAPER.format(body=body).split("\n", 1)[1])
    found = windows(document, 50)
    assert len(found) > 3
    text = " ".join(window.body for window in found)
    assert "Jane Doe" not in text
    assert "[1]" not in text
    assert "We measure" in text


def test_stated_keywords_come_first_and_once() -> None:
    document = Document(title="", body=PAPER.format(body=""))
    predicted = Prediction(
        phrases=(
            ScoredPhrase(text="university", confidence=0.9),
            ScoredPhrase(text="heat pumps", confidence=0.8),
        )
    )
    found = keyphrases(document, predicted)
    assert [(phrase.text, phrase.stated) for phrase in found] == [
        ("heat pump", True),
        ("old houses", True),
        ("seasonal performance factor", True),
        ("University", False),
    ]
    assert [phrase.probability for phrase in found] == [1.0, 1.0, 1.0, 0.9]
    assert len(found[0].places) == 4


@pytest.mark.parametrize("piece", [" ", "\n ", "1 ", "keywords ", "references \n", "keywords:\n"])
def test_long_texts_take_linear_time(piece: str) -> None:
    text = piece * 100_000
    proper(text, 0)  # minutes, if blanks were tried in every way
    stated(text)
