"""Documents in a file are the same list as documents in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keywright import Document
from keywright.data import corpus
from keywright.data.store import store
from keywright.errors import DataError
from tests.training.conftest import write_corpus

DOCUMENTS = [
    Document(title="", body=""),
    Document(title="Ünïcode\n", body="a\x00b", id="2", keyphrases=()),
    Document(title="t", body="x" * 10_000, keyphrases=("a", "b c"), tokenised=True),
]


def test_it_is_the_same_list() -> None:
    stored = store(iter(DOCUMENTS))
    assert len(stored) == 3
    assert list(stored) == DOCUMENTS
    assert [stored[-1], stored[0]] == [DOCUMENTS[-1], DOCUMENTS[0]]
    assert list(stored[1:]) == DOCUMENTS[1:]
    assert list(stored.select([2, 0, 2])) == [DOCUMENTS[2], DOCUMENTS[0], DOCUMENTS[2]]
    with pytest.raises(IndexError):
        stored[3]


def test_threads_may_share_it() -> None:
    stored = store(DOCUMENTS * 50)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(stored.__getitem__, range(150))) == DOCUMENTS * 50


def test_the_digest_is_the_same(tmp_path: Path) -> None:
    paths = [str(write_corpus(tmp_path / f"{seed}.jsonl", 20, seed)) for seed in (1, 2)]
    memory, stored = (corpus.read(paths, 30, in_memory=value) for value in (True, False))
    assert memory.digest == stored.digest
    assert list(stored.documents) == memory.documents


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, content: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(DataError, match="cannot be stored: No space left on device; name a folder"):
        store(DOCUMENTS)
