"""One list of phrases from several systems: their union, their intersection, or a vote.

The votes of a phrase are summed over the systems that predict it: its confidence c, discounted by
its rank r as in DCG, c / log2(r + 1). Confidence is the recalibrated probability if there is one,
otherwise 1 / KPP (`calibration.perplexity`); if any system has neither, every confidence counts as
1, so that the votes of all systems are comparable. All three lists are in the order of the votes.

Of the present and of the absent phrases, the vote keeps as many as the systems predict on average:
otherwise the absent ones, on which systems rarely agree, would be voted out. Nothing is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from keywright.analysis.averages import panel_scores
from keywright.analysis.systems import Panel, phrase_key, read_panel
from keywright.calibration import perplexity
from keywright.errors import KeywrightError
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.text.tokenise import document_words
from keywright.types import Document, Prediction, ScoredPhrase

Method = Literal["vote", "union", "intersection"]
METHODS: tuple[Method, ...] = ("vote", "union", "intersection")


Weigh = Callable[[float, int], float]
"""The vote for a phrase by its confidence and its rank, which counts from 1."""


def discounted(confidence: float, rank: int) -> float:
    return confidence / math.log2(rank + 1)


@dataclass
class _Ballot:
    """One phrase of one document while votes are counted."""

    text: str
    present: bool
    votes: float = 0.0
    best: float = 0.0
    systems: set[int] = field(default_factory=set)


def ensemble(
    documents: Sequence[Document],
    systems: Mapping[str, Sequence[Prediction]],
    method: Method = "vote",
    weigh: Weigh = discounted,
) -> list[Prediction]:
    """Combine the systems' predictions, which must be in the documents' order.

    `ScoredPhrase.score` holds the votes, divided by the number of systems.
    """
    if len(systems) < 2:
        raise KeywrightError(f"an ensemble needs at least 2 systems, there is only {len(systems)}")
    by_confidence = all(votes_by_confidence(made) for made in systems.values())
    return [
        _combine(document, _count(document, made, by_confidence, weigh), len(made), method)
        for document, *made in zip(documents, *systems.values(), strict=True)
    ]


def ensemble_scores(panel: Panel, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """The scores of every system, followed by those of every way to combine them."""
    combined = {
        f"{method} of {len(panel.systems)}": ensemble(panel.documents, panel.predictions, method)
        for method in METHODS
    }
    judged = read_panel(panel.documents, combined, protocol=panel.protocol, match="line")
    return panel_scores(panel, metrics) | panel_scores(judged, metrics)


def votes_by_confidence(predictions: Iterable[Prediction]) -> bool:
    """Whether every phrase of a system has a confidence."""
    return all(
        _confidence(phrase) is not None
        for prediction in predictions
        for phrase in prediction.phrases
    )


def _confidence(phrase: ScoredPhrase) -> float | None:
    return perplexity.confidence(phrase) if phrase.confidence is None else phrase.confidence


def _combine(
    document: Document, ballots: Sequence[_Ballot], systems: int, method: Method
) -> Prediction:
    chosen = sorted(ballots, key=lambda ballot: -ballot.votes)  # stable: earlier systems first
    if method == "intersection":
        chosen = [ballot for ballot in chosen if len(ballot.systems) == systems]
    elif method == "vote":
        chosen = _as_many_as_usual(chosen, systems)
    return Prediction(
        document_id=document.id,
        phrases=tuple(
            ScoredPhrase(text=ballot.text, score=ballot.votes / systems) for ballot in chosen
        ),
    )


def _count(
    document: Document, made: Sequence[Prediction], by_confidence: bool, weigh: Weigh
) -> list[_Ballot]:
    title, body = document_words(document)
    source = padded(stems([*title, *body]))
    ballots: dict[str, _Ballot] = {}
    for system, prediction in enumerate(made):
        rank = 0
        for phrase in prediction.phrases:
            key = phrase_key(phrase.text)
            ballot = ballots.get(key)
            if not key or (ballot is not None and system in ballot.systems):
                continue  # only punctuation, or a repeat
            if ballot is None:
                ballot = ballots[key] = _Ballot(phrase.text, f" {key} " in source)
            rank += 1
            vote = weigh((_confidence(phrase) or 0.0) if by_confidence else 1.0, rank)
            if vote > ballot.best:  # the spelling of the system that is most confident
                ballot.best, ballot.text = vote, phrase.text
            ballot.votes += vote
            ballot.systems.add(system)
    return list(ballots.values())


def _as_many_as_usual(ordered: Sequence[_Ballot], systems: int) -> list[_Ballot]:
    room = {
        present: math.floor(
            sum(len(ballot.systems) for ballot in ordered if ballot.present == present) / systems
            + 0.5
        )
        for present in (True, False)
    }
    chosen = []
    for ballot in ordered:
        if room[ballot.present] > 0:
            room[ballot.present] -= 1
            chosen.append(ballot)
    return chosen
