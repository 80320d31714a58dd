from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import Tensor

from keywright.data.batch import Batch, Batches, make_batch
from keywright.data.kpdrop import KPDrop
from keywright.data.targets import Targets
from keywright.lexicon import EOS, PAD, SEP
from keywright.lexicons.words import Vocabulary
from keywright.types import Document

V = Vocabulary(["a", "b", "c"])
A, B, C = 7, 8, 9
DOCUMENTS = (
    Document(title="a", body="x b", keyphrases=("a", "x b", "c")),
    Document(title="", body="c", keyphrases=("c",)),
)
CORPUS = [
    Document(id=str(i), title="a", body="b " * (i % 17), keyphrases=("a", "b", "c", "a b"))
    for i in range(103)
]


def test_sources_are_padded_and_keep_their_extension() -> None:
    batch = make_batch(DOCUMENTS, V)
    assert batch.source.tolist() == [[A, 3, B], [C, PAD, PAD]]
    assert batch.source_extended.tolist() == [[A, 10, B], [C, PAD, PAD]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, False, False]]
    assert batch.title_lengths.tolist() == [1, 0]
    assert batch.extension == (("x",), ())
    assert batch.extension_inputs.shape == (2, 1)
    assert batch.extension_size == 1
    with pytest.raises(ValueError, match="no targets"):
        _ = batch.targets


def test_one2seq_targets_are_one_row_per_document() -> None:
    target, mask = make_batch(DOCUMENTS, V, targets=Targets("one2seq")).targets
    assert target.tolist() == [[A, SEP, 10, B, SEP, C, EOS], [C, EOS, *[PAD] * 5]]
    assert mask.sum(dim=1).tolist() == [7, 2]


@pytest.mark.parametrize("paradigm", ["one2one", "one2set"])
def test_other_targets_are_the_phrases_of_a_document(paradigm: str) -> None:
    batch = make_batch(DOCUMENTS, V, targets=Targets(paradigm))  # type: ignore[arg-type]
    target, mask = batch.targets
    nothing = [PAD, PAD, PAD]
    assert target.tolist() == [
        [[A, EOS, PAD], [10, B, EOS], [C, EOS, PAD]],
        [[C, EOS, PAD], nothing, nothing],
    ]
    assert mask.sum(dim=2).tolist() == [[2, 3, 2], [2, 0, 0]]
    assert batch.target_present is not None
    assert batch.target_present.tolist() == [[True, True, False], [True, False, False]]


def test_to_moves_all_tensors() -> None:
    batch = make_batch(DOCUMENTS, V, targets=Targets("one2seq"))
    moved = batch.to("meta")
    for field in fields(batch):
        value = getattr(moved, field.name)
        if isinstance(value, Tensor):
            assert value.device.type == "meta", field.name
        else:
            assert value == getattr(batch, field.name)


def batches(**settings: object) -> Batches:
    return Batches(CORPUS, V, Targets("one2seq", order="random"), size=10, **settings)  # type: ignore[arg-type]


def ids(epoch: list[Batch]) -> list[list[str | None]]:
    return [[document.id for document in batch.documents] for batch in epoch]


def test_an_epoch_contains_every_document_once() -> None:
    found = ids(list(batches().epoch(0)))
    assert len(found) == len(batches()) == 11
    assert sorted(i for batch in found for i in batch if i) == sorted(str(i) for i in range(103))


def test_documents_without_phrases_are_left_out() -> None:
    empty = [Document(title="a", body="b"), Document(title="a", body="b", keyphrases=("", " "))]
    kept = Batches([*empty, *DOCUMENTS], V, Targets("one2seq"), size=10)
    assert kept.documents == list(DOCUMENTS)
    too_long = Targets("one2seq", max_phrase=1)
    document = Document(title="a", body="b", keyphrases=("a b",))
    assert not Batches([document], V, too_long, size=10).documents


def test_batches_depend_on_seed_and_epoch() -> None:
    same = ids(list(batches(seed=3).epoch(1)))
    assert ids(list(batches(seed=3).epoch(1))) == same
    assert ids(list(batches(seed=3).epoch(2))) != same
    assert ids(list(batches(seed=4).epoch(1))) != same


@pytest.mark.parametrize("augment", [None, KPDrop("replace", 0.5), KPDrop("augment", 0.5)])
def test_an_epoch_can_be_continued_in_the_middle(
    augment: KPDrop | None,
) -> None:
    whole = list(batches(augment=augment).epoch(5))
    rest = list(batches(augment=augment).epoch(5, start=7))
    assert len(rest) == 4
    for ours, theirs in zip(rest, whole[7:], strict=True):
        assert ours.documents == theirs.documents
        assert torch.equal(ours.targets[0], theirs.targets[0])
        assert torch.equal(ours.source, theirs.source)


def test_a_batch_has_documents_of_similar_length() -> None:
    padding = [1 - batch.source_mask.float().mean() for batch in batches().epoch(0)]
    assert np.mean(padding) < 0.15
    shuffled = [1 - batch.source_mask.float().mean() for batch in batches(bucket=1).epoch(0)]
    assert np.mean(shuffled) > 0.3


def test_augmented_batches_contain_the_original_and_the_changed_document() -> None:
    [batch] = Batches(
        DOCUMENTS[:1], V, Targets("one2seq"), size=1, augment=KPDrop("augment", 1.0)
    ).epoch(0)
    assert [document.body for document in batch.documents] == ["x b", "<pad>"]
    assert batch.source.tolist() == [[A, 3, B], [PAD, PAD, PAD]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
