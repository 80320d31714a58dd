"""The application: which request gets which answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse

from keywright import __version__
from keywright.errors import ConfigError
from keywright.generation.keyphrases import Keyphrase
from keywright.serving import description, messages, static
from keywright.serving.batcher import Batcher, ClosedError, QueueFullError
from keywright.serving.guard import Guard, error_response
from keywright.serving.keys import Keys, RateLimit
from keywright.serving.limits import Limits
from keywright.serving.metrics import CONTENT_TYPE, Metrics
from keywright.serving.refusal import RefusalError, come_back
from keywright.serving.uploads import Uploads
from keywright.types import Document

NO_PAGE = b"keywright is running. POST a text to /v1/keyphrases; /docs tells how.\n"
_REFERENCE = "#/components/schemas/{name}"
GUARDED = "/v1"  # what keys are asked for
REFUSED = {
    400: "The body is not what its type says.",
    401: "No key, or a wrong one.",
    408: "It took too long.",
    413: "The body, the text or the number of documents is too large.",
    415: "The body is of another type, or compressed.",
    422: "The request or the file cannot be understood.",
    429: "Too many requests with this key; see Retry-After.",
    431: "Address and headers are too large.",
    500: "Something went wrong in the service.",
    503: "Too much is waiting; see Retry-After.",
}
REFUSED_GET = {status: REFUSED[status] for status in (401, 429, 431, 500)}
REFUSED_READY = {503: "It takes no requests; see Retry-After."}


class Engine(Protocol):
    """What `Keywright` is to the service."""

    @property
    def calibrated(self) -> bool: ...

    @property
    def needs_all(self) -> bool: ...

    def generate(self, texts: Iterable[Document], /) -> Iterator[list[Keyphrase]]: ...

    def warnings(self, document: Document) -> list[str]: ...


@dataclass(frozen=True)
class Found:
    keyphrases: list[Keyphrase]
    warnings: list[str]


@dataclass(frozen=True)
class Settings:
    """What the service is told when it starts; `rate` is requests a minute and key, 0 any."""

    model: str = "default"
    limits: Limits = field(default_factory=Limits)
    keys: Keys | None = None
    rate: int = 0

    def __post_init__(self) -> None:
        if self.rate < 0:
            raise ConfigError(f"the rate is {self.rate}; it must be at least 1, or 0 for any")
        if self.rate and self.keys is None:
            raise ConfigError("a rate needs keys: it holds for each of them")


class Service:
    """The parts that requests share."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        if engine.needs_all:
            raise ConfigError(
                f"{settings.model} judges every document by the others given with it, and a "
                "service would mix those of strangers; use another model"
            )
        limits = settings.limits
        self.engine = engine
        self.settings = settings
        self.metrics = Metrics(lambda: self.batcher.waiting)
        self.batcher: Batcher[Document, Found] = Batcher(
            self._work,
            lambda document: len(document.text),
            batch=limits.batch,
            most_length=limits.batch_characters,
            wait=limits.batch_wait,
            capacity=limits.queue,
            done=self.metrics.batched,
        )
        self.uploads = Uploads(limits.files, limits.characters)
        self.rate = RateLimit(settings.rate) if settings.rate else None

    def _work(self, documents: Sequence[Document]) -> list[Found]:
        found = self.engine.generate(documents)
        return [
            Found(keyphrases, self.engine.warnings(document))
            for document, keyphrases in zip(documents, found, strict=True)
        ]

    async def admit(self, request: Request) -> None:
        """Refuse who has no key, or has used it too often."""
        if self.settings.keys is None:
            return
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        holder = self.settings.keys.holder(key.strip()) if scheme.lower() == "bearer" else None
        if holder is None:
            message = "This service needs a key: send the header `Authorization: Bearer KEY`."
            raise RefusalError(401, "unauthorised", message, {"WWW-Authenticate": "Bearer"})
        request.state.fields = {"key": holder}
        if self.rate is not None and (seconds := self.rate.wait(holder)):
            message = f"More than {self.settings.rate} requests a minute; slow down."
            raise come_back(429, "too_many_requests", message, seconds)

    async def answer(
        self, request: Request, documents: list[Document], options: messages.Options
    ) -> Response:
        wanted = messages.wanted(options, self.engine.calibrated)
        _log_sizes(request, documents)
        try:
            found = await self.batcher.submit(documents)
        except QueueFullError:
            message = "Too many documents are waiting; try again soon."
            raise come_back(503, "busy", message, 1) from None
        except ClosedError:
            message = "The service is shutting down; try again soon."
            raise come_back(503, "shutting_down", message, 5) from None
        self.metrics.generated(len(documents))
        made = [
            messages.shown(document, wanted(one.keyphrases), one.warnings)
            for document, one in zip(documents, found, strict=True)
        ]
        return _json(messages.Answer(documents=made, model=self.settings.model))


def create_app(engine: Engine, settings: Settings | None = None) -> FastAPI:
    """The service over an engine, as an ASGI application."""
    service = Service(engine, settings or Settings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await service.batcher.close()

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
        """Keyphrases of one document or of many, in their order."""
        async with _within(limits.seconds):
            _require(request, "application/json")
            ask = messages.parse(await request.body())
            async with _unless_gone(request):
                return await service.answer(request, messages.documents(ask, limits), ask)

    @routes.post("/keyphrases/file", **_described(_Upload, "multipart/form-data"))
    async def keyphrases_of_file(request: Request) -> Response:
        """Keyphrases of a PDF, HTML, Markdown or text file."""
        async with _within(limits.seconds):
            _require(request, "multipart/form-data")
            content, name, options = await _upload(request)
            async with _unless_gone(request):
                document = await service.uploads.read(content, name)
                return await service.answer(request, [document], options)

    @routes.get("/models", responses=_responses("The models that answer.", "Models", REFUSED_GET))
    async def models() -> Response:
        """The model that answers, and whether its probabilities are calibrated."""
        one = messages.Model(name=service.settings.model, calibrated=service.engine.calibrated)
        return _json(messages.Models(models=[one]))

    return routes


def _state_routes(service: Service) -> APIRouter:
    routes = APIRouter()

    @routes.get("/healthz", responses=_responses("It lives.", "Status", {}))
    async def healthz() -> Response:
        """Whether the process lives."""
        return _json(messages.Status(status="ok"))

    @routes.get("/readyz", responses=_responses("It takes requests.", "Status", REFUSED_READY))
    async def readyz() -> Response:
        """Whether requests are taken: 503 where they are not."""
        if not service.batcher.running:
            raise come_back(503, "shutting_down", "The service takes no requests now.", 5)
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
    """A file, and what is wanted of it."""

    file: bytes


def _described(body: type, kind: str) -> dict[str, Any]:
    """What OpenAPI says of a request that is parsed by us and not by FastAPI."""
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
            408, "timeout", f"The request took longer than the {seconds:g} seconds it may take."
        ) from None


@asynccontextmanager
async def _unless_gone(request: Request) -> AsyncIterator[None]:
    """Give up when the client goes: nobody waits for the answer. The body must have been read."""
    try:
        async with asyncio.timeout(None) as patience:
            watching = asyncio.create_task(_end_when_gone(request, patience))
            try:
                yield
            finally:
                watching.cancel()
    except TimeoutError:
        if not patience.expired():
            raise
        raise ClientDisconnect from None


async def _end_when_gone(request: Request, patience: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass  # nothing more comes of a body that has been read
    patience.reschedule(asyncio.get_running_loop().time())


def _require(request: Request, kind: str) -> None:
    """Refuse other types: what a foreign page can send without asking is one of them."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise RefusalError(415, "unsupported_type", f"The body must have the type {kind}.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        message = "The body must not be compressed."
        raise RefusalError(415, "unsupported_type", message, {"Accept-Encoding": "identity"})


async def _upload(request: Request) -> tuple[bytes, str, messages.Options]:
    """The content of the field `file`, its name, and the other fields as options."""
    try:
        async with request.form(max_files=1, max_fields=16) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                message = "The form needs a file in its field `file`."
                raise RefusalError(422, "invalid_request", message)
            if len(form) != len(form.multi_items()):
                message = "The form has a field twice; give each once."
                raise RefusalError(422, "invalid_request", message)
            fields = {name: value for name, value in form.items() if name != "file"}
            options = msgspec.convert(fields, messages.Options, strict=False)
            return await file.read(), file.filename or "", options
    except msgspec.ValidationError as error:
        message = f"The form does not fit: {messages.brief(error)}."
        raise RefusalError(422, "invalid_request", message) from None
    except (FormParserError, UnicodeDecodeError, LookupError):
        # LookupError: a field of an encoding that does not exist.
        raise RefusalError(400, "invalid_form", "The body is not a whole multipart form.") from None


def _log_sizes(request: Request, documents: Sequence[Document]) -> None:
    """How much was asked, for the log; what was asked is nobody's business."""
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
    """Refusals of the framework, such as 404 and 405, in the form of ours."""
    assert isinstance(error, HTTPException)
    code = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}
    name = code.get(error.status_code, "refused")
    return error_response(
        RefusalError(
            error.status_code, name, f"{error.detail.rstrip('.')}.", dict(error.headers or {})
        )
    )


async def _client_gone(request: Request, error: Exception) -> Response:
    """Nobody reads this answer; its status is for the log."""
    return error_response(RefusalError(499, "client_gone", "The client closed the connection."))
