"""Files are read in processes that can fail without harm."""

from __future__ import annotations

import asyncio
import zlib

import pytest

from keywright.serving.refusal import RefusalError
from keywright.serving.uploads import QUICK_SECONDS, Turns, Uploads, safe_name
from keywright.types import Document


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
def test_names_are_made_safe(given: str, safe: str) -> None:
    assert safe_name(given) == safe


def test_a_file_becomes_a_document() -> None:
    document = asyncio.run(Uploads(1, 100).read(b"# Bees\n\nBees dance.", "../bees.md"))
    assert (document.id, document.title, document.body) == ("bees.md", "Bees", "Bees dance.")


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"  ", 422, "bees.txt: is empty."),
        (b"%PDF-1.4 and no more", 422, "is not a complete PDF"),
        (b"\x00\x01\x02", 422, "binary"),
        (b"bees " * 100, 413, "The text has 499 characters; at most 100 are allowed."),
    ],
)
def test_problems_with_a_file_are_reported(content: bytes, status: int, message: str) -> None:
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


def test_a_reader_ends_with_its_request() -> None:
    async def work() -> None:
        uploads = Uploads(1, 100)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(uploads.read(b"Bees dance.", "a"), 0.01)
        assert (await uploads.read(b"Bees dance.", "b")).body == "Bees dance."

    asyncio.run(work())


def pdf(lines: int) -> bytes:
    """A compressed PDF of one page that draws the same line `lines` times."""
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
    objects = (b"%d 0 obj\n%b\nendobj\n" % (number, part) for number, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + b"".join(objects) + b"trailer<</Size 6/Root 1 0 R>>\n%%EOF"


@pytest.mark.slow
def test_a_decompression_bomb_ends_only_its_own_reader() -> None:
    async def work() -> None:
        uploads = Uploads(1, 100)
        assert "Bees dance" in (await uploads.read(pdf(lines=1), "small.pdf")).text
        content = pdf(lines=4_000_000)  # some 250 MB of drawing commands
        assert len(content) < 1_000_000
        with pytest.raises((RefusalError, TimeoutError)):
            await asyncio.wait_for(uploads.read(content, "bomb.pdf"), 30)
        assert (await uploads.read(b"Bees dance.", "b")).body == "Bees dance."

    asyncio.run(work())


def test_waiting_clients_take_turns() -> None:
    async def work() -> list[str]:
        turns, order = Turns(1), []

        async def use(client: str) -> None:
            await turns.take(client)
            order.append(client)
            await asyncio.sleep(0)
            turns.give_back()

        given_up = asyncio.create_task(turns.take("c"))  # the first: it has a turn
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(use(client)) for client in ("a", "a", "a", "b")]
        cancelled = asyncio.create_task(use("d"))
        await asyncio.sleep(0)
        cancelled.cancel()
        await given_up
        turns.give_back()
        await asyncio.gather(*waiting)
        return order

    assert asyncio.run(work()) == ["a", "b", "a", "a"]


@pytest.mark.slow
def test_real_slow_files_do_not_keep_others_waiting() -> None:
    """Two PDF files that take their readers seconds each, and a text by somebody else."""

    async def work() -> None:
        uploads = Uploads(16, 100)
        content = pdf(lines=4_000_000)
        slow = [asyncio.create_task(uploads.read(content, "slow.pdf", "eve")) for _ in range(2)]
        await asyncio.sleep(QUICK_SECONDS + 1)
        document = await uploads.read(b"Bees dance.", "b", "ada")
        assert document.body == "Bees dance."
        assert not any(task.done() for task in slow), "they were first, or are not slow any more"
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    asyncio.run(work())


def test_slow_files_do_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keywright.serving.uploads.QUICK_SECONDS", 0.1)

    class Sleepy(Uploads):
        async def _document(self, content: bytes, name: str) -> Document:
            await asyncio.sleep(600 if content == b"slow" else 0)
            return Document(title="", body=name)

    async def work() -> None:
        uploads = Sleepy(16, 100)
        slow = [asyncio.create_task(uploads.read(b"slow", "s", "eve")) for _ in range(2)]
        document = await asyncio.wait_for(uploads.read(b"quick", "q", "ada"), 60)
        assert document.body == "q"
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        for _ in range(4):  # every turn was given back
            assert (await asyncio.wait_for(uploads.read(b"quick", "q", "ada"), 60)).body == "q"

    asyncio.run(work())
