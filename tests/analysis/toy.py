"""A small corpus and systems whose numbers can be computed by hand."""

from __future__ import annotations

from keywright.analysis.systems import Panel, read_panel
from keywright.types import Document, Prediction, ScoredPhrase

DOCUMENTS = (
    Document(
        id="d1",
        title="graph coloring",
        body="we color planar graphs with four colors and a greedy algorithm .",
        keyphrases=("graph coloring", "planar graphs", "four color theorem"),
        tokenised=True,
    ),
    Document(
        id="d2",
        title="beam search",
        body="a decoder keeps the best partial outputs of a language model .",
        keyphrases=("beam search", "decoding strategies"),
        tokenised=True,
    ),
    Document(
        id="d3",
        title="a short note",
        body="on prime numbers .",
        keyphrases=("prime numbers",),
        tokenised=True,
    ),
)

# Present phrases of d1: a gives graph coloring (right), planar graph (right), greedy algorithm
# (wrong); b gives planar graphs (right), greedy algorithms (wrong). They share one of each.
A = (
    ("graph coloring", "planar graph", "greedy algorithm", "chromatic number"),
    ("beam search", "language model", "decoding strategy"),
    (),
)
B = (
    ("planar graphs", "greedy algorithms", "chromatic numbers", "graph theory"),
    ("language models", "decoders"),
    ("prime number",),
)
C = (
    ("greedy algorithm", "chromatic number"),
    ("language model",),
    ("prime numbers", "short note"),
)


def plain(lists: tuple[tuple[str, ...], ...]) -> list[Prediction]:
    return [
        Prediction(
            document_id=document.id,
            phrases=tuple(ScoredPhrase(text=text) for text in texts),
        )
        for document, texts in zip(DOCUMENTS, lists, strict=True)
    ]


def panel(**systems: tuple[tuple[str, ...], ...]) -> Panel:
    return read_panel(DOCUMENTS, {name: plain(lists) for name, lists in systems.items()})
