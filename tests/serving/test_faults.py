"""What clients and the model do wrong harms nobody else, and whoever asked is told of it."""

from __future__ import annotations

import http.client
import json
import logging
import selectors
import socket
import time
from contextlib import ExitStack

import httpx
import pytest

from keywright.serving.log import LOGGER
from tests.serving.local import Local, local, request, wait_until

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def answer(connection: socket.socket) -> http.client.HTTPResponse:
    """The next answer of a connection; its body is there to read."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response


def refused(response: http.client.HTTPResponse, status: int, code: str) -> str:
    error = json.loads(response.read())["error"]
    assert (response.status, error["code"]) == (status, code)
    assert response.headers["Content-Type"] == "application/json"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    message: str = error["message"]
    return message


def asked(server: Local, text: str = "bees dance") -> httpx.Response:
    return httpx.post(f"{server.address}/v1/keyphrases", json={"text": text}, timeout=20)


def trickle(connection: socket.socket) -> float:
    """Send a byte now and then until something comes back, or nothing can; seconds it took."""
    began = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() < began + 10:
        try:
            connection.sendall(b"a")
            connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            continue
        except OSError:
            pass  # cut off
        break
    connection.settimeout(20)
    return time.monotonic() - began


def test_answers_are_sent_at_once() -> None:
    """The body follows the headers without waiting for the client's delayed ACK, 40 ms or more."""
    with local() as server, server.connect() as connection:
        seconds = []
        for _ in range(20):
            began = time.perf_counter()
            connection.sendall(GET)
            answer(connection).read()
            seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.02


def test_a_worker_that_raises_is_a_500_with_an_id_and_the_next_request_is_served() -> None:
    with local() as server:
        failed, good = asked(server, "boom secret"), asked(server)
    error = failed.json()["error"]
    assert (failed.status_code, error["code"]) == (500, "internal_error")
    assert failed.headers["x-request-id"] in error["message"]
    assert "secret" not in failed.text
    assert good.status_code == 200


def test_headers_that_trickle_in_are_cut_off() -> None:
    with local(seconds=1) as server, server.connect() as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nX-Long: ")
        assert 0.9 < trickle(slow) < 10
        assert "1 seconds" in refused(answer(slow), 408, "timeout")
        wait_until(lambda: server.connections() == 0)
        assert asked(server).status_code == 200


def test_a_connection_that_says_nothing_is_closed() -> None:
    with local(seconds=1) as server, server.connect() as silent:
        assert silent.recv(1) == b""


def test_a_body_that_trickles_in_is_cut_off() -> None:
    with local(seconds=1) as server, server.connect() as slow:
        slow.sendall(request(b'{"text": "', length=1_000_000))
        assert trickle(slow) < 10
        refused(answer(slow), 408, "timeout")
        assert trickle(slow) < 10  # it has been told, and goes on
        wait_until(lambda: server.connections() == 0)
        assert asked(server).status_code == 200


def test_a_client_that_does_not_take_in_its_answer_is_cut_off() -> None:
    # Twice in the answer, it is more than the system keeps for a client that does not read.
    text = "bees " * 1_000_000
    limits = {"seconds": 2, "characters": len(text), "body_bytes": 2 * len(text)}
    with local(**limits) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(request({"text": text, "top": 2}))
        assert server.engine.begun.wait(20)
        wait_until(lambda: server.connections() == 0)
        assert asked(server).status_code == 200


def test_a_client_that_only_asks_and_never_reads_is_cut_off() -> None:
    with local(seconds=1) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.settimeout(0.5)
        with pytest.raises(TimeoutError):
            deaf.sendall(GET.replace(b"healthz", b"openapi.json") * 1_000_000)
        wait_until(lambda: server.connections() == 0)
        assert asked(server).status_code == 200


def test_what_a_client_that_has_gone_asked_for_is_not_begun() -> None:
    with local(batch=1) as server, server.connect() as first:
        server.engine.open.clear()
        first.sendall(request({"text": "ants"}))
        assert server.engine.begun.wait(20)
        with server.connect() as gone:
            gone.sendall(request({"documents": ["bees", "wasps"]}))
            wait_until(lambda: waiting(server) == 2)
        wait_until(lambda: waiting(server) == 0)
        server.engine.open.set()
        assert answer(first).status == 200
        assert asked(server).status_code == 200
    assert server.engine.batches == [1, 1]


def test_a_client_that_goes_while_the_model_works_for_it_harms_nobody() -> None:
    with local() as server:
        with server.connect() as gone:
            server.engine.open.clear()
            gone.sendall(request({"text": "ants"}))
            assert server.engine.begun.wait(20)
        wait_until(lambda: server.connections() == 0)
        server.engine.open.set()
        assert asked(server).status_code == 200


def waiting(server: Local) -> int:
    """How many documents wait for the model, as the service tells."""
    lines = httpx.get(f"{server.address}/metrics").text.splitlines()
    (line,) = (one for one in lines if one.startswith("keywright_queue_documents "))
    return int(float(line.split()[1]))


def test_a_body_that_is_cut_off_is_no_request(caplog: pytest.LogCaptureFixture) -> None:
    def statuses() -> list[int]:
        return [one.fields["status"] for one in caplog.records if hasattr(one, "fields")]

    with caplog.at_level(logging.INFO, LOGGER), local() as server:
        with server.connect() as gone:
            gone.sendall(request(b'{"text": "bees"}', length=500))
        wait_until(lambda: statuses() == [499])
        assert asked(server).status_code == 200
    assert server.engine.batches == [1]


def test_a_client_that_sends_too_much_gets_to_read_why() -> None:
    with local(body_bytes=1000) as server, server.connect() as large:
        large.sendall(request(b"a" * 20_000_000))  # no reset while it sends
        refused(answer(large), 413, "body_too_large")
        large.sendall(GET)
        assert answer(large).status == 200


def test_what_is_not_http_is_told_as_json() -> None:
    with local() as server, server.connect() as strange:
        strange.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        refused(answer(strange), 400, "bad_request")
        assert strange.recv(1) == b""


def test_beyond_the_requests_at_once_clients_are_told_to_come_back() -> None:
    with local(requests=2) as server, server.connect() as late:
        with server.connect() as one, server.connect() as two:
            for slow in (one, two):
                slow.sendall(request(b'{"text":', length=500))
            wait_until(lambda: busy(server))
            whole = request({"text": "bees"})
            late.sendall(whole[:-5])
            response = answer(late)
            assert int(response.headers["Retry-After"]) >= 1
            refused(response, 503, "busy")
            assert httpx.get(f"{server.address}/healthz").status_code == 200
            late.sendall(whole[-5:])  # it was refused before it had been sent, and is dropped
        wait_until(lambda: not busy(server))
        late.sendall(whole)
        assert answer(late).status == 200


def busy(server: Local) -> bool:
    return httpx.get(f"{server.address}/docs").status_code == 503


def answered(connections: list[socket.socket]) -> list[socket.socket]:
    """Those that have something to read."""
    with selectors.DefaultSelector() as selector:
        for one in connections:
            selector.register(one, selectors.EVENT_READ, one)
        return [key.data for key, _ in selector.select(0)]


def test_many_connections_are_answered_or_told_to_come_back() -> None:
    with local(queue=64) as server, ExitStack() as stack:
        many = [stack.enter_context(server.connect()) for _ in range(400)]
        server.engine.open.clear()
        for one in many:
            one.sendall(request({"text": "bees"}))
        # The model stands still: whoever is answered now is refused.
        wait_until(lambda: len(answered(many)) >= 400 - 64 - 32)
        refusals = answered(many)
        server.engine.open.set()
        assert len(refusals) <= 400 - 64
        taken = [one for one in many if one not in refusals]
        assert {answer(one).status for one in taken} == {200}
        for response in map(answer, refusals):
            assert int(response.headers["Retry-After"]) >= 1
            refused(response, 503, "busy")
        assert asked(server).status_code == 200
