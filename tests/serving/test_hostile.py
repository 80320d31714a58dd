"""What is sent to do harm is refused in our words, or does none."""

from __future__ import annotations

import asyncio
import json
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from keywright.serving import messages
from keywright.serving.limits import Limits
from keywright.serving.refusal import RefusalError
from keywright.serving.uploads import Uploads
from tests.serving.test_app import ASK, FILE, KEYS, ask, post, refused
from tests.serving.test_server import Server, serving
from tests.sources.pdf_maker import Text, make_pdf, pdf_of

SCRIPT = "<script>alert(1)</script>"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "multipart/form-data; boundary=b"}


def part(head: str, body: bytes = b"1") -> bytes:
    return b"--b\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n" % (head.encode(), body)


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--b--\r\n"


BEES = part('name="file"; filename="bees.txt"', b"Bees dance.")


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (b"NaN", 400),
        (b"-Infinity", 400),
        (b"1e999", 422),
        (b"9" * 5000, 422),
        (b"-1", 422),
        (b'"1"', 422),
        (b"true", 422),
        (b"null", 422),
    ],
)
@pytest.mark.parametrize("option", ["top", "min_confidence"])
def test_numbers_that_are_none_are_refused(option: str, value: bytes, status: int) -> None:
    body = b'{"text": "bees", "%b": %b}' % (option.encode(), value)
    code = {400: "invalid_json", 422: "invalid_request"}[status]
    refused(post(content=body, headers=JSON), status, code)
    if value not in (b'"1"', b"true", b"null"):
        answer = post(FILE, content=form(BEES, part(f'name="{option}"', value)), headers=FORM)
        refused(answer, 422, "invalid_request")


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"x":' + b"[" * 1_000_000,
        b'{"documents":[' * 100_000,
        b'{"text": "\xc0\xaf"}',
        b'{"text": "\xed\xa0\x80"}',
        b'{"text": "\\udc00"}',
        b'\xef\xbb\xbf{"text": "bees"}',
        '{"text": "bees"}'.encode("utf-16"),
        b'{"text": "bees"} {"text": "ants"}',
    ],
)
def test_what_is_deep_or_not_in_utf8_is_refused(body: bytes) -> None:
    response = post(content=body, headers=JSON)
    refused(response, response.status_code, response.json()["error"]["code"])
    assert response.status_code in (400, 422)


def test_control_characters_keep_their_places() -> None:
    text = "Bees\x00 \x1b[31mdance\u202e in\x07 the 🌞"
    (document,) = ask({"text": text}).json()["documents"]
    assert document["text"] == text
    ((start, end),) = document["keyphrases"][0]["places"]
    assert text[start:end] == document["keyphrases"][0]["text"]


def test_what_errors_quote_is_short_and_printable() -> None:
    for name in (SCRIPT, "k" * 100_000, "a\x1b[31m\x00\u202e"):
        answers = (
            post(json={"text": "a", name: 1}),
            post(FILE, content=form(BEES, part(f'name="{name[:1000]}"')), headers=FORM),
        )
        for response in answers:
            message = refused(response, 422, "invalid_request")
            assert len(message) < 300
            assert message.isprintable()
            # A browser that is sent to such an answer shows it as text.
            assert response.headers["content-type"] == "application/json"
            assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (form(BEES), {"Content-Type": "multipart/form-data"}, 400),
        (form(BEES), {"Content-Type": "multipart/form-data; boundary="}, 400),
        (form(BEES), {"Content-Type": "multipart/form-data; boundary=" + "b" * 5000}, 400),
        (form(*(part(f'name="x{n}"') for n in range(10_000))), FORM, 400),
        (form(*(part(f'name="x{n}"; filename="a"') for n in range(10_000))), FORM, 400),
        (form(part(f'name="file"; filename="{"x" * 100_000}"')), FORM, 400),
        (form(BEES, part('name="top"', b"1" * 3_000_000)), FORM, 400),
        (form(BEES, part('name="top"'), part('name="top"')), FORM, 422),
        (form(part('name="file"', b"Bees dance.")), FORM, 422),
        (BEES[:-8], FORM, 422),
        (form(BEES).replace(b"Content-Disposition", b"X-Nothing"), FORM, 400),
        (form(part('name="file"; filename="a.txt"', b"Bees \xff\xfe dance.")), FORM, 422),
        (form(BEES), {"Content-Type": "application/octet-stream"}, 415),
        (form(BEES), {**FORM, "Content-Encoding": "gzip"}, 415),
    ],
)
def test_forms_that_are_none_are_refused(body: bytes, headers: dict[str, str], status: int) -> None:
    response = post(FILE, content=body, headers=headers)
    refused(response, status, response.json()["error"]["code"])
    assert len(response.content) < 500


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("..\\\\..\\\\Windows\\\\win.ini", "win.ini"),
        ("a\x00.txt", "a .txt"),
        ("..", "file"),
        (SCRIPT, "script>"),
    ],
)
def test_file_names_are_names_and_never_places(
    name: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content sent is read, not the file of that name, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    response = post(FILE, content=form(part(f'name="file"; filename="{name}"', b"Bees dance.")),
                    headers=FORM)  # fmt: skip
    (document,) = response.json()["documents"]
    assert (document["id"], document["text"]) == (shown, "Bees dance.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "header", ["Bearer \x00", "Bearer " + "k" * 30_000, "Bearer k1 k2", "BearerKEY k1", "k1", "Ω"]
)
def test_keys_of_any_shape_are_only_wrong(header: str) -> None:
    headers = {**JSON, "Authorization": header.encode()}
    response = post(content=b'{"text": "bees"}', headers=headers, settings={"keys": KEYS})
    refused(response, 401, "unauthorised")


@pytest.mark.parametrize(("unit", "status"), [("a. ", 413), (" ", 422), ("( ", 413)])
def test_texts_far_too_long_hold_nobody_up(unit: str, status: int) -> None:
    """They are refused by their length, in the time it takes to receive them."""
    asked = messages.parse(b'{"text": "%b"}' % (unit * (16_000_000 // len(unit))).encode())
    began = time.process_time()
    with pytest.raises(RefusalError) as refusal:
        messages.documents(asked, Limits())
    assert refusal.value.status == status
    assert time.process_time() - began < 0.3


@pytest.mark.parametrize(
    "large",
    [
        {"headers": {"X-Large": "a" * 40_000}},
        {"headers": {f"X-{n}": "a" * 50 for n in range(800)}},
        {"params": {"q": "a" * 40_000}},
    ],
)
def test_a_head_that_is_too_large_is_refused(large: dict[str, Any]) -> None:
    response = post(json={"text": "bees"}, **large)
    assert "32,768 bytes" in refused(response, 431, "head_too_large")


# Files that swell, or that a reader could get lost in

SPACES = b" " * (1 << 20)
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def deflated(unit: bytes, times: int) -> bytes:
    """A unit so often, without ever having it all: whole blocks repeat in what is compressed."""
    packer = zlib.compressobj(9)
    first, again = (packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (times - 1) + packer.flush()


def page_of(stream: bytes, filters: bytes) -> bytes:
    content = b"<</Length %d/Filter%b>>stream\n%b\nendstream" % (len(stream), filters, stream)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>"
    kids = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", kids, page, content])


def object_stream() -> bytes:
    stream = deflated(SPACES, 2048)
    head = b"<</Type/ObjStm/N 1000000/First 10/Filter/FlateDecode/Length %d>>" % len(stream)
    packed = head + b"stream\n" + stream + b"\nendstream"
    return pdf_of(
        [b"<</Type/Catalog/Pages 3 0 R>>", packed, b"<</Type/Pages/Kids[4 0 R]/Count 1>>"]
    )


def page_tree(depth: int) -> bytes:
    nodes = (b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (n + 3) for n in range(depth))
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", *nodes, b"<</Type/Page>>"])


def hostile_pdfs() -> dict[str, bytes]:
    twice = zlib.compress(deflated(SPACES, 4096), 9)
    endless = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9999>>"]
    return {
        "objects of 2 GB in one stream": object_stream(),
        "a stream of 4 GB, compressed twice": page_of(twice, b"[/FlateDecode/FlateDecode]"),
        "a deep tree of pages": page_tree(20_000),
        "a tree that holds itself": pdf_of(endless),
        "brackets that never close": b"%PDF-1.4\n1 0 obj\n" + b"[" * 1_000_000,
        "dictionaries that never close": b"%PDF-1.4\n1 0 obj\n" + b"<</A " * 300_000,
    }


def read(content: bytes) -> int:
    """The number of characters in a PDF."""
    document = asyncio.run(asyncio.wait_for(Uploads(1, 400_000).read(content, "bees.pdf"), 60))
    return len(document.text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", hostile_pdfs())
def test_a_pdf_made_to_do_harm_is_refused(kind: str) -> None:
    with pytest.raises(RefusalError, match=r"^bees\.pdf: ") as refusal:
        read(hostile_pdfs()[kind])
    assert refusal.value.status == 422


@pytest.mark.slow
def test_thousands_of_pages_are_read() -> None:
    pages = [[Text(f"Bees number {n} dance in the sun", 60, 700)] for n in range(3_000)]
    assert read(make_pdf(*pages)) > 3_000 * 20


# Through the server itself


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--model", "default") as made:
        yield made


def exchange(server: Server, request: bytes) -> bytes:
    """All that the server answers before it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(1 << 16):
            answer += chunk
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 41\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 41\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Content-Length: -4\r\n",
        b"Content-Length: +4\r\n",
        b"Content-Length : 4\r\n",
    ],
)
def test_a_request_whose_end_is_doubtful_is_refused_and_ends_the_connection(
    server: Server, lengths: bytes
) -> None:
    head = b"POST /v1/keyphrases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    hidden = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = exchange(server, head + lengths + b"\r\n" + hidden)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1  # the request within was not taken for one
    assert b'"ok"' not in answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Nul: a\x00b",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
def test_what_is_not_http_is_refused(server: Server, head: bytes) -> None:
    assert exchange(server, head + b"\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert httpx.get(f"{server.address}/healthz").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%00", "/%ff"]
)
def test_paths_lead_nowhere_else(server: Server, path: str) -> None:
    for start in ("", "/assets"):
        request = f"GET {start}{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        assert exchange(server, request).startswith(b"HTTP/1.1 404 ")


LENGTH, SECONDS = 400_000, 30  # the most that is allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["a", "(", ")", "-", "a-", "a.", "a, ", "\u0301", "\u0301\u0316", "\n", "中", "a\t", "1."],
)
def test_a_monotonous_text_takes_no_longer_than_a_request_may(server: Server, unit: str) -> None:
    text = "a" + unit * ((LENGTH - 2) // len(unit)) + "b"
    began = time.monotonic()
    answer = httpx.post(f"{server.address}{ASK}", json={"text": text}, timeout=60)
    assert answer.status_code in (200, 408)  # a slow machine may run out of time
    assert time.monotonic() - began < SECONDS + 5
    assert httpx.get(f"{server.address}/healthz", timeout=5).status_code == 200
    longer = httpx.post(f"{server.address}{ASK}", json={"text": text * 3}, timeout=60)
    assert longer.status_code == 413


@pytest.mark.slow
def test_nothing_that_was_sent_is_in_the_log_or_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving() as server:
        httpx.post(f"{server.address}{ASK}", json={"text": "Secretword " * 50, "secretword": 1})
        for name in ("secretword.txt", "../secretword.pdf"):
            files = {"file": (name, b"Secretword and more of it.")}
            httpx.post(f"{server.address}{FILE}", files=files, timeout=60)
        exchange(server, b"GET /healthz HTTP/1.1\r\nSecretword\r\n\r\n")
        log = server.stop()
    assert [one["status"] for one in log if "/v1/" in one.get("path", "")] == [422, 200, 200]
    assert "secretword" not in json.dumps(log).lower()
    assert list(tmp_path.iterdir()) == []
