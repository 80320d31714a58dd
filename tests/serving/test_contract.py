"""The service conforms to its own OpenAPI description, whatever it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.serving.test_server import serving

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
# A schema cannot express that a text must not be blank: valid data may still be refused.
EXCLUDED = [schemathesis.checks.positive_data_acceptance]


@pytest.fixture(scope="module")
def description() -> Iterator[Any]:
    with serving("--model", "default") as server:
        yield schemathesis.openapi.from_url(f"{server.address}/openapi.json")


def statuses(operation: Any, mode: str) -> set[int]:
    """The statuses of answers to valid or invalid requests, all checked against the description."""
    seen: set[int] = set()

    @settings(
        max_examples=150,  # most valid requests are refused: both or neither of text and documents
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def ask(case: Any) -> None:
        seen.add(case.call_and_validate(excluded_checks=EXCLUDED).status_code)

    ask()
    return seen


@pytest.mark.slow
def test_every_answer_matches_the_description(description: Any) -> None:
    """Never 5xx; status, content type, headers and body are as described."""
    operations = [found.ok() for found in description.get_all_operations()]
    assert len(operations) == 6
    for operation in operations:
        assert 200 in statuses(operation, "positive"), operation.label
        if operation.body:
            assert statuses(operation, "negative") & {400, 415, 422}, operation.label
