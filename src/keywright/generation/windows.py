"""Long documents in pieces that a model can read whole.

A window is a run of sentences with a limited number of words. It repeats the last sentences of the
window before it, so that no phrase is cut, and carries the title. A sentence longer than a window
is cut between words. Only the authors of a paper and its references are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keywright.calibration.perplexity import confidence
from keywright.generation.sections import proper
from keywright.generation.sentences import sentences
from keywright.text.reading import Reading
from keywright.types import Document, Prediction, ScoredPhrase

# Words that a window repeats from the one before.
OVERLAP = 30


def windows(document: Document, most_words: int) -> list[Document]:
    """The document itself if it is short enough, else its windows in order."""
    reading = Reading.of(document)
    room = most_words - reading.title_words
    if room < most_words // 2:  # a title this long is text
        whole = Document(id=document.id, title="", body=document.text, tokenised=document.tokenised)
        reading.remember(whole, 0, len(reading.text))
        document, reading, room = whole, Reading.of(whole), most_words
    if len(reading.words) - reading.title_words <= room:
        return [document]
    return list(_windows(document, reading, room))


def _windows(document: Document, reading: Reading, room: int) -> Iterator[Document]:
    for start, end in _bodies(reading, room):
        window = Document(
            id=document.id,
            title=document.title,
            body=reading.text[start:end],
            tokenised=document.tokenised,
        )
        reading.remember(window, start, end)
        yield window


class _Piece(NamedTuple):
    """The characters [start, end) of a text, and how many words they have."""

    start: int
    end: int
    words: int


def _bodies(reading: Reading, room: int) -> Iterator[tuple[int, int]]:
    """The characters [start, end) of each window's body."""
    pieces = list(_pieces(reading, room))
    first = 0
    while first < len(pieces):
        last = first
        size = 0
        while last < len(pieces) and size + pieces[last].words <= room:
            size += pieces[last].words
            last += 1
        yield pieces[first].start, pieces[last - 1].end
        if last == len(pieces):
            return
        back, repeated = last, 0
        while back - 1 > first and repeated + pieces[back - 1].words <= OVERLAP:
            back -= 1
            repeated += pieces[back].words
        first = back


def _pieces(reading: Reading, room: int) -> Iterator[_Piece]:
    """The sentences of the text proper; those longer than a window are cut between words."""
    offset, last = proper(reading.text, reading.body_start)
    for sentence in sentences(reading.text[offset:last]):
        begin, finish = sentence.start + offset, sentence.end + offset
        words = reading.spans.between(begin, finish)
        for at in range(0, len(words), room):
            part = words[at : at + room]
            start = begin if at == 0 else reading.spans.starts[part[0]]
            end = finish if at + room >= len(words) else reading.spans.ends[part[-1]]
            yield _Piece(start, end, len(part))


def combine(document: Document, predictions: Sequence[Prediction]) -> Prediction:
    """One prediction from those of a document's windows.

    A phrase that several windows predict keeps its highest confidence; the most confident phrases
    come first.
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
