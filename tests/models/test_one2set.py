"""What One2Set models have beyond others."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from keywright.data.batch import Batch
from keywright.data.targets import Targets
from keywright.data.vocab import EOS, NULL
from keywright.models import transformer_one2set
from keywright.models.transformer_one2set import Config, One2Set, canonical
from keywright.nn.matching import match
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, TINY, Case, vocabulary


@pytest.fixture
def case() -> Case:
    return Case("transformer_one2set", transformer_one2set, vocabulary(), Targets("one2set"))


def permuted(batch: Batch, order: list[int]) -> Batch:
    assert batch.target is not None
    assert batch.target_mask is not None
    assert batch.target_present is not None
    return replace(
        batch,
        target=batch.target[:, order],
        target_mask=batch.target_mask[:, order],
        target_present=batch.target_present[:, order],
    )


@pytest.mark.parametrize("slots", [2, 8])  # fewer slots than phrases, and more
def test_the_loss_does_not_change_when_gold_is_permuted(case: Case, slots: int) -> None:
    # "robot arms" and "robot arms that fold" begin alike: K = 2 steps cannot tell them apart.
    document = replace_keyphrases(
        DOCUMENTS[0], ("robot arms", "robot arms bend", "cranes", "paper art", "paper art shows")
    )
    model = case.build(slots=slots, dropout=0.0)
    batch = case.batch(document)
    expected = model.loss(batch)
    for order in ([4, 3, 2, 1, 0], [1, 3, 0, 4, 2]):
        got = model.loss(permuted(batch, order))
        assert got.total.item() == expected.total.item()
        assert got.count.item() == expected.count.item()


def replace_keyphrases(document: Document, keyphrases: tuple[str, ...]) -> Document:
    return Document(title=document.title, body=document.body, keyphrases=keyphrases)


def test_slots_get_the_phrases_whose_first_tokens_they_are_likeliest_to_write(case: Case) -> None:
    model = case.build().eval()
    target, mask, present = canonical(case.batch(*DOCUMENTS))
    with torch.inference_mode():
        memory = model.encode(case.batch(*DOCUMENTS))
        tokens, state = model.start(memory)
        first = model.step(tokens, state, memory)
        second = model.step(first.log_probs.argmax(-1), first.state, memory)
        chosen = model.assign(target, mask, present, memory)
    slots = model.settings.slots
    scores = torch.zeros(len(target), slots, target.shape[1])
    for b in range(len(target)):
        for n in range(slots):
            for m in range(target.shape[1]):
                for t, step in enumerate((first, second)):
                    if mask[b, m, t]:
                        scores[b, n, m] += step.log_probs[b * slots + n, target[b, m, t]].exp()
    half = slots // 2
    assert torch.equal(chosen[:, :half], match(scores[:, :half], present))
    assert torch.equal(chosen[:, half:], match(scores[:, half:], mask.any(-1) & ~present))


def test_the_loss_is_the_weighted_likelihood_of_the_assignment(case: Case) -> None:
    model = case.build(null_present=0.5, null_absent=0.25).eval()
    batch = case.batch(*DOCUMENTS)
    target, mask, present = canonical(batch)
    total, count = 0.0, 0
    with torch.inference_mode():
        memory = model.encode(batch)
        chosen = model.assign(target, mask, present, memory)
        tokens, state = model.start(memory)
        wanted = torch.full((len(tokens), target.shape[2]), EOS)
        weights = torch.zeros(len(tokens), target.shape[2])
        for row, m in enumerate(chosen.flatten().tolist()):
            b, n = divmod(row, model.settings.slots)
            if m < 0:
                wanted[row, 0] = NULL
                weights[row, 0] = 0.5 if n < model.settings.slots // 2 else 0.25
                count += 1
            else:
                wanted[row], weights[row] = target[b, m], mask[b, m].float()
                count += int(mask[b, m].sum())
        for t in range(target.shape[2]):
            step = model.step(tokens, state, memory)
            tokens, state = wanted[:, t], step.state
            total -= float((step.log_probs.gather(1, tokens[:, None])[:, 0] * weights[:, t]).sum())
        loss = model.loss(batch)
    assert float(loss.total) == pytest.approx(total, rel=1e-5)
    assert int(loss.count) == count


def test_present_and_absent_phrases_have_slots_of_their_own(case: Case) -> None:
    model = case.build()
    target, mask, present = canonical(case.batch(*DOCUMENTS))
    chosen = model.assign(target, mask, present, model.encode(case.batch(*DOCUMENTS)))
    half = model.settings.slots // 2
    for b, row in enumerate(chosen.tolist()):
        assert sorted(m for m in row[:half] if m >= 0) == present[b].nonzero()[:, 0].tolist()
        absent = mask[b].any(-1) & ~present[b]
        assert sorted(m for m in row[half:] if m >= 0) == absent.nonzero()[:, 0].tolist()


def test_deciding_who_learns_what_leaves_the_model_in_training(case: Case) -> None:
    model: One2Set = case.build(dropout=0.5).train()
    model.loss(case.batch(*DOCUMENTS))
    assert all(module.training for module in model.modules())


def test_an_odd_number_of_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be halved"):
        Config(**{**TINY["transformer_one2set"], "slots": 7})
