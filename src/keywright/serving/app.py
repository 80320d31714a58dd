"""The application: which request gets which answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import msgspec
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from msgspec import Meta
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse

from keywright import __version__
from keywright.errors import ConfigError
from keywright.generation.engine import Selection, word_count
from keywright.generation.keyphrases import Keyphrase
from keywright.serving import description, messages, static
from keywright.serving.batcher import Batcher, ClosedError, QueueFullError
from keywright.serving.guard import Guard, error_response
from keywright.serving.keys import Keys, RateLimit
from keywright.serving.lane import LongLane
from keywright.serving.limits import Limits
from keywright.serving.metrics import CONTENT_TYPE, Metrics
from keywright.serving.refusal import RefusalError, retry_later
from keywright.serving.uploads import Uploads
from keywright.types import Document
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

ALL = Selection(top=0)
NO_PAGE = b"keywright is running. POST a text to /v1/keyphrases; see /docs.\n"
_REFERENCE = "#/components/schemas/{name}"
GUARDED = "/v1"  # requests below this path need a key
REFUSED = {
    400: "The body does not match its content type.",
    401: "The key is missing or wrong.",
    408: "The request took too long.",
    413: "The body, the text, the vocabulary or the number of documents is too large.",
    415: "The content type is not supported, or the body is compressed.",
    422: "The request is invalid, or the file cannot be read.",
    429: "Too many requests with this key; see Retry-After.",
    431: "The URL and headers are too large.",
    500: "Internal error.",
    503: "The service is busy or shutting down; see Retry-After.",
}
REFUSED_GET = {status: REFUSED[status] for status in (401, 429, 431, 500)}
REFUSED_READY = {503: "The service is not accepting requests; see Retry-After."}


class Engine(Protocol):
    """The part of `Keywright` that the service uses."""

    @property
    def calibrated(self) -> bool: ...

    @property
    def needs_all(self) -> bool: ...

    def generate(
        self, texts: Iterable[Document], selection: Selection, /
    ) -> Iterable[list[Keyphrase]]: ...

    def warnings(self, document: Document) -> list[str]: ...

    def with_vocabulary(self, vocabulary: Terms, /) -> Engine: ...


@dataclass(frozen=True)
class Asked:
    """A document and the terms to choose from; without any, the engine's own keyphrases."""

    document: Document
    terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    keyphrases: list[Keyphrase]
    warnings: list[str]


@dataclass(frozen=True)
class Generate:
    """The work of the batcher and of the worker processes, to which it is sent."""

    engine: Engine

    def __call__(self, asked: Sequence[Asked]) -> list[Found]:
        found: dict[int, Found] = {}
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, one in enumerate(asked):
            groups.setdefault(one.terms, []).append(number)
        for terms, numbers in groups.items():
            documents = [asked[number].document for number in numbers]
            found.update(zip(numbers, self._generated(documents, terms), strict=True))
        return [found[number] for number in range(len(asked))]

    def _generated(self, documents: list[Document], terms: tuple[str, ...]) -> list[Found]:
        engine = self.engine
        if terms:
            engine = engine.with_vocabulary(Terms(Term(text=name) for name in terms))
        # What a request selects does not matter here, so that requests share batches.
        return [
            Found(list(keyphrases), self.engine.warnings(document))
            for document, keyphrases in zip(documents, engine.generate(documents, ALL), strict=True)
        ]


@dataclass(frozen=True)
class Settings:
    """Start-up settings; `rate` is the number of requests per minute and key (0 = no limit)."""

    model: str = "default"
    limits: Limits = field(default_factory=Limits)
    keys: Keys | None = None
    rate: int = 0
    hosts: tuple[str, ...] = ()  # names under which the service may be asked; any if empty

    def __post_init__(self) -> None:
        if self.rate < 0:
            raise ConfigError(f"rate is {self.rate}; it must be at least 1, or 0 for no limit")
        if self.rate and self.keys is None:
            raise ConfigError("rate needs keys: the limit applies to each key")


class Service:
    """The state that all requests share."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        if engine.needs_all:
            raise ConfigError(
                f"{settings.model} scores each document against the others given with it, and a "
                "service would mix the documents of different clients; use another model"
            )
        limits = settings.limits
        self.engine = engine
        self.settings = settings
        self.metrics = Metrics(lambda: self.batcher.waiting + self.lane.waiting)
        self.lane: LongLane[Asked, Found] = LongLane(
            Generate(engine), workers=limits.long_workers, capacity=limits.long_requests
        )
        self.batcher: Batcher[Asked, Found] = Batcher(
            Generate(engine),
            lambda asked: len(asked.document.text),
            batch=limits.batch,
            max_length=limits.batch_characters,
            wait=limits.batch_wait,
            capacity=limits.queue,
            done=self.metrics.batched,
        )
        self.uploads = Uploads(limits.files, limits.characters)
        self.rate = RateLimit(settings.rate) if settings.rate else None

    async def admit(self, request: Request) -> None:
        """Refuse a request without a valid key, or above the key's rate limit."""
        if self.settings.keys is None:
            return
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        holder = self.settings.keys.holder(key.strip()) if scheme.lower() == "bearer" else None
        if holder is None:
            message = "This service needs a key: send the header `Authorization: Bearer KEY`."
            raise RefusalError(401, "unauthorised", message, {"WWW-Authenticate": "Bearer"})
        request.state.fields = {"key": holder}
        if self.rate is not None and (seconds := self.rate.wait(holder)):
            message = f"More than {self.settings.rate} requests per minute; slow down."
            raise retry_later(429, "too_many_requests", message, seconds)

    async def answer(
        self,
        request: Request,
        documents: list[Document],
        options: messages.Options,
        terms: tuple[str, ...],
    ) -> Response:
        selection = messages.selection(options, self.engine.calibrated)
        _log_sizes(request, documents)
        try:
            found = await self._process([Asked(document, terms) for document in documents])
        except QueueFullError:
            message = "Too many documents are waiting; try again soon."
            raise retry_later(503, "busy", message, 1) from None
        except ClosedError:
            message = "The service is shutting down; try again soon."
            raise retry_later(503, "shutting_down", message, 5) from None
        self.metrics.generated(len(documents))
        answered = [
            messages.document_out(
                document,
                selection(result.keyphrases, word_count(document)),
                result.warnings,
            )
            for document, result in zip(documents, found, strict=True)
        ]
        return _json(messages.Answer(documents=answered, model=self.settings.model))

    async def _process(self, asked: Sequence[Asked]) -> list[Found]:
        """Long requests must not delay short ones."""
        size = sum(len(request.document.text) for request in asked)
        limits = self.settings.limits
        if size > limits.long_characters or len(asked[0].terms) > limits.short_terms:
            return await self.lane.submit(asked)
        return await self.batcher.submit(asked)


def create_app(engine: Engine, settings: Settings | None = None) -> FastAPI:
    """The service over an engine, as an ASGI application."""
    service = Service(engine, settings or Settings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await service.batcher.close()
        await service.lane.close()

    app = FastAPI(
        title="keywright",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(
        Guard,
        requests=service.settings.limits.requests,
        body_bytes=service.settings.limits.body_bytes,
        answered=service.metrics.answered,
        hosts=service.settings.hosts,
    )
    app.add_exception_handler(RefusalError, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _client_gone)
    app.include_router(_keyphrase_routes(service))
    app.include_router(_state_routes(service))
    app.include_router(_page_routes(static.read(), _description(app, service)))
    return app


def _keyphrase_routes(service: Service) -> APIRouter:
    limits = service.settings.limits
    routes = APIRouter(prefix=GUARDED, dependencies=[Depends(service.admit)])

    @routes.post("/keyphrases", **_described(messages.Ask, "application/json"))
    async def keyphrases(request: Request) -> Response:
        """Keyphrases of one or more documents, in the order given."""
        async with _within(limits.seconds):
            _require(request, "application/json")
            ask = messages.parse(await request.body())
            async with _until_disconnect(request):
                terms = messages.terms(ask.vocabulary, limits)
                return await service.answer(request, messages.documents(ask, limits), ask, terms)

    @routes.post("/keyphrases/file", **_described(_Upload, "multipart/form-data"))
    async def keyphrases_of_file(request: Request) -> Response:
        """Keyphrases of a PDF, HTML, Markdown or text file."""
        async with _within(limits.seconds):
            _require(request, "multipart/form-data")
            content, name, upload = await _upload(request)
            async with _until_disconnect(request):
                given = upload.vocabulary and upload.vocabulary.splitlines()
                terms = messages.terms(given, limits)
                document = await service.uploads.read(content, name, _client(request))
                return await service.answer(request, [document], upload, terms)

    @routes.get("/models", responses=_responses("The model in use.", "Models", REFUSED_GET))
    async def models() -> Response:
        """The model in use, and whether its probabilities are calibrated."""
        model = messages.Model(name=service.settings.model, calibrated=service.engine.calibrated)
        return _json(messages.Models(models=[model]))

    return routes


def _state_routes(service: Service) -> APIRouter:
    routes = APIRouter()

    @routes.get("/healthz", responses=_responses("The process is running.", "Status", {}))
    async def healthz() -> Response:
        """Whether the process is running."""
        return _json(messages.Status(status="ok"))

    @routes.get("/readyz", responses=_responses("Requests are accepted.", "Status", REFUSED_READY))
    async def readyz() -> Response:
        """Whether requests are accepted; 503 if not."""
        if not service.batcher.running:
            message = "The service is not accepting requests."
            raise retry_later(503, "shutting_down", message, 5)
        return _json(messages.Status(status="ready"))

    @routes.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    return routes


def _page_routes(files: Mapping[str, static.File], openapi: dict[str, Any]) -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    fallback = static.File(NO_PAGE, "text/plain; charset=utf-8")
    docs = static.File(description.page(openapi).encode(), "text/html; charset=utf-8")

    @routes.get("/")
    async def index() -> Response:
        return _file(files.get(static.INDEX, fallback))

    @routes.get("/assets/{name}")
    async def asset(name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        return _file(files[name])

    @routes.get("/docs")
    async def documentation() -> Response:
        return _file(docs)

    @routes.get("/openapi.json")
    async def description_for_programs() -> Response:
        return _json(openapi)

    return routes


class _Upload(messages.Options, kw_only=True):
    """A file, and which keyphrases to return."""

    file: bytes = b""
    vocabulary: (
        Annotated[str, Meta(description="One term per line: only these are returned.")] | None
    ) = None


def _described(body: type, kind: str) -> dict[str, Any]:
    """The OpenAPI description of a request whose body is parsed here and not by FastAPI."""
    schema = {"$ref": _REFERENCE.format(name=body.__name__.strip("_"))}
    content = {"required": True, "content": {kind: {"schema": schema}}}
    return {
        "openapi_extra": {"requestBody": content},
        "responses": _responses("The keyphrases of every document.", "Answer", REFUSED),
    }


def _responses(ok: str, answer: str, refused: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    def entry(text: str, name: str) -> dict[str, Any]:
        schema = {"$ref": _REFERENCE.format(name=name)}
        return {"description": text, "content": {"application/json": {"schema": schema}}}

    errors: dict[int | str, dict[str, Any]] = {
        status: entry(text, "ErrorAnswer") for status, text in refused.items()
    }
    return {200: entry(ok, answer), **errors}


def _description(app: FastAPI, service: Service) -> dict[str, Any]:
    openapi = get_openapi(
        title=app.title,
        version=app.version,
        description="Keyphrases for documents, with probabilities and places.",
        routes=app.routes,
    )
    types = (
        messages.Ask,
        messages.Answer,
        messages.Models,
        messages.Status,
        messages.ErrorAnswer,
        _Upload,
    )
    _, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    upload = schemas.pop("_Upload")
    upload["title"] = "Upload"
    upload["properties"]["file"] = {"type": "string", "format": "binary"}
    upload["required"] = ["file"]
    components = openapi.setdefault("components", {})
    components["schemas"] = {**schemas, "Upload": upload}
    if service.settings.keys is not None:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in openapi["paths"].items():
            if path.startswith(GUARDED):
                for operation in operations.values():
                    operation["security"] = [{"key": []}]
    return openapi


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise RefusalError(
            408, "timeout", f"The request took longer than the limit of {seconds:g} seconds."
        ) from None


@asynccontextmanager
async def _until_disconnect(request: Request) -> AsyncIterator[None]:
    """Stop when the client disconnects and nobody waits for the answer. Read the body before."""
    try:
        async with asyncio.timeout(None) as timeout:
            watching = asyncio.create_task(_expire_on_disconnect(request, timeout))
            try:
                yield
            finally:
                watching.cancel()
    except TimeoutError:
        if not timeout.expired():
            raise
        raise ClientDisconnect from None


async def _expire_on_disconnect(request: Request, timeout: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass  # the body has been read: no other message matters
    timeout.reschedule(asyncio.get_running_loop().time())


def _require(request: Request, kind: str) -> None:
    """Refuse other content types, such as those that a page of another site may send unasked."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise RefusalError(415, "unsupported_type", f"The content type must be {kind}.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        message = "The body must not be compressed."
        raise RefusalError(415, "unsupported_type", message, {"Accept-Encoding": "identity"})


async def _upload(request: Request) -> tuple[bytes, str, _Upload]:
    """The content of the field `file`, its name, and the other fields as options."""
    try:
        async with request.form(max_files=1, max_fields=16) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                message = "The form needs a file in its field `file`."
                raise RefusalError(422, "invalid_request", message)
            if len(form) != len(form.multi_items()):
                message = "The form repeats a field; send each field once."
                raise RefusalError(422, "invalid_request", message)
            fields = {name: value for name, value in form.items() if name != "file"}
            options = msgspec.convert(fields, _Upload, strict=False)
            return await file.read(), file.filename or "", options
    except msgspec.ValidationError as error:
        message = f"The form is invalid: {messages.brief(error)}."
        raise RefusalError(422, "invalid_request", message) from None
    except (FormParserError, UnicodeDecodeError, LookupError):
        # LookupError: a field declares an unknown encoding.
        message = "The body is not a complete multipart form."
        raise RefusalError(400, "invalid_form", message) from None


def _client(request: Request) -> str:
    """Who asks, for fair turns: the name of the key, or the address."""
    fields: dict[str, str] = getattr(request.state, "fields", {})
    return fields.get("key") or (request.client.host if request.client else "")


def _log_sizes(request: Request, documents: Sequence[Document]) -> None:
    """Add the size of a request to its log line; its content is never logged."""
    request.state.fields = {
        **getattr(request.state, "fields", {}),
        "documents": len(documents),
        "characters": sum(len(document.text) for document in documents),
    }


def _json(value: object) -> Response:
    return Response(
        msgspec.json.encode(value),
        headers={"Cache-Control": "no-store"},
        media_type="application/json",
    )


def _file(file: static.File) -> Response:
    return Response(file.content, headers={"Content-Type": file.kind, "Cache-Control": "no-cache"})


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)
    return error_response(error)


async def _http_error(request: Request, error: Exception) -> Response:
    """Errors raised by the framework, such as 404 and 405, in the service's own format."""
    assert isinstance(error, HTTPException)
    code = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}
    name = code.get(error.status_code, "refused")
    return error_response(
        RefusalError(
            error.status_code, name, f"{error.detail.rstrip('.')}.", dict(error.headers or {})
        )
    )


async def _client_gone(request: Request, error: Exception) -> Response:
    """Nobody receives this answer; its status is for the log."""
    return error_response(RefusalError(499, "client_gone", "The client closed the connection."))
