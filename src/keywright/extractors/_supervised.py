"""What extractors share that learn from documents with keyphrases: candidates, counts, files.

A module with `fit(documents, config)` learns; `keywright fit-extractor` saves what it returns, and
its `Config` names that file as `fitted`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TypeVar, cast

import msgspec
from msgspec import Struct

from keywright.errors import ConfigError, DataError
from keywright.files import atomic_write, read_text
from keywright.text.candidates import STOPWORDS, CandidateText, Span, is_word, ngrams, runs
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document

FEWEST_DOCUMENTS = 10
T = TypeVar("T", bound=Struct)


class Saved(Struct, frozen=True):
    """The content of a file: what an extractor of this name has learned."""

    extractor: str
    learned: msgspec.Raw


def save(path: Path, extractor: str, learned: Struct) -> None:
    content = Saved(extractor, msgspec.Raw(msgspec.json.encode(learned)))
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(msgspec.json.encode(content))


def load(path: str | None, extractor: str, kind: type[T]) -> T:
    """What was learned. An error says what to do if nothing was, or if the file is another one."""
    if path is None:
        raise ConfigError(
            f"{extractor} has to learn from documents first: keywright fit-extractor {extractor} "
            f"--documents FILE --output {extractor}.json, then --set fitted={extractor}.json"
        )
    try:
        saved = msgspec.json.decode(read_text(path), type=Saved)
        if saved.extractor != extractor:
            raise DataError(f"was fitted for {saved.extractor}, not for {extractor}", path)
        return msgspec.json.decode(saved.learned, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"is not a fitted extractor: {error}", path) from None


def require_gold(documents: Iterable[Document], extractor: str) -> list[Document]:
    """The documents that have keyphrases; an error if there are too few to learn from."""
    found = [document for document in documents if document.keyphrases]
    if len(found) < FEWEST_DOCUMENTS:
        raise DataError(
            f"{extractor} needs at least {FEWEST_DOCUMENTS} documents with keyphrases to learn "
            f"from, and there are {len(found)}"
        )
    return found


def candidate_spans(text: CandidateText, longest: int) -> Iterator[Span]:
    """Up to `longest` words without punctuation that neither begin nor end with a stop word."""
    for run in runs(text.words, is_word):
        for start, end in ngrams(run, longest):
            if text.words[start] not in STOPWORDS and text.words[end - 1] not in STOPWORDS:
                yield start, end


def gold_stems(document: Document) -> Iterator[tuple[str, ...]]:
    for phrase in document.keyphrases or ():
        yield tuple(stems(normalise(phrase)))


def document_frequencies(found: Iterable[Iterable[str]]) -> dict[str, int]:
    """In how many documents each candidate occurs; those of one document are left out.

    A candidate of an unseen document that is missing here has the same frequency, 0 or 1.
    """
    counts: Counter[str] = Counter()
    for candidates in found:
        counts.update(set(candidates))
    return {candidate: count for candidate, count in counts.items() if count > 1}
