"""What is special about One2Set models."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from keywright.data.batch import Batch
from keywright.data.targets import Targets
from keywright.lexicon import EOS, NULL
from keywright.models import transformer_one2set
from keywright.models.transformer_one2set import (
    IGNORED,
    NOTHING,
    Config,
    One2Set,
    canonical,
    null_factors,
    reassigned,
)
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
def test_the_loss_does_not_depend_on_the_order_of_the_gold(case: Case, slots: int) -> None:
    # "robot arms" and "robot arms bend" have the same first K = 2 tokens.
    document = replace_keyphrases(
        DOCUMENTS[0], ("robot arms", "robot arms bend", "cranes", "paper art", "paper art shows")
    )
    model = case.build(slots=slots, dropout=0.0)
    batch = case.batch(document)
    expected = model.loss(batch)
    for order in ([4, 3, 2, 1, 0], [1, 3, 0, 4, 2]):
        got = model.loss(permuted(batch, order))
        assert got.total.item() == expected.total.item()
        assert got.divisor.item() == expected.divisor.item()


def replace_keyphrases(document: Document, keyphrases: tuple[str, ...]) -> Document:
    return Document(title=document.title, body=document.body, keyphrases=keyphrases)


def test_slots_get_the_phrases_whose_first_tokens_they_are_most_likely_to_write(case: Case) -> None:
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
    total, divisor = 0.0, 0
    with torch.inference_mode():
        memory = model.encode(batch)
        chosen = model.assign(target, mask, present, memory)
        tokens, state = model.start(memory)
        assigned = torch.full((len(tokens), target.shape[2]), EOS)
        weights = torch.zeros(len(tokens), target.shape[2])
        for row, m in enumerate(chosen.flatten().tolist()):
            b, n = divmod(row, model.settings.slots)
            if m < 0:
                assigned[row, 0] = NULL
                weights[row, 0] = 0.5 if n < model.settings.slots // 2 else 0.25
                divisor += 1
            else:
                assigned[row], weights[row] = target[b, m], mask[b, m].float()
                divisor += int(mask[b, m].sum())
        for t in range(target.shape[2]):
            step = model.step(tokens, state, memory)
            tokens, state = assigned[:, t], step.state
            total -= float((step.log_probs.gather(1, tokens[:, None])[:, 0] * weights[:, t]).sum())
        loss = model.loss(batch)
    assert float(loss.total) == pytest.approx(total, rel=1e-5)
    assert int(loss.divisor) == divisor


def test_a_score_needs_a_target_for_each_slot(case: Case) -> None:
    with pytest.raises(ValueError, match=r"4 sequences for each document.*each of the 8 slots"):
        case.build().score(case.batch(*DOCUMENTS))


def test_present_and_absent_phrases_have_slots_of_their_own(case: Case) -> None:
    model = case.build()
    target, mask, present = canonical(case.batch(*DOCUMENTS))
    chosen = model.assign(target, mask, present, model.encode(case.batch(*DOCUMENTS)))
    half = model.settings.slots // 2
    for b, row in enumerate(chosen.tolist()):
        assert sorted(m for m in row[:half] if m >= 0) == present[b].nonzero()[:, 0].tolist()
        absent = mask[b].any(-1) & ~present[b]
        assert sorted(m for m in row[half:] if m >= 0) == absent.nonzero()[:, 0].tolist()


def test_the_assignment_leaves_the_model_in_training_mode(case: Case) -> None:
    model: One2Set = case.build(dropout=0.5).train()
    model.loss(case.batch(*DOCUMENTS))
    assert all(module.training for module in model.modules())


def test_an_odd_number_of_slots_is_an_error() -> None:
    with pytest.raises(ValueError, match="slots: 7 is odd"):
        Config(**{**TINY["transformer_one2set"], "slots": 7})


def test_an_empty_slot_that_generates_a_gold_phrase_learns_it_or_nothing() -> None:
    """Four slots, the first two for present phrases; phrases 0 and 1 are present, 2 is absent."""
    fitting = torch.tensor([[[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]]).bool()

    def after(chosen: list[int], *found: tuple[int, int]) -> list[int]:
        pairs = torch.zeros(1, 4, 3, dtype=torch.bool)
        for slot, phrase in found:
            pairs[0, slot, phrase] = True
        return reassigned(torch.tensor([chosen]), pairs, fitting)[0].tolist()

    one = [0, NOTHING, 2, NOTHING]
    assert after(one) == one
    # Slot 1 generates phrase 0, which slot 0 has to learn: both learn it.
    assert after(one, (1, 0)) == [0, 0, 2, NOTHING]
    # Slot 0 already generates it, or another gold phrase.
    assert after(one, (1, 0), (0, 0)) == [0, IGNORED, 2, NOTHING]
    assert after(one, (1, 0), (0, 2)) == [0, IGNORED, 2, NOTHING]
    # An absent phrase in a slot for present ones, and two phrases with the same first tokens.
    assert after(one, (1, 2)) == [0, IGNORED, 2, NOTHING]
    assert after(one, (1, 0), (1, 1)) == [0, IGNORED, 2, NOTHING]
    assert after(one, (1, 0), (1, 2)) == [0, 0, 2, NOTHING]
    # Slots that have a phrase keep it.
    assert after([0, 1, NOTHING, 2], (0, 1), (2, 2)) == [0, 1, 2, 2]


def test_the_weight_of_null_is_the_mean_of_capped_quotients() -> None:
    # 0.1/0.4 and 0.9/0.05, capped at 1, in document 0; 0.2/0.8 in document 2.
    ratios = torch.tensor([0.1 / 0.4, 0.9 / 0.05, 0.2 / 0.8]).log()
    factors = null_factors(ratios, torch.tensor([0, 0, 2]), 3)
    assert factors.tolist() == pytest.approx([(0.25 + 1) / 2, 1.0, 0.25])


def test_reweighting_scales_the_loss_of_null_in_training(case: Case) -> None:
    plain, weighted = case.build().train(), case.build(reweight=True).train()
    for model in (plain, weighted):
        model.output.bias.data[NULL] = 1.0  # more likely than most first tokens of phrases
    batch = case.batch(DOCUMENTS[0])
    before, after = plain.loss(batch), weighted.loss(batch)
    target, mask, present = canonical(batch)
    with torch.inference_mode():
        memory = plain.encode(batch)
        tokens, state = plain.start(memory)
        log_probs = plain.step(tokens, state, memory).log_probs
        chosen = plain.assign(target, mask, present, memory)[0].tolist()
    quotients = [
        min(1.0, float((log_probs[slot, target[0, m, 0]] - log_probs[slot, NULL]).exp()))
        for slot, m in enumerate(chosen)
        if m >= 0
    ]
    factor = sum(quotients) / len(quotients)
    assert 0 < factor < 1
    assert float(after.parts["nulls"]) == pytest.approx(factor * float(before.parts["nulls"]))
    assert float(after.parts["phrases"]) == pytest.approx(float(before.parts["phrases"]))
    assert after.divisor == before.divisor
    assert weighted.eval().loss(batch).total.item() == plain.eval().loss(batch).total.item()


def test_reassigning_compares_what_slots_generate_without_null(case: Case) -> None:
    model = case.build(reassign=True).eval()
    batch = case.batch(DOCUMENTS[0])
    target, mask, present = canonical(batch)
    with torch.inference_mode():
        memory = model.encode(batch)
        model.output.bias[NULL] = 50.0  # every slot would generate <null>
        written = model._without_null(memory, 2)
        assert not (written == NULL).any()
        # The first phrase begins with what slot 1 generates.
        target[0, 0, :2], mask[0, 0, :2] = written[1], True
        chosen = torch.full((1, model.settings.slots), NOTHING)
        got = model._reassign(chosen, target, mask, present, memory)[0].tolist()
    same = [slot for slot in range(8) if torch.equal(written[slot], written[1])]
    half = range(4) if present[0, 0] else range(4, 8)
    assert 1 in same
    assert got == [
        (0 if slot in half else IGNORED) if slot in same else NOTHING for slot in range(8)
    ]


def test_ignored_slots_have_no_loss_but_count_in_the_divisor(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = case.build(reassign=True).train()
    batch = case.batch(DOCUMENTS[0])
    before = model.loss(batch)

    def ignoring(chosen: torch.Tensor, *others: object) -> torch.Tensor:
        return chosen.masked_fill(chosen == NOTHING, IGNORED)

    monkeypatch.setattr(model, "_reassign", ignoring)
    after = model.loss(batch)
    assert float(after.parts["nulls"]) == 0
    assert float(after.parts["phrases"]) == pytest.approx(float(before.parts["phrases"]))
    assert after.divisor == before.divisor


def test_both_options_train(case: Case) -> None:
    model = case.build(reweight=True, reassign=True).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    batch = case.batch(*DOCUMENTS)
    losses = []
    for _ in range(30):
        loss = model.loss(batch)
        losses.append(loss.mean.item())
        optimiser.zero_grad()
        loss.mean.backward()
        optimiser.step()
    assert losses[-1] < 0.3 * losses[0]


def test_the_assignment_does_not_depend_on_dropout(case: Case) -> None:
    """Only the encoding has it: the decoder chooses phrases for its slots without noise."""
    model: One2Set = case.build(dropout=0.5).train()
    batch = case.batch(*DOCUMENTS)
    target, mask, _ = canonical(batch)
    memory = model.encode(batch)
    first, second = (model._scores(target, mask, memory) for _ in range(2))
    assert torch.equal(first, second)
