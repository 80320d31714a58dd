"""`keywright serve` as a process: where it listens, how it handles bad clients, how it stops."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import keywright

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Drag sails remove space debris. Space debris threatens satellites in low orbits."
PATIENCE = 120.0  # seconds; a busy machine may need some of them


class Server:
    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self.process = process
        self.errors = errors
        self.greeting = self._greeting()
        found = re.search(r"http://[\w.\[\]:]+:\d+", self.greeting)
        assert found, self.log()
        self.address = found[0]

    def _greeting(self) -> str:
        while not (lines := self.log()) and self.process.poll() is None:
            time.sleep(0.05)
        return lines[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def log(self) -> list[str]:
        """The lines it has written, including its greeting."""
        return self.errors.read_text(encoding="utf-8").splitlines()

    def stop(self) -> list[dict[str, Any]]:
        """Stop it with SIGTERM and return its log."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE)
        return [json.loads(line) for line in self.log() if line.startswith("{")]


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "keywright", "serve", "--port", "0", "--model", "textrank"]
    package = str(Path(keywright.__file__).parents[1])  # the one that is tested here
    source = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    with tempfile.NamedTemporaryFile() as errors:  # an unread pipe would fill up
        process = subprocess.Popen(
            [*command, *options], stderr=errors, env={**os.environ, "PYTHONPATH": source}
        )
        try:
            server = Server(process, Path(errors.name))
            _wait_ready(server.address)
            yield server
        finally:
            process.kill()
            process.wait()


def asked(server: Server) -> httpx.Response:
    url = f"{server.address}/v1/keyphrases"
    return httpx.post(url, json={"text": TEXT}, timeout=PATIENCE)


def _wait_ready(address: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if httpx.get(f"{address}/readyz", timeout=PATIENCE).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service did not become ready")


@pytest.mark.slow
def test_it_announces_its_address_and_listens_only_there() -> None:
    with serving() as server:
        assert server.greeting.startswith("keywright: listening on http://127.0.0.1:")
        assert "this machine only" in server.greeting
        answer = asked(server).json()
        assert any("debris" in found["text"] for found in answer["documents"][0]["keyphrases"])
        assert answer["model"] == "textrank"
        log = server.stop()
    assert any(line.get("path") == "/v1/keyphrases" and line["status"] == 200 for line in log)


@pytest.mark.slow
def test_misbehaving_clients_do_not_affect_others() -> None:
    head = b"POST /v1/keyphrases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with serving("--max-seconds", "1", "--max-bytes", "1000") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as gone:
            gone.sendall(head + b'Content-Length: 500\r\n\r\n{"text"')
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as slow:
            slow.sendall(head + b'Content-Length: 500\r\n\r\n{"text"')
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as large:
            large.sendall(head + b"Content-Length: 5000000000\r\n\r\n")
            assert large.recv(100).startswith(b"HTTP/1.1 413 ")
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as huge:
            huge.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Large: " + b"a" * 200_000)
            assert huge.recv(100).startswith(b"HTTP/1.1 4")
        # With a limit of one second, a stall of the machine may refuse one of them.
        assert 200 in [asked(server).status_code for _ in range(3)]


@pytest.mark.slow
def test_sigterm_under_load_loses_no_accepted_request() -> None:
    received: list[int] = []

    def ask(address: str) -> None:
        """Send requests until the service accepts no more connections."""
        while True:
            try:
                with httpx.Client(timeout=PATIENCE) as client:
                    answer = client.post(f"{address}/v1/keyphrases", json={"text": TEXT * 20})
            except httpx.TransportError:
                return  # refused, or reset before any byte was read: never accepted
            received.append(answer.status_code)

    with serving() as server, ThreadPoolExecutor(8) as pool:
        clients = [pool.submit(ask, server.address) for _ in range(8)]
        while len(received) < 16:
            assert server.process.poll() is None
            time.sleep(0.01)
        log = server.stop()
        for client in clients:
            client.result(timeout=PATIENCE)
    assert server.process.returncode == 0
    accepted = [line["status"] for line in log if line.get("path") == "/v1/keyphrases"]
    assert set(accepted) == {200}
    assert received == accepted


@pytest.mark.slow
def test_ten_thousand_connections_are_answered_or_told_to_retry_later() -> None:
    """As many of them as this process may open, all at the same time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with serving("--queue", "64", "--max-seconds", "1200") as server:
            statuses = asyncio.run(_answers(server.port, min(10_000, hard - 500)))
            assert asked(server).status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert set(statuses) == {200, 503}


async def _answers(port: int, count: int) -> list[int]:
    """The statuses of `count` requests, sent once all connections are open."""
    body = json.dumps({"text": TEXT}).encode()
    head = "POST /v1/keyphrases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    ask = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    some = asyncio.Semaphore(500)  # more would not fit the system's connection queue

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with some:
            return await asyncio.open_connection("127.0.0.1", port)

    async def answer(reader: asyncio.StreamReader) -> int:
        headers = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", headers)
        assert length, headers
        answered = json.loads(await reader.readexactly(int(length[1])))
        status = int(headers.split()[1])
        if status == 503:
            assert answered["error"]["code"] == "busy"
            assert "retry-after: 1\r\n" in headers
        return status

    opened = await asyncio.gather(*(connect() for _ in range(count)))
    for _, writer in opened:
        writer.write(ask)
    statuses = await asyncio.gather(*(answer(reader) for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    return list(statuses)


@pytest.mark.slow
def test_a_port_in_use_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "keywright", "serve", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert re.fullmatch(
        rf"keywright: error: cannot listen on 127.0.0.1 port {port} \(.*\); try .*\n", done.stderr
    )


@pytest.mark.slow
def test_a_public_address_without_keys_gives_a_warning() -> None:
    with serving("--host", "0.0.0.0") as server:
        assert "this machine only" not in server.greeting
        assert "anyone who can reach this address" in server.log()[1]


def examples(language: str) -> list[str]:
    guide = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_python_example_of_the_guide() -> None:
    (code,) = examples("python")
    with serving() as server:
        command = [sys.executable, "-c", code.replace("http://127.0.0.1:8000", server.address)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert any(line.startswith("None ") and "pumps" in line for line in done.stdout.splitlines())
    assert any(line.startswith("sails ") for line in done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_examples_of_the_guide() -> None:
    commands = [line for block in examples("sh") for line in block.splitlines() if "curl" in line]
    assert len(commands) == 2
    with serving() as server:
        for line in commands:
            command = shlex.split(line.replace("http://127.0.0.1:8000", server.address))
            done = subprocess.run(
                command, capture_output=True, cwd=ROOT, timeout=PATIENCE, check=True
            )
            assert json.loads(done.stdout)["documents"][0]["keyphrases"]
