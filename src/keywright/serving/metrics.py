"""The service's counters for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The counters of one service; `waiting` returns how many documents wait for the model."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._requests = Counter(
            "keywright_requests", "Requests answered.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "keywright_request_seconds",
            "Time from a request's headers to the end of its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._documents = Counter(
            "keywright_documents", "Documents answered with keyphrases.", registry=registry
        )
        self._batches = Histogram(
            "keywright_batch_documents",
            "Documents per batch.",
            buckets=_SIZES,
            registry=registry,
        )
        queue = Gauge(
            "keywright_queue_documents", "Documents waiting for the model.", registry=registry
        )
        queue.set_function(lambda: float(waiting()))

    def answered(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def generated(self, documents: int) -> None:
        self._documents.inc(documents)

    def batched(self, documents: int) -> None:
        self._batches.observe(documents)

    def text(self) -> bytes:
        return generate_latest(self._registry)
