from __future__ import annotations

import numpy as np

from keywright.data.kpdrop import KPDrop, drop
from keywright.data.targets import gold_phrases
from keywright.types import Document

DOCUMENT = Document(
    id="7",
    title="Graph-Colouring by Ants",
    body="Ants colour graphs. Graph colouring is hard; an ant is not (nor is a graph).",
    keyphrases=("graph colouring", "ant", "swarm"),
)


def everything(document: Document) -> Document:
    return drop(document, 1.0, np.random.default_rng(0))


def test_all_occurrences_of_a_dropped_phrase_become_blanks() -> None:
    dropped = everything(DOCUMENT)
    assert dropped.title == "<pad> by <pad>"
    assert dropped.body == "<pad> colour graphs. <pad> is hard; an <pad> is not (nor is a graph)."


def test_a_dropped_phrase_becomes_an_absent_keyphrase() -> None:
    dropped = everything(DOCUMENT)
    assert dropped.keyphrases == DOCUMENT.keyphrases
    assert [p.present for p in gold_phrases(DOCUMENT)] == [True, True, False]
    assert [p.present for p in gold_phrases(dropped)] == [False, False, False]
    assert dropped.id == "7"


def test_consecutive_dropped_words_are_one_blank() -> None:
    document = Document(
        title="", body="big red apple pie", keyphrases=("red apple", "apple pie"), tokenised=True
    )
    assert everything(document).body == "big <pad>"


def test_tokenised_texts_stay_tokenised() -> None:
    document = Document(
        title="u.s. law", body="the u.s. law , again", keyphrases=("u.s. law",), tokenised=True
    )
    dropped = everything(document)
    assert (dropped.title, dropped.body) == ("<pad>", "the <pad> , again")


def test_rate_is_the_share_of_present_phrases_that_are_dropped() -> None:
    rng = np.random.default_rng(1)
    dropped = [drop(DOCUMENT, 0.7, rng) for _ in range(500)]
    assert 0.65 < np.mean(["ants" not in d.body.lower() for d in dropped]) < 0.75
    assert drop(DOCUMENT, 0.0, rng) == DOCUMENT


def test_it_depends_on_the_generator_only() -> None:
    draws = [drop(DOCUMENT, 0.5, np.random.default_rng(seed)) for seed in range(30)]
    again = [drop(DOCUMENT, 0.5, np.random.default_rng(seed)) for seed in range(30)]
    assert draws == again
    assert len({document.body for document in draws}) == 4  # each of two phrases dropped or not


def test_replace_and_augment() -> None:
    def both(mode: str) -> list[Document]:
        return list(KPDrop(mode, 1.0)(DOCUMENT, np.random.default_rng(0)))  # type: ignore[arg-type]

    assert both("replace") == [everything(DOCUMENT)]
    assert both("augment") == [DOCUMENT, everything(DOCUMENT)]


def test_a_document_without_gold_is_not_changed() -> None:
    document = Document(title="a", body="b")
    assert everything(document) == document
