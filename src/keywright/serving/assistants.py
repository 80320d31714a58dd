"""The tools of the MCP server (Model Context Protocol): keyphrases for assistants and pipelines.

`Tools` is what they do, under the limits of the HTTP service; `server` offers them to clients.
Files are read only below the folders that the user has named, in a process of their own.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keywright import __version__
from keywright.errors import ConfigError, KeywrightError, MissingExtraError
from keywright.evaluate import Evaluation, evaluate
from keywright.generation.engine import Keywright, Selection
from keywright.serving import messages
from keywright.serving.limits import Limits
from keywright.serving.refusal import RefusalError
from keywright.serving.uploads import Uploads
from keywright.types import Document
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = (
    "Keyphrases of texts and files, each with the probability that an author would choose it; 30% "
    "is high. `present` phrases occur in the text, the others describe it in other words. Use "
    "`tag` to choose from a given list of tags."
)

Answer = dict[str, Any]


class Tools:
    """What an assistant can ask for; each method is a tool, and its docstring the description."""

    def __init__(
        self, engine: Keywright, folders: Sequence[Path] = (), limits: Limits | None = None
    ) -> None:
        if engine.needs_all:
            raise ConfigError(
                "this model scores each document against all others, but an assistant gives them "
                "one by one; use another model"
            )
        for folder in folders:
            if not folder.is_dir():
                raise ConfigError(f"{folder} is not a folder")
        self._engine = engine
        self._folders = [folder.resolve() for folder in folders]
        self._limits = limits or Limits()
        self._uploads = Uploads(self._limits.files, self._limits.characters)

    async def keyphrases(
        self,
        text: str,
        top: int | None = None,
        min_confidence: float = 0.0,
        present_only: bool = False,
    ) -> Answer:
        """The keyphrases of a text, best first.

        `top` is the largest number (0 = all); by default it follows from the text.
        `min_confidence` omits less probable phrases, `present_only` those not in the text.
        """
        selection = Selection(top, min_confidence, absent=not present_only)
        return await self._answer(self._engine, self._document(text), selection)

    async def keyphrases_of_file(
        self,
        path: str,
        top: int | None = None,
        min_confidence: float = 0.0,
        present_only: bool = False,
    ) -> Answer:
        """The keyphrases of a PDF, HTML, Markdown or text file in an allowed folder.

        The other arguments are those of `keyphrases`.
        """
        selection = Selection(top, min_confidence, absent=not present_only)
        file = self._allowed(path)
        content = await asyncio.to_thread(file.read_bytes)
        document = await self._uploads.read(content, file.name)
        return await self._answer(self._engine, document, selection)

    async def tag(self, text: str, vocabulary: list[str], top: int = 10) -> Answer:
        """The tags of a list that suit a text, best first, with probabilities.

        `vocabulary` lists the tags, in the spelling that is returned; no others are returned.
        """
        names = messages.terms(vocabulary, self._limits)
        terms = Terms(Term(text=name) for name in names)
        document = self._document(text)
        engine = await asyncio.to_thread(self._engine.with_vocabulary, terms)
        return await self._answer(engine, document, Selection(top))

    async def evaluate_predictions(
        self,
        texts: list[str],
        gold: list[list[str]],
        predictions: list[list[str]],
        protocol: str = "chan19",
    ) -> Answer:
        """Score predicted keyphrases against gold ones, as a published protocol does.

        `texts`, `gold` and `predictions` have one entry per document. Protocols: chan19, yuan20,
        kpdrop, exhird, unikp, fg.
        """
        if not len(texts) == len(gold) == len(predictions):
            raise ConfigError(
                f"there are {len(texts)} texts, {len(gold)} lists of gold keyphrases and "
                f"{len(predictions)} of predictions; give one of each per document"
            )
        documents = [
            Document(title="", body=document.text, keyphrases=tuple(phrases))
            for document, phrases in zip(self._documents(texts), gold, strict=True)
        ]
        score = functools.partial(evaluate, documents, predictions, protocol=protocol)
        return _scores(await asyncio.to_thread(score))

    async def evaluate_files(
        self, documents: str, predictions: str, protocol: str = "chan19"
    ) -> Answer:
        """Score a file of predictions against a file of documents with gold keyphrases.

        Both are in allowed folders, in any format that `keywright evaluate` reads.
        """
        paths = self._allowed(documents), self._allowed(predictions)
        return _scores(
            await asyncio.to_thread(functools.partial(evaluate, protocol=protocol), *paths)
        )

    def _document(self, text: str) -> Document:
        (document,) = self._documents([text])
        return document

    def _documents(self, texts: Sequence[str]) -> list[Document]:
        return messages.documents(messages.Ask(documents=list(texts)), self._limits)

    def _allowed(self, name: str) -> Path:
        """A file below an allowed folder, symbolic links followed, that is not too large."""
        if not self._folders:
            raise ConfigError("no folder may be read; start `keywright mcp` with --folder FOLDER")
        wanted = Path(name).expanduser()
        for folder in self._folders:
            file = (folder / wanted).resolve()
            if file.is_relative_to(folder) and file.is_file():
                break
        else:
            allowed = ", ".join(map(str, self._folders))
            raise ConfigError(f"{name} is not a file in the folders that may be read ({allowed})")
        if (size := file.stat().st_size) > self._limits.body_bytes:
            raise ConfigError(
                f"{name} has {size:,} bytes; at most {self._limits.body_bytes:,} are allowed"
            )
        return file

    async def _answer(self, engine: Keywright, document: Document, selection: Selection) -> Answer:
        found = await asyncio.to_thread(engine.generate, document, selection)
        return {
            "title": document.title,
            "keyphrases": [
                {"text": phrase.text, "probability": phrase.probability, "present": phrase.present}
                for phrase in found
            ],
            "warnings": engine.warnings(document),
        }


def _scores(result: Evaluation) -> Answer:
    return {
        "documents": result.documents,
        "scores": result.scores,
        "signature": result.signature,
        "explanation": result.explanation,
    }


def server(tools: Tools, seconds: float = Limits.seconds) -> MCPServer:
    """The MCP server over some tools."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise MissingExtraError("the MCP server", "mcp (version 2)", "mcp") from None

    def guarded(tool: Callable[..., Awaitable[Answer]]) -> Callable[..., Awaitable[Answer]]:
        """A tool whose errors of the user reach the assistant as one line."""

        @functools.wraps(tool)
        async def call(*arguments: Any, **options: Any) -> Answer:
            try:
                return await asyncio.wait_for(tool(*arguments, **options), seconds)
            except (KeywrightError, RefusalError) as error:
                raise ToolError(str(error)) from None
            except TimeoutError:
                raise ToolError(f"this took longer than the limit of {seconds:g} seconds") from None

        return call

    made = MCPServer("keywright", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    for tool in (
        tools.keyphrases,
        tools.keyphrases_of_file,
        tools.tag,
        tools.evaluate_predictions,
        tools.evaluate_files,
    ):
        hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        made.add_tool(guarded(tool), annotations=hints)
    return made
