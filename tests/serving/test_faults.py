"""Faults of clients and of the model do not affect others, and are reported to the client."""

from __future__ import annotations

import http.client
import json
import logging
import selectors
import socket
import time
import urllib.error
import urllib.request
from contextlib import ExitStack

import httpx
import pytest

from keywright.serving.log import LOGGER
from tests.serving.local import PATIENCE, Local, local, request, wait_until

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def answer(connection: socket.socket) -> http.client.HTTPResponse:
    """The next answer on a connection, with an unread body."""
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
    return httpx.post(f"{server.address}/v1/keyphrases", json={"text": text}, timeout=PATIENCE)


def serves(server: Local) -> bool:
    """A request is answered, at the latest after a stall of the machine: `seconds` may be 1."""
    wait_until(lambda: asked(server).status_code == 200)
    return True


def trickle(connection: socket.socket) -> bool:
    """Send a byte now and then: whether the server answers or disconnects at last."""
    end = time.monotonic() + PATIENCE
    connection.settimeout(0.05)
    while time.monotonic() < end:
        try:
            connection.sendall(b"a")
            connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            continue
        except OSError:
            pass  # disconnected
        connection.settimeout(PATIENCE)
        return True
    return False


def test_answers_are_sent_without_delay() -> None:
    """The body follows the headers without waiting for the client's delayed ACK, 40 ms or more."""
    with local() as server, server.connect() as connection:

        def seconds() -> float:
            began = time.perf_counter()
            connection.sendall(GET)
            answer(connection).read()
            return time.perf_counter() - began

        assert any(seconds() < 0.03 for _ in range(200))


def test_a_model_error_gives_500_with_an_id_and_the_next_request_is_served() -> None:
    with local() as server:
        failed, good = asked(server, "boom secret"), asked(server)
    error = failed.json()["error"]
    assert (failed.status_code, error["code"]) == (500, "internal_error")
    assert failed.headers["x-request-id"] in error["message"]
    assert "secret" not in failed.text
    assert good.status_code == 200


def test_slow_headers_are_disconnected() -> None:
    with local(seconds=1) as server:
        began = time.monotonic()
        with server.connect() as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nX-Long: ")
            assert trickle(slow)
            assert time.monotonic() - began > 0.9
            assert "1 seconds" in refused(answer(slow), 408, "timeout")
            wait_until(lambda: server.connections() == 0)
            assert serves(server)


def test_a_silent_connection_is_closed() -> None:
    with local(seconds=1) as server, server.connect() as silent:
        assert silent.recv(1) == b""


def test_a_slow_body_is_disconnected() -> None:
    with local(seconds=1) as server, server.connect() as slow:
        slow.sendall(request(b'{"text": "', length=1_000_000))
        assert trickle(slow)
        refused(answer(slow), 408, "timeout")
        assert trickle(slow)  # it continues after the answer
        wait_until(lambda: server.connections() == 0)
        assert serves(server)


def test_a_client_that_does_not_read_its_answer_is_disconnected() -> None:
    # The answer has it twice, which is more than the system buffers for a client.
    text = "bees " * 1_000_000
    size = len(text)
    limits = {"seconds": 2, "characters": size, "long_characters": size, "body_bytes": 2 * size}
    with local(**limits) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(request({"text": text, "top": 2}))
        assert server.engine.begun.wait(PATIENCE)
        wait_until(lambda: server.connections() == 0)
        assert serves(server)


def test_a_client_that_sends_requests_and_never_reads_is_disconnected() -> None:
    with local(seconds=1) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.settimeout(0.5)
        with pytest.raises((TimeoutError, ConnectionError)):  # the server reads no more of it
            deaf.sendall(GET.replace(b"healthz", b"openapi.json") * 1_000_000)
        wait_until(lambda: server.connections() == 0)
        assert serves(server)


def test_requests_of_a_disconnected_client_are_not_started() -> None:
    with local(batch=1) as server, server.connect() as first:
        server.engine.open.clear()
        first.sendall(request({"text": "ants"}))
        assert server.engine.begun.wait(PATIENCE)
        with server.connect() as gone:
            gone.sendall(request({"documents": ["bees", "wasps"]}))
            wait_until(lambda: waiting(server) == 2)
        wait_until(lambda: waiting(server) == 0)
        server.engine.open.set()
        assert answer(first).status == 200
        assert serves(server)
    assert server.engine.batches == [1, 1]


def test_a_disconnect_during_the_models_work_does_no_harm() -> None:
    with local() as server:
        with server.connect() as gone:
            server.engine.open.clear()
            gone.sendall(request({"text": "ants"}))
            assert server.engine.begun.wait(PATIENCE)
        wait_until(lambda: server.connections() == 0)
        server.engine.open.set()
        assert serves(server)


def waiting(server: Local) -> int:
    """How many documents wait for the model, according to the metrics."""
    lines = server.get("/metrics").text.splitlines()
    (line,) = (line for line in lines if line.startswith("keywright_queue_documents "))
    return int(float(line.split()[1]))


def test_a_body_that_is_cut_off_is_not_processed(caplog: pytest.LogCaptureFixture) -> None:
    def statuses() -> list[int]:
        return [record.fields["status"] for record in caplog.records if hasattr(record, "fields")]

    with caplog.at_level(logging.INFO, LOGGER), local() as server:
        with server.connect() as gone:
            gone.sendall(request(b'{"text": "bees"}', length=500))
        wait_until(lambda: statuses() == [499])
        assert serves(server)
    assert server.engine.batches == [1]


def test_a_client_that_sends_too_much_can_read_why() -> None:
    with local(body_bytes=1000) as server, server.connect() as large:
        large.sendall(request(b"a" * 20_000_000))  # no reset while it sends
        refused(answer(large), 413, "body_too_large")
        large.sendall(GET)
        assert answer(large).status == 200


def test_a_client_that_closes_after_sending_too_much_can_read_why() -> None:
    with local(body_bytes=1000) as server:
        asking = urllib.request.Request(
            f"{server.address}/v1/keyphrases",
            b"a" * 17_000_000,
            {"Content-Type": "application/json"},  # urllib adds Connection: close
        )
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(asking, timeout=PATIENCE)
        assert error.value.code == 413
        assert json.loads(error.value.read())["error"]["code"] == "body_too_large"


def test_invalid_http_is_reported_as_json() -> None:
    with local() as server, server.connect() as strange:
        strange.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        refused(answer(strange), 400, "bad_request")
        assert strange.recv(1) == b""


def test_too_many_open_requests_are_told_to_retry_later() -> None:
    with local(requests=2) as server, server.connect() as late:
        with server.connect() as first, server.connect() as second:
            for slow in (first, second):
                slow.sendall(request(b'{"text":', length=500))
            wait_until(lambda: busy(server))
            whole = request({"text": "bees"})
            late.sendall(whole[:-5])
            response = answer(late)
            assert int(response.headers["Retry-After"]) >= 1
            refused(response, 503, "busy")
            assert server.get("/healthz").status_code == 200
            late.sendall(whole[-5:])  # the rest of the refused request is dropped
        wait_until(lambda: not busy(server))
        late.sendall(whole)
        assert answer(late).status == 200


def busy(server: Local) -> bool:
    return server.get("/docs").status_code == 503


def answered(connections: list[socket.socket]) -> list[socket.socket]:
    """The connections that have something to read."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ, connection)
        return [key.data for key, _ in selector.select(0)]


def test_many_connections_are_answered_or_told_to_retry_later() -> None:
    with local(queue=64, seconds=PATIENCE) as server, ExitStack() as stack:
        many = [stack.enter_context(server.connect()) for _ in range(400)]
        server.engine.open.clear()
        for connection in many:
            connection.sendall(request({"text": "bees"}))
        # The model is blocked: every answer now is a refusal, and all others wait or are inside.
        wait_until(lambda: len(answered(many)) + waiting(server) + server.engine.inside == 400)
        refusals = answered(many)
        server.engine.open.set()
        assert 400 - 64 - 32 <= len(refusals) <= 400 - 64
        taken = [connection for connection in many if connection not in refusals]
        assert {answer(connection).status for connection in taken} == {200}
        for response in map(answer, refusals):
            assert int(response.headers["Retry-After"]) >= 1
            refused(response, 503, "busy")
        assert serves(server)
