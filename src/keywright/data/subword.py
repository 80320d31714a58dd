"""A vocabulary of wordpieces: any word can be read, and nearly any can be spelt.

The encoder reads all wordpieces of a pretrained model. The decoder produces those that are frequent
in keyphrases, and copies others from the source: its extension holds wordpieces (`##ing`), and
words that have none of their own. Words are those of `text.tokenise`, so that phrases decode to the
words everything else counts and compares.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Self, cast

import msgspec

from keywright.data import minilm
from keywright.data.vocab import BLANK, PAD, SPECIALS, UNK, EncodedSource
from keywright.errors import DataError
from keywright.files import atomic_write, open_binary
from keywright.text.tokenise import DIGIT, document_words, words
from keywright.types import Document

CONTINUES = "##"
"""What a wordpiece begins with that does not begin a word."""
LONGEST_WORD = 100
"""Longer words are not split: they are no words, and splitting takes quadratic time."""
MOST_WORD_TYPES = 500_000
"""Of which the pieces are remembered."""

# What stands in the source for the special ids when they are read back by a decoder, and for
# `<digit>`: pieces whose pretrained meaning is near, or that no word of ours uses.
_READ_AS = dict(
    zip(SPECIALS, ("[PAD]", "[CLS]", "[SEP]", "[UNK]", ";", "|", "[MASK]"), strict=True)
)
_READ_AS[DIGIT] = "0"


class Piece(NamedTuple):
    text: str
    input: int  # id for the encoder's embedding
    output: int | None  # id in the vocabulary, None for what can only be copied


class _File(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    pieces: list[str]
    outputs: list[str]


class SubwordVocabulary:
    KIND = "subwords"

    def __init__(self, pieces: Sequence[str], outputs: Sequence[str]):
        """All wordpieces, and those that can be produced (specials left out), by their ids."""
        self.pieces = tuple(pieces)
        self.outputs = (*SPECIALS, *outputs)
        self._inputs = {piece: i for i, piece in enumerate(pieces)}
        self._outputs = {piece: len(SPECIALS) + i for i, piece in enumerate(outputs)}
        self._words: dict[str, tuple[Piece, ...]] = {}
        if len(self._outputs) != len(outputs) or not self._outputs.keys().isdisjoint(SPECIALS):
            raise ValueError("pieces must be distinct and none may be special")
        missing = sorted({*_READ_AS.values()} - self._inputs.keys())
        if missing:
            raise ValueError(f"the wordpieces lack {' '.join(missing)}")
        self._outputs |= {SPECIALS[UNK]: UNK, BLANK: PAD}

    @property
    def size(self) -> int:
        return len(self.outputs)

    @property
    def input_size(self) -> int:
        return len(self.pieces)

    @property
    def input_ids(self) -> Sequence[int]:
        return [self._input(piece) for piece in self.outputs]

    @classmethod
    def build(
        cls, documents: Iterable[Document], size: int, pieces: Sequence[str] | None = None
    ) -> Self:
        """Produce the wordpieces most frequent in keyphrases: `size` ids, specials included.

        `pieces` are MiniLM's by default. Equally frequent ones enter in alphabetical order.
        """
        pieces = minilm.wordpieces() if pieces is None else pieces
        reader = cls(pieces, [])
        counts: Counter[str] = Counter()
        for document in documents:
            for phrase in document.keyphrases or ():
                for word in words(phrase, document.tokenised):
                    counts.update(piece.text for piece in reader.split(word))
        frequent = [
            piece
            for piece, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if (piece in reader._inputs or piece == DIGIT) and piece not in SPECIALS
        ]
        return cls(pieces, frequent[: max(0, size - len(SPECIALS))])

    def split(self, word: str) -> tuple[Piece, ...]:
        """The pieces of a word; a word that has none is one piece, which can be copied whole."""
        pieces = self._words.get(word)
        if pieces is None:
            if len(self._words) >= MOST_WORD_TYPES:
                self._words.clear()
            pieces = tuple(
                Piece(text, self._input(text), self._outputs.get(text)) for text in self._cut(word)
            )
            self._words[word] = pieces
        return pieces

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        """`[CLS] title [SEP] body [SEP]`, the marks counted; `<pad>` stands for them in `extended`.

        Too long a source is cut before its last mark, and there is at least one piece.
        """
        title, body = (list(self._pieces(part)) for part in document_words(document))
        if max_source is not None:
            room = max(1, max_source - 1 - bool(title) - bool(body))
            title, body = title[:room], body[: max(0, room - len(title))]
        if not title and not body:
            body = [Piece(SPECIALS[UNK], self._inputs["[UNK]"], UNK)]
        ids, extended = [self._inputs["[CLS]"]], [PAD]
        extension: dict[str, int] = {}
        for part in (title, body):
            if part:
                ids += [*(piece.input for piece in part), self._inputs["[SEP]"]]
                extended += [*(self._extended(piece, extension) for piece in part), PAD]
        return EncodedSource(
            ids=ids,
            extended=extended,
            title_length=len(title) + 2 if title else 0,
            extension=tuple(extension),
            extension_inputs=[self._input(piece) for piece in extension],
        )

    def encode_phrase(self, words: Sequence[str], extension: Sequence[str]) -> list[int]:
        places = {piece: self.size + i for i, piece in enumerate(extension)}
        return [
            places.get(piece.text, UNK) if piece.output is None else piece.output
            for piece in self._pieces(words)
        ]

    def decode(self, ids: Iterable[int], extension: Sequence[str]) -> list[str]:
        words: list[str] = []
        open_word = False  # whether a continuation belongs to the word before it
        for i in ids:
            piece = self.outputs[i] if i < self.size else extension[i - self.size]
            continues = piece.startswith(CONTINUES) and piece in self._inputs
            text = piece.removeprefix(CONTINUES) if continues else piece
            if continues and open_word:
                words[-1] += text
            else:
                words.append(text)
                open_word = piece not in _READ_AS
        return words

    def save(self, path: str | Path) -> None:
        content = _File(
            kind=self.KIND, pieces=list(self.pieces), outputs=list(self.outputs[len(SPECIALS) :])
        )
        with atomic_write(path, "wb") as file:
            cast(IO[bytes], file).write(msgspec.json.encode(content))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        with open_binary(path) as file:
            content = file.read()
        try:
            loaded = msgspec.json.decode(content, type=_File)
            return cls(loaded.pieces, loaded.outputs)
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(f"is not a vocabulary of {cls.KIND}: {error}", path) from None

    def _pieces(self, words: Iterable[str]) -> Iterator[Piece]:
        for word in words:
            yield from self.split(word)

    def _input(self, piece: str) -> int:
        unknown = self._inputs["[UNK]"]
        return self._inputs.get(_READ_AS.get(piece, piece), unknown)

    def _extended(self, piece: Piece, extension: dict[str, int]) -> int:
        if piece.output is not None:
            return piece.output
        return extension.setdefault(piece.text, self.size + len(extension))

    def _cut(self, word: str) -> list[str]:
        """BERT's way: without accents, always the longest piece that fits."""
        if word in _READ_AS or len(word) > LONGEST_WORD:
            return [word]
        plain = _without_accents(word)
        pieces: list[str] = []
        start = 0
        while start < len(plain):
            for end in range(len(plain), start, -1):
                piece = plain[start:end] if start == 0 else CONTINUES + plain[start:end]
                # A word that looks like a continuation is none.
                if piece in self._inputs and not (start == 0 and piece.startswith(CONTINUES)):
                    pieces.append(piece)
                    start = end
                    break
            else:
                return [word]
        return pieces or [word]


def _without_accents(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.lower())
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
