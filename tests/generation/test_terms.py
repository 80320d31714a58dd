"""The default model scores every term of a vocabulary for a text."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import httpx
import msgspec
import pytest
from typer.testing import CliRunner

from keywright import Document, Keyphrase, Keywright, Selection
from keywright.cli import app
from keywright.serving.app import Settings, create_app
from keywright.vocabularies.term import Term
from keywright.vocabularies.terms import Terms

REVIEW = """I bought this espresso machine last month and I have mixed feelings. The stainless steel
body looks great. However, quality control seems poor: the gasket leaked at once. Customer service
took two weeks to answer and then asked me to ship the machine at my own cost. Is a neural net of
any use here? End of the story for me."""
TERMS = [
    Term(text="espresso machine", id="t1"),
    Term(text="customer service", id="t2"),
    Term(text="artificial neural network", id="t3", synonyms=("neural net",)),
    Term(text="the story", id="t4"),
    Term(text="bicycle repair", id="t5"),
]


@pytest.fixture(scope="module")
def kw() -> Keywright:
    return Keywright(vocabulary=Terms(TERMS))


@pytest.fixture(scope="module")
def found(kw: Keywright) -> dict[str, Keyphrase]:
    return {keyphrase.text: keyphrase for keyphrase in kw.generate(REVIEW)}


def test_every_term_in_the_text_is_returned_with_a_probability(found: dict[str, Keyphrase]) -> None:
    for name in ("espresso machine", "customer service"):
        assert found[name].present
        assert 0 < (found[name].probability or 0) < 1
        assert [REVIEW[start:end].lower() for start, end in found[name].places] == [name]


def test_a_loaded_model_takes_another_vocabulary(kw: Keywright) -> None:
    other = kw.with_vocabulary(Terms([Term(text="quality control")]))
    assert [phrase.text for phrase in other.generate(REVIEW)] == ["quality control"]
    assert "espresso machine" in {phrase.text for phrase in kw.generate(REVIEW)}
    assert pickle.loads(pickle.dumps(other)).generate(REVIEW) == other.generate(REVIEW)


def test_a_synonym_in_the_text_counts_for_its_term(found: dict[str, Keyphrase]) -> None:
    term = found["artificial neural network"]
    assert (term.present, term.written, term.id) == (True, "neural net", "t3")


def test_a_term_that_is_no_candidate_of_the_ranker_is_scored_too(
    found: dict[str, Keyphrase],
) -> None:
    assert found["the story"].present
    assert found["the story"].probability is not None


def test_terms_come_best_first_and_unrelated_ones_not_at_all(kw: Keywright) -> None:
    phrases = kw.generate(REVIEW)
    probabilities = [phrase.probability or 0 for phrase in phrases]
    assert probabilities == sorted(probabilities, reverse=True)
    assert "bicycle repair" not in [phrase.text for phrase in phrases]
    assert kw.generate(REVIEW, Selection(top=2)) == phrases[:2]


def test_an_absent_term_is_found_by_what_the_model_knows_of_it() -> None:
    text = """Weights of a network with many layers are trained by backpropagation on images of
    handwritten characters. Convolutional layers share their weights, which reduces overfitting."""
    kw = Keywright(vocabulary=Terms([Term(text="deep learning"), Term(text="soil erosion")]))
    (term,) = kw.generate(text)
    assert (term.text, term.present) == ("deep learning", False)


def test_a_term_of_a_later_window_is_found(kw: Keywright) -> None:
    text = "Nothing to see here, walk on and look at the sky. " * 60 + REVIEW
    assert {"espresso machine", "customer service"} <= {item.text for item in kw.generate(text)}


def test_marking_keeps_the_phrases_of_the_model() -> None:
    kw = Keywright(vocabulary=Terms(TERMS), vocabulary_mode="mark")
    phrases = kw.generate(REVIEW)
    assert {"espresso machine", "customer service"} <= {item.text for item in phrases}
    assert any(phrase.new for phrase in phrases)


def test_a_large_vocabulary_keeps_all_terms_of_the_text() -> None:
    many = [Term(text=f"invention {'abcdefghij'[n % 10]}{n}") for n in range(2000)]
    kw = Keywright(vocabulary=Terms([*many, *TERMS]))
    assert {"espresso machine", "customer service"} <= {item.text for item in kw.generate(REVIEW)}


def test_it_survives_pickling(kw: Keywright) -> None:
    again = pickle.loads(pickle.dumps(kw))
    assert again.generate(REVIEW) == kw.generate(REVIEW)


def test_command_line_python_and_service_agree(kw: Keywright, tmp_path: Path) -> None:
    rows = [f"{term.text},{term.id},{'|'.join(term.synonyms)}" for term in TERMS]
    (tmp_path / "terms.csv").write_text("term,id,synonyms\n" + "\n".join(rows))
    document = Document(title="A review", body=REVIEW)
    (tmp_path / "docs.jsonl").write_bytes(msgspec.json.encode(document))
    expected = [(item.text, item.id, item.present) for item in kw.generate(document)]
    result = CliRunner().invoke(
        app,
        [
            *("generate", str(tmp_path / "docs.jsonl"), "--format", "jsonl"),
            *("--vocabulary", str(tmp_path / "terms.csv")),
        ],
    )
    assert _listed(msgspec.json.decode(result.stdout)["keyphrases"]) == expected
    answer = asyncio.run(_asked(kw, {"title": "A review", "body": REVIEW}))
    assert _listed(answer["documents"][0]["keyphrases"]) == expected


def _listed(phrases: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [(item["text"], item["id"], item["present"]) for item in phrases]


async def _asked(kw: Keywright, body: dict[str, str]) -> dict[str, list[dict[str, list[object]]]]:
    service = create_app(kw, Settings())
    transport = httpx.ASGITransport(service)
    async with (
        service.router.lifespan_context(service),
        httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client,
    ):
        response = await client.post("/v1/keyphrases", json=body)
    found: dict[str, list[dict[str, list[object]]]] = response.json()
    return found
