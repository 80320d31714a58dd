"""Honest requests while others attack the service, for a minute or as a soak of half an hour.

    python -m bench.hostile                     # one minute
    python -m bench.hostile --minutes 30        # a soak: memory and open files must stay flat
    python -m bench.hostile --minutes 30 --attackers 1 --pause 1    # beside other work

It starts the real service. Honest clients ask for the keyphrases of one sentence, a few times per
second. At the same time hostile clients send endless dots and numbers, huge and half-sent bodies,
broken JSON, HTML and PDF files, bytes that arrive slowly, and hang up at any moment. The exit code
is 1 if an honest request fails, if their 99th percentile reaches one second, or if memory or open
files grow.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from bench.serve import Load, Server, answered, request, serving, show
from bench.systems import reported
from keywright.tables import Row

SENTENCE = b'{"text": "Heat pumps warm old houses when radiators are enlarged."}'
HONEST = 4
MOST_P99 = 1.0
MOST_GROWTH = 0.10  # of the memory, between a fifth of the time and the end
SPARE_FILES = 10  # more open files at the end than at the beginning
CHUNK = 1 << 16

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Attack = Callable[[Connection, random.Random], Awaitable[None]]


@dataclass(frozen=True)
class Sample:
    """The service at one moment, without its worker processes."""

    seconds: float
    memory: float  # MB
    files: int
    processes: int


@dataclass
class Watch:
    samples: list[Sample] = field(default_factory=list)
    attacks: Counter[str] = field(default_factory=Counter)


async def read_answer(reader: asyncio.StreamReader) -> None:
    """Whatever is answered, for a few seconds: an attacker may wait, but not forever."""
    with suppress(asyncio.IncompleteReadError, TimeoutError, ConnectionError):
        await asyncio.wait_for(answered(reader), 40)


async def send(connection: Connection, content: bytes) -> None:
    reader, writer = connection
    for at in range(0, len(content), CHUNK):
        writer.write(content[at : at + CHUNK])
        await writer.drain()
    await read_answer(reader)


def text(content: str) -> Attack:
    return lambda connection, _: send(connection, request(b'{"text": "%b"}' % content.encode()))


def upload(name: str, content: bytes) -> Attack:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n\r\n%b\r\n--b--\r\n'
        % (name.encode(), content)
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    asked = request(body, "/v1/keyphrases/file", **headers)
    return lambda connection, _: send(connection, asked)


async def hang_up(connection: Connection, rng: random.Random) -> None:
    """Leave at a random moment of an ordinary request."""
    whole = request(SENTENCE)
    connection[1].write(whole[: rng.randrange(1, len(whole) + 1)])
    await asyncio.sleep(rng.random() / 20)


async def drip(connection: Connection, rng: random.Random) -> None:
    """A few bytes per second, then nothing."""
    whole = request(SENTENCE)
    for at in range(0, rng.randrange(5, 60), 5):
        connection[1].write(whole[at : at + 5])
        await asyncio.sleep(0.3)


async def too_large(connection: Connection, rng: random.Random) -> None:
    head = request(b"x", Connection=rng.choice(["close", "keep-alive"]))
    await send(connection, head.replace(b"Content-Length: 1", b"Content-Length: 17000000"))


async def noise(connection: Connection, rng: random.Random) -> None:
    await send(connection, rng.randbytes(500) + b"\r\n\r\n")


def pdf_bomb() -> bytes:
    """A small PDF whose page unpacks to 120 MB of drawing commands."""
    packer = zlib.compressobj(9)
    line = b"BT /F1 12 Tf 10 700 Td (Bees dance in the sun today) Tj ET\n" * 1000
    stream = b"".join(packer.compress(line) for _ in range(2000)) + packer.flush()
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


ATTACKS: dict[str, Attack] = {
    "dots": text("A sentence " + "." * 45_000),
    "numbers": text("1." * 199_000),
    "blanks": text("a" + " " * 300_000 + "b"),
    "nested JSON": lambda connection, _: send(connection, request(b"[" * 500_000)),
    "broken HTML": upload("bad.html", b"<![/p>" * 1000),
    "nested HTML": upload("deep.html", b"<div>" * 100_000),
    "broken PDF": upload("bad.pdf", b"%PDF-1.4" + b"1 0 obj" * 10_000),
    "PDF bomb": upload("bomb.pdf", pdf_bomb()),
    "hang up": hang_up,
    "slow bytes": drip,
    "too large": too_large,
    "noise": noise,
}


async def attack(server: Server, end: float, rng: random.Random, watch: Watch) -> None:
    """One hostile client, which attacks in a random way again and again."""
    while time.perf_counter() < end:
        name = rng.choice(list(ATTACKS))
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            connection = await asyncio.open_connection("127.0.0.1", server.port)
            try:
                await ATTACKS[name](connection, rng)
            finally:
                connection[1].close()
        watch.attacks[name] += 1
        await asyncio.sleep(0.05)


async def ask_honestly(server: Server, end: float, pause: float, done: Load) -> None:
    """One honest client on one connection, which it opens again only if the service closed it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    while time.perf_counter() < end:
        sent = time.perf_counter()
        writer.write(request(SENTENCE))
        status = await answered(reader)
        done.statuses[status] += 1
        if status == "200":
            done.took.append(time.perf_counter() - sent)
        await asyncio.sleep(pause)
    writer.close()


async def sample(server: Server, end: float, watch: Watch) -> None:
    began = time.perf_counter()
    while (now := time.perf_counter()) < end:
        watch.samples.append(observed(server, now - began))
        await asyncio.sleep(max(1.0, (end - began) / 200))


def observed(server: Server, seconds: float) -> Sample:
    folder = Path(f"/proc/{server.pid}")
    children = (folder / "task" / str(server.pid) / "children").read_text().split()
    files = len(list((folder / "fd").iterdir()))
    return Sample(seconds, server.memory(), files, len(children))


async def attacked(server: Server, options: argparse.Namespace, watch: Watch) -> Load:
    seconds = 60 * options.minutes
    done, end = Load(), time.perf_counter() + seconds
    honest = [
        asyncio.create_task(ask_honestly(server, end, options.pause, done)) for _ in range(HONEST)
    ]
    others = [
        asyncio.create_task(attack(server, end, random.Random(number), watch))
        for number in range(options.attackers)
    ]
    watching = asyncio.create_task(sample(server, end, watch))
    for outcome in await asyncio.gather(*honest, return_exceptions=True):
        if isinstance(outcome, Exception):
            done.statuses[type(outcome).__name__] += 1
    await asyncio.gather(*others, watching)
    await asyncio.sleep(5)  # what attackers left behind is closed
    watch.samples.append(observed(server, seconds + 5))
    return done


def sample_rows(samples: Sequence[Sample]) -> list[Row]:
    places = [share * (len(samples) - 1) // 100 for share in (0, 20, 40, 60, 80, 100)]
    return [
        {
            "seconds": f"{samples[place].seconds:.0f}",
            "MB": f"{samples[place].memory:.1f}",
            "open files": str(samples[place].files),
            "child processes": str(samples[place].processes),
        }
        for place in places
    ]


def judge(done: Load, watch: Watch) -> None:
    cuts = quantiles(done.took, n=100)
    cells = {"p50 ms": cuts[49], "p99 ms": cuts[98], "longest ms": max(done.took)}
    row: Row = {name: f"{1000 * value:.0f}" for name, value in cells.items()}
    show("Honest requests", [{"answered": str(len(done.took)), "failed": str(done.failed), **row}])
    show("Attacks", [{"attack": a, "count": str(n)} for a, n in sorted(watch.attacks.items())])
    show("The service", sample_rows(watch.samples))
    fifth, last = watch.samples[len(watch.samples) // 5], watch.samples[-1]
    growth = last.memory / fifth.memory - 1
    checks = {
        "no honest request fails": not done.failed,
        f"their 99th percentile is below {MOST_P99:.0f} s": cuts[98] < MOST_P99,
        f"memory grows by less than {MOST_GROWTH:.0%} ({growth:.1%})": growth < MOST_GROWTH,
        "open files stay": last.files <= watch.samples[0].files + SPARE_FILES,
    }
    for what, holds in checks.items():
        print(f"{'yes' if holds else 'NO '} {what}")
    if not all(checks.values()):
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--attackers", type=int, default=4)
    parser.add_argument(
        "--pause", type=float, default=0.25, help="seconds between an honest client's requests"
    )
    options = parser.parse_args()
    watch = Watch()
    with serving("--threads", "1") as server:
        done = asyncio.run(attacked(server, options, watch))
    judge(done, watch)


if __name__ == "__main__":
    reported(main)
