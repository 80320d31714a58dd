"""What a corpus is like: the columns of the tables in which the field describes its corpora.

Yuan et al. (2020), tables 1 and 8: documents, keyphrases, mean and variance of the number of
keyphrases per document, the share of present ones, the numbers of present and absent keyphrases and
of documents that have any. The reproducibility study, table 1: present and absent keyphrases per
document. The calibration study, table 3: the fifth of the text in which present keyphrases first
occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.text.tokenise import document_words, starts, words
from keywright.types import Document

SECTIONS = 5
# `<peos>` separates present and absent phrases in some releases and is not a phrase.
_MARKS = frozenset({"", "<peos>"})


@dataclass
class Statistics:
    """Sums over the documents of a corpus, from which all columns are computed."""

    documents: int = 0
    without_gold: int = 0
    keyphrases: int = 0
    keyphrases_squared: int = 0
    present: int = 0
    with_present: int = 0
    with_absent: int = 0
    sections: list[int] = field(default_factory=lambda: [0] * SECTIONS)

    @property
    def absent(self) -> int:
        return self.keyphrases - self.present

    @property
    def mean(self) -> float:
        """Keyphrases per document, over documents that have gold keyphrases."""
        return self._per_document(self.keyphrases)

    @property
    def variance(self) -> float:
        """Variance of the number of keyphrases per document (population variance)."""
        return self._per_document(self.keyphrases_squared) - self.mean**2

    @property
    def present_per_document(self) -> float:
        return self._per_document(self.present)

    @property
    def absent_per_document(self) -> float:
        return self._per_document(self.absent)

    @property
    def percent_present(self) -> float:
        return 100 * self.present / self.keyphrases if self.keyphrases else 0.0

    def _per_document(self, total: int) -> float:
        with_gold = self.documents - self.without_gold
        return total / with_gold if with_gold else 0.0

    def add(self, document: Document, *, stemmed_gold: bool = False) -> None:
        self.documents += 1
        if document.keyphrases is None:
            self.without_gold += 1
            return
        gold = [phrase for phrase in document.keyphrases if phrase.strip() not in _MARKS]
        sections = list(present_sections(document, gold, stemmed_gold=stemmed_gold))
        self.keyphrases += len(gold)
        self.keyphrases_squared += len(gold) ** 2
        self.present += len(sections)
        self.with_present += bool(sections)
        self.with_absent += len(sections) < len(gold)
        for section in sections:
            self.sections[section] += 1


def statistics(documents: Iterable[Document], *, stemmed_gold: bool = False) -> Statistics:
    """The statistics of a corpus. `stemmed_gold`: its keyphrases are already stems (SemEval)."""
    total = Statistics()
    for document in documents:
        total.add(document, stemmed_gold=stemmed_gold)
    return total


def present_sections(
    document: Document, phrases: Iterable[str], *, stemmed_gold: bool = False
) -> Iterator[int]:
    """For each phrase that is present: the fifth of the text's characters it first begins in.

    Present is a phrase whose stems stand as one run in the stems of title and body.
    """
    title, body = document_words(document)
    tokens = title + body
    source = padded(stems(tokens))
    places: list[int] | None = None
    for phrase in phrases:
        wanted = words(phrase, document.tokenised)
        at = source.find(padded(wanted if stemmed_gold else stems(wanted))) if wanted else -1
        if at >= 0:
            if places is None:
                places = _places(document, tokens)
            yield SECTIONS * places[source.count(" ", 0, at)] // places[-1]


def _places(document: Document, tokens: list[str]) -> list[int]:
    """The character each token begins at, and the number of characters last."""
    if not document.tokenised:
        return [*starts(document.text), len(document.text)]
    lengths = (len(token) + 1 for token in tokens)
    return list(accumulate(lengths, initial=0))
