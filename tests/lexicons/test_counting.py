"""Words that several processes count are the same as those that one counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright.data import corpus
from keywright.lexicons import words
from keywright.lexicons.words import Vocabulary
from tests.training.conftest import write_corpus


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_vocabulary_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    path = str(write_corpus(tmp_path / "train.jsonl", 33, seed=1))
    memory, stored = (corpus.read([path], in_memory=value).documents for value in (True, False))
    expected = Vocabulary.build(memory, 50).words
    monkeypatch.setattr(words, "MANY", 10)
    monkeypatch.setattr(words, "CHUNK", 5)
    monkeypatch.setattr(words, "usable_cpus", lambda: processes)
    assert Vocabulary.build(stored, 50).words == expected
    assert len(expected) == 50
