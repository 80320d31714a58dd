"""Present phrases as tags of source positions, and back.

The first token of a word has the tag O (outside), B (the word begins a phrase) or I (the word
continues one). The further tokens of a word inside a phrase have the tag X, outside they have O.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keywright.data.targets import gold_phrases
from keywright.errors import ConfigError
from keywright.lexicon import Lexicon
from keywright.text.presence import runs
from keywright.text.stem import stems
from keywright.text.tokenise import model_words
from keywright.types import Document

O, B, I, X = range(4)  # noqa: E741  # the usual names of these tags
TAGS = "OBIX"
NO_TAG = -1
"""At marks, which belong to no word, and at a word that was cut."""


class SourceWord(NamedTuple):
    """A word of title or body, and the positions [start, end) of its tokens in the source."""

    text: str
    start: int
    end: int


def source_words(
    document: Document, extended: Sequence[int], vocabulary: Lexicon
) -> list[SourceWord]:
    """The words that a source contains completely, in their order.

    `extended` are the ids of the source in the output space, without padding.
    """
    title, body = model_words(document)
    pad, unknown = vocabulary.special.pad, vocabulary.special.unk
    found: list[SourceWord] = []
    at = 0
    for text in (*title, *body):
        ids = vocabulary.encode_phrase([text], ())
        while at < len(extended) and ids[:1] != [pad] and extended[at] == pad:
            at += 1  # a mark, such as [SEP]
        read = list(extended[at : at + len(ids)])
        if len(read) < len(ids) or (pad in read and pad not in ids):
            break  # the source was cut here
        if any(i not in (j, unknown) for i, j in zip(ids, read, strict=True)):
            raise ConfigError(
                "data.vocabulary: tagging needs a vocabulary that splits each word separately, "
                f"and this one does not split {text!r} in the same way alone and in a text"
            )
        found.append(SourceWord(text, at, at + len(ids)))
        at += len(ids)
    return found


def gold_tags(document: Document, words: Sequence[SourceWord], length: int) -> list[int]:
    """The tags of a source of `length` positions: every occurrence of a present gold phrase.

    Of phrases that overlap, the longest is tagged, and of equally long ones the first.
    """
    tags = [NO_TAG] * length
    for word in words:
        tags[word.start : word.end] = [O] * (word.end - word.start)
    for start, end in _occurrences(document):
        inside = words[start:end]
        if len(inside) < end - start or any(tags[word.start] != O for word in inside):
            continue
        for word in inside:
            tags[word.start : word.end] = [I, *[X] * (word.end - word.start - 1)]
        tags[inside[0].start] = B
    return tags


def _occurrences(document: Document) -> list[tuple[int, int]]:
    """The [start, end) of present gold phrases in the words of title and body, longest first."""
    title, body = (stems(part) for part in model_words(document))
    phrases = [stems(phrase.words) for phrase in gold_phrases(document) if phrase.present]
    found = [
        (offset + at, offset + at + len(phrase))
        for phrase in phrases
        for part, offset in ((title, 0), (body, len(title)))
        for at in runs(phrase, part)
    ]
    return sorted(found, key=lambda span: (span[0] - span[1], span[0]))


def tagged_spans(tags: Sequence[int]) -> list[tuple[int, int]]:
    """The [start, end) of phrases: a word tagged B and the words tagged I after it."""
    spans: list[tuple[int, int]] = []
    for at, tag in enumerate(tags):
        if tag == B:
            spans.append((at, at + 1))
        elif tag == I and spans and spans[-1][1] == at:
            spans[-1] = (spans[-1][0], at + 1)
    return spans
