"""How `keywright serve` stands load: its speed against the model alone, queue, memory, keys.

    python -m bench.serve
    python -m bench.serve --seconds 3 --requests 500      # a quick look

It starts the real service, with the model of the package and on this machine only, and asks it for
the keyphrases of one document a request. "offline" is the model by itself, in one process and on as
many threads, over the same documents. The two take turns, in rounds: other work on a machine comes
and goes, and the median of the rounds' ratios is what it disturbs least. The client writes to
sockets itself, because a comfortable one would take as much of the processor as the service does.
What must hold is told at the end; the exit code is 1 if it does not.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles

from bench.systems import DATA, reported
from keywright import Keywright
from keywright.data.documents import read_documents
from keywright.errors import KeywrightError
from keywright.serving.keys import Keys
from keywright.tables import Row, titled

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = DATA / "test" / "kp20k-1k.jsonl.xz"
EXAMPLES = ROOT / "examples" / "documents.jsonl"
CONCURRENCY = (1, 8, 64)
# A queue that is soon full, and clients that try again before they should, but not at once.
SHORT_QUEUE, CROWD, IMPATIENCE = 16, 200, 0.1
PORTION = 500  # documents that the model alone is given at once
LOAD_COLUMNS = ("of offline", "p50 ms", "p99 ms", "failed")
SAMPLES = 100  # of the memory
LEAST_OF_OFFLINE = 0.8
MOST_GROWTH = 0.05  # of the memory, between a tenth of the requests and the last


@dataclass
class Load:
    """What became of requests: seconds of those that were served, and the statuses of all."""

    seconds: float = 0.0
    took: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return len(self.took) / self.seconds

    @property
    def failed(self) -> int:
        return self.statuses.total() - len(self.took)


@dataclass(frozen=True)
class Round:
    """Documents a second of the model alone, and the load by a number of clients right after it."""

    alone: float
    loads: Mapping[int, Load]


def main() -> None:
    options = arguments()
    texts = [document.text for document in read_documents(options.documents)]
    requests = [request(json.dumps({"text": text}).encode()) for text in texts]
    print(f"{len(texts)} documents of {options.documents.name}, {options.threads} threads.\n")
    kw = Keywright(threads=options.threads)
    kw.generate(texts[0])  # as the service does: what is loaded at the first use is not counted
    threads = ("--threads", str(options.threads))
    with serving(*threads) as server:
        rounds = [
            Round(
                offline(kw, texts, options.seconds / options.rounds),
                {
                    clients: load(server, requests, clients, options.seconds / options.rounds)
                    for clients in CONCURRENCY
                },
            )
            for _ in range(options.rounds)
        ]
        show("Load", load_rows(rounds))
        memory = memory_over(server, requests, options.requests)
        show(f"Memory of the service over {options.requests:,} requests", memory_rows(memory))
    with serving(*threads, "--queue", str(SHORT_QUEUE), "--max-documents", "1") as server:
        beyond = load(server, requests, CROWD, options.seconds)
    show(f"{CROWD} clients, a queue of {SHORT_QUEUE}", status_rows(beyond))
    show("Checking a key: medians in microseconds", key_rows(options.keys))
    judge(rounds, memory, beyond)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=30.0, help="of every load")
    parser.add_argument("--rounds", type=int, default=5, help="that these are shared among")
    parser.add_argument("--requests", type=int, default=20_000, help="while memory is watched")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the model")
    parser.add_argument("--keys", type=int, default=1000, help="checks of each kind of key")
    usual = DOCUMENTS if DOCUMENTS.exists() else EXAMPLES
    parser.add_argument("--documents", type=Path, default=usual)
    return parser.parse_args()


def offline(kw: Keywright, texts: Sequence[str], seconds: float) -> float:
    """Documents a second of the model by itself; it sorts each portion by length, as it likes."""
    portions = cycle([texts[at : at + PORTION] for at in range(0, len(texts), PORTION)])
    done, took, began = 0, 0.0, time.perf_counter()
    while took < seconds:
        done += len(kw.generate(next(portions)))
        took = time.perf_counter() - began
    return done / took


@dataclass(frozen=True)
class Server:
    port: int
    pid: int

    def memory(self) -> float:
        """What the process holds of the machine's memory, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "keywright", "serve", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(command, stderr=log, env=environment)
        try:
            while not (found := re.search(r"http://.*:(\d+)\b", Path(log.name).read_text())):
                if process.poll() is not None:
                    raise KeywrightError(f"the service gave up: {Path(log.name).read_text()}")
                time.sleep(0.05)
            yield Server(int(found[1]), process.pid)
        finally:
            process.terminate()
            process.wait()


def request(body: bytes = b"", path: str = "/v1/keyphrases", **headers: str) -> bytes:
    method = "POST" if body else "GET"
    given = {"Host": "bench", "Content-Type": "application/json", **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {one}" for name, one in given.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def load(server: Server, requests: Sequence[bytes], clients: int, seconds: float) -> Load:
    """Several clients, each asking again as soon as it is answered."""
    end = time.perf_counter() + seconds
    return asyncio.run(ask(server, requests, clients, lambda _: time.perf_counter() < end))


async def ask(
    server: Server, requests: Sequence[bytes], clients: int, go_on: Callable[[int], bool]
) -> Load:
    """Every client asks as long as `go_on` says so, which is told how many were asked before."""
    done, each, began = Load(), cycle(requests), time.perf_counter()
    asked = 0

    async def client() -> None:
        nonlocal asked
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        while go_on(asked):
            asked += 1
            sent = time.perf_counter()
            writer.write(next(each))
            status = await answered(reader)
            done.statuses[status] += 1
            if status == "200":
                done.took.append(time.perf_counter() - sent)
            else:
                await asyncio.sleep(IMPATIENCE)
        writer.close()
        await writer.wait_closed()

    for one in await asyncio.gather(*(client() for _ in range(clients)), return_exceptions=True):
        if isinstance(one, Exception):
            done.statuses[type(one).__name__] += 1
        elif one is not None:
            raise one
    done.seconds = time.perf_counter() - began
    return done


async def answered(reader: asyncio.StreamReader) -> str:
    """The status of an answer, read to its end; of a 503, whether it says when to come back."""
    head = await reader.readuntil(b"\r\n\r\n")
    headers = dict(re.findall(rb"([\w-]+): (.*?)\r\n", head))
    await reader.readexactly(int(headers[b"content-length"]))
    status = head.split()[1].decode()
    if status == "503":
        return f"503{' with Retry-After' if b'retry-after' in headers else ''}"
    return status


def memory_over(server: Server, requests: Sequence[bytes], count: int) -> list[float]:
    """The memory of the service, sampled over a number of requests of 8 clients."""
    samples: list[float] = []

    def go_on(asked: int) -> bool:
        if asked * SAMPLES >= len(samples) * count:
            samples.append(server.memory())
        return asked < count

    done = asyncio.run(ask(server, requests, 8, go_on))
    if done.failed:
        raise KeywrightError(f"requests failed while memory was watched: {dict(done.statuses)}")
    return samples


def key_rows(count: int) -> list[Row]:
    """Seconds for keys that are right, wrong, and wrong but for the beginning, taken in turns."""
    right = secrets.token_hex(32)
    half = len(right) // 2
    given = {
        "right": right,
        "wrong": secrets.token_hex(32),
        "right beginning": right[:half] + secrets.token_hex(32)[half:],
    }
    names = [*(f"other{number}" for number in range(50)), "mine"]
    known = {name: hashlib.sha256(secrets.token_bytes()).hexdigest() for name in names}
    known["mine"] = hashlib.sha256(right.encode()).hexdigest()
    check, asked = check_times(Keys(known), given, count), http_times(known, given, count)
    return [
        {
            "key": name,
            "the check": f"{1e6 * median(check[name]):.2f}",
            "a request": f"{1e6 * median(asked[name]):.0f}",
        }
        for name in given
    ]


def check_times(keys: Keys, given: Mapping[str, str], count: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in given}
    for _ in range(10 * count):
        for name, key in given.items():
            began = time.perf_counter()
            keys.holder(key)
            times[name].append(time.perf_counter() - began)
    return times


def http_times(
    known: Mapping[str, str], given: Mapping[str, str], count: int
) -> dict[str, list[float]]:
    async def ask_in_turns(server: Server) -> dict[str, list[float]]:
        times: dict[str, list[float]] = {name: [] for name in given}
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(count):
            for name, key in given.items():
                began = time.perf_counter()
                writer.write(request(path="/v1/models", Authorization=f"Bearer {key}"))
                if (await answered(reader) == "200") != (name == "right"):
                    raise KeywrightError(f"the {name} key was not judged rightly")
                times[name].append(time.perf_counter() - began)
        writer.close()
        return times

    with tempfile.NamedTemporaryFile("w") as file:
        file.writelines(f"{name} {digest}\n" for name, digest in known.items())
        file.flush()
        with serving("--keys", file.name) as server:
            return asyncio.run(ask_in_turns(server))


def load_rows(rounds: Sequence[Round]) -> list[Row]:
    alone = f"{median(one.alone for one in rounds):.1f}"
    rows: list[Row] = [{"": "offline", "a second": alone, **dict.fromkeys(LOAD_COLUMNS, "")}]
    for clients in CONCURRENCY:
        loads = [one.loads[clients] for one in rounds]
        cuts = quantiles([seconds for one in loads for seconds in one.took], n=100)
        cells = (
            f"{share_of_offline(rounds, clients):.0%}",
            f"{1000 * cuts[49]:.1f}",
            f"{1000 * cuts[98]:.1f}",
            str(sum(one.failed for one in loads)),
        )
        rate = f"{median(one.rate for one in loads):.1f}"
        row = dict(zip(LOAD_COLUMNS, cells, strict=True))
        rows.append({"": f"{clients} at once", "a second": rate, **row})
    return rows


def share_of_offline(rounds: Sequence[Round], clients: int) -> float:
    return median(one.loads[clients].rate / one.alone for one in rounds)


def memory_rows(samples: Sequence[float]) -> list[Row]:
    return [
        {"requests": f"{share}%", "MB": f"{sample_at(samples, share):.1f}"}
        for share in (0, 10, 50, 100)
    ]


def sample_at(samples: Sequence[float], share: int) -> float:
    return samples[share * (len(samples) - 1) // 100]


def status_rows(done: Load) -> list[Row]:
    return [{"answer": name, "count": str(count)} for name, count in sorted(done.statuses.items())]


def show(title: str, rows: list[Row]) -> None:
    print(titled([(title, rows)], "table"), "\n", flush=True)


def judge(rounds: Sequence[Round], memory: Sequence[float], beyond: Load) -> None:
    most = max(CONCURRENCY)
    growth = max(memory[len(memory) // 10 :]) / sample_at(memory, 10) - 1
    checks = {
        "no request fails below the limit of the queue": not any(
            load.failed for one in rounds for load in one.loads.values()
        ),
        f"{most} at once get {LEAST_OF_OFFLINE:.0%} of offline": share_of_offline(rounds, most)
        >= LEAST_OF_OFFLINE,
        "beyond the queue only 200, and 503 with Retry-After": set(beyond.statuses)
        == {"200", "503 with Retry-After"},
        f"memory grows by less than {MOST_GROWTH:.0%} ({growth:.1%})": growth < MOST_GROWTH,
    }
    for what, holds in checks.items():
        print(f"{'yes' if holds else 'NO '} {what}")
    if not all(checks.values()):
        sys.exit(1)


if __name__ == "__main__":
    reported(main)
