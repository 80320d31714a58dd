"""Every request gets the documented answer, and every limit a clear refusal."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI

from keywright import Keywright
from keywright.errors import ConfigError
from keywright.serving.app import Settings, create_app
from keywright.serving.keys import Keys
from keywright.serving.limits import Limits
from keywright.serving.log import LOGGER, JsonLines
from tests.serving.fakes import FakeEngine

ASK = "/v1/keyphrases"
FILE = "/v1/keyphrases/file"
Call = Callable[[httpx.AsyncClient], Coroutine[Any, Any, Any]]


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client,
    ):
        yield client


def served(call: Call, engine: FakeEngine | None = None, **settings: Any) -> Any:
    """The result of a call to a new service."""

    async def work() -> Any:
        async with running(create_app(engine or FakeEngine(), Settings(**settings))) as client:
            return await call(client)

    return asyncio.run(asyncio.wait_for(work(), 60))


async def until_waiting(client: httpx.AsyncClient, documents: int) -> None:
    """Wait until this many documents wait for the model."""
    while f"keywright_queue_documents {documents}.0" not in (await client.get("/metrics")).text:
        await asyncio.sleep(0.01)


def get(path: str, **settings: Any) -> httpx.Response:
    response: httpx.Response = served(lambda client: client.get(path), **settings)
    return response


def ask(body: Any, engine: FakeEngine | None = None, **settings: Any) -> httpx.Response:
    response: httpx.Response = served(
        lambda client: client.post(ASK, json=body), engine, **settings
    )
    return response


def post(path: str = ASK, *, settings: dict[str, Any] | None = None, **body: Any) -> httpx.Response:
    response: httpx.Response = served(lambda client: client.post(path, **body), **(settings or {}))
    return response


def refused(response: httpx.Response, status: int, code: str) -> str:
    """The message of an error answer."""
    assert response.status_code == status
    answer = response.json()
    assert list(answer) == ["error"]
    assert answer["error"]["code"] == code
    message: str = answer["error"]["message"]
    assert message.endswith(".")
    return message


def test_a_text_gets_keyphrases_with_their_places() -> None:
    answer = ask({"text": "Bees\nBees dance."}).json()
    assert answer["model"] == "default"
    (document,) = answer["documents"]
    assert (document["id"], document["title"]) == (None, "Bees")
    assert document["warnings"] == []
    first, second = document["keyphrases"]
    assert [document["text"][start:end] for start, end in first["places"]] == ["Bees"]
    assert first == {
        "text": "Bees",
        "probability": 0.9,
        "present": True,
        "places": [[0, 4]],
        "evidence": None,
        "stated": False,
    }
    assert (second["present"], second["evidence"]) == (False, "Bees\nBees dance.")


def test_title_and_body_are_kept_as_given() -> None:
    (document,) = ask({"id": "7", "title": "Bees.", "body": "strange"}).json()["documents"]
    assert (document["id"], document["title"], document["text"]) == ("7", "Bees.", "Bees.\nstrange")
    assert document["warnings"] == ["is strange"]


def test_documents_are_answered_in_order() -> None:
    given = ["ants", {"id": "b", "text": "bees"}, {"title": "cats", "body": "purr"}]
    documents = ask({"documents": given}).json()["documents"]
    assert [document["text"] for document in documents] == ["ants", "bees", "cats\npurr"]
    assert [document["id"] for document in documents] == [None, "b", None]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, ["bees", "beyond"]),
        ({"top": 1}, ["bees"]),
        ({"top": 0}, ["bees", "beyond"]),
        ({"min_confidence": 0.5}, ["bees"]),
        ({"precision": 0.8}, ["bees"]),
        ({"precision": 0.5}, ["bees", "beyond"]),
        ({"present_only": True}, ["bees"]),
        ({"absent_only": True}, ["beyond"]),
    ],
)
def test_options_select_keyphrases(options: dict[str, Any], texts: list[str]) -> None:
    (document,) = ask({"text": "bees", **options}).json()["documents"]
    assert [phrase["text"] for phrase in document["keyphrases"]] == texts


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({}, "invalid_request", "must have `text`"),
        ({"text": "a", "title": "b"}, "invalid_request", "not both"),
        ({"text": "a", "documents": ["b"]}, "invalid_request", "both were given"),
        ({"documents": []}, "invalid_request", "length >= 1"),
        ({"documents": ["a", " \n"]}, "empty_text", "Document 2 has no text"),
        ({"text": 5}, "invalid_request", "$.text"),
        ({"text": "a", "topp": 5}, "invalid_request", "topp"),
        ({"text": "a", "top": -1}, "invalid_request", "$.top"),
        ({"text": "a", "min_confidence": 2}, "invalid_request", "$.min_confidence"),
        ({"text": "a", "precision": 0}, "invalid_request", "$.precision"),
        ({"text": "a", "present_only": True, "absent_only": True}, "invalid_request", "excluded"),
    ],
)
def test_an_invalid_request_is_reported(body: Any, code: str, message: str) -> None:
    assert message in refused(ask(body), 422, code)


def test_precision_needs_a_calibrated_model() -> None:
    response = ask({"text": "bees", "precision": 0.5}, FakeEngine(calibrated=False))
    refused(response, 422, "no_probabilities")


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"text": "\xff"}', b'{"text": "\\ud800"}', b"nonsense"]
)
def test_invalid_json_is_reported(body: bytes) -> None:
    response = post(content=body, headers={"Content-Type": "application/json"})
    refused(response, 400, "invalid_json")


def test_deeply_nested_json_is_refused() -> None:
    body = b'{"documents":' + b"[" * 100_000
    response = post(content=body, headers={"Content-Type": "application/json"})
    refused(response, 422, "invalid_request")


def test_other_content_types_are_refused() -> None:
    """A page of another site may send text/plain without a preflight request."""
    response = post(content=b'{"text": "a"}', headers={"Content-Type": "text/plain"})
    assert "application/json" in refused(response, 415, "unsupported_type")


def test_a_file_is_read_under_a_safe_name() -> None:
    file = ("../../bees.html", b"<html><h1>Bees</h1><p>Bees dance.", "text/html")
    response = post(FILE, files={"file": file}, data={"top": "1"})
    (document,) = response.json()["documents"]
    assert (document["id"], document["text"]) == ("bees.html", "Bees\nBees dance.")
    assert [phrase["text"] for phrase in document["keyphrases"]] == ["Bees"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"files": {"file": ("a.pdf", b"%PDF-1.7 cut")}}, 422, "unreadable_file"),
        ({"files": {"other": ("a.txt", b"bees")}}, 422, "invalid_request"),
        ({"files": {"file": ("a", b"bees")}, "data": {"top": "x"}}, 422, "invalid_request"),
        ({"files": [("file", ("a", b"b")), ("file", ("c", b"d"))]}, 400, "bad_request"),
        ({"json": {"text": "bees"}}, 415, "unsupported_type"),
        (
            {"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}},
            400,
            "bad_request",
        ),
    ],
)
def test_a_bad_upload_is_reported(body: dict[str, Any], status: int, code: str) -> None:
    refused(post(FILE, **body), status, code)


def test_the_model_is_named() -> None:
    response = get("/v1/models", model="mine")
    assert response.json() == {"models": [{"name": "mine", "calibrated": True}]}


def test_health_readiness_and_unknown_paths() -> None:
    assert get("/healthz").json() == {"status": "ok"}
    assert get("/readyz").json() == {"status": "ready"}
    refused(get("/nothing"), 404, "not_found")
    refused(get(ASK), 405, "method_not_allowed")
    for path in ("/assets/app.py", "/assets/..%2fapp.py", "/assets/%2e%2e/app.py"):
        refused(get(path), 404, "not_found")


def test_a_service_that_shuts_down_is_not_ready() -> None:
    async def work() -> httpx.Response:
        app = create_app(FakeEngine())
        async with running(app):
            pass
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            refused(await client.post(ASK, json={"text": "bees"}), 503, "shutting_down")
            return await client.get("/readyz")

    refused(asyncio.run(work()), 503, "shutting_down")


def test_metrics_count_requests_documents_and_batches() -> None:
    async def call(client: httpx.AsyncClient) -> str:
        await client.post(ASK, json={"documents": ["a", "b"]})
        await client.get("/strange/path")
        return (await client.get("/metrics")).text

    lines = served(call).splitlines()
    assert 'keywright_requests_total{path="/v1/keyphrases",status="200"} 1.0' in lines
    assert 'keywright_requests_total{path="other",status="404"} 1.0' in lines
    assert "keywright_documents_total 2.0" in lines
    assert "keywright_batch_documents_sum 2.0" in lines
    assert "keywright_queue_documents 0.0" in lines


def test_the_description_is_complete_and_self_contained() -> None:
    openapi = get("/openapi.json").json()
    assert {ASK, FILE, "/v1/models", "/healthz", "/readyz", "/metrics"} == set(openapi["paths"])
    schemas = openapi["components"]["schemas"]
    assert {"text", "documents", "precision", "top"} <= set(schemas["Ask"]["properties"])
    named = set(_references(openapi))
    assert named <= {f"#/components/schemas/{name}" for name in schemas}
    page = get("/docs").text
    assert all(path in page for path in openapi["paths"])
    assert re.findall(r"<script[^>]*>[^<]*", page) == [
        '<script type="module" src="assets/docs.js">'
    ]
    assert set(re.findall(r"https?://[^/]*", page)) == {"http://127.0.0.1:8000"}  # of commands
    assert get("/assets/docs.js").status_code == get("/assets/mark.svg").status_code == 200


def test_the_guide_shows_the_real_answer() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    shown = json.loads(guide.partition("```json\n")[2].partition("```")[0])
    engine = cast(Any, Keywright(threads=1))
    assert '{"text": "Heat pumps warm old houses."}' in guide
    found = ask({"text": "Heat pumps warm old houses."}, engine).json()
    (given,), (expected,) = (answer["documents"][0]["keyphrases"] for answer in (found, shown))
    assert given["probability"] == pytest.approx(expected.pop("probability"), abs=0.02)
    del given["probability"]
    assert found == shown


def test_a_vocabulary_of_a_request_is_used_for_it_alone() -> None:
    tags = [" Space  debris", "space debris", "sails"]
    found = ask({"text": "Bees dance.", "vocabulary": tags}).json()["documents"][0]["keyphrases"]
    assert [phrase["text"] for phrase in found] == ["Space debris", "sails"]
    plain = ask({"text": "Bees dance."}).json()["documents"][0]["keyphrases"]
    assert plain[0]["text"] == "Bees"


def test_requests_with_and_without_a_vocabulary_share_a_batch() -> None:
    async def call(client: httpx.AsyncClient) -> list[list[str]]:
        bodies = [{"text": "Bees dance."}, {"text": "Ants walk.", "vocabulary": ["insects"]}]
        answers = await asyncio.gather(*(client.post(ASK, json=bodies[n % 2]) for n in range(6)))
        return [
            [phrase["text"] for phrase in answer.json()["documents"][0]["keyphrases"]]
            for answer in answers
        ]

    found = served(call)
    assert found[1::2] == [["insects"]] * 3
    assert all(phrases[0] == "Bees" for phrases in found[::2])


def test_a_vocabulary_of_a_form_has_one_term_per_line() -> None:
    form = {"files": {"file": ("a.txt", b"Bees dance.")}, "data": {"vocabulary": "ants\r\nbees\n"}}
    found = post(FILE, **form).json()["documents"][0]["keyphrases"]
    assert [phrase["text"] for phrase in found] == ["ants", "bees"]


def test_a_vocabulary_has_limits() -> None:
    limits = {"limits": Limits(terms=2)}
    asked = {"text": "Bees", "vocabulary": ["a", "b", "c"]}
    message = refused(ask(asked, **limits), 413, "too_many_terms")
    assert message == "The vocabulary has 3 terms; at most 2 are allowed."
    refused(ask({"text": "Bees", "vocabulary": [" "]}), 422, "invalid_request")
    refused(ask({"text": "Bees", "vocabulary": []}), 422, "invalid_request")
    refused(ask({"text": "Bees", "vocabulary": ["a" * 201]}), 422, "invalid_request")


def test_a_long_vocabulary_does_not_delay_short_requests() -> None:
    """It is processed in the lane for long requests, in another process."""
    tags = [f"tag {number}" for number in range(60)]
    found = ask({"text": "Bees dance.", "vocabulary": tags}).json()["documents"][0]["keyphrases"]
    assert [phrase["text"] for phrase in found] == tags[:20]


def test_the_description_lists_what_needs_a_key() -> None:
    assert "securitySchemes" not in get("/openapi.json").json()["components"]
    openapi = get("/openapi.json", keys=KEYS).json()
    (scheme,) = openapi["components"]["securitySchemes"].values()
    assert scheme == {"type": "http", "scheme": "bearer"}
    guarded = {
        path
        for path, operations in openapi["paths"].items()
        if all("security" in operation for operation in operations.values())
    }
    assert guarded == {ASK, FILE, "/v1/models"}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


@pytest.mark.parametrize("path", ["/", "/docs", "/healthz", "/nothing", "/metrics"])
def test_every_answer_has_safe_headers(path: str) -> None:
    headers = get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_pages_of_other_sites_are_not_allowed() -> None:
    asked = {"Origin": "https://elsewhere.test", "Access-Control-Request-Method": "POST"}
    response = served(lambda client: client.options(ASK, headers=asked))
    assert response.status_code == 405
    assert "access-control-allow-origin" not in response.headers


def test_a_safe_request_id_is_kept_and_any_other_replaced() -> None:
    async def call(client: httpx.AsyncClient) -> list[str]:
        given = ("abc-1", "a b", "x" * 65)
        answers = [await client.get("/healthz", headers={"X-Request-ID": id}) for id in given]
        return [answer.headers["x-request-id"] for answer in answers]

    kept, *others = served(call)
    assert kept == "abc-1"
    assert all(len(id) == 32 for id in others)


def test_too_many_documents_and_too_much_text_are_refused() -> None:
    limits = Limits(documents=2, characters=10)
    few = refused(ask({"documents": ["a"] * 3}, limits=limits), 413, "too_many_documents")
    assert "3 documents; at most 2" in few
    short = refused(ask({"documents": ["a" * 6] * 2}, limits=limits), 413, "text_too_long")
    assert "12 characters; at most 10" in short
    assert ask({"documents": ["a" * 5] * 2}, limits=limits).status_code == 200


def test_a_large_body_is_refused() -> None:
    """`test_guard.py` checks that nothing of it is read."""
    limits = {"limits": Limits(body_bytes=100)}
    refused(post(json={"text": "a" * 200}, settings=limits), 413, "body_too_large")
    file = {"file": ("a.txt", b"a" * 200)}
    refused(post(FILE, files=file, settings=limits), 413, "body_too_large")


def test_a_body_of_unknown_length_is_refused_as_soon_as_it_is_too_large() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"a" * 50

    headers = {"Content-Type": "application/json"}
    settings = {"limits": Limits(body_bytes=100)}
    refused(post(content=endless(), headers=headers, settings=settings), 413, "body_too_large")
    assert read == 3


def test_a_request_that_takes_too_long_times_out() -> None:
    engine = FakeEngine()

    async def call(client: httpx.AsyncClient) -> tuple[httpx.Response, list[int]]:
        engine.open.clear()
        late = await client.post(ASK, json={"text": "bees"})
        engine.open.set()
        following = [await client.post(ASK, json={"text": "bees"}) for _ in range(3)]
        return late, [response.status_code for response in following]

    late, following = served(call, engine, limits=Limits(seconds=1))
    assert "1 seconds" in refused(late, 408, "timeout")
    assert 200 in following  # a busy machine may need longer for one of them


def test_concurrent_requests_are_batched_and_not_mixed_up() -> None:
    engine = FakeEngine()

    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        engine.open.clear()
        bodies = ({"documents": [f"w{n}", f"v{n} " * n]} for n in range(1, 41))
        asked = [asyncio.create_task(client.post(ASK, json=body)) for body in bodies]
        assert await asyncio.to_thread(engine.begun.wait, 60)
        await until_waiting(client, 80 - engine.inside)
        engine.open.set()
        return list(await asyncio.gather(*asked))

    answers = served(call, engine)
    first_words = [
        [document["keyphrases"][0]["text"] for document in answer.json()["documents"]]
        for answer in answers
    ]
    assert first_words == [[f"w{n}", f"v{n}"] for n in range(1, 41)]
    assert sum(engine.batches) == 80
    assert len(engine.batches) <= 4  # one that was not full, and the others


def test_a_full_queue_tells_clients_to_retry_later() -> None:
    engine = FakeEngine()

    async def call(client: httpx.AsyncClient) -> tuple[httpx.Response, list[httpx.Response]]:
        engine.open.clear()
        first = asyncio.create_task(client.post(ASK, json={"text": "bees"}))
        assert await asyncio.to_thread(engine.begun.wait, 60)
        waiting = asyncio.create_task(client.post(ASK, json={"documents": ["a", "b"]}))
        await until_waiting(client, 2)
        full = await client.post(ASK, json={"text": "ants"})
        engine.open.set()
        return full, [await first, await waiting]

    full, taken = served(call, engine, limits=Limits(queue=2, documents=2))
    refused(full, 503, "busy")
    assert int(full.headers["retry-after"]) >= 1
    assert [response.status_code for response in taken] == [200, 200]


def test_a_failing_model_gives_500_and_the_service_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        texts = ("ants", "boom secret", "bees")
        return list(await asyncio.gather(*(client.post(ASK, json={"text": t}) for t in texts)))

    with caplog.at_level(logging.INFO, LOGGER):
        good, bad, also_good = served(call)
    assert (good.status_code, also_good.status_code) == (200, 200)
    message = refused(bad, 500, "internal_error")
    assert bad.headers["x-request-id"] in message
    assert "secret" not in bad.text
    assert "nosniff" in bad.headers["x-content-type-options"]
    lines = [JsonLines().format(record) for record in caplog.records if record.name == LOGGER]
    (failure,) = [fields for fields in map(json.loads, lines) if fields["message"] == "failed"]
    assert failure["exception"] == "ValueError"
    assert failure["request_id"] == bad.headers["x-request-id"]
    assert any("_keyphrases" in place for place in failure["at"])
    assert "secret" not in "".join(lines)


def test_the_log_has_sizes_but_no_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        response = ask({"text": "secret bees"})
    (line,) = [JsonLines().format(record) for record in caplog.records if record.name == LOGGER]
    fields = json.loads(line)
    assert fields["request_id"] == response.headers["x-request-id"]
    assert (fields["method"], fields["path"], fields["status"]) == ("POST", ASK, 200)
    assert (fields["documents"], fields["characters"]) == (1, 11)
    assert "secret" not in line


def test_shutdown_finishes_accepted_requests() -> None:
    engine = FakeEngine()

    async def work() -> list[httpx.Response]:
        app = create_app(engine, Settings(limits=Limits(batch=1)))
        engine.open.clear()
        async with running(app) as client:
            requests = [
                asyncio.create_task(client.post(ASK, json={"text": f"w{n}"})) for n in range(3)
            ]
            assert await asyncio.to_thread(engine.begun.wait, 60)
            await until_waiting(client, 2)
            asyncio.get_running_loop().call_later(0.1, engine.open.set)
        # The lifespan has ended, and with it all work.
        assert engine.batches == [1, 1, 1]
        return [await request for request in requests]

    assert [response.status_code for response in asyncio.run(work())] == [200, 200, 200]


KEYS = Keys({"ada": hashlib.sha256(b"k1").hexdigest(), "bob": hashlib.sha256(b"k2").hexdigest()})


def test_keys_are_required_and_checked(caplog: pytest.LogCaptureFixture) -> None:
    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        headers = (None, "Bearer wrong", "Basic k1", "Bearer", "Bearer k1", "bearer k2")
        return [
            await client.post(
                ASK, json={"text": "bees"}, headers={"Authorization": header} if header else {}
            )
            for header in headers
        ]

    with caplog.at_level(logging.INFO, LOGGER):
        answers = served(call, keys=KEYS)
    assert [answer.status_code for answer in answers] == [401, 401, 401, 401, 200, 200]
    refused(answers[0], 401, "unauthorised")
    assert answers[0].headers["www-authenticate"] == "Bearer"
    names = [json.loads(JsonLines().format(record)).get("key") for record in caplog.records]
    assert [name for name in names if name] == ["ada", "bob"]
    refused(get("/v1/models", keys=KEYS), 401, "unauthorised")
    assert get("/healthz", keys=KEYS).status_code == 200


def test_a_key_used_too_often_must_wait() -> None:
    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        return [
            await client.get("/v1/models", headers={"Authorization": f"Bearer {key}"})
            for key in ("k1", "k1", "k1", "k2")
        ]

    answers = served(call, keys=KEYS, rate=2)
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200]
    refused(answers[2], 429, "too_many_requests")
    assert 1 <= int(answers[2].headers["retry-after"]) <= 30


def test_inconsistent_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="needs keys"):
        Settings(rate=5)
    with pytest.raises(ConfigError, match="cannot hold"):
        Limits(queue=3, documents=4)
    with pytest.raises(ConfigError, match="at least 1"):
        Limits(seconds=0)
    engine = FakeEngine()
    engine.needs_all = True
    with pytest.raises(ConfigError, match="different clients"):
        create_app(engine)


@pytest.mark.parametrize(
    ("path", "location"), [("/v1/models/", "/v1/models"), ("/docs/?a=b", "/docs?a=b")]
)
def test_redirects_never_name_a_host(path: str, location: str) -> None:
    response = served(lambda client: client.get(path, headers={"Host": "evil.example"}))
    assert response.is_redirect
    assert response.headers["location"] == location


@pytest.mark.parametrize(
    ("host", "status"),
    [("example.org", 200), ("EXAMPLE.org:8000", 200), ("evil.example", 400), ("[::1]:80", 200)],
)
def test_only_the_allowed_hosts_are_served(host: str, status: int) -> None:
    hosts = ("Example.org", "[::1]")

    async def call(client: httpx.AsyncClient) -> tuple[int, int]:
        asked = await client.get("/v1/models", headers={"Host": host})
        health = await client.get("/healthz", headers={"Host": host})
        return asked.status_code, health.status_code

    assert served(call, hosts=hosts) == (status, 200)
