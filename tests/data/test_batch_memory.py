"""Documents are encoded once if they are the same in every epoch, and only then."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from keywright.data.batch import Batch, Batches, make_batch
from keywright.data.targets import Targets
from keywright.lexicon import EncodedSource
from keywright.lexicons.words import Vocabulary
from keywright.types import Document

DOCUMENTS = [
    Document(title="graph colouring", body="we colour a graph", keyphrases=("graph", "colour")),
    Document(title="", body="trees and heaps", keyphrases=("heaps", "trees", "absent one", "b c")),
    Document(title="no gold", body="at all", keyphrases=()),
    Document(title="blank gold", body="here", keyphrases=(" ", "-")),
]


class Counting(Vocabulary):
    encoded = 0

    def encode_document(self, document: Document, max_source: int | None) -> EncodedSource:
        self.encoded += 1
        return super().encode_document(document, max_source)


def assert_same(one: Batch, other: Batch) -> None:
    for field in dataclasses.fields(Batch):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, field.name


@pytest.fixture
def vocabulary() -> Counting:
    return Counting(["graph", "we", "a", "trees", "heaps"])


@pytest.mark.parametrize("paradigm", ["one2one", "one2seq", "one2set"])
def test_cached_documents_give_the_same_batch(vocabulary: Counting, paradigm: str) -> None:
    targets = Targets(paradigm)
    batches = Batches(DOCUMENTS, vocabulary, targets, size=2)
    first = batches.build(0, [0, 1])
    assert vocabulary.encoded == 2
    again = batches.build(1, [1, 0])
    assert vocabulary.encoded == 2
    assert_same(first, make_batch(DOCUMENTS[:2], vocabulary, None, targets))
    assert_same(again, make_batch([DOCUMENTS[1], DOCUMENTS[0]], vocabulary, None, targets))


def test_random_orders_differ_between_epochs(vocabulary: Counting) -> None:
    batches = Batches(DOCUMENTS, vocabulary, Targets("one2seq", "random"), size=2)
    rows = {tuple(batches.build(epoch, [1]).target[0].tolist()) for epoch in range(20)}
    assert len(rows) > 3
    assert vocabulary.encoded == 20


def test_augmented_documents_are_encoded_in_every_epoch(vocabulary: Counting) -> None:
    def shorten(document: Document, rng: np.random.Generator) -> Sequence[Document]:
        words = document.body.split()
        return [with_body(document, body=" ".join(words[: rng.integers(1, len(words))]))]

    def with_body(document: Document, body: str) -> Document:
        return Document(title=document.title, body=body, keyphrases=document.keyphrases)

    batches = Batches(DOCUMENTS, vocabulary, Targets("one2seq"), size=2, augment=shorten)
    lengths = {int(batches.build(epoch, [0]).source_mask.sum()) for epoch in range(20)}
    assert len(lengths) > 1


def test_documents_without_a_target_are_left_out(vocabulary: Counting) -> None:
    assert len(Batches(DOCUMENTS, vocabulary, Targets("one2seq"), size=1)) == 2
    short = Targets("one2seq", max_phrase=1)
    assert len(Batches(DOCUMENTS, vocabulary, short, size=1)) == 2
    only_long = [Document(title="t", body="b", keyphrases=("two words",))]
    assert len(Batches(only_long, vocabulary, short, size=1)) == 0
