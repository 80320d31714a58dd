"""The statistics by which papers describe corpora, checked by hand on small ones."""

from __future__ import annotations

import pytest

from keywright.data.documents import read_documents
from keywright.data.stats import present_sections, statistics
from keywright.types import Document
from tests.shared import SHARED, needs_data

CORPUS = [
    Document(
        title="Sparse graphs",
        body="A graph is sparse if it has few edges. Trees are sparse.",
        keyphrases=("sparse graph", "tree", "graph theory", "tree"),
    ),
    Document(title="", body="Nothing here.", keyphrases=("something else",)),
    Document(title="No gold", body="At all."),
    Document(title="Empty gold", body="Is gold.", keyphrases=()),
    Document(title="marks", body="only", keyphrases=("marks", "<peos>", ""), tokenised=True),
]  # fmt: skip


def test_the_columns_of_the_tables():
    found = statistics(CORPUS)
    assert (found.documents, found.without_gold) == (5, 1)
    # Repeated gold counts again, `<peos>` and empty pieces are no keyphrases.
    assert found.keyphrases == 4 + 1 + 0 + 1
    assert (found.present, found.absent) == (4, 2)
    assert (found.with_present, found.with_absent) == (2, 2)
    assert found.mean == 6 / 4  # documents without gold are no part of means
    assert found.variance == pytest.approx((16 + 1 + 0 + 1) / 4 - 1.5**2)
    assert found.percent_present == pytest.approx(100 * 4 / 6)
    assert (found.present_per_document, found.absent_per_document) == (1.0, 0.5)
    # "Sparse graphs" and "marks" begin their texts; "Trees" begins at character 53 of 70.
    assert found.sections == [2, 0, 0, 2, 0]


def test_an_empty_corpus_has_zeros():
    found = statistics([])
    assert (found.mean, found.variance, found.percent_present) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("tokenised", [False, True])
@pytest.mark.parametrize(
    ("word", "section"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (8, 4), (9, 4)]
)
def test_a_phrase_belongs_to_the_fifth_of_the_text_in_which_it_begins(tokenised, word, section):
    names = [letter * 2 for letter in "abcdefghij"]
    document = Document(title=" ".join(names[:3]), body=" ".join(names[3:]), tokenised=tokenised)
    assert list(present_sections(document, [names[word]])) == [section]


def test_a_phrase_may_cross_from_title_to_body_but_not_begin_inside_a_word():
    document = Document(title="neural network", body="models of subnetworks", tokenised=True)
    assert list(present_sections(document, ["network model", "works", ""])) == [0]


def test_stemmed_gold_is_not_stemmed_again():
    # "decisions" has the stem "decis", whose own stem is "deci": stemmed twice, it is not found.
    corpus = [Document(title="", body="Hard decisions.", keyphrases=("decis",))]
    assert statistics(corpus).present == 0
    assert statistics(corpus, stemmed_gold=True).present == 1


@needs_data
def test_the_semeval_and_inspec_test_sets():
    semeval = statistics(read_documents(SHARED / "data/test/semeval.jsonl"), stemmed_gold=True)
    assert (semeval.documents, semeval.keyphrases) == (100, 1466)
    assert semeval.percent_present == pytest.approx(45.8, abs=0.5)
    inspec = statistics(read_documents(SHARED / "data/test-raw/inspec.jsonl"))
    assert inspec.keyphrases == 4913  # as in table 8 of Yuan et al. (2020)
    assert inspec.percent_present == pytest.approx(79.3, abs=0.5)
    assert sum(inspec.sections) == inspec.present
