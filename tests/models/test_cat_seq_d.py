from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from keywright.data.targets import Targets
from keywright.lexicon import EOS, PAD, SEP, SpecialIds
from keywright.models import cat_seq_d
from keywright.models.cat_seq_d import (
    after,
    contrastive_loss,
    delimiter_mask,
    orthogonal_loss,
    other_documents,
)
from tests.models.conftest import DOCUMENTS, Case, vocabulary


def case() -> Case:
    return Case("cat_seq_d", cat_seq_d, vocabulary(), Targets("one2seq"))


def among_batch(states: Tensor, sources: Tensor, negatives: int) -> Tensor:
    rows = torch.arange(len(sources))
    return contrastive_loss(states, sources, other_documents(sources, rows, negatives))


def test_orthogonal_loss_by_hand() -> None:
    """H has the columns (1, 2) and (3, 1) in the first document, and one column in the second."""
    states = torch.tensor([[[1.0, 2.0], [9.0, 9.0], [3.0, 1.0]], [[1.0, 1.0], [2.0, 2.0], [5, 5]]])
    chosen = torch.tensor([[True, False, True], [False, True, False]])
    # H^T H = [[5, 5], [5, 10]]; off the diagonal [[0, 5], [5, 0]], whose norm is sqrt(50).
    assert orthogonal_loss(states, chosen).tolist() == pytest.approx([math.sqrt(50), 0.0])


def test_orthogonal_states_have_no_loss_and_a_finite_gradient() -> None:
    states = torch.eye(3).unsqueeze(0).requires_grad_()
    loss = orthogonal_loss(states, torch.ones(1, 3, dtype=torch.bool))
    loss.sum().backward()
    assert loss.item() == 0
    assert states.grad is not None
    assert torch.isfinite(states.grad).all()


def test_delimiters_are_separators_and_the_end_token() -> None:
    target = torch.tensor([[8, SEP, 9, 9, EOS, PAD]])
    assert delimiter_mask(target, SpecialIds().delimiters).tolist() == [
        [False, True, False, False, True, False]
    ]


def test_contrastive_loss_by_hand() -> None:
    """With two documents, each of the 16 negatives is the other document."""
    meanings = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    sources = torch.tensor([[3.0, 1.0], [1.0, 1.0]])
    # Scores g: correct 3 against 1 in the first row, correct 2 against 2 in the second.
    first = -math.log(math.exp(3) / (math.exp(3) + 16 * math.exp(1)))
    second = math.log(17)
    assert among_batch(meanings, sources, 16).tolist() == pytest.approx([first, second])


def test_negatives_are_drawn_from_all_other_documents_and_never_the_correct_one() -> None:
    torch.manual_seed(0)
    # The correct source has a score of 0, all others -50: only it would be chosen.
    scores = torch.full((5, 5), -50.0).fill_diagonal_(0.0)
    losses = among_batch(torch.eye(5), scores.t(), 1000)
    assert losses.tolist() == pytest.approx([0.0] * 5, abs=1e-6)
    # One source is far better than the correct one; 1000 draws from 4 others must include it.
    scores[0, 3] = 50.0
    assert among_batch(torch.eye(5), scores.t(), 1000)[0].item() > 50


def test_a_batch_of_one_document_has_no_contrastive_loss() -> None:
    assert among_batch(torch.ones(1, 3), torch.ones(1, 3), 16).tolist() == [0.0]


def test_negatives_depend_on_the_seed_of_torch() -> None:
    meanings, sources = torch.randn(6, 3), torch.randn(6, 3)

    def losses(seed: int) -> list[float]:
        torch.manual_seed(seed)
        return among_batch(meanings, sources, 2).tolist()

    assert losses(1) == losses(1)
    assert losses(1) != losses(2)


def gradients(model: Any, total: Tensor) -> dict[str, float]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    grads = torch.autograd.grad(total, parameters, allow_unused=True, retain_graph=True)
    return {
        name: 0.0 if grad is None else float(grad.abs().sum())
        for name, grad in zip(names, grads, strict=True)
    }


def parts_of(**weights: float) -> tuple[Any, Tensor]:
    model = case().build(**weights).train()
    return model, model.loss(case().batch(*DOCUMENTS)).total


def test_the_likelihood_does_not_reach_the_target_encoder() -> None:
    model, total = parts_of(orthogonal=0.0, semantic=0.0)
    grads = gradients(model, total)
    for name, size in grads.items():
        assert (size == 0) == name.startswith(("target_encoder", "bilinear")), name


def test_the_contrastive_loss_reaches_the_target_encoder_and_not_the_source_encoder() -> None:
    model = case().build().train()
    batch = case().batch(*DOCUMENTS)
    torch.manual_seed(0)
    memory, decoded, _ = model.teach(batch)
    meaning = model.bilinear(decoded.meaning[:, -1])
    # As `loss` does it: through `memory.final.detach()`.
    grads = gradients(model, among_batch(meaning, memory.final.detach(), 16).sum())
    assert all(grads[name] > 0 for name in grads if name.startswith(("target_enc", "bilinear")))
    with_it, without = (parts_of(orthogonal=0.0, semantic=weight) for weight in (100.0, 0.0))
    ours, theirs = (gradients(*pair) for pair in (with_it, without))
    for name in ours:
        changed = not math.isclose(ours[name], theirs[name], rel_tol=1e-4)
        learns = name.startswith(("target_encoder", "bilinear", "embedding"))
        assert changed == learns, name


def test_the_loss_is_equation_4() -> None:
    batch = case().batch(*DOCUMENTS)
    model = case().build(orthogonal=0.5, semantic=2.0).train()
    torch.manual_seed(5)
    loss = model.loss(batch)
    parts = {name: float(value) for name, value in loss.parts.items()}
    expected = parts["nll"] + 0.5 * parts["orthogonal"] + 2.0 * parts["semantic"]
    assert float(loss.total.detach()) == pytest.approx(expected, rel=1e-6)
    assert parts["orthogonal"] > 0
    # Random weights cannot distinguish documents: about log 17 for each of the two.
    assert parts["semantic"] == pytest.approx(2 * math.log(17), rel=0.2)


def test_the_contrastive_loss_uses_the_state_after_the_whole_target() -> None:
    """That is the state at the last real position, not at padding."""
    model = case().build(orthogonal=0.0, semantic=1.0).train()
    both = case().batch(*DOCUMENTS)
    _, mask = both.targets
    assert not bool(mask[0].all())  # the first document's target is padded
    memory, decoded, _ = model.teach(both)
    last = decoded.meaning[torch.arange(2), mask.sum(dim=1) - 1]
    expected = among_batch(model.bilinear(last), memory.final, 16).sum()
    assert float(model.loss(both).parts["semantic"]) == pytest.approx(float(expected.detach()))


RELEASED = {
    "orthogonal": 1.0,
    "orthogonality": "identity",
    "contrast": "delimiters",
    "queue": 3,
    "negatives": 4,
    "semantic_step": "own",
}


def test_orthogonal_loss_of_the_release_draws_states_to_length_1() -> None:
    """Orthonormal states have none; two equal unit vectors have sqrt 2."""
    chosen = torch.tensor([[True, False, True]])
    orthonormal = torch.tensor([[[1.0, 0.0], [7.0, 7.0], [0.0, 1.0]]])
    equal = torch.tensor([[[1.0, 0.0], [7.0, 7.0], [1.0, 0.0]]])
    longer = torch.tensor([[[2.0, 0.0], [7.0, 7.0], [0.0, 1.0]]])
    losses = [float(orthogonal_loss(x, chosen, True)) for x in (orthonormal, equal, longer)]
    assert losses == pytest.approx([0.0, math.sqrt(2), 3.0])


def test_states_after_delimiters_have_read_them() -> None:
    assert after(torch.tensor([[False, True, False, True]])).tolist() == [
        [False, False, True, False]
    ]


def test_contrast_at_delimiters_is_the_mean_over_them() -> None:
    model = case().build(contrast="delimiters").train()
    batch = case().batch(*DOCUMENTS)
    target, mask = batch.targets
    _, decoded, _ = model.teach(batch)
    memory = model.encode(batch)
    expected = 0.0
    for row in range(2):
        read = [
            t + 1
            for t in range(int(mask[row].sum()) - 1)
            if int(target[row, t]) in model.special.delimiters
        ]
        states = model.bilinear(decoded.meaning[row, read])
        others = memory.final[1 - row].expand(len(read), 16, -1)
        correct = memory.final[row].expand(len(read), -1)
        expected += contrastive_loss(states, correct, others).mean().item()
    assert float(model.loss(batch).parts["semantic"]) == pytest.approx(expected, rel=1e-5)


def test_the_queue_has_the_documents_before_this_batch() -> None:
    model = case().build(**RELEASED).train()
    batch = case().batch(*DOCUMENTS)
    assert float(model.loss(batch).parts["semantic"]) == 0  # nothing to compare with
    final = model.encode(batch).final.detach()
    assert torch.equal(model.recent[:2], final)
    assert float(model.loss(batch).parts["semantic"]) > 0
    # Two more documents: the oldest of three places is written again.
    assert torch.equal(model.recent, torch.stack([final[1], final[1], final[0]]))
    assert int(model.seen) == 4


def test_the_queue_is_a_part_of_the_weights_and_does_not_change_in_evaluation() -> None:
    model = case().build(**RELEASED).eval()
    model.loss(case().batch(*DOCUMENTS))
    assert int(model.seen) == 0
    assert {"recent", "seen"} <= model.state_dict().keys()


def test_a_loss_with_a_step_of_its_own_is_not_in_the_total() -> None:
    model = case().build(**RELEASED).train()
    batch = case().batch(*DOCUMENTS)
    model.loss(batch)
    loss = model.loss(batch)
    parts = {name: float(value) for name, value in loss.parts.items()}
    expected = parts["nll"] + parts["orthogonal"]
    assert float(loss.total.detach()) == pytest.approx(expected, rel=1e-6)
    assert loss.separate is not None
    assert float(loss.separate.detach()) == parts["semantic"] > 0
    trained = {name for name, size in gradients(model, loss.separate).items() if size > 0}
    own = {id(parameter) for parameter in model.separate_parameters()}
    assert trained == {name for name, p in model.named_parameters() if id(p) in own}
