"""The Porter stemmer with nltk's extensions.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. Every published protocol of
the field stems with nltk's `PorterStemmer` in its default mode, which changes a few rules of the
paper. This file gives the same stem for every word, but without nltk, whose import alone takes
longer than stemming most corpora. Step names are those of the paper; its measure m is the number
of times that a vowel is followed by a consonant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

# nltk's table of irregular forms.
_IRREGULAR = {
    "sky": "sky",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

Rule = tuple[str, str]
"""A suffix and its replacement."""
Rules = Mapping[str, tuple[Rule, ...]]
"""Rules by the last two letters of their suffixes, the longer of two nested suffixes first."""


def _by_ending(rules: Iterable[Rule]) -> Rules:
    found: dict[str, list[Rule]] = defaultdict(list)
    for suffix, replacement in rules:
        found[suffix[-2:]].append((suffix, replacement))
    return {ending: tuple(listed) for ending, listed in found.items()}


_STEP_2 = _by_ending(
    [
        ("ational", "ate"),
        ("tional", "tion"),
        ("enci", "ence"),
        ("anci", "ance"),
        ("izer", "ize"),
        ("bli", "ble"),
        ("entli", "ent"),
        ("eli", "e"),
        ("ousli", "ous"),
        ("ization", "ize"),
        ("ation", "ate"),
        ("ator", "ate"),
        ("alism", "al"),
        ("iveness", "ive"),
        ("fulness", "ful"),
        ("ousness", "ous"),
        ("aliti", "al"),
        ("iviti", "ive"),
        ("biliti", "ble"),
        ("fulli", "ful"),
    ]
)
_STEP_3 = _by_ending(
    [
        ("icate", "ic"),
        ("ative", ""),
        ("alize", "al"),
        ("iciti", "ic"),
        ("ical", "ic"),
        ("ful", ""),
        ("ness", ""),
    ]
)
_STEP_4 = _by_ending(
    (suffix, "")
    for suffix in (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion",
        "ou", "ism", "ate", "iti", "ous", "ive", "ize",
    )
)  # fmt: skip


class _Letters(dict[int, str]):
    """Character -> "v" for a vowel, "c" for a consonant, "y" for what its place decides."""

    def __missing__(self, character: int) -> str:
        return "c"


_LETTERS = _Letters(
    dict.fromkeys(range(128), "c") | {ord(vowel): "v" for vowel in "aeiou"} | {ord("y"): "y"}
)


def stem(word: str) -> str:
    """The stem of the word's lower-case form, as nltk's `PorterStemmer().stem(word)` gives it."""
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if len(word) <= 2:  # of the word as given: lower case can be longer
        return lower
    return _step_5(_step_4(_step_3(_step_2(_step_1c(_step_1b(_step_1a(lower)))))))


def _shape(letters: str) -> str:
    """A "v" for each vowel and a "c" for each consonant; a y after a consonant is a vowel."""
    shape = letters.translate(_LETTERS)
    if "y" not in shape:
        return shape
    resolved: list[str] = []
    before = "v"
    for letter in shape:
        before = letter if letter != "y" else "v" if before == "c" else "c"
        resolved.append(before)
    return "".join(resolved)


def _measure(letters: str) -> int:
    return _shape(letters).count("vc")


def _ends_cvc(letters: str, shape: str) -> bool:
    """Condition *o: nltk also accepts two letters, a vowel and a consonant."""
    return shape == "vc" or (shape.endswith("cvc") and letters[-1] not in "wxy")


def _step_1a(word: str) -> str:
    """Plurals."""
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]  # nltk: dies -> die, but flies -> fli
    return word[:-2] if word.endswith("sses") else word[:-1]


def _step_1b(word: str) -> str:
    """Past forms and participles."""
    if word.endswith("ed"):
        if word.endswith("ied"):
            return word[:-1] if len(word) == 4 else word[:-2]  # nltk: died -> die, spied -> spi
        if word.endswith("eed"):
            return word[:-1] if _measure(word[:-3]) > 0 else word
        return _restored(word, word[:-2])
    return _restored(word, word[:-3]) if word.endswith("ing") else word


def _restored(word: str, base: str) -> str:
    """The base that -ed or -ing leaves, put right: hopp -> hop, fil -> file."""
    shape = _shape(base)
    if "v" not in shape:
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if shape[-1] == "c" and base[-1] == base[-2:-1]:
        return base if base[-1] in "lsz" else base[:-1]
    if base.endswith("*d"):  # nltk takes its name for a double consonant for a suffix, too
        return base[:-2] + "d"
    return base + "e" if shape.count("vc") == 1 and _ends_cvc(base, shape) else base


def _step_1c(word: str) -> str:
    """nltk: y becomes i after a consonant that is not the word's only other letter."""
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c":
        return word[:-1] + "i"
    return word


def _replaced(word: str, rules: Rules) -> str:
    """The first suffix that the word has is replaced if m > 0 for what precedes it."""
    for suffix, replacement in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if _measure(base) > 0 else word
    return word


def _step_2(word: str) -> str:
    if word.endswith("alli"):
        if _measure(word[:-4]) == 0:
            return word
        word = word[:-2]  # nltk: what is left may have another suffix
    elif word.endswith("logi"):  # nltk: the l counts as part of the stem, as in geologi
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replaced(word, _STEP_3)


def _step_4(word: str) -> str:
    for suffix, _ in _STEP_4.get(word[-2:], ()):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if _measure(base) > 1 and (suffix != "ion" or base[-1] in "st"):
                return base
            return word
    return word


def _step_5(word: str) -> str:
    """A final e goes, and so does one l of two."""
    if word.endswith("e"):
        base = word[:-1]
        shape = _shape(base)
        m = shape.count("vc")
        if m > 1 or (m == 1 and not _ends_cvc(base, shape)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
