"""Documents as running text for libraries that tokenise it themselves, and their phrases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from keywright.text.tokenise import DIGIT, normalise
from keywright.types import Document, Prediction, ScoredPhrase

_ENDED = re.compile(r"[.?!]\s*$")
# Libraries look for sentences in text as people write it, without blanks before marks.
_BEFORE, _AFTER = re.compile(r" (?=[.,)%;:?!](?: |$))"), re.compile(r"(?<=\() ")
# Prepared texts have `<digit>` for every number, which a library would take for the word "digit".
# An `<unk>` may be any word, so no phrase may contain it.
_PLACEHOLDERS = {DIGIT: "0", "<unk>": ","}


def running_text(document: Document) -> str:
    """Title and body, with a full stop between them so that no phrase crosses it."""
    title = document.title
    if title.strip() and not _ENDED.search(title):
        title = f"{title}."
    text = f"{title}\n{document.body}".strip()
    if not document.tokenised:
        return text
    joined = " ".join(_PLACEHOLDERS.get(word, word) for word in text.split())
    return _AFTER.sub("", _BEFORE.sub("", joined))


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
