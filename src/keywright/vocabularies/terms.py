"""`Terms`: a controlled vocabulary in memory, and the look-up of phrases in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from keywright.errors import ConfigError
from keywright.vocabularies.read import read_terms
from keywright.vocabularies.term import Term
from keywright.vocabularies.words import (
    acronym,
    is_acronym,
    is_inflected,
    is_nonword,
    singular,
    stems,
    words,
)

# Words without meaning when the order of words is ignored: "treatment of the water".
_ARTICLES = frozenset(["a", "an", "the", "of"])
# One letter turns a shorter word into another.
_MIN_FUZZY_LETTERS = 5


How = Literal["spelling", "acronym", "inflection", "joined", "order", "fuzzy"]


class Match(NamedTuple):
    """The term that a phrase matches, and by which rule; see `Terms.find`."""

    term: Term
    how: How


# From keys to numbers of names. Most keys have one; a list for each would double the memory.
_Table = dict[str, int | list[int]]


class Terms:
    """A controlled vocabulary.

    A name that belongs to several terms matches none of them, unless it is the preferred name of
    exactly one; `ambiguous` lists such names. `fuzzy` is the least similarity (0.5 to 1, such as
    0.92) at which names with typing errors are also accepted.

        terms = Terms.load("terms.csv")
        terms.find("CO2")      # Match(term=Term(text='carbon dioxide', ...), how='acronym')
    """

    def __init__(self, terms: Iterable[Term], *, fuzzy: float | None = None) -> None:
        if fuzzy is not None and not 0.5 <= fuzzy <= 1:
            raise ConfigError(f"fuzzy is {fuzzy}; it must be from 0.5 to 1, such as 0.92")
        self._terms = tuple(terms)
        self._fuzzy = fuzzy
        self._has_acronyms = not _in_capitals(self._terms)
        self._names: list[str] = []
        self._term_of: list[int] = []
        self._first: list[int] = []  # the preferred name of each term
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
        """Load a .csv, .tsv or .txt file, or a SKOS file (.ttl, .nt, .rdf, .xml).

        `language` selects SKOS labels by their language tags; labels without a tag are always used.
        """
        return cls(read_terms(path, language), fuzzy=fuzzy)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._terms, self._fuzzy)

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[Term]:
        return iter(self._terms)

    def find(self, phrase: str, *, cased: bool = False) -> Match | None:
        """The term that a phrase matches, by the strongest rule that finds exactly one:

        `acronym`: a name such as AIDS or CO2, letter for letter; if the phrase is `cased` (its
        capitals come from a running text), the word "aids" is not AIDS; `spelling`: the same
        words, ignoring capitals and hyphens; `inflection`: the same stems (for single words, only
        forms of the same word); `joined`: written as one word or as several; `order`: the same
        stems in another order, ignoring articles and "of"; `fuzzy`: with typing errors.
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
        small = "" if cased and not is_nonword(short) else short.lower()
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
        """The names that match no term because they belong to several."""
        shared: list[str] = []
        for table in (self._by_stems, self._acronyms):
            for numbers in table.values():
                if isinstance(numbers, list):
                    shared += self._undecided(numbers)
        return sorted(shared)

    def _undecided(self, numbers: list[int]) -> Iterator[str]:
        """Among names with the same stems, those with the same words but several terms."""
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
        """The only term of these names, else of the preferred ones; None if there are several."""
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
        if len(text) < _MIN_FUZZY_LETTERS:
            return None
        likely = self._likely.get(_numbers(own), {})
        best = process.extract(text, likely, scorer=fuzz.ratio, score_cutoff=100 * least, limit=5)
        return self._only([name for _, score, name in best if score == best[0][1]])

    def _by_numbers(self) -> dict[tuple[str, ...], dict[int, str]]:
        """All names except acronyms by their numbers: "type 1" is not a misspelling of "type 2"."""
        found: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
        for name, label in enumerate(self._names):
            if not self._is_acronym(label):
                own = words(label)
                found[_numbers(own)][name] = " ".join(own)
        return dict(found)


def _rebuild(terms: tuple[Term, ...], fuzzy: float | None) -> Terms:
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


def _are_forms(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether words with the same stems mean the same; single words often do not."""
    return len(left) > 1 or is_inflected(left[0], right[0])


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
    """Whether most terms are written in capitals, so that capitals do not mark acronyms."""
    capitals = sum(term.text.isupper() for term in terms)
    return 2 * capitals > len(terms)
