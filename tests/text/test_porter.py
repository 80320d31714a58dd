"""Our Porter stemmer gives nltk's stems."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keywright.data.documents import read_documents
from keywright.text.porter import stem
from keywright.text.tokenise import normalise
from tests.shared import SHARED, needs_data

TRICKY = {
    # Step 1a, with nltk's rule for words of four letters.
    "caresses": "caress",
    "ponies": "poni",
    "dies": "die",
    "flies": "fli",
    "caress": "caress",
    "cats": "cat",
    "gas": "ga",
    "this": "thi",
    # Step 1b.
    "feed": "feed",
    "agreed": "agre",
    "plastered": "plaster",
    "bled": "bled",
    "motoring": "motor",
    "sing": "sing",
    "died": "die",
    "spied": "spi",
    "conflated": "conflat",
    "troubled": "troubl",
    "sized": "size",
    "hopping": "hop",
    "tanned": "tan",
    "falling": "fall",
    "hissing": "hiss",
    "fizzed": "fizz",
    "failing": "fail",
    "filing": "file",
    "using": "use",
    "aging": "age",
    "oed": "o",
    "ing": "ing",
    "ed": "ed",
    # Step 1c: nltk changes y only after a consonant that is not the only other letter.
    "happy": "happi",
    "enjoy": "enjoy",
    "sky": "sky",
    "by": "by",
    "fly": "fli",
    "say": "say",
    "syzygy": "syzygi",
    # A y is a vowel after a consonant, also in runs of them.
    "yy": "yy",
    "yyy": "yyy",
    "yyyy": "yyyi",
    "yyying": "yy",
    "toyed": "toy",
    "crying": "cri",
    # Step 2, with nltk's rules for -alli, -fulli and -logi.
    "relational": "relat",
    "conditional": "condit",
    "rational": "ration",
    "valency": "valenc",
    "digitizer": "digit",
    "conformably": "conform",
    "radically": "radic",
    "rationally": "ration",
    "ally": "alli",
    "differently": "differ",
    "vilely": "vile",
    "analogously": "analog",
    "vietnamization": "vietnam",
    "predication": "predic",
    "operator": "oper",
    "feudalism": "feudal",
    "decisiveness": "decis",
    "hopefulness": "hope",
    "callousness": "callous",
    "formality": "formal",
    "sensitivity": "sensit",
    "sensibility": "sensibl",
    "ability": "abil",
    "successfully": "success",
    "geology": "geolog",
    "theology": "theolog",
    "logy": "logi",
    # Steps 3 to 5.
    "triplicate": "triplic",
    "formative": "form",
    "formalize": "formal",
    "electricity": "electr",
    "electrical": "electr",
    "hopeful": "hope",
    "goodness": "good",
    "revival": "reviv",
    "allowance": "allow",
    "replacement": "replac",
    "adjustment": "adjust",
    "dependent": "depend",
    "adoption": "adopt",
    "million": "million",
    "religion": "religion",
    "communism": "commun",
    "activate": "activ",
    "effective": "effect",
    "bowdlerize": "bowdler",
    "probate": "probat",
    "rate": "rate",
    "cease": "ceas",
    "age": "age",
    "ate": "ate",
    "controlling": "control",
    "roll": "roll",
    # nltk's irregular forms.
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "outing": "outing",
    "cannings": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
    "proceeds": "proce",
    # What is not an English word.
    "": "",
    "s": "s",
    "is": "is",
    "IS": "is",
    "Networks": "network",
    "<digit>": "<digit>",
    "c++": "c++",
    "r&ds": "r&d",
    "a*ding": "ad",  # nltk takes "*d", its name for a double consonant, for a suffix as well
    "x86s": "x86",
    "naïvely": "naïv",
    "straßen": "straßen",
    "İs": "i̇s",  # two characters, though three in lower case: too short to be stemmed
    "深層学習": "深層学習",
}


@pytest.mark.parametrize(("word", "expected"), TRICKY.items())
def test_tricky_words(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_tricky_words_are_those_of_nltk() -> None:
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    assert {word: porter.stem(word) for word in TRICKY} == TRICKY


SUFFIXES = [
    "ational", "tional", "enci", "anci", "izer", "bli", "alli", "entli", "eli", "ousli",
    "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti",
    "biliti", "fulli", "logi", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al",
    "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize", "s", "ies", "sses", "ss", "eed", "ed", "ing", "ied", "y",
    "e", "ll", "at", "bl", "iz", "*d",
]  # fmt: skip
syllables = st.text(st.sampled_from("aeiouybcdlstwxz*9"), max_size=6)
built_words = st.builds(
    lambda start, suffixes: start + "".join(suffixes),
    syllables,
    st.lists(st.sampled_from(SUFFIXES), max_size=3),
)


@given(built_words | st.text(max_size=20))
@settings(deadline=None, max_examples=500)
def test_any_word_has_nltk_s_stem(word: str) -> None:
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    assert stem(word) == porter.stem(word)


@pytest.mark.parametrize("letters", ["y", "a", "ay", "alli", "ing", "ational"])
def test_a_word_of_any_length_has_nltk_s_stem(letters: str) -> None:
    """A stemmer that recursed would fail here, and a quadratic one would not return."""
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    assert stem(letters * 300_000) == porter.stem(letters * 300_000)


def corpora() -> Iterator[Path]:
    for folder in ("train", "valid", "test", "stackexchange"):
        yield from sorted((SHARED / "data" / folder).rglob("*.jsonl*"))


@pytest.mark.slow
@needs_data
def test_the_word_types_of_the_corpora_have_nltk_s_stems() -> None:
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    types: set[str] = set()
    for path in corpora():
        for document in islice(read_documents(path), 40_000):
            for text in (document.title, document.body, *(document.keyphrases or ())):
                types.update(normalise(text))
                types.update(text.split())
    assert len(types) > 100_000
    wrong = [word for word in types if len(word) <= 500 and stem(word) != porter.stem(word)]
    assert wrong == []
