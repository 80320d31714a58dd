"""The formats in which published models read documents and write phrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

from keywright import lexicon
from keywright.config import Part
from keywright.data.targets import Targets, split
from keywright.errors import ConfigError
from keywright.lexicons.tokenizer import FORMATS, TokenizerVocabulary
from keywright.types import Document
from tests.lexicons.tokenizers_made import TEXTS, write

DOCUMENT = Document(
    title="Heat Pumps", body="2 robot arms fold paper .", keyphrases=("robot arms", "2 pumps")
)
MARKED = [*TEXTS, "a ; b ; c . [ digit ] [ sep ] generate keyphrases : Heat Pumps 2 ;"] * 3


def build(folder: Path, kind: str, form: str, **settings: Any) -> TokenizerVocabulary:
    path = write(folder / kind, kind, MARKED)
    part = Part("tokenizer", {"path": str(path), "format": form, **settings})
    built = lexicon.build(part, [])
    assert isinstance(built, TokenizerVocabulary)
    return built


def source(vocabulary: TokenizerVocabulary) -> str:
    special = vocabulary.special
    ids = vocabulary.encode_document(DOCUMENT, None).ids
    words = vocabulary.decode([i for i in ids if i not in (special.bos, special.eos)], ())
    # Byte-level tokenizers write special tokens without blanks around them.
    return " ".join(" ".join(words).replace("<sep>", " <sep> ").split())


SOURCES = {
    "plain": "heat pumps <sep> <digit> robot arms fold paper .",
    "kpp": "heat pumps . <sep> <digit> robot arms fold paper .",
    "deepkpg": "heat pumps [sep] <digit> robot arms fold paper .",
    "deepkpg_t5": "generate keyphrases: heat pumps [sep] <digit> robot arms fold paper .",
    "keybart": "Heat Pumps 2 robot arms fold paper .",
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_document_is_read_as_the_format_says(tmp_path: Path, form: str) -> None:
    assert source(build(tmp_path, "bart", form)) == SOURCES[form]


@pytest.mark.parametrize("kind", ["t5", "bart"])
@pytest.mark.parametrize("form", FORMATS)
def test_phrases_survive_writing_and_splitting(tmp_path: Path, kind: str, form: str) -> None:
    vocabulary = build(tmp_path, kind, form)
    targets = Targets("one2seq", order="given")
    phrases = targets.phrases(DOCUMENT, None)  # type: ignore[arg-type]  # no order is random
    (ids,) = targets.sequences(phrases, vocabulary, ())
    found = [vocabulary.decode(ids[a:b], ()) for a, b in split(ids, vocabulary.special)]
    assert found == [["robot", "arms"], ["<digit>", "pumps"]]


def test_digits_of_deepkpg_are_written_in_its_way(tmp_path: Path) -> None:
    vocabulary = build(tmp_path, "bart", "deepkpg")
    ids = vocabulary.encode_phrase(["<digit>", "pumps"], ())
    assert ids == vocabulary.encode_phrase(["[digit]", "pumps"], ())


def test_phrases_of_keybart_have_no_blank_before_them(tmp_path: Path) -> None:
    glued, spaced = (build(tmp_path / form, "bart", form) for form in ("keybart", "deepkpg"))
    assert glued.special.sep == 5 + spaced_offset(glued, ";")
    first, other = (v.encode_phrase(["robot", "arms"], ())[0] for v in (glued, spaced))
    assert first != other


def spaced_offset(vocabulary: TokenizerVocabulary, text: str) -> int:
    """The place of a character in the byte-level alphabet, which follows five special tokens."""
    return next(i for i in range(vocabulary.size - 5) if vocabulary.decode([i + 5], ()) == [text])


def test_settings_replace_those_of_the_format(tmp_path: Path) -> None:
    vocabulary = build(tmp_path, "bart", "kpp", source="{title} {body}", normalise=False)
    assert source(vocabulary) == "Heat Pumps 2 robot arms fold paper ."
    assert vocabulary.decode([vocabulary.special.sep], ()) == ["<sep>"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_saved_vocabulary_keeps_its_format(tmp_path: Path, form: str) -> None:
    vocabulary = build(tmp_path, "bart", form)
    lexicon.save(vocabulary, tmp_path / "vocabulary.json")
    again = lexicon.load(tmp_path / "vocabulary.json")
    assert again.encode_document(DOCUMENT, None) == vocabulary.encode_document(DOCUMENT, None)
    words = ["<digit>", "pumps"]
    assert again.encode_phrase(words, ()) == vocabulary.encode_phrase(words, ())
    assert again.special == vocabulary.special


def test_a_separator_that_the_tokenizer_cannot_read_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "t5", "t5")  # it has never seen a semicolon
    with pytest.raises(ConfigError, match="separator ' ;' is not one token"):
        lexicon.build(Part("tokenizer", {"path": str(path), "format": "deepkpg_t5"}), [])


def test_a_tokenizer_can_be_a_name_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "downloaded", "t5")
    asked = []

    def download(name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision, "tokenizer.json" in allow_patterns))
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    built = lexicon.build(Part("tokenizer", {"path": "some/model@v2"}), [])
    assert built.special.eos == 1
    assert asked == [("some/model", "v2", True)]
