"""What batches, models and decoders rely on, for every file of `keywright.lexicons`.

A new file is tested with its default settings. It needs an entry in `_settings` only if these
cannot be built from a few documents.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

import keywright.lexicons
from keywright import lexicon, parts
from keywright.config import Part
from keywright.lexicon import Lexicon
from keywright.types import Document
from tests.lexicons.test_wordpieces import PIECES

DOCUMENTS = [
    Document(
        title="Keyphrase generation", body="of the gene zorgons", keyphrases=("gene keyphrases",)
    ),
    Document(title="", body="Old houses, 1980s.", keyphrases=("phrase generation", "old houses")),
    Document(title="", body=""),
]
GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def _settings(name: str, folder: Path) -> dict[str, Any]:
    if name == "wordpieces":
        (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
        return {"encoder": str(folder)}
    if name == "tokenizer":
        from tests.lexicons.tokenizers_made import write

        return {"path": str(write(folder, "bart"))}
    return {}


@pytest.fixture(params=parts.names(lexicon.PACKAGE))
def vocabulary(request: pytest.FixtureRequest, tmp_path: Path) -> Lexicon:
    return lexicon.build(Part(request.param, _settings(request.param, tmp_path)), DOCUMENTS)


def check(vocabulary: Lexicon, folder: Path) -> None:
    """Everything that `Lexicon` promises."""
    special = vocabulary.special
    assert all(i is None or 0 <= i < vocabulary.size for i in astuple(special))
    assert len(vocabulary.input_ids) == vocabulary.size
    assert 0 <= min(vocabulary.input_ids) <= max(vocabulary.input_ids) < vocabulary.input_size
    lexicon.save(vocabulary, folder / "saved.json")
    loaded = lexicon.load(folder / "saved.json")
    assert (type(loaded), loaded.special) == (type(vocabulary), special)
    for document in DOCUMENTS:
        for most in (None, 7):
            source = vocabulary.encode_document(document, most)
            assert source == loaded.encode_document(document, most)
            assert 1 <= len(source.ids) == len(source.extended) <= (most or 1000)
            assert 0 <= source.title_length <= len(source.ids)
            assert max(source.ids) < vocabulary.input_size
            assert max(source.extended) < vocabulary.size + len(source.extension)
            assert len(source.extension_inputs) == len(source.extension)
            assert not {*special.delimiters, special.bos, special.null} & {*source.extended} - {
                special.pad
            }
            for phrase in document.keyphrases or ():
                words = phrase.split()
                ids = vocabulary.encode_phrase(words, source.extension)
                assert not {*special.delimiters, special.bos, special.null, special.pad} & {*ids}
                if special.unk not in ids:
                    assert vocabulary.decode(ids, source.extension) == words

    _check_marks(vocabulary)


def _check_marks(vocabulary: Lexicon) -> None:
    """In a text, `<pad>` and `<unk>` are special tokens, and no other text is."""
    special = vocabulary.special

    def count(body: str, i: int | None) -> int:
        source = vocabulary.encode_document(Document(title="", body=body, tokenised=True), None)
        return list(source.extended).count(i)

    assert count("old <pad> gene", special.pad) == count("old gene", special.pad) + 1
    assert count("old <unk> gene", special.unk) >= count("old gene", special.unk) + 1
    for i in (special.eos, special.sep, special.peos, special.null):
        assert count("old <eos> <sep> <peos> <null> </s> [SEP]", i) == 0


def test_every_vocabulary_keeps_the_contract(vocabulary: Lexicon, tmp_path: Path) -> None:
    check(vocabulary, tmp_path)


@pytest.fixture
def characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The vocabulary that CONTRIBUTING.md adds, as if it were a file of the package."""
    guide = GUIDE.read_text(encoding="utf-8")
    section = guide.partition("### A vocabulary\n")[2].partition("\n### ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    (folder := tmp_path / "lexicons").mkdir()
    (folder / "characters.py").write_text(code, encoding="utf-8")
    path = [*keywright.lexicons.__path__, str(folder)]
    monkeypatch.setattr(keywright.lexicons, "__path__", path)
    yield "characters"
    sys.modules.pop(f"{lexicon.PACKAGE}.characters", None)


def test_the_vocabulary_of_the_guide_works(characters: str, tmp_path: Path) -> None:
    assert characters in parts.names(lexicon.PACKAGE)
    vocabulary = lexicon.build(Part(characters, {"size": 30}), DOCUMENTS)
    check(vocabulary, tmp_path)
    assert vocabulary.size <= 30
    ids = vocabulary.encode_phrase(["old", "gene"], ())
    assert len(ids) == 8
    assert vocabulary.decode(ids, ()) == ["old", "gene"]
