"""Files are read in processes that may fail without harm."""

from __future__ import annotations

import asyncio
import zlib

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


def pdf(lines: int) -> bytes:
    """A PDF of one page that writes a line so often, compressed."""
    packer = zlib.compressobj(9)
    line = b"BT /F1 12 Tf 10 700 Td (Bees dance in the sun today) Tj ET\n"
    stream = b"".join(packer.compress(line) for _ in range(lines)) + packer.flush()
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page + b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    objects = (b"%d 0 obj\n%b\nendobj\n" % (number, one) for number, one in enumerate(parts, 1))
    return b"%PDF-1.4\n" + b"".join(objects) + b"trailer<</Size 6/Root 1 0 R>>\n%%EOF"


@pytest.mark.slow
def test_a_file_that_swells_ends_only_its_own_reader() -> None:
    async def work() -> None:
        uploads = Uploads(1, 100)
        assert "Bees dance" in (await uploads.read(pdf(lines=1), "small.pdf")).text
        content = pdf(lines=4_000_000)  # some 250 MB of drawing commands
        assert len(content) < 1_000_000
        with pytest.raises((RefusalError, TimeoutError)):
            await asyncio.wait_for(uploads.read(content, "bomb.pdf"), 30)
        assert (await uploads.read(b"Bees dance.", "b")).body == "Bees dance."

    asyncio.run(work())
