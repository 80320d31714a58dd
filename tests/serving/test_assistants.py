"""The tools for assistants: what they answer and refuse; then over the protocol itself."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from keywright.errors import ConfigError, KeywrightError
from keywright.generation.engine import Keywright, Selection
from keywright.serving.assistants import Tools
from keywright.serving.limits import Limits
from keywright.serving.refusal import RefusalError

TEXT = (
    "Heat pumps in old houses\n\nHeat pumps warm old houses. Radiators of old houses are small, "
    "so heat pumps need a higher flow temperature. We measured the seasonal performance factor of "
    "sixty heat pumps over three winters."
)


def run(asked: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    return asyncio.run(asked)


def texts(answer: dict[str, Any]) -> list[str]:
    return [phrase["text"] for phrase in answer["keyphrases"]]


@pytest.fixture(scope="module")
def engine() -> Keywright:
    return Keywright(threads=1)


@pytest.fixture
def tools(engine: Keywright, tmp_path: Path) -> Tools:
    return Tools(engine, [tmp_path])


def test_keyphrases_of_a_text(tools: Tools, engine: Keywright) -> None:
    answer = run(tools.keyphrases(TEXT, top=3))
    assert texts(answer) == [phrase.text for phrase in engine.generate(TEXT, Selection(top=3))]
    assert answer["title"] == "Heat pumps in old houses"
    assert all(0 < phrase["probability"] < 1 for phrase in answer["keyphrases"])


def test_keyphrases_of_a_file(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "heat.txt").write_text(TEXT)
    for name in ("heat.txt", str(tmp_path / "heat.txt")):
        assert texts(run(tools.keyphrases_of_file(name, top=2))) == texts(
            run(tools.keyphrases(TEXT, top=2))
        )


def test_tags_of_a_list(tools: Tools) -> None:
    answer = run(
        tools.tag(TEXT, ["Heat pump", "beekeeping", " heat  pump ", "residential buildings"])
    )
    assert texts(answer)[0] == "Heat pump"
    assert answer["keyphrases"][0]["present"]
    assert set(texts(answer)) <= {"Heat pump", "beekeeping", "residential buildings"}
    # The vocabulary of one call is not that of the next.
    assert "Heat pump" not in texts(run(tools.keyphrases(TEXT)))


def test_evaluation(tools: Tools, tmp_path: Path) -> None:
    gold, predicted = [["heat pumps", "radiators"]], [["heat pump", "houses"]]
    answer = run(tools.evaluate_predictions([TEXT], gold, predicted))
    assert answer["scores"]["present.F1@M"] == pytest.approx(0.5)
    assert "chan19" in answer["signature"]
    record = {"id": "a", "title": "", "abstract": TEXT, "keywords": gold[0]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(record) + "\n")
    phrases = [{"text": phrase} for phrase in predicted[0]]
    (tmp_path / "pred.jsonl").write_text(json.dumps({"id": "a", "phrases": phrases}) + "\n")
    assert run(tools.evaluate_files("gold.jsonl", "pred.jsonl"))["scores"] == answer["scores"]


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "link.txt", "missing.txt", "."])
def test_only_files_of_the_folder_are_read(name: str, engine: Keywright, tmp_path: Path) -> None:
    folder = tmp_path / "allowed"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text(TEXT)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ConfigError, match="is not a file in the folders that may be read"):
        run(Tools(engine, [folder]).keyphrases_of_file(name))


def test_no_file_is_read_unless_a_folder_is_named(engine: Keywright, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="start `keywright mcp` with --folder"):
        run(Tools(engine).keyphrases_of_file(str(tmp_path)))
    with pytest.raises(ConfigError, match="is not a folder"):
        Tools(engine, [tmp_path / "missing"])


def test_limits(engine: Keywright, tmp_path: Path) -> None:
    tools = Tools(engine, [tmp_path], Limits(characters=100, body_bytes=50))
    (tmp_path / "long.txt").write_text("word " * 40)
    refused: dict[str, Coroutine[Any, Any, dict[str, Any]]] = {
        "at most 100 are": tools.keyphrases("word " * 40),
        "at most 50 are": tools.keyphrases_of_file("long.txt"),
        "vocabulary has 1,001": tools.tag("a text", [f"tag {n}" for n in range(1001)]),
        "at most 200 are": tools.tag("a text", ["tag" * 100]),
        "contains no terms": tools.tag("a text", [" "]),
        "has no text": tools.keyphrases(" "),
        "65 documents": tools.evaluate_predictions(["a"] * 65, [["a"]] * 65, [["a"]] * 65),
        "one of each": tools.evaluate_predictions(["a"], [], []),
        "top is -1": tools.keyphrases("a text", top=-1),
        "unknown protocol": tools.evaluate_predictions(["a"], [["a"]], [["a"]], "chan18"),
    }
    for message, asked in refused.items():
        with pytest.raises((KeywrightError, RefusalError), match=message):
            run(asked)


def test_a_model_that_compares_documents_is_refused() -> None:
    with pytest.raises(ConfigError, match="one by one"):
        Tools(Keywright("tfidf"))


def test_over_the_protocol(tmp_path: Path) -> None:
    """The official client starts `keywright mcp` and uses every tool."""
    mcp = pytest.importorskip("mcp", reason="needs keywright[mcp]")
    (tmp_path / "heat.txt").write_text(TEXT)
    code = "from keywright.cli import main; main()"
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-c", code, "mcp", "--folder", str(tmp_path)],
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
    )

    async def talk() -> None:
        async with mcp.Client(server) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == {
                "keyphrases", "keyphrases_of_file", "tag", "evaluate_predictions", "evaluate_files",
            }  # fmt: skip
            assert all(tool.description and tool.annotations.read_only_hint for tool in listed)

            async def ask(tool: str, **arguments: object) -> Any:
                return await client.call_tool(tool, arguments)

            answer = await ask("keyphrases", text=TEXT, top=2)
            assert not answer.is_error
            assert len(answer.structured_content["keyphrases"]) == 2
            file = await ask("keyphrases_of_file", path="heat.txt", top=2)
            assert file.structured_content == answer.structured_content
            tagged = await ask("tag", text=TEXT, vocabulary=["heat pump"])
            assert tagged.structured_content["keyphrases"][0]["text"] == "heat pump"
            scored = await ask(
                "evaluate_predictions",
                texts=[TEXT],
                gold=[["radiators"]],
                predictions=[["radiator"]],
            )
            assert scored.structured_content["scores"]["present.F1@M"] == 1.0
            refused = await ask("keyphrases_of_file", path="/etc/passwd")
            assert refused.is_error
            assert "may be read" in refused.content[0].text
            wrong = await ask("keyphrases", top="many")
            assert wrong.is_error

    asyncio.run(talk())


def test_without_the_library_there_is_a_hint(
    monkeypatch: pytest.MonkeyPatch, engine: Keywright
) -> None:
    from keywright.serving.assistants import server

    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(KeywrightError, match=r"pip install 'keywright\[mcp\]'"):
        server(Tools(engine))
