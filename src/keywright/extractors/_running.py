"""Documents as running text for libraries that tokenise it themselves, and their phrases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from keywright.text.tokenise import normalise, running
from keywright.types import Document, Prediction, ScoredPhrase

_ENDED = re.compile(r"[.?!]\s*$")


def running_text(document: Document) -> str:
    """Title and body, with a full stop between them so that no phrase crosses it."""
    title = document.title
    if title.strip() and not _ENDED.search(title):
        title = f"{title}."
    text = f"{title}\n{document.body}".strip()
    if not document.tokenised:
        return text
    return running(text.split())


def prediction(document: Document, ranked: Iterable[tuple[str, float]]) -> Prediction:
    """Phrases and their scores, best first; those of a prepared text are normalised as it is."""
    return Prediction(
        document_id=document.id,
        phrases=tuple(
            ScoredPhrase(
                text=" ".join(normalise(text)) if document.tokenised else text,
                words=len(text.split()),
                score=float(score),
            )
            for text, score in ranked
        ),
    )
