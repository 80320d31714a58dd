"""`Terms`: a vocabulary in memory, and the look-up of phrases in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from keywright.errors import ConfigError
from keywright.vocabularies.words import (
    acronym,
    is_acronym,
    is_inflected,
    is_no_word,
    singular,
    stems,
    words,
)

# They carry no meaning once the order of words is given up: "treatment of the water".
_ARTICLES = frozenset(["a", "an", "the", "of"])
# Shorter words become others by one letter.
_FEWEST_FUZZY_LETTERS = 5


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A term of a vocabulary: its preferred spelling, its identifier, its other names."""

    text: str
    id: str | None = None
    synonyms: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All names, each once, the preferred one first."""
        return list(dict.fromkeys((self.text, *self.synonyms)))


How = Literal["spelling", "acronym", "inflection", "joined", "order", "fuzzy"]


class Match(NamedTuple):
    """The term that a phrase means, and what tells so; see `Terms.find`."""

    term: Term
    how: How


# Names have numbers. Nearly all keys have one, and a list for each would double the memory.
_Table = dict[str, int | list[int]]


class Terms:
    """A controlled vocabulary.

    A name that belongs to several terms means none of them, unless it is the preferred name of
    exactly one; `ambiguous` lists such names. `fuzzy` (0 to 1, such as 0.92) also accepts names
    with typing errors, as long as they are at least so alike.

        terms = Terms.load("terms.csv")
        terms.find("CO2")      # Match(term=Term(text='carbon dioxide', ...), how='acronym')
    """

    def __init__(self, terms: Iterable[Term], *, fuzzy: float | None = None) -> None:
        if fuzzy is not None and not 0.5 <= fuzzy <= 1:
            raise ConfigError(f"fuzzy is {fuzzy}; it must lie between 0.5 and 1, such as 0.92")
        self._terms = tuple(terms)
        self._fuzzy = fuzzy
        self._has_acronyms = not _in_capitals(self._terms)
        self._names: list[str] = []
        self._term_of: list[int] = []
        self._first: list[int] = []  # of a term's names: the preferred one
        self._by_stems: _Table = {}
        self._joined: _Table = {}
        self._by_bag: _Table = {}
        self._acronyms: _Table = {}
        self._small_acronyms: _Table = {}
        for number, term in enumerate(self._terms):
            self._first.append(len(self._names))
            for label in term.names:
                self._add(label, number)
        self._likely: dict[tuple[str, ...], dict[int, str]] | None = None

    @classmethod
    def load(cls, path: str | Path, *, language: str = "en", fuzzy: float | None = None) -> Terms:
        """The vocabulary in a .csv, .tsv or .txt file, or in a SKOS file (.ttl, .rdf, .nt).

        `language` chooses among SKOS labels with language tags; those without a tag always count.
        """
        from keywright.vocabularies.read import read_terms

        return cls(read_terms(path, language), fuzzy=fuzzy)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._terms, self._fuzzy)

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[Term]:
        return iter(self._terms)

    def find(self, phrase: str, *, cased: bool = False) -> Match | None:
        """The term that a phrase means, by the strongest of these that finds exactly one:

        `acronym`: a name such as AIDS or CO2, letter for letter; if the phrase is `cased` (its
        capitals are those of a running text), the word "aids" is not AIDS; `spelling`: the same
        words, capitals and hyphens apart; `inflection`: the same stems (single words: only other
        forms of the word); `joined`: written together or apart; `order`: the same stems in another
        order, articles and "of" apart; `fuzzy`: with typing errors.
        """
        own = words(phrase)
        if not own:
            return None
        short = acronym(phrase)
        if found := self._only(_get(self._acronyms, short)):
            return Match(found, "acronym")
        own_stems = stems(own)
        same = [(name, words(self._names[name])) for name in _get(self._by_stems, _key(own_stems))]
        if found := self._only([name for name, other in same if other == own]):
            return Match(found, "spelling")
        small = "" if cased and not is_no_word(short) else short.lower()
        if found := self._only(_get(self._small_acronyms, small)):
            return Match(found, "acronym")
        if found := self._only([name for name, other in same if _are_forms(other, own)]):
            return Match(found, "inflection")
        if found := self._only(_get(self._small_acronyms, small.removesuffix("s"))):
            return Match(found, "acronym")
        if found := self._only(_get(self._joined, _joined(own))):
            return Match(found, "joined")
        if found := self._only(_get(self._by_bag, _bag(own, own_stems))):
            return Match(found, "order")
        if self._fuzzy is not None and (found := self._find_fuzzy(own, self._fuzzy)):
            return Match(found, "fuzzy")
        return None

    @property
    def ambiguous(self) -> list[str]:
        """The names that mean no term because they belong to several."""
        shared: list[str] = []
        for table in (self._by_stems, self._acronyms):
            for numbers in table.values():
                if isinstance(numbers, list):
                    shared += self._undecided(numbers)
        return sorted(shared)

    def _undecided(self, numbers: list[int]) -> Iterator[str]:
        """Of names with the same stems, those with the same words that belong to several terms."""
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number in numbers:
            groups[tuple(words(self._names[number]))].append(number)
        return (self._names[same[0]] for same in groups.values() if self._only(same) is None)

    def _add(self, label: str, term: int) -> None:
        own = words(label)
        name = len(self._names)
        self._names.append(label)
        self._term_of.append(term)
        if not own:
            return
        if self._is_acronym(label):
            short = acronym(label)
            _put(self._acronyms, short, name)
            _put(self._small_acronyms, short.lower(), name)
            return
        own_stems = stems(own)
        _put(self._by_stems, _key(own_stems), name)
        _put(self._joined, _joined(own), name)
        if len(own) > 1:
            _put(self._by_bag, _bag(own, own_stems), name)

    def _is_acronym(self, label: str) -> bool:
        return self._has_acronyms and is_acronym(label)

    def _only(self, names: Sequence[int]) -> Term | None:
        """The term that all of these names belong to, or else all that are preferred names."""
        terms = {self._term_of[name] for name in names}
        if len(terms) > 1:
            terms = {self._term_of[name] for name in names if self._is_preferred(name)}
        return self._terms[terms.pop()] if len(terms) == 1 else None

    def _is_preferred(self, name: int) -> bool:
        return self._first[self._term_of[name]] == name

    def _find_fuzzy(self, own: Sequence[str], least: float) -> Term | None:
        from rapidfuzz import fuzz, process

        if self._likely is None:
            self._likely = self._by_numbers()
        text = " ".join(own)
        if len(text) < _FEWEST_FUZZY_LETTERS:
            return None
        likely = self._likely.get(_numbers(own), {})
        best = process.extract(text, likely, scorer=fuzz.ratio, score_cutoff=100 * least, limit=5)
        return self._only([name for _, score, name in best if score == best[0][1]])

    def _by_numbers(self) -> dict[tuple[str, ...], dict[int, str]]:
        """All names but acronyms, by their numbers: "type 1" is no misspelling of "type 2"."""
        found: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
        for name, label in enumerate(self._names):
            if not self._is_acronym(label):
                own = words(label)
                found[_numbers(own)][name] = " ".join(own)
        return dict(found)


def _again(terms: tuple[Term, ...], fuzzy: float | None) -> Terms:
    return Terms(terms, fuzzy=fuzzy)


def _put(table: _Table, key: str, name: int) -> None:
    known = table.setdefault(key, name)
    if isinstance(known, list):
        known.append(name)
    elif known != name:
        table[key] = [known, name]


def _get(table: _Table, key: str) -> list[int]:
    known = table.get(key)
    if known is None:
        return []
    return known if isinstance(known, list) else [known]


def _are_forms(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether words of the same stems mean the same; a single word easily does not."""
    return len(one) > 1 or is_inflected(one[0], other[0])


def _key(own_stems: Sequence[str]) -> str:
    return " ".join(own_stems)


def _joined(own: Sequence[str]) -> str:
    return singular("".join(own))


def _bag(own: Sequence[str], own_stems: Sequence[str]) -> str:
    pairs = zip(own, own_stems, strict=True)
    return " ".join(sorted(stem for word, stem in pairs if word not in _ARTICLES))


def _numbers(own: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in own if any(map(str.isdigit, word)))


def _in_capitals(terms: Sequence[Term]) -> bool:
    """Whether a vocabulary is written in capitals throughout, so that they say nothing."""
    capitals = sum(term.text.isupper() for term in terms)
    return 2 * capitals > len(terms)
