"""Two systems with probabilities and one without, on documents that are easy to score by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

from keywright.analysis.systems import Panel, read_panel
from keywright.report.findings import Findings, Settings, analyse
from keywright.types import Document, Prediction, ScoredPhrase

DOCUMENTS = (
    Document(
        id="d1",
        title="Graph coloring",
        body="We color planar graphs with a greedy algorithm.",
        keyphrases=("graph coloring", "planar graph", "four color theorem"),
    ),
    Document(
        id="d2",
        title="Beam search",
        body="A decoder keeps the best outputs of a language model.",
        keyphrases=("beam search", "decoding strategy"),
    ),
    Document(
        id="d3",
        title="A short note",
        body="On prime numbers.",
        keyphrases=("prime numbers",),
    ),
)
# Right are: graph coloring, planar graphs; beam search, decoding strategy; prime numbers.
GOOD = (
    ("graph coloring", "planar graphs", "greedy algorithm"),
    ("beam search", "decoding strategies", "beam search"),
    ("prime numbers",),
)
POOR = (("planar graphs", "color theory"), ("language model",), ("short note", "prime numbers"))


def predictions(
    lists: Sequence[Sequence[str]], probability: float | None = None
) -> list[Prediction]:
    """Predictions in which every word has the same probability, or none."""
    return [
        Prediction(
            document_id=f"d{number}",
            phrases=tuple(_phrase(text, probability) for text in texts),
        )
        for number, texts in enumerate(lists, 1)
    ]


def _phrase(text: str, probability: float | None) -> ScoredPhrase:
    words = len(text.split())
    if probability is None:
        return ScoredPhrase(text=text)
    return ScoredPhrase(text=text, token_log_probs=(math.log(probability),) * words, words=words)


def panel(documents: Sequence[Document] = DOCUMENTS, **systems: list[Prediction]) -> Panel:
    return read_panel(documents, systems)


def findings(made: Panel) -> Findings:
    return analyse(made, Settings(resamples=200))


def both() -> Findings:
    return findings(panel(good=predictions(GOOD, 0.8), poor=predictions(POOR, 0.9)))
