from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from keywright.data.targets import Targets
from keywright.data.vocab import EOS, PAD, SEP
from keywright.models import cat_seq_d
from keywright.models.cat_seq_d import contrastive_loss, delimiter_mask, orthogonal_loss
from tests.models.conftest import DOCUMENTS, Case, vocabulary


def case() -> Case:
    return Case("cat_seq_d", cat_seq_d, vocabulary(), Targets("one2seq"))


def test_orthogonal_loss_by_hand() -> None:
    """H has the columns (1, 2) and (3, 1) in one document and only one column in the other."""
    states = torch.tensor([[[1.0, 2.0], [9.0, 9.0], [3.0, 1.0]], [[1.0, 1.0], [2.0, 2.0], [5, 5]]])
    chosen = torch.tensor([[True, False, True], [False, True, False]])
    # H^T H = [[5, 5], [5, 10]]; off the diagonal [[0, 5], [5, 0]], whose norm is sqrt(50).
    assert orthogonal_loss(states, chosen).tolist() == pytest.approx([math.sqrt(50), 0.0])


def test_orthogonal_states_cost_nothing_and_have_no_broken_gradient() -> None:
    states = torch.eye(3).unsqueeze(0).requires_grad_()
    loss = orthogonal_loss(states, torch.ones(1, 3, dtype=torch.bool))
    loss.sum().backward()
    assert loss.item() == 0
    assert states.grad is not None
    assert torch.isfinite(states.grad).all()


def test_delimiters_are_separators_and_the_end() -> None:
    target = torch.tensor([[8, SEP, 9, 9, EOS, PAD]])
    assert delimiter_mask(target).tolist() == [[False, True, False, False, True, False]]


def test_contrastive_loss_by_hand() -> None:
    """Two documents: every one of the 16 negatives is the other one."""
    meanings = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    sources = torch.tensor([[3.0, 1.0], [1.0, 1.0]])
    # Scores g: right 3 against 1 in the first row, right 2 against 2 in the second.
    first = -math.log(math.exp(3) / (math.exp(3) + 16 * math.exp(1)))
    second = math.log(17)
    assert contrastive_loss(meanings, sources, 16).tolist() == pytest.approx([first, second])


def test_negatives_are_drawn_from_all_other_documents_and_never_the_right_one() -> None:
    torch.manual_seed(0)
    # The right source would score 0 and win everything; any other scores -50.
    scores = torch.full((5, 5), -50.0).fill_diagonal_(0.0)
    losses = contrastive_loss(torch.eye(5), scores.t(), 1000)
    assert losses.tolist() == pytest.approx([0.0] * 5, abs=1e-6)
    # With one source far better than the right one, 1000 draws of 4 others must meet it.
    scores[0, 3] = 50.0
    assert contrastive_loss(torch.eye(5), scores.t(), 1000)[0].item() > 50


def test_a_document_alone_has_no_contrastive_loss() -> None:
    assert contrastive_loss(torch.ones(1, 3), torch.ones(1, 3), 16).tolist() == [0.0]


def test_the_drawing_follows_torchs_generator() -> None:
    meanings, sources = torch.randn(6, 3), torch.randn(6, 3)

    def losses(seed: int) -> list[float]:
        torch.manual_seed(seed)
        return contrastive_loss(meanings, sources, 2).tolist()

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
    grads = gradients(model, contrastive_loss(meaning, memory.final.detach(), 16).sum())
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
    # Random weights cannot tell documents apart: about log 17 for each of the two.
    assert parts["semantic"] == pytest.approx(2 * math.log(17), rel=0.2)


def test_meaning_is_what_the_target_encoder_made_of_the_whole_target() -> None:
    """The contrastive loss uses the state at the last real position, not at pads."""
    model = case().build(orthogonal=0.0, semantic=1.0).train()
    both = case().batch(*DOCUMENTS)
    _, mask = both.targets
    assert not bool(mask[0].all())  # the first document's target is padded
    memory, decoded, _ = model.teach(both)
    last = decoded.meaning[torch.arange(2), mask.sum(dim=1) - 1]
    expected = contrastive_loss(model.bilinear(last), memory.final, 16).sum()
    assert float(model.loss(both).parts["semantic"]) == pytest.approx(float(expected.detach()))
