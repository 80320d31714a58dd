"""Hostile input is refused with a documented error, or does no harm."""

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
from tests.serving.test_server import PATIENCE, Server, serving
from tests.sources.pdf_maker import Text, make_pdf, pdf_of
from tests.timing import is_quick

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
    ],
)
@pytest.mark.parametrize("option", ["top", "min_confidence"])
def test_invalid_numbers_are_refused(option: str, value: bytes, status: int) -> None:
    body = b'{"text": "bees", "%b": %b}' % (option.encode(), value)
    code = {400: "invalid_json", 422: "invalid_request"}[status]
    refused(post(content=body, headers=JSON), status, code)
    if value not in (b'"1"', b"true"):
        answer = post(FILE, content=form(BEES, part(f'name="{option}"', value)), headers=FORM)
        refused(answer, 422, "invalid_request")


def test_null_is_the_default_of_optional_numbers_only() -> None:
    assert post(content=b'{"text": "bees", "top": null}', headers=JSON).status_code == 200
    refused(
        post(content=b'{"text": "bees", "min_confidence": null}', headers=JSON),
        422,
        "invalid_request",
    )


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"[" * 1_000_000, 422, "invalid_request"),
        (b'{"x":' + b"[" * 1_000_000, 422, "invalid_request"),
        (b'{"documents":[' * 100_000, 422, "invalid_request"),
        (b'{"text": "\xc0\xaf"}', 400, "invalid_json"),
        (b'{"text": "\xed\xa0\x80"}', 400, "invalid_json"),
        (b'{"text": "\\udc00"}', 400, "invalid_json"),
        (b'\xef\xbb\xbf{"text": "bees"}', 400, "invalid_json"),
        ('{"text": "bees"}'.encode("utf-16"), 400, "invalid_json"),
        (b'{"text": "bees"} {"text": "ants"}', 400, "invalid_json"),
    ],
)
def test_deep_nesting_and_invalid_utf8_are_refused(body: bytes, status: int, code: str) -> None:
    refused(post(content=body, headers=JSON), status, code)


def test_control_characters_keep_their_places() -> None:
    text = "Bees\x00 \x1b[31mdance\u202e in\x07 the 🌞"
    (document,) = ask({"text": text}).json()["documents"]
    assert document["text"] == text
    ((start, end),) = document["keyphrases"][0]["places"]
    assert text[start:end] == document["keyphrases"][0]["text"]


def test_quotes_in_errors_are_short_and_printable() -> None:
    for name in (SCRIPT, "k" * 100_000, "a\x1b[31m\x00\u202e"):
        answers = (
            post(json={"text": "a", name: 1}),
            post(FILE, content=form(BEES, part(f'name="{name[:1000]}"')), headers=FORM),
        )
        for response in answers:
            message = refused(response, 422, "invalid_request")
            assert len(message) < 300
            assert message.isprintable()
            # A browser shows such an answer as text.
            assert response.headers["content-type"] == "application/json"
            assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (form(BEES), {"Content-Type": "multipart/form-data"}, 400, "bad_request"),
        (form(BEES), {"Content-Type": "multipart/form-data; boundary="}, 400, "bad_request"),
        (
            form(BEES),
            {"Content-Type": "multipart/form-data; boundary=" + "b" * 5000},
            400,
            "bad_request",
        ),
        (form(*(part(f'name="x{n}"') for n in range(10_000))), FORM, 400, "bad_request"),
        (
            form(*(part(f'name="x{n}"; filename="a"') for n in range(10_000))),
            FORM,
            400,
            "bad_request",
        ),
        (form(part(f'name="file"; filename="{"x" * 100_000}"')), FORM, 400, "bad_request"),
        (form(BEES, part('name="top"', b"1" * 3_000_000)), FORM, 400, "bad_request"),
        (form(BEES, part('name="top"'), part('name="top"')), FORM, 422, "invalid_request"),
        (form(part('name="file"', b"Bees dance.")), FORM, 422, "invalid_request"),
        (BEES[:-8], FORM, 422, "invalid_request"),
        (form(BEES).replace(b"Content-Disposition", b"X-Nothing"), FORM, 400, "bad_request"),
        (
            form(part('name="file"; filename="a.txt"', b"Bees \xff\xfe dance.")),
            FORM,
            422,
            "unreadable_file",
        ),
        (form(BEES), {"Content-Type": "application/octet-stream"}, 415, "unsupported_type"),
        (form(BEES), {**FORM, "Content-Encoding": "gzip"}, 415, "unsupported_type"),
    ],
)
def test_invalid_forms_are_refused(
    body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    response = post(FILE, content=body, headers=headers)
    refused(response, status, code)
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
def test_file_names_are_never_used_as_paths(
    name: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content is read, not a file of that name, and nothing is left on disk."""
    monkeypatch.chdir(tmp_path)
    response = post(FILE, content=form(part(f'name="file"; filename="{name}"', b"Bees dance.")),
                    headers=FORM)  # fmt: skip
    (document,) = response.json()["documents"]
    assert (document["id"], document["text"]) == (shown, "Bees dance.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "header", ["Bearer \x00", "Bearer " + "k" * 30_000, "Bearer k1 k2", "BearerKEY k1", "k1", "Ω"]
)
def test_malformed_keys_are_refused(header: str) -> None:
    headers = {**JSON, "Authorization": header.encode()}
    response = post(content=b'{"text": "bees"}', headers=headers, settings={"keys": KEYS})
    refused(response, 401, "unauthorised")


@pytest.mark.parametrize(("unit", "status"), [("a. ", 413), (" ", 422), ("( ", 413)])
def test_texts_far_too_long_delay_nobody(unit: str, status: int) -> None:
    """They are refused by their length before they are processed."""
    asked = messages.parse(b'{"text": "%b"}' % (unit * (16_000_000 // len(unit))).encode())

    def refuse() -> None:
        with pytest.raises(RefusalError) as refusal:
            messages.documents(asked, Limits())
        assert refusal.value.status == status

    assert is_quick(refuse, 0.3)


@pytest.mark.parametrize(
    "large",
    [
        {"headers": {"X-Large": "a" * 40_000}},
        {"headers": {f"X-{n}": "a" * 50 for n in range(800)}},
        {"params": {"q": "a" * 40_000}},
    ],
)
def test_large_headers_and_urls_are_refused(large: dict[str, Any]) -> None:
    response = post(json={"text": "bees"}, **large)
    assert "32,768 bytes" in refused(response, 431, "head_too_large")


# Files that expand, or that could trap a reader

SPACES = b" " * (1 << 20)
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def deflated(unit: bytes, times: int) -> bytes:
    """A unit repeated, compressed without building it whole: compressed blocks can repeat."""
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
        "a tree that contains itself": pdf_of(endless),
        "brackets that never close": b"%PDF-1.4\n1 0 obj\n" + b"[" * 1_000_000,
        "dictionaries that never close": b"%PDF-1.4\n1 0 obj\n" + b"<</A " * 300_000,
    }


def read(content: bytes) -> int:
    """The number of characters in a PDF."""
    document = asyncio.run(asyncio.wait_for(Uploads(1, 400_000).read(content, "bees.pdf"), 60))
    return len(document.text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", hostile_pdfs())
def test_a_hostile_pdf_is_refused(kind: str) -> None:
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
    """Everything the server sends before it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
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
def test_a_request_of_ambiguous_length_is_refused_and_disconnected(
    server: Server, lengths: bytes
) -> None:
    head = b"POST /v1/keyphrases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    hidden = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = exchange(server, head + lengths + b"\r\n" + hidden)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1  # the embedded request was not executed
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
def test_invalid_http_is_refused(server: Server, head: bytes) -> None:
    assert exchange(server, head + b"\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert httpx.get(f"{server.address}/healthz", timeout=PATIENCE).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/%00", "/%ff"]
)
def test_paths_cannot_escape_the_page_folder(server: Server, path: str) -> None:
    for start in ("", "/assets"):
        request = f"GET {start}{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        assert exchange(server, request).startswith(b"HTTP/1.1 404 ")


LENGTH, SECONDS = 400_000, 30  # the limits


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["a", "(", ")", "-", "a-", "a.", "a, ", "\u0301", "\u0301\u0316", "\n", "中", "a\t", "1."],
)
def test_a_repetitive_text_stays_within_the_time_limit(server: Server, unit: str) -> None:
    text = "a" + unit * ((LENGTH - 2) // len(unit)) + "b"
    began = time.monotonic()
    answer = httpx.post(f"{server.address}{ASK}", json={"text": text}, timeout=PATIENCE)
    assert answer.status_code in (200, 408)  # a slow machine may run out of time
    assert time.monotonic() - began < SECONDS + 20
    assert httpx.get(f"{server.address}/healthz", timeout=20).status_code == 200
    longer = httpx.post(f"{server.address}{ASK}", json={"text": text * 3}, timeout=PATIENCE)
    assert longer.status_code == 413


@pytest.mark.slow
def test_no_sent_text_is_logged_or_left_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving() as server:
        asked = {"text": "Secretword " * 50, "secretword": 1}
        httpx.post(f"{server.address}{ASK}", json=asked, timeout=PATIENCE)
        for name in ("secretword.txt", "../secretword.pdf"):
            files = {"file": (name, b"Secretword and more of it.")}
            httpx.post(f"{server.address}{FILE}", files=files, timeout=PATIENCE)
        exchange(server, b"GET /healthz HTTP/1.1\r\nSecretword\r\n\r\n")
        log = server.stop()
    assert [line["status"] for line in log if "/v1/" in line.get("path", "")] == [422, 200, 200]
    assert "secretword" not in json.dumps(log).lower()
    assert list(tmp_path.iterdir()) == []
