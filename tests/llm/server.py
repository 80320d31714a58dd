"""A small HTTP server on a free port that answers like an OpenAI-compatible API, or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    promised: int | None = None  # Content-Length, if it is not that of the body
    wait: threading.Event | None = None  # answer when it is set


def completion(
    text: str | None,
    tokens: list[tuple[str, float | None]] | None = None,
    finish: str = "stop",
    usage: tuple[int, int] = (100, 10),
) -> Reply:
    """A well-formed answer."""
    logprobs = None
    if tokens is not None:
        logprobs = {"content": [{"token": token, "logprob": value} for token, value in tokens]}
    choice = {"index": 0, "finish_reason": finish, "logprobs": logprobs}
    message = {"role": "assistant", "content": text}
    content = {
        "choices": [{**choice, "message": message}],
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]},
    }
    return Reply(body=json.dumps(content).encode())


@dataclass
class Server:
    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_at_once: int = 0


@contextmanager
def serving(reply: Callable[[dict[str, Any], int], Reply]) -> Iterator[Server]:
    """`reply` gets a request and how many came before it."""
    lock = threading.Lock()
    now = [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(server.requests)
                server.requests.append(request)
                server.headers.append(dict(self.headers))
                server.paths.append(self.path)
                now[0] += 1
                server.most_at_once = max(server.most_at_once, now[0])
            answer = reply(request, number)
            if answer.wait is not None:
                answer.wait.wait(60)
            with lock:
                now[0] -= 1
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                length = len(answer.body) if answer.promised is None else answer.promised
                self.send_header("Content-Length", str(length))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(answer.body)
            except OSError:
                pass  # the client has given up, as some tests mean it to
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = Server(f"http://127.0.0.1:{listener.server_port}/v1")
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
