"""Twelve inputs that once froze, doubled, damaged or crashed something, and what happens now.

    python -m bench.reproductions

docs/hardening.md has the table with what happened before. Two of the rows (model folders made by
somebody else, kills while an export is written) have many cases: their tests are run.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from bench.hostile import pdf_bomb
from bench.serve import ROOT, Server, serving
from bench.systems import reported
from keywright import Keywright

SENTENCE = "Heat pumps warm old houses when radiators are enlarged."
FOREIGN = ("tests/ranking/test_foreign_folder.py", "tests/runtime/test_foreign_folder.py")
COMMAND = (sys.executable, "-m", "keywright")
Row = Callable[[Path], str]


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True)


def address(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.port}{path}"


def seconds_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def dots(_: Path) -> str:
    kw = Keywright(threads=1)
    kw.generate(SENTENCE)
    taken = seconds_of(lambda: kw.generate("." * 50_000))
    waited = asyncio.run(beside({"text": f"{SENTENCE} {'.' * 45_000}"}, health))
    return f"{taken:.2f} s of CPU; /healthz answers within {1000 * waited:.0f} ms meanwhile"


def numbers(_: Path) -> str:
    waited = asyncio.run(beside({"text": "1." * 199_000}, short_text))
    return f"a one-sentence request waits at most {1000 * waited:.0f} ms meanwhile"


async def health(client: httpx.AsyncClient) -> httpx.Response:
    return await client.get("/healthz")


async def short_text(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/v1/keyphrases", json={"text": SENTENCE})


async def beside(
    hostile: dict[str, Any], ask: Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]
) -> float:
    """The longest time that honest requests take, in the first five seconds of a hostile one."""
    with serving("--threads", "1") as server:
        async with httpx.AsyncClient(base_url=address(server, ""), timeout=120) as client:
            await ask(client)
            other = asyncio.create_task(client.post("/v1/keyphrases", json=hostile))
            longest, end = 0.0, time.monotonic() + 5
            while time.monotonic() < end:
                began = time.monotonic()
                (await ask(client)).raise_for_status()
                longest = max(longest, time.monotonic() - began)
                await asyncio.sleep(0.01)
            other.cancel()
    return longest


def broken_html(folder: Path) -> str:
    (folder / "good.html").write_text(f"<!doctype html><p>{SENTENCE}</p>")
    (folder / "bad.html").write_text("<!doctype html><p>Heat pumps <![/p>")
    done = run("generate", "bad.html", "good.html", folder=folder)
    lines = sum("bad.html" in line for line in done.stderr.splitlines())
    found = "keyphrases of the good one" if "pumps" in done.stdout else "no keyphrases"
    return f"{found}, {lines} line about the bad one, exit code {done.returncode}"


def documents(folder: Path, count: int, text: str = SENTENCE) -> None:
    records = ({"id": str(n), "title": f"Text {n}", "abstract": text} for n in range(count))
    lines = (json.dumps(record) + "\n" for record in records)
    (folder / "d.jsonl").write_text("".join(lines))


PREDICT = ("predict", "--model", "textrank", "--documents", "d.jsonl", "--output", "p.jsonl")


def two_at_once(folder: Path) -> str:
    documents(folder, 5000)
    command = [*COMMAND, *PREDICT, "--resume"]
    both = [
        subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    errors = [process.communicate()[1].splitlines()[-1] for process in both]
    lines = len((folder / "p.jsonl").read_text().splitlines())
    refused = next((line for line in errors if "error" in line), "none was refused")
    return f"{lines:,} lines for 5,000 documents; {refused.removeprefix('keywright: error: ')}"


def changed_documents(folder: Path) -> str:
    documents(folder, 20_000)
    process = subprocess.Popen([*COMMAND, *PREDICT], cwd=folder, stderr=subprocess.DEVNULL)
    part = folder / "p.jsonl.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    documents(folder, 20_000, "Another text.")
    done = run(*PREDICT, "--resume", folder=folder)
    return f"exit code {done.returncode}: {done.stderr.splitlines()[-1]}"


def flipped_bits(folder: Path) -> str:
    import torch

    from keywright import checkpoint
    from keywright.checkpoint import Checkpoint
    from keywright.errors import DataError

    path = folder / "c.safetensors"
    checkpoint.save(path, Checkpoint({"weight": torch.ones(119)}, "v"))
    content, loaded = path.read_bytes(), 0
    for place in range(len(content) - 476, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            checkpoint.load(path, "v")
            loaded += 1
        except DataError as error:
            message = str(error)
    return f"{loaded} of 476 load: {message.removeprefix(f'{folder}/')}"


def large_body(_: Path) -> str:
    with serving("--threads", "1") as server:
        headers = {"Content-Type": "application/json"}
        asking = urllib.request.Request(
            address(server, "/v1/keyphrases"), b"a" * 17_000_000, headers
        )
        try:
            urllib.request.urlopen(asking, timeout=60)
        except urllib.error.HTTPError as error:
            return f"{error.code}, {json.loads(error.read())['error']['message']}"
    return "accepted"


def odd_files(folder: Path) -> str:
    (folder / "deep.toml").write_text(f"a = {'[' * 3000}{']' * 3000}\n")
    (folder / "digits.toml").write_text(f"a = {'9' * 5000}\n")
    (folder / "deep.json").write_text("[" * 5000 + "]" * 5000)
    (folder / "good.txt").write_text(SENTENCE)
    commands = (
        ("train", "deep.toml"),
        ("train", "digits.toml"),
        ("generate", "a" * 300),
        ("generate", "/proc/self/mem"),
        ("generate", "good.txt", "--calibration", "deep.json"),
    )
    done = [run(*command, folder=folder) for command in commands]
    lines = [len(one.stderr.splitlines()) for one in done]
    return f"lines on standard error: {lines}; exit codes {[one.returncode for one in done]}"


def tested(*arguments: str) -> Row:
    def row(_: Path) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return f"tests end with code {done.returncode}: {' '.join(arguments)}"

    return row


def redirects(_: Path) -> str:
    with serving("--threads", "1") as server:
        answer = httpx.get(address(server, "/v1/models/"), headers={"Host": "evil.example"})
        return f"{answer.status_code}, Location: {answer.headers.get('location')}"


async def _slow_uploads() -> float:
    bomb = pdf_bomb()
    with serving("--threads", "1") as server:
        async with httpx.AsyncClient(base_url=address(server, ""), timeout=120) as client:
            path = "/v1/keyphrases/file"
            slow = [
                asyncio.create_task(client.post(path, files={"file": ("bomb.pdf", bomb)}))
                for _ in range(2)
            ]
            await asyncio.sleep(0.5)
            began = time.monotonic()
            files = {"file": ("text.txt", SENTENCE.encode())}
            (await client.post(path, files=files)).raise_for_status()
            waited = time.monotonic() - began
            for task in slow:
                task.cancel()
    return waited


def slow_uploads(_: Path) -> str:
    return f"a text by somebody else is answered after {asyncio.run(_slow_uploads()):.1f} s"


ROWS: dict[str, Row] = {
    "1. 50,000 dots": dots,
    "2. 199,000 numbers": numbers,
    "3. malformed HTML in a batch": broken_html,
    "4. two `predict --resume` at once": two_at_once,
    "5. `predict --resume` with other documents": changed_documents,
    "6. flipped bits of a checkpoint": flipped_bits,
    "7. a body of 17 MB by urllib": large_body,
    "8. odd files": odd_files,
    "9. model folders by somebody else": tested(*FOREIGN),
    "10. kill -9 while exporting": tested("tests/test_disk_faults.py", "-k", "export and kill"),
    "11. Host: evil.example": redirects,
    "12. two slow uploads": slow_uploads,
}


def main() -> None:
    for name, row in ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {row(Path(folder))}", flush=True)


if __name__ == "__main__":
    reported(main)
