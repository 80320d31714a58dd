"""Similar documents: Jaccard coefficients by hand, copies left out, damaged and empty indexes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keywright.data import retrieval
from keywright.data.retrieval import Index, Similar, entries
from keywright.errors import DataError
from keywright.types import Document

LIBRARY = (
    Document(
        title="Heat pumps", body="Heat pumps warm houses.", keyphrases=("heat pumps",), id="a"
    ),
    Document(title="", body="Pumps move the water.", keyphrases=("Water Pumps", "flow")),
    Document(title="Choirs", body="Singers rehearse.", keyphrases=("singing",)),
    Document(title="Old houses", body="", keyphrases=("houses",), id="d"),
    Document(title="No phrases", body="Heat pumps warm old houses.", keyphrases=()),
)


def similar(document: Document, count: int = 3, same: float = 0.99) -> list[Similar]:
    return Index(entries(LIBRARY)).similar(document, count, same)


def test_the_score_is_the_jaccard_coefficient_without_stopwords() -> None:
    # {heat, pumps, save, water}; the entries are {heat, pumps, warm, houses},
    # {pumps, move, water}, {choirs, singers, rehearse} and {old, houses}.
    found = similar(
        Document(title="", body="Heat pumps save water, and the water is saved by them")
    )
    assert [one.keyphrases for one in found] == [("water pumps", "flow"), ("heat pumps",)]
    # "saved" is a word of its own: five words.
    assert [one.score for one in found] == [pytest.approx(2 / 6), pytest.approx(2 / 7)]


def test_the_best_come_first_and_documents_without_a_common_word_never() -> None:
    wanted = Document(title="", body="Singers of houses")
    # One common word of 3, 4 and 5 words.
    expected = [("houses",), ("singing",), ("heat pumps",)]
    assert [one.keyphrases for one in similar(wanted)] == expected
    assert [one.keyphrases for one in similar(wanted, count=1)] == expected[:1]
    assert similar(Document(title="", body="Quartz")) == []
    assert similar(Document(title="", body="")) == []
    assert similar(Document(title="", body="the of and")) == []


@pytest.mark.parametrize(
    "copy",
    [
        Document(title="Heat pumps", body="Something else: warm houses."),  # the title
        Document(title="Heating", body="Warm houses.", id="a"),  # the id
        Document(title="Heat", body="Pumps warm houses: how?"),  # the words
    ],
)
def test_a_document_does_not_find_a_copy_of_itself(copy: Document) -> None:
    phrases = [one.keyphrases for one in similar(copy, same=0.7)]
    assert ("heat pumps",) not in phrases
    assert ("houses",) in phrases


def test_no_training_document_finds_itself() -> None:
    index = Index(entries(LIBRARY))
    for document in LIBRARY[:4]:
        own = tuple(phrase.lower() for phrase in document.keyphrases or ())
        assert own not in [one.keyphrases for one in index.similar(document, 4, 0.7)]


def test_it_agrees_with_the_definition_on_random_documents() -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(30)]
    documents = [
        Document(
            title="",
            body=" ".join(rng.choice(words, size=8)),
            keyphrases=(f"phrase {i}",),
            tokenised=True,
        )
        for i in range(50)
    ]
    index = Index(entries(documents))
    for document in documents[:10]:
        own = set(document.body.split())
        scored = []
        for number, other in enumerate(documents):
            theirs = set(other.body.split())
            jaccard = len(own & theirs) / len(own | theirs)
            if 0 < jaccard < 0.7:
                scored.append((-jaccard, number))
        expected = [(f"phrase {number}",) for _, number in sorted(scored)[:5]]
        assert [one.keyphrases for one in index.similar(document, 5, 0.7)] == expected


def test_an_index_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "retrieval.jsonl"
    retrieval.save(LIBRARY, path)
    loaded = retrieval.load(path)
    assert len(loaded) == 4
    wanted = Document(title="", body="Pumps warm singers")
    assert loaded.similar(wanted, 3, 0.7) == similar(wanted, 3, 0.7)


def test_an_index_without_documents_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "retrieval.jsonl"
    with pytest.raises(DataError, match=r"retrieval\.jsonl: a retrieval index without documents; "):
        retrieval.save([LIBRARY[4]], path)
    assert not path.exists()
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"retrieval\.jsonl: a retrieval index without documents; "):
        retrieval.load(path)


@pytest.mark.parametrize(
    "line", ["[]", "{}", "nonsense", '{"title":"a","words":"b","keyphrases":3}']
)
def test_a_damaged_index_names_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "retrieval.jsonl"
    retrieval.save(LIBRARY, path)
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"retrieval\.jsonl:5: is not an entry of a retrieval index"
    ):
        retrieval.load(path)
