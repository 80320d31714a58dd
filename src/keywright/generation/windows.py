"""Long documents in pieces that a model can read whole.

A window is a run of sentences of at most so many words, and takes the last sentences of the one
before along, so that no phrase or thought is cut. Every window carries the title. Nothing is left
out: a single sentence longer than a window is cut at words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from keywright.calibration.perplexity import confidence
from keywright.generation.sentences import sentences
from keywright.text.tokenise import Span, spans
from keywright.types import Document, Prediction, ScoredPhrase

# Words that a window repeats from the one before.
OVERLAP = 30
_BETWEEN_BLANKS = re.compile(r"\S+")


def windows(document: Document, most_words: int) -> list[Document]:
    """The document itself if it is short enough, else its windows in order."""
    room = most_words - len(_words(document.title, document.tokenised))
    if room < most_words // 2:  # a title this long is text
        document = Document(
            id=document.id, title="", body=document.text, tokenised=document.tokenised
        )
        room = most_words
    if len(_words(document.body, document.tokenised)) <= room:
        return [document]
    return [
        Document(id=document.id, title=document.title, body=body, tokenised=document.tokenised)
        for body in _bodies(document.body, room, document.tokenised)
    ]


def _words(text: str, tokenised: bool) -> list[Span]:
    """Words as a model will count them: of a tokenised text, whatever stands between blanks."""
    if not tokenised:
        return spans(text)
    return [Span(match[0], *match.span()) for match in _BETWEEN_BLANKS.finditer(text)]


def _bodies(text: str, room: int, tokenised: bool) -> Iterator[str]:
    pieces = list(_pieces(text, room, tokenised))
    first = 0
    while first < len(pieces):
        last = first
        size = 0
        while last < len(pieces) and size + pieces[last][2] <= room:
            size += pieces[last][2]
            last += 1
        yield text[pieces[first][0] : pieces[last - 1][1]]
        if last == len(pieces):
            return
        back, repeated = last, 0
        while back - 1 > first and repeated + pieces[back - 1][2] <= OVERLAP:
            back -= 1
            repeated += pieces[back][2]
        first = back


def _pieces(text: str, room: int, tokenised: bool) -> Iterator[tuple[int, int, int]]:
    """(start, end, words) of sentences, those longer than a window cut at words."""
    for sentence in sentences(text):
        words = _words(sentence.text, tokenised)
        for at in range(0, len(words), room):
            part = words[at : at + room]
            start = sentence.start + part[0].start
            end = sentence.end if at + room >= len(words) else sentence.start + part[-1].end
            yield (sentence.start if at == 0 else start), end, len(part)


def combine(document: Document, predictions: Sequence[Prediction]) -> Prediction:
    """One prediction from those of a document's windows.

    A phrase that several windows give keeps its highest confidence; the surest come first.
    """
    if len(predictions) == 1:
        return predictions[0]
    best: dict[str, ScoredPhrase] = {}
    for prediction in predictions:
        for phrase in prediction.phrases:
            known = best.get(phrase.text.lower())
            if known is None or _sureness(phrase) > _sureness(known):
                best[phrase.text.lower()] = phrase
    ranked = sorted(best.values(), key=_sureness, reverse=True)
    return Prediction(document_id=document.id, phrases=tuple(ranked))


def _sureness(phrase: ScoredPhrase) -> float:
    if phrase.confidence is not None:
        return phrase.confidence
    own = confidence(phrase)
    if own is not None:
        return own
    return phrase.score if phrase.score is not None else float("-inf")
