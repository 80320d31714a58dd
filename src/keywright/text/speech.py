"""Parts of speech of words: nouns, adjectives and others, by a tagger of choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from keywright.errors import ConfigError, MissingExtraError
from keywright.text.candidates import STOPWORDS, is_word

Kind = Literal["noun", "adjective", "other"]
Tagger = Callable[[Sequence[str]], list[Kind]]
TaggerName = Literal["textblob", "spacy", "stopwords"]

SPACY_MODEL = "en_core_web_sm"
_PENN: Mapping[str, Kind] = {"NN": "noun", "JJ": "adjective"}  # with NNS, JJR, ...
_UNIVERSAL: Mapping[str, Kind] = {"NOUN": "noun", "PROPN": "noun", "ADJ": "adjective"}


def tagger(name: TaggerName, extractor: str) -> Tagger:
    """How the words of a text get their part of speech.

    `stopwords` needs no library: every word that is not a stop word counts as a noun.
    """
    if name == "stopwords":
        return _content_words
    try:
        return _textblob() if name == "textblob" else _spacy()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name:
            raise
        extra = "extractors" if name == "textblob" else "spacy"
        what = f"{extractor} with tagger={name} (tagger=stopwords needs nothing)"
        raise MissingExtraError(what, name, extra) from None


def _content_words(words: Sequence[str]) -> list[Kind]:
    return ["other" if word in STOPWORDS or not is_word(word) else "noun" for word in words]


def _textblob() -> Tagger:
    from textblob.en import parser  # a lexicon of 94,000 words and suffix rules, all offline

    def tag(words: Sequence[str]) -> list[Kind]:
        return [_PENN.get(tag[:2], "other") for _, tag in parser.find_tags(list(words))]

    return tag


def _spacy() -> Tagger:
    import spacy
    from spacy.tokens import Doc

    try:
        pipeline = spacy.load(SPACY_MODEL, exclude=["parser", "ner", "lemmatizer"])
    except OSError:
        raise ConfigError(
            f"tagger=spacy needs spaCy's {SPACY_MODEL}; run python -m spacy download {SPACY_MODEL}"
        ) from None

    def tag(words: Sequence[str]) -> list[Kind]:
        tagged = pipeline(Doc(pipeline.vocab, words=list(words)))
        return [_UNIVERSAL.get(token.pos_, "other") for token in tagged]

    return tag
