"""Keys are known by their hashes, and each may be used so often."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from keywright.errors import DataError
from keywright.serving.keys import Keys, RateLimit


def sha256(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def test_a_key_is_known_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# who may ask\nada {sha256('secret')}\n\nbob {sha256('other').upper()} # b\n")
    keys = Keys.load(file)
    assert keys.holder("secret") == "ada"
    assert keys.holder("other") == "bob"
    assert keys.holder("Secret") is None
    assert keys.holder(sha256("secret")) is None  # who reads the file has no key yet
    assert keys.holder("") is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("ada secret\n", ":1: is not a name and the SHA-256"),
        (f"ada {'0' * 64}\nada {'1' * 64}\n", ":2: names 'ada' a second time"),
        ("# nobody\n", "has no keys"),
    ],
)
def test_a_bad_file_is_told_without_showing_keys(
    tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    with pytest.raises(DataError, match=complaint) as error:
        Keys.load(file)
    assert "secret" not in str(error.value)


def test_a_key_may_be_used_so_often_a_minute_and_then_waits() -> None:
    now = 0.0
    limit = RateLimit(2, clock=lambda: now)
    assert [limit.wait("ada"), limit.wait("ada")] == [0, 0]
    assert limit.wait("ada") == pytest.approx(30)
    assert limit.wait("bob") == 0  # others do not wait for it
    now = 29.0
    assert limit.wait("ada") == pytest.approx(1)
    now = 30.0
    assert limit.wait("ada") == 0
    assert limit.wait("ada") > 0
