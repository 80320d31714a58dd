"""Keys are stored as hashes, and each has a rate limit."""

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


def test_a_key_is_recognised_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# who may ask\nada {sha256('secret')}\n\nbob {sha256('other').upper()} # b\n")
    keys = Keys.load(file)
    assert keys.holder("secret") == "ada"
    assert keys.holder("other") == "bob"
    assert keys.holder("Secret") is None
    assert keys.holder(sha256("secret")) is None  # the hash itself is not a key
    assert keys.holder("") is None


@pytest.mark.parametrize(
    "given", ["first", "last", "unknown", "first and more", "firsT", "f", "", "x" * 10_000, "ä"]
)
def test_every_key_is_checked_with_the_same_work(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """One digest, and one constant-time comparison with every known hash, match or not."""
    known = {name: sha256(name) for name in ("first", "second", "third", "last")}
    digested: list[bytes] = []
    compared: list[tuple[str, str]] = []

    def digest(content: bytes) -> Any:
        digested.append(content)
        return hashlib.new("sha256", content)

    def compare(left: str, right: str) -> bool:
        compared.append((left, right))
        return hmac.compare_digest(left, right)

    fakes = SimpleNamespace(sha256=digest, compare_digest=compare)
    monkeypatch.setattr("keywright.serving.keys.hashlib", fakes)
    monkeypatch.setattr("keywright.serving.keys.hmac", fakes)
    assert Keys(known).holder(given) == (given if given in known else None)
    assert digested == [given.encode()]
    assert compared == [(digest, sha256(given)) for digest in known.values()]


def test_keys_are_compared_in_constant_time_only() -> None:
    """Hashes that raise an error on `==` or look-up are still checked."""

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
        (f"ada {'0' * 64}\nada {'1' * 64}\n", ":2: repeats the name 'ada'"),
        ("# nobody\n", "has no keys"),
    ],
)
def test_a_bad_file_is_reported_without_showing_keys(
    tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    with pytest.raises(DataError, match=complaint) as error:
        Keys.load(file)
    assert "secret" not in str(error.value)


def test_a_key_is_limited_to_its_rate_per_minute() -> None:
    now = 0.0
    limit = RateLimit(2, clock=lambda: now)
    assert [limit.wait("ada"), limit.wait("ada")] == [0, 0]
    assert limit.wait("ada") == pytest.approx(30)
    assert limit.wait("bob") == 0  # other keys are not affected
    now = 29.0
    assert limit.wait("ada") == pytest.approx(1)
    now = 30.0
    assert limit.wait("ada") == 0
    assert limit.wait("ada") > 0
