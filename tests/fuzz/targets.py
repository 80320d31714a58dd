"""Everything that reads what others wrote: it returns, or refuses with an error of ours."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from keywright import config as configs
from keywright import lexicon
from keywright.analysis.ratings import read_ratings
from keywright.calibration.recalibrate import Recalibrator
from keywright.data import tabular
from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from keywright.data.table import Columns
from keywright.errors import KeywrightError
from keywright.generation.keyphrases import keyphrases
from keywright.generation.windows import windows
from keywright.runtime import folder as exported
from keywright.serving import messages
from keywright.serving.app import _upload
from keywright.serving.limits import Limits
from keywright.serving.refusal import RefusalError
from keywright.sources import read_content, read_source
from keywright.types import Document, Prediction, ScoredPhrase
from keywright.vocabularies.read import read_terms

REFUSALS = (KeywrightError, RefusalError, HTTPException)
Target = Callable[[bytes], None]


def _file(name: str, read: Callable[[Path], object]) -> Target:
    """Bytes as a file of this name."""

    def target(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            read(path)

    return target


def _source(name: str) -> Target:
    """A user's file, and everything that is done with its text before a model sees it."""

    def target(content: bytes) -> None:
        document = read_content(content, name)
        windows(document, 100)
        phrases = (ScoredPhrase(text="heat pump"), ScoredPhrase(text=document.text[:20]))
        keyphrases(document, Prediction(phrases=phrases))

    return target


def _table(name: str) -> Target:
    """A table, read and written with keyphrases; of JSON lines the column `text`."""

    def read(path: Path) -> None:
        columns = Columns("text") if path.suffix == ".jsonl" else None
        documents = list(read_source(path, columns))
        found = [(("heat pump", "=1"), (0.5, None))] * len(documents)
        for output in {path.with_name("out.csv"), path.with_name(f"out{path.suffix}")}:
            if output.suffix != ".xlsx":
                tabular.extend(path, output, tabular.Added(("k", "p"), found))

    return _file(name, read)


def _config(content: bytes) -> None:
    text = content.decode("utf-8", errors="replace")
    configs.parse(configs.parse_toml(text, "fuzz.toml"))


def _request(content: bytes) -> None:
    ask = messages.parse(content)
    found: list[Document] = messages.documents(ask, Limits())
    assert found


def _form(content: bytes) -> None:
    head = [(b"content-type", b"multipart/form-data; boundary=b")]

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def read() -> None:
        # With an application, the library turns what is wrong with a form into an answer.
        scope = {"type": "http", "method": "POST", "headers": head, "app": None}
        await _upload(Request(scope, receive))

    asyncio.run(read())


TARGETS: dict[str, Target] = {
    "html": _source("page.html"),
    "markdown": _source("notes.md"),
    "text": _source("notes.txt"),
    "pdf": _source("paper.pdf"),
    "docx": _source("paper.docx"),
    "epub": _source("book.epub"),
    "csv": _table("data.csv"),
    "jsonlines": _table("data.jsonl"),
    "parquet": _table("data.parquet"),
    "excel": _table("data.xlsx"),
    "bibtex": _table("refs.bib"),
    "ris": _table("refs.ris"),
    "csl": _table("refs.json"),
    "documents": _file("documents.jsonl", lambda path: list(read_documents(path))),
    "predictions": _file("predictions.jsonl", lambda path: list(read_predictions(path))),
    "terms": _file("terms.tsv", lambda path: read_terms(path, "en")),
    "ratings": _file("ratings.csv", read_ratings),
    "recalibration": _file("calibration.json", Recalibrator.from_json),
    "lexicon": _file("vocabulary.json", lexicon.load),
    "manifest": _file("manifest.json", lambda path: exported.read_manifest(path.parent)),
    "config": _config,
    "request": _request,
    "form": _form,
}
