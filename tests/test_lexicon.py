"""Vocabularies are parts: built by name, saved and loaded by one function, bad files refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from keywright import lexicon, parts
from keywright.config import Part
from keywright.errors import ConfigError, DataError
from keywright.lexicon import SpecialIds
from keywright.types import Document

DOCUMENTS = [Document(title="Heat pumps", body="warm old houses", keyphrases=("heat pump",))]


def test_a_vocabulary_is_built_by_its_name() -> None:
    assert lexicon.build(Part("words", {"size": 9}), DOCUMENTS).size == 9
    with pytest.raises(ConfigError, match=r"^data\.vocabulary\.name: unknown vocabulary 'word';"):
        lexicon.build(Part("word"), DOCUMENTS)
    with pytest.raises(
        ConfigError, match=r"^data\.vocabulary\.sise: unknown setting; did you mean"
    ):
        lexicon.build(Part("words", {"sise": 9}), DOCUMENTS)


@pytest.mark.parametrize("name", parts.names(lexicon.PACKAGE))
def test_every_vocabulary_has_what_a_part_needs(name: str) -> None:
    module = parts.module(lexicon.PACKAGE, name)
    assert {"Config", "build", "Content", "restore"} <= vars(module).keys()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1, 2]",
        "null",
        '{"kind": "words"}',
        '{"content": {"words": []}}',
        '{"kind": "words", "content": {"words": [1]}}',
        '{"kind": "words", "content": {"words": ["a", "a"]}}',
        '{"kind": "words", "content": {"words": ["<eos>"]}}',
        '{"kind": "words", "content": {"words": []}, "more": 1}',
        '{"kind": "words", "content": {"words": [], "more": 1}}',
        '{"kind": "wordpieces", "content": {"words": []}}',
        '{"kind": "wordpieces", "content": {"pieces": [], "outputs": []}}',
        '{"kind": "os", "content": {}}',
        '{"kind": "../words", "content": {}}',
        '{"kind": "words", "content": ' + "[" * 100_000 + "}",
    ],
)
def test_a_file_that_is_not_a_vocabulary_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"vocabulary\.json: is not a vocabulary: "):
        lexicon.load(path)


def test_a_file_is_read_up_to_a_limit_only(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "vocabulary.json"
    content = json.dumps({"kind": "words", "content": {"words": ["a" * 10_000]}}).encode()
    path.write_bytes(gzip.compress(content))
    assert lexicon.load(path).size == 8
    monkeypatch.setattr(lexicon, "MAX_BYTES", 9_000)
    with pytest.raises(DataError, match=r"vocabulary\.json: is larger than 9,000 bytes"):
        lexicon.load(path)


def test_a_truncated_or_missing_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.json"
    with pytest.raises(DataError, match="no such file"):
        lexicon.load(path)
    path.write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(DataError, match="truncated or damaged"):
        lexicon.load(path)


def test_delimiters_and_generated_tokens_follow_from_the_special_ids() -> None:
    own = SpecialIds()
    assert (own.delimiters, own.never_generated) == ((4, 5, 2), (0, 1))
    t5 = SpecialIds(pad=0, bos=0, eos=1, unk=2, sep=100, peos=None, null=None)
    assert (t5.delimiters, t5.never_generated) == ((100, 1), (0,))
    bart = SpecialIds(pad=1, bos=2, eos=2, unk=3, sep=100, peos=101, null=None)
    assert (bart.delimiters, bart.never_generated) == ((100, 101, 2), (1,))


@pytest.mark.parametrize("ids", [{"eos": 0}, {"sep": 2}, {"unk": 4}, {"bos": 4}, {"null": 5}])
def test_special_tokens_must_be_different(ids: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="special tokens must have different ids"):
        SpecialIds(**ids)
