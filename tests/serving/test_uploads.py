"""Files are read in processes that may fail without harm."""

from __future__ import annotations

import asyncio

import pytest

from keywright.serving.refusal import RefusalError
from keywright.serving.uploads import Uploads, safe_name


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("paper.pdf", "paper.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\paper.pdf", "paper.pdf"),
        ("a\x00b\n c.txt", "a b c.txt"),
        ("--help", "help"),
        ("..", "file"),
        ("", "file"),
        ("x" * 300 + ".md", "x" * 97 + ".md"),
    ],
)
def test_names_are_made_harmless(given: str, safe: str) -> None:
    assert safe_name(given) == safe


def test_a_file_becomes_a_document() -> None:
    document = asyncio.run(Uploads(1, 100).read(b"# Bees\n\nBees dance.", "../bees.md"))
    assert (document.id, document.title, document.body) == ("bees.md", "Bees", "Bees dance.")


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"  ", 422, "bees.txt: is empty."),
        (b"%PDF-1.4 and no more", 422, "is not a whole PDF"),
        (b"\x00\x01\x02", 422, "binary"),
        (b"bees " * 100, 413, "The text has 499 characters; at most 100 are allowed."),
    ],
)
def test_what_is_wrong_with_a_file_is_told(content: bytes, status: int, message: str) -> None:
    with pytest.raises(RefusalError) as refused:
        asyncio.run(Uploads(1, 100).read(content, "bees.txt"))
    assert refused.value.status == status
    assert message in refused.value.message


def test_too_many_files_at_once_are_refused() -> None:
    async def work() -> list[object]:
        uploads = Uploads(1, 100)
        return list(
            await asyncio.gather(
                uploads.read(b"Bees dance.", "a"),
                uploads.read(b"Bees dance.", "b"),
                return_exceptions=True,
            )
        )

    first, second = asyncio.run(work())
    assert not isinstance(first, BaseException)
    assert isinstance(second, RefusalError)
    assert (second.status, second.headers) == (503, {"Retry-After": "1"})


def test_a_reader_is_ended_with_its_request() -> None:
    async def work() -> None:
        uploads = Uploads(1, 100)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(uploads.read(b"Bees dance.", "a"), 0.01)
        assert (await uploads.read(b"Bees dance.", "b")).body == "Bees dance."

    asyncio.run(work())
