"""`llm:NAME@http://HOST/v1`: a language model behind an OpenAI-compatible endpoint.

One answer per document gives its phrases in the order of the answer. Several samples are put
together by frequency, the best of the ways that Mohan et al. (2025) compare: a phrase that more
samples contain comes first, and among equals the one that comes earlier in its samples.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from keywright import config
from keywright.config import Count, NonNegative, Positive
from keywright.data.documents import read_documents
from keywright.errors import ConfigError, DataError
from keywright.llm import prompt
from keywright.llm.answers import Echo, Phrase, Stems, phrases
from keywright.llm.cache import Cache, default_folder
from keywright.llm.endpoint import Answer, Endpoint
from keywright.text.presence import padded
from keywright.text.reading import Reading
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction, ScoredPhrase

PREFIX = "llm:"
NO_CACHE = "off"
SHOTS = 3
_NAME = re.compile(r"(?P<model>[^@].*)@(?P<url>https?://.*)")


@dataclass(frozen=True)
class Config:
    prompt: str = "both"  # both, present, absent, or a file
    examples: str | None = None  # documents with keyphrases to show; None: zero-shot
    shots: Count | None = None  # how many of them; by default 3
    samples: Count = 1
    temperature: NonNegative | None = None  # by default 0 for one sample and 1 for several
    seed: int = 0  # of the first sample; the others count on
    max_tokens: Count = 256  # of an answer
    max_words: Count = 1000  # of a document; the rest is not sent
    longest: Count = 8  # words of a phrase; what is longer is a comment
    logprobs: bool = True  # ask for the log-probabilities of tokens
    concurrency: Count = 4  # requests at the same time
    timeout: Positive = 120.0  # seconds for one answer
    attempts: Count = 6
    wait: NonNegative = 1.0  # seconds before the second attempt; doubled before every further one
    cache: str | None = None  # a folder, or `off`; by default keywright/llm in the user's cache
    key: str = "KEYWRIGHT_LLM_KEY"  # the environment variable that holds the key
    price_in: NonNegative = 0.0  # per million tokens, to print the cost
    price_out: NonNegative = 0.0

    def __post_init__(self) -> None:
        if self.shots is not None and self.examples is None:
            raise ValueError("shots needs examples: a file of documents with keyphrases")
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("samples at temperature 0 are all the same; use a higher one")


# Predictions do not depend on these settings.
_WITHOUT_EFFECT = (
    "attempts", "cache", "concurrency", "examples", "key", "price_in", "price_out", "prompt",
    "timeout", "wait",
)  # fmt: skip


@dataclass
class Usage:
    """What the answers so far took. Answers of the cache cost nothing."""

    asked: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def add(self, answer: Answer, cached: bool) -> None:
        if cached:
            self.cached += 1
            return
        self.asked += 1
        self.prompt_tokens += answer.prompt_tokens
        self.answer_tokens += answer.answer_tokens


@dataclass
class LanguageModel:
    """A predictor. `settings` is everything that its predictions depend on."""

    model: str
    endpoint: Endpoint
    config: Config
    prompt: prompt.Prompt
    examples: Sequence[Document]  # one more than are shown, if there are more
    cache: Cache | None

    def __post_init__(self) -> None:
        self.usage = Usage()
        self._counting = threading.Lock()
        self._fixed = padded(stems(normalise(self.prompt.fixed)))

    @property
    def window(self) -> int:
        return 1  # a prediction does not depend on other documents

    @property
    def settings(self) -> dict[str, Any]:
        shown = msgspec.json.encode([config.to_table(self.prompt), self.examples])
        table = config.to_table(self.config)
        return {
            "llm": self.model,
            "url": self.endpoint.url,
            "prompt_sha256": hashlib.sha256(shown).hexdigest(),
            **{key: value for key, value in table.items() if key not in _WITHOUT_EFFECT},
        }

    def summary(self) -> str:
        """Requests, tokens and cost so far, in one line; nothing before the first answer."""
        used, settings = self.usage, self.config
        if not used.asked + used.cached:
            return ""
        line = (
            f"{used.asked:,} requests ({used.cached:,} more from the cache), "
            f"{used.prompt_tokens:,} tokens sent, {used.answer_tokens:,} received"
        )
        if not (settings.price_in or settings.price_out):
            return line
        sent, received = used.prompt_tokens / 1e6, used.answer_tokens / 1e6
        return f"{line}, cost {sent * settings.price_in + received * settings.price_out:.4f}"

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """One prediction per document, in order. At most `concurrency` requests are under way,
        and about as many documents are read ahead."""
        self.endpoint.stopped.clear()
        waiting: deque[tuple[Document, list[Future[Answer]]]] = deque()
        with ThreadPoolExecutor(self.config.concurrency) as pool:
            try:
                for document in documents:
                    asked = [
                        pool.submit(self._ask, request) for request in self._requests(document)
                    ]
                    waiting.append((document, asked))
                    if len(waiting) * self.config.samples >= 2 * self.config.concurrency:
                        yield self._next(waiting)
                while waiting:
                    yield self._next(waiting)
            finally:
                # Answers that are under way are still stored, further ones are not asked for.
                self.endpoint.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _next(self, waiting: deque[tuple[Document, list[Future[Answer]]]]) -> Prediction:
        document, asked = waiting.popleft()
        return self._prediction(document, [answer.result() for answer in asked])

    def _requests(self, document: Document) -> Iterator[dict[str, Any]]:
        if not document.text.strip():
            return  # nothing to ask about
        settings = self.config
        messages = self.prompt.messages(document, self._shown(document), settings.max_words)
        temperature = settings.temperature
        if temperature is None:
            temperature = 0.0 if settings.samples == 1 else 1.0
        for sample in range(settings.samples):
            request: dict[str, Any] = {
                "model": self.model,
                "messages": messages,
                "max_tokens": settings.max_tokens,
                "temperature": temperature,
                "seed": settings.seed + sample,
            }
            if settings.logprobs:
                request |= {"logprobs": True, "top_logprobs": 1}
            yield request

    def _shown(self, document: Document) -> list[Document]:
        """The examples of a document, which is not one of them."""
        others = [example for example in self.examples if example.text != document.text]
        return others[: self.config.shots or SHOTS]

    def _ask(self, request: dict[str, Any]) -> Answer:
        url = self.endpoint.url
        stored = None if self.cache is None else self.cache.get(url, request)
        answer = stored or self.endpoint.ask(request)
        if stored is None and self.cache is not None:
            self.cache.put(url, request, answer)
        with self._counting:
            self.usage.add(answer, stored is not None)
        return answer

    def _prediction(self, document: Document, answers: Sequence[Answer]) -> Prediction:
        source = padded(Reading.of(document).stems)
        said = {
            tuple(stems(normalise(phrase)))
            for example in self._shown(document)
            for phrase in example.keyphrases or ()
        }
        echo = Echo(self._fixed, said)
        samples = [
            self._wanted(document, phrases(answer, source, echo, self.config.longest))
            for answer in answers
        ]
        return Prediction(
            document_id=document.id,
            phrases=tuple(
                ScoredPhrase(
                    text=" ".join(normalise(found.text)) if document.tokenised else found.text,
                    token_log_probs=found.token_log_probs,
                    words=len(found.text.split()),
                    score=frequency if len(answers) > 1 else None,
                )
                for found, frequency in by_frequency(samples)
            ),
        )

    def _wanted(self, document: Document, found: list[Phrase]) -> list[Phrase]:
        kept = set(self.prompt.wanted(document, [phrase.text for phrase in found]))
        return [phrase for phrase in found if phrase.text in kept]


def by_frequency(samples: Sequence[Sequence[Phrase]]) -> list[tuple[Phrase, float]]:
    """Phrases with the share of samples that contain them, the most frequent first, then by their
    mean rank; each as the sample that is surest of it has it."""
    found: dict[Stems, list[tuple[int, Phrase]]] = {}
    for sample in samples:
        for rank, phrase in enumerate(sample):
            found.setdefault(phrase.stems, []).append((rank, phrase))

    def order(places: list[tuple[int, Phrase]]) -> tuple[float, float]:
        return -len(places), sum(rank for rank, _ in places) / len(places)

    return [
        (max((phrase for _, phrase in places), key=_log_prob), len(places) / len(samples))
        for places in sorted(found.values(), key=order)
    ]


def _log_prob(phrase: Phrase) -> float:
    """What samples of one phrase are compared by; the first of them if nothing is known."""
    return 0.0 if phrase.token_log_probs is None else sum(phrase.token_log_probs)


def load(name: str, settings: Sequence[str], max_source: int | None = None) -> LanguageModel:
    """The model that `llm:NAME@URL` names, with KEY=VALUE settings of `Config`."""
    match = _NAME.fullmatch(name.removeprefix(PREFIX))
    if match is None:
        raise ConfigError(f"{name}: write it as llm:NAME@http://HOST:PORT/v1")
    table: dict[str, Any] = {} if max_source is None else {"max_words": max_source}
    for setting in settings:
        config.override(table, setting)
    chosen = config.fill(Config, table, "llm")
    endpoint = Endpoint(match["url"], chosen.key, chosen.timeout, chosen.attempts, chosen.wait)
    return LanguageModel(
        match["model"],
        endpoint,
        chosen,
        prompt.load(chosen.prompt),
        _examples(chosen),
        _cache(chosen.cache),
    )


def _cache(setting: str | None) -> Cache | None:
    if setting == NO_CACHE:
        return None
    return Cache(default_folder() if setting is None else Path(setting))


def _examples(chosen: Config) -> tuple[Document, ...]:
    """The examples and one more: a document is never its own example."""
    if chosen.examples is None:
        return ()
    shots = chosen.shots or SHOTS
    with_gold = (document for document in read_documents(chosen.examples) if document.keyphrases)
    found = tuple(islice(with_gold, shots + 1))
    if len(found) < shots:
        raise DataError(
            f"has {len(found)} documents with keyphrases, and shots is {shots}", chosen.examples
        )
    return found
