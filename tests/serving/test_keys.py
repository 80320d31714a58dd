"""Keys are known by their hashes, and each may be used so often."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
    "given", ["first", "last", "unknown", "first and more", "firsT", "f", "", "x" * 10_000, "ä"]
)
def test_every_key_is_checked_with_the_same_work(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """One digest, and a comparison in constant time with all that are known, match or not."""
    known = {name: sha256(name) for name in ("first", "second", "third", "last")}
    digested: list[bytes] = []
    compared: list[tuple[str, str]] = []

    def digest(content: bytes) -> Any:
        digested.append(content)
        return hashlib.new("sha256", content)

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    fakes = SimpleNamespace(sha256=digest, compare_digest=compare)
    monkeypatch.setattr("keywright.serving.keys.hashlib", fakes)
    monkeypatch.setattr("keywright.serving.keys.hmac", fakes)
    assert Keys(known).holder(given) == (given if given in known else None)
    assert digested == [given.encode()]
    assert compared == [(one, sha256(given)) for one in known.values()]


def test_keys_are_not_compared_but_by_the_constant_time_function() -> None:
    """Hashes that tell when they are compared in any other way, `==` or look-up, are not."""

    class Untouchable(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared by ==")

        __hash__ = None  # type: ignore[assignment]

    keys = Keys({"ada": Untouchable(sha256("secret"))})
    assert keys.holder("secret") == "ada"
    assert keys.holder("other") is None


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
