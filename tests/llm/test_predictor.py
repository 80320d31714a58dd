"""Language models behind a real HTTP server on this machine that answers well, badly or not."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from keywright import predictor
from keywright.calibration.perplexity import confidence
from keywright.cli import main
from keywright.data.predictions import read_predictions
from keywright.data.writers import write_documents
from keywright.errors import ConfigError, DataError
from keywright.types import Document
from tests.llm.server import Reply, completion, serving

DOCUMENTS = [
    Document(id=str(i), title=f"Heat pumps {i}", body="Old houses need warm water.")
    for i in range(6)
]
EXAMPLES = [
    Document(title="Cold fusion", body="Stars are hot.", keyphrases=("stars", "plasma physics")),
    Document(title="Tides", body="The moon pulls the sea.", keyphrases=("moon",)),
]
GOOD = "heat pumps; old houses; energy transition"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("KEYWRIGHT_LLM_KEY", raising=False)


def load(url: str, *settings: str, **options: object):
    quick = ["wait=0", "attempts=3", *settings]
    return predictor.load(f"llm:tiny@{url}", settings=quick, **options)  # type: ignore[arg-type]


def failing(reply, *settings: str) -> str:
    """The error that the first document ends with."""
    with serving(reply) as server, pytest.raises(DataError) as error:
        next(load(server.url, *settings).predict(DOCUMENTS))
    return str(error.value)


def test_phrases_come_in_the_order_of_the_answer() -> None:
    with serving(lambda request, number: completion(GOOD)) as server:
        found = list(load(server.url).predict(DOCUMENTS))
    assert [p.document_id for p in found] == [d.id for d in DOCUMENTS]
    assert {p.texts for p in found} == {("heat pumps", "old houses", "energy transition")}
    assert set(server.paths) == {"/v1/chat/completions"}
    request = min(server.requests, key=lambda request: str(request["messages"]))
    assert (request["model"], request["temperature"], request["logprobs"]) == ("tiny", 0, True)
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "Title: Heat pumps 0" in request["messages"][1]["content"]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [("present", ("heat pumps", "old houses")), ("absent", ("energy transition",))],
)
def test_a_prompt_for_one_part_keeps_only_that_part(prompt: str, found: tuple[str, ...]) -> None:
    with serving(lambda request, number: completion(GOOD)) as server:
        (prediction,) = load(server.url, f"prompt={prompt}").predict(DOCUMENTS[:1])
    assert prediction.texts == found


def test_a_prompt_is_a_file_in_which_braces_of_documents_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('document = "Say it: {title} / {body}"')
    document = Document(title="{body}", body="{keyphrases} {0}")
    with serving(lambda request, number: completion("a")) as server:
        list(load(server.url, f"prompt={path}").predict([document]))
    assert server.requests[0]["messages"] == [
        {"role": "user", "content": "Say it: {body} / {keyphrases} {0}"}
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("document = 1", "document"),
        ('document = "no text"', r"\{body\}"),
        ('document = "{body}"\nanswer = "none"', r"\{keyphrases\}"),
        ("document =", "is not TOML"),
        ('document = "{body}"\npart = "half"', "part"),
    ],
)
def test_a_bad_prompt_is_refused_before_anything_is_asked(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as error:
        load("http://127.0.0.1:9/v1", f"prompt={path}")
    assert str(error.value).startswith(str(path))


def test_examples_are_earlier_turns_and_their_phrases_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    write_documents(EXAMPLES, path)
    settings = [f"examples={path}", "shots=1", "prompt=absent"]
    with serving(lambda request, number: completion("plasma physics; moon")) as server:
        found = list(load(server.url, *settings).predict([DOCUMENTS[0], EXAMPLES[0]]))
    first, second = sorted(
        (r["messages"] for r in server.requests), key=lambda m: "Cold fusion" in str(m[-1])
    )
    assert [m["role"] for m in first] == ["system", "user", "assistant", "user"]
    assert first[2]["content"] == "plasma physics"  # the absent one
    assert found[0].texts == ("moon",)
    # A document is not its own example: the next one takes its place.
    assert "Tides" in second[1]["content"]
    assert found[1].texts == ("plasma physics",)


def test_log_probabilities_become_keyphrase_perplexity() -> None:
    tokens = [("heat", -0.5), (" pumps", -1.5), (";", -3.0), (" old", -0.1), (" houses", -0.1)]
    with serving(lambda request, number: completion("heat pumps; old houses", tokens)) as server:
        loaded = load(server.url)
        (prediction,) = loaded.predict(DOCUMENTS[:1])
    assert loaded.token_probabilities
    assert [p.token_log_probs for p in prediction.phrases] == [(-0.5, -1.5), (-0.1, -0.1)]
    assert [p.words for p in prediction.phrases] == [2, 2]
    assert confidence(prediction.phrases[0]) == pytest.approx(0.36787944)  # exp(-2 / 2)


def test_samples_are_put_together_by_frequency() -> None:
    said = ["houses; heat pumps; water", "heat pumps; warm water", "heat pumps; houses; sea"]
    with serving(lambda request, number: completion(said[request["seed"]])) as server:
        (found,) = load(server.url, "samples=3").predict(DOCUMENTS[:1])
    assert [(p.text, p.score) for p in found.phrases] == [
        ("heat pumps", 1.0),
        ("houses", pytest.approx(2 / 3)),
        ("warm water", pytest.approx(1 / 3)),
        ("water", pytest.approx(1 / 3)),
        ("sea", pytest.approx(1 / 3)),
    ]
    assert {request["temperature"] for request in server.requests} == {1.0}


def test_the_surest_sample_of_a_phrase_is_kept() -> None:
    values = [-2.0, -1.0]
    with serving(
        lambda request, number: completion("moon", [("moon", values[request["seed"]])])
    ) as server:
        (found,) = load(server.url, "samples=2").predict(DOCUMENTS[:1])
    assert [p.token_log_probs for p in found.phrases] == [(-1.0,)]


def test_prepared_documents_are_sent_as_text_and_get_prepared_phrases() -> None:
    document = Document(title="a ( b ) , <digit>", body="some <unk> text .", tokenised=True)
    with serving(lambda request, number: completion("Type-2 text")) as server:
        (found,) = load(server.url).predict([document])
    asked = server.requests[0]["messages"][1]["content"]
    assert "Title: a (b), 0\nText: some, text.\n" in asked
    assert found.texts == ("type <digit> text",)


def test_only_the_first_words_are_sent() -> None:
    with serving(lambda request, number: completion("a")) as server:
        list(load(server.url, max_source=5).predict(DOCUMENTS[:1]))
    assert "Title: Heat pumps 0\nText: Old houses\n" in server.requests[0]["messages"][1]["content"]


def test_nothing_is_asked_about_an_empty_text() -> None:
    with serving(lambda request, number: completion(GOOD)) as server:
        (found,) = load(server.url).predict([Document(title="", body=" ", id="x")])
    assert (found.phrases, found.document_id, server.requests) == ((), "x", [])


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    with serving(lambda request, number: completion(GOOD, usage=(1000, 20))) as server:
        priced = ["price_in=2", "price_out=10"]
        first = load(server.url, *priced)
        before = list(first.predict(DOCUMENTS))
        again = load(server.url, *priced)
        assert list(again.predict(DOCUMENTS)) == before
        assert len(server.requests) == 6
        assert first.summary is not None
        assert again.summary is not None
        assert first.summary() == (
            "6 requests (0 more from the cache), 6,000 tokens sent, 120 received, cost 0.0132"
        )
        assert again.summary().startswith("0 requests (6 more from the cache), 0 tokens sent")
        for file in (tmp_path / "cache").rglob("*.json"):
            file.write_bytes(file.read_bytes()[:-5])  # damaged: asked again
        assert list(load(server.url).predict(DOCUMENTS)) == before
        list(load(server.url, "cache=off").predict(DOCUMENTS))
        assert len(server.requests) == 18


def test_requests_are_made_at_the_same_time_but_not_too_many() -> None:
    together = threading.Event()

    def reply(request: object, number: int) -> Reply:
        if number == 2:  # the third request only comes while two are waiting
            together.set()
        answer = completion(GOOD)
        answer.wait = together
        return answer

    with serving(reply) as server:
        found = list(load(server.url, "concurrency=3").predict(DOCUMENTS * 2))
    assert len(found) == 12
    assert server.most_at_once == 3


@pytest.mark.parametrize(
    "bad",
    [
        Reply(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0"}),
        Reply(503, b"<html>busy</html>", {}),
        Reply(500, b"oops", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        Reply(body=b'{"choices": [', promised=1000),  # half an answer
    ],
)
def test_what_fails_for_a_while_is_asked_again(bad: Reply) -> None:
    with serving(lambda request, number: bad if number < 2 else completion(GOOD)) as server:
        (found,) = load(server.url, "concurrency=1").predict(DOCUMENTS[:1])
    assert len(found.phrases) == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Reply(429, b'{"error": {"message": "slow down"}}'), "429 Too Many Requests (slow down)"),
        (Reply(502, b"<html>bad gateway</html>", {}), "answers 502 Bad Gateway;"),
        (Reply(body=b'{"choices": [', promised=1000), "in the middle of an answer"),
    ],
)
def test_what_fails_forever_ends_after_some_attempts(bad: Reply, message: str) -> None:
    error = failing(lambda request, number: bad)
    assert message in error
    assert "3 attempts failed" in error


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Reply(body=b"<!DOCTYPE html><html>", headers={}), "answers HTML instead of JSON"),
        (Reply(body=b"{"), "not that of an OpenAI-compatible API"),
        (Reply(body=b'{"text": "a"}'), "`choices`"),
        (Reply(body=b'{"choices": [{"message": {"content": 3}}]}'), "got `int`"),
        (Reply(body=b'{"choices": []}'), "no choices"),
        (Reply(body=b"[" * 100_000), "not that of an OpenAI-compatible API"),
        (Reply(body=b"\xff\xfe"), "not that of an OpenAI-compatible API"),
        (Reply(401, b""), "the key is missing: put it into the environment variable KEYWRIGHT"),
        (Reply(404, b'{"error": "no model tiny"}'), "(no model tiny); check the name"),
        (Reply(400, b'{"error": {"message": "no logprobs"}}'), "logprobs=false"),
        (Reply(302, b"", {"Location": "http://elsewhere/"}), "redirects to http://elsewhere/"),
    ],
)
def test_what_is_wrong_is_said_at_once(bad: Reply, message: str) -> None:
    with serving(lambda request, number: bad) as server, pytest.raises(DataError) as error:
        next(load(server.url, "concurrency=1").predict(DOCUMENTS[:1]))
    assert message in str(error.value)
    assert str(error.value).startswith(server.url)
    assert len(server.requests) == 1


def test_a_server_that_is_down_is_reported_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(DataError, match=r"cannot be reached \(Connection refused\); start"):
            next(load(url).predict(DOCUMENTS))


def test_a_slow_server_is_given_up() -> None:
    never = threading.Event()
    slow = completion(GOOD)
    slow.wait = never
    try:
        error = failing(lambda request, number: slow, "timeout=0.05", "attempts=2")
    finally:
        never.set()
    assert "no complete answer within 0.05 s" in error


def test_the_key_comes_from_the_environment_and_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-123")
    refused = Reply(401, b'{"error": {"message": "Incorrect key: sk-secret-123"}}')
    with serving(lambda request, number: refused) as server, pytest.raises(DataError) as error:
        list(load(server.url, "key=MY_KEY").predict(DOCUMENTS[:1]))
    assert server.headers[0]["Authorization"] == "Bearer sk-secret-123"
    assert "secret" not in str(error.value)
    assert "(Incorrect key: ***); the key is refused" in str(error.value)
    with serving(lambda request, number: completion(GOOD)) as server:
        loaded = load(server.url, "key=MY_KEY")
        list(loaded.predict(DOCUMENTS[:1]))
    assert "secret" not in json.dumps(dict(loaded.settings))
    assert all(b"secret" not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEYWRIGHT_LLM_KEY", "secret\nX-Other: 1")
    with pytest.raises(ConfigError) as error:
        load("http://127.0.0.1:9/v1")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("llm:tiny", [], "write it as llm:NAME@http"),
        ("llm:@http://a/v1", [], "write it as llm:NAME@http"),
        ("llm:tiny@http://", [], "is not an address"),
        ("llm:tiny@http://a:99999/v1", [], "is not an address"),
        ("llm:tiny@https://me:password@host/v1", [], "contains a password"),
        ("llm:tiny@http://a/v1", ["shots=2"], "shots needs examples"),
        ("llm:tiny@http://a/v1", ["samples=2", "temperature=0"], "all the same"),
        ("llm:tiny@http://a/v1", ["prompt=presnt"], "did you mean 'present'"),
        ("llm:tiny@http://a/v1", ["tempreature=1"], "temperature"),
    ],
)
def test_bad_names_and_settings(name: str, settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        predictor.load(name, settings=settings)
    assert "me:password" not in str(error.value)


def test_too_few_examples(tmp_path: Path) -> None:
    path = tmp_path / "examples.jsonl"
    write_documents(EXAMPLES, path)
    with pytest.raises(DataError, match="has 2 documents with keyphrases, and shots is 3"):
        load("http://127.0.0.1:9/v1", f"examples={path}")


def test_the_command_line_resumes_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_documents(DOCUMENTS, tmp_path / "documents.jsonl")
    monkeypatch.chdir(tmp_path)
    works = threading.Event()

    def reply(request: dict[str, object], number: int) -> Reply:
        broken = "Heat pumps 3" in str(request["messages"]) and not works.is_set()
        return Reply(401, b"") if broken else completion(GOOD)

    def run(*arguments: str) -> str:
        command = ["keywright", "predict", "--model", f"llm:tiny@{server.url}", *arguments]
        command += ["--documents", "documents.jsonl", "--output", "p.jsonl"]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as exit:
            main()
        assert exit.value.code == (0 if works.is_set() else 2)
        return capsys.readouterr().err

    with serving(reply) as server:
        summary, error = run().splitlines()
        assert "tokens sent" in summary
        assert error.startswith(f"keywright: error: {server.url}: answers 401")
        assert not Path("p.jsonl").exists()
        works.set()
        assert "tokens sent" in run("--resume")
        # Only what failed or was not reached is asked for again.
        assert len(server.requests) == 7
    assert [p.document_id for p in read_predictions("p.jsonl")] == [d.id for d in DOCUMENTS]
