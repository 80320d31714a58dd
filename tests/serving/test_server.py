"""`keywright serve` as a process: where it listens, what it does with bad clients, how it ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Drag sails remove space debris. Space debris threatens satellites in low orbits."


class Server:
    def __init__(self, process: subprocess.Popen[str], address: str, greeting: str) -> None:
        self.process = process
        self.address = address
        self.greeting = greeting

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def stop(self) -> str:
        """End it with SIGTERM; the log is what it wrote."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=30)
        return log


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "keywright", "serve", "--port", "0", "--model", "textrank"]
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [*command, *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    try:
        assert process.stderr is not None
        greeting = process.stderr.readline()
        found = re.search(r"http://[\w.\[\]:]+:\d+", greeting)
        assert found, greeting + process.stderr.read()
        _wait_ready(found[0])
        yield Server(process, found[0], greeting)
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _wait_ready(address: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service did not become ready")


@pytest.mark.slow
def test_it_says_where_it_listens_and_only_there() -> None:
    with serving() as server:
        assert server.greeting.startswith("keywright: listening on http://127.0.0.1:")
        assert "this machine only" in server.greeting
        answer = httpx.post(f"{server.address}/v1/keyphrases", json={"text": TEXT}).json()
        assert any("debris" in one["text"] for one in answer["documents"][0]["keyphrases"])
        assert answer["model"] == "textrank"
        log = [json.loads(line) for line in server.stop().splitlines()]
    assert any(one.get("path") == "/v1/keyphrases" and one["status"] == 200 for one in log)


@pytest.mark.slow
def test_clients_that_misbehave_harm_nobody() -> None:
    head = b"POST /v1/keyphrases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with serving("--max-seconds", "1", "--max-bytes", "1000") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as gone:
            gone.sendall(head + b'Content-Length: 500\r\n\r\n{"text"')
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
            slow.sendall(head + b'Content-Length: 500\r\n\r\n{"text"')
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as large:
            large.sendall(head + b"Content-Length: 5000000000\r\n\r\n")
            assert large.recv(100).startswith(b"HTTP/1.1 413 ")
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as huge:
            huge.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Large: " + b"a" * 200_000)
            assert huge.recv(100).startswith(b"HTTP/1.1 4")
        good = httpx.post(f"{server.address}/v1/keyphrases", json={"text": TEXT})
        assert good.status_code == 200


@pytest.mark.slow
def test_sigterm_under_load_loses_no_accepted_request() -> None:
    def ask(address: str) -> list[int | str]:
        """Ask until the service no longer takes connections."""
        answers: list[int | str] = []
        while True:
            try:
                with httpx.Client(timeout=30) as client:
                    answer = client.post(f"{address}/v1/keyphrases", json={"text": TEXT * 20})
                answers.append(answer.status_code)
            except httpx.ConnectError:
                return answers
            except httpx.TransportError as error:
                # Reset before a byte of ours was read: it was never accepted.
                return [*answers, type(error).__name__]

    with serving() as server, ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask, server.address) for _ in range(8)]
        time.sleep(1.5)
        log = server.stop()
        answers = [answer for one in asking for answer in one.result(timeout=30)]
    logged = [json.loads(line) for line in log.splitlines()]
    accepted = [one["status"] for one in logged if one.get("path") == "/v1/keyphrases"]
    received = [one for one in answers if isinstance(one, int)]
    assert len(received) > 8
    assert set(accepted) == {200}
    assert received == accepted


@pytest.mark.slow
def test_a_port_in_use_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "keywright", "serve", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert re.fullmatch(
        rf"keywright: error: cannot listen on 127.0.0.1 port {port} \(.*\); try .*\n", done.stderr
    )


@pytest.mark.slow
def test_an_open_address_without_keys_is_warned_of() -> None:
    with serving("--host", "0.0.0.0") as server:
        assert "this machine only" not in server.greeting
        assert server.process.stderr is not None
        assert "whoever reaches this address" in server.process.stderr.readline()


def examples(language: str) -> list[str]:
    guide = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_python_example_of_the_guide() -> None:
    (code,) = examples("python")
    with serving() as server:
        command = [sys.executable, "-c", code.replace("http://127.0.0.1:8000", server.address)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
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
            done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=60, check=True)
            assert json.loads(done.stdout)["documents"][0]["keyphrases"]
