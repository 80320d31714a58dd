"""What holds for every model: a new file in `models/` is tested here unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from keywright.data.batch import Batch
from keywright.data.vocab import BLANK
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, Case, greedy, phrases


def gold(case: Case) -> list[list[str]]:
    return [
        [" ".join(phrase.words) for phrase in case.targets.phrases(d, np.random.default_rng(0))]
        for d in DOCUMENTS
    ]


def overfit(case: Case, model: Any, updates: int = 400) -> None:
    """Train until greedy decoding gives the gold, at most so many updates."""
    batch = case.batch(*DOCUMENTS)
    optimiser = torch.optim.Adam(model.parameters(), lr=case.learning_rate)
    for update in range(updates):
        if update % 25 == 24 and reproduces(case, model):
            return
        model.train()
        loss = model.loss(batch)
        optimiser.zero_grad()
        (loss.total / loss.count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()


def reproduces(case: Case, model: Any) -> bool:
    model.eval()
    got = phrases(model, case, case.batch(*DOCUMENTS, targets=False))
    if case.module.PARADIGM == "one2set":
        return [sorted(p) for p in got] == [sorted(p) for p in gold(case)]
    return got == gold(case)


def test_overfits_documents_to_exact_reproduction(case: Case) -> None:
    model = case.build()
    overfit(case, model)
    got = phrases(model, case, case.batch(*DOCUMENTS, targets=False))
    if case.module.PARADIGM == "one2set":  # slots have no order
        got = [sorted(p) for p in got]
        assert got == [sorted(p) for p in gold(case)]
    else:
        assert got == gold(case)


def first_step(model: Any, batch: Any) -> Tensor:
    """log p [R, V + X] of the second token after the likeliest first one."""
    with torch.inference_mode():
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        step = model.step(tokens, state, memory)
        log_probs: Tensor = model.step(step.log_probs.argmax(dim=-1), step.state, memory).log_probs
    return log_probs


def test_probabilities_over_the_extended_vocabulary_sum_to_one(case: Case) -> None:
    model = case.build().eval()
    batch = case.batch(*DOCUMENTS, targets=False)
    log_probs = first_step(model, batch)
    assert log_probs.shape[1] == case.vocabulary.size + batch.extension_size
    assert torch.allclose(log_probs.exp().sum(dim=1), torch.ones(len(log_probs)), atol=1e-5)


def test_a_word_unknown_to_the_vocabulary_can_be_produced(case: Case) -> None:
    batch = case.batch(*DOCUMENTS, targets=False)
    log_probs = first_step(case.build().eval(), batch)
    rows = log_probs.view(len(batch), -1, log_probs.shape[1])
    for row, extension in zip(rows, batch.extension, strict=True):
        own = row[:, case.vocabulary.size : case.vocabulary.size + len(extension)]
        others = row[:, case.vocabulary.size + len(extension) :]
        assert torch.isfinite(own).all()
        assert (others.exp() == 0).all()


def test_saves_and_reloads_identically(case: Case, tmp_path: Path) -> None:
    model = case.build(seed=1).eval()
    other = case.build(seed=2).eval()
    batch = case.batch(*DOCUMENTS, targets=False)
    assert not torch.equal(first_step(model, batch), first_step(other, batch))
    path = tmp_path / "weights.safetensors"
    save_file({key: value.clone() for key, value in model.state_dict().items()}, path)
    other.load_state_dict(load_file(path))
    assert torch.equal(first_step(model, batch), first_step(other, batch))


def test_batched_equals_one_by_one(case: Case) -> None:
    model = case.build().eval()
    together = case.batch(*DOCUMENTS, targets=False)
    rows = first_step(model, together).view(len(DOCUMENTS), -1, model_width(case, together))
    ids = greedy(model, together, longest=8)
    per_document = model.rows_per_document
    for i, document in enumerate(DOCUMENTS):
        alone = case.batch(document, targets=False)
        width = model_width(case, alone)
        assert torch.allclose(rows[i, :, :width], first_step(model, alone), atol=1e-5)
        own = greedy(model, alone, longest=8)
        for ours, theirs in zip(own, ids[i * per_document :], strict=False):
            assert theirs[: len(ours)] == ours


def model_width(case: Case, batch: Any) -> int:
    return case.vocabulary.size + int(batch.extension_size)


def test_teacher_forced_likelihood_is_the_sum_of_steps(case: Case) -> None:
    if case.module.PARADIGM == "one2set":
        pytest.skip("a set model's loss depends on how phrases are assigned to its slots")
    assert_loss_is_sum_of_steps(case, case.build().eval(), case.batch(*DOCUMENTS))


def assert_loss_is_sum_of_steps(case: Case, model: Any, batch: Batch) -> None:
    with torch.inference_mode():
        loss = model.loss(batch)
        memory = model.encode(batch)
        tokens, state = model.start(memory)
        target, mask = batch.targets
        if case.module.PARADIGM == "one2one":  # one phrase per document
            target, mask = target[:, 0], mask[:, 0]
        total = torch.zeros(())
        for t in range(target.shape[1]):
            step = model.step(tokens, state, memory)
            tokens, state = target[:, t], step.state
            total -= step.log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)[mask[:, t]].sum()
    assert int(loss.count) == int(mask.sum())
    assert float(loss.parts["nll"]) == pytest.approx(float(total), rel=1e-5)


def test_a_source_with_nothing_to_copy_makes_no_word_certain(case: Case) -> None:
    """KPDrop can leave only blanks of a short text."""
    blank = Document(title=BLANK, body="", keyphrases=("paper cranes",))
    model = case.build().eval()
    batch = case.batch(blank, DOCUMENTS[0])
    assert torch.allclose(first_step(model, batch).exp().sum(dim=1), torch.ones(()), atol=1e-5)
    if case.module.PARADIGM != "one2set":
        assert_loss_is_sum_of_steps(case, model, batch)


def test_the_loss_does_not_depend_on_how_documents_are_batched(case: Case) -> None:
    model = case.build().eval()
    with torch.inference_mode():
        together = model.loss(case.batch(*DOCUMENTS))
        alone = [model.loss(case.batch(document)) for document in DOCUMENTS]
    assert int(together.count) == sum(int(loss.count) for loss in alone)
    total = sum(float(loss.total) for loss in alone)
    assert float(together.total) == pytest.approx(total, rel=1e-5)


def test_gradients_reach_every_parameter_that_learns(case: Case) -> None:
    model = case.build().train()
    loss = model.loss(case.batch(*DOCUMENTS))
    loss.total.backward()
    learning = {name: p for name, p in model.named_parameters() if p.requires_grad}
    assert learning
    for name, parameter in learning.items():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_mixed_precision_gives_nearly_the_same_loss(case: Case) -> None:
    model, batch = case.build().train(), case.batch(*DOCUMENTS)
    with torch.no_grad():
        full = float(model.loss(batch).total)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model.loss(batch)
    loss.total.backward()
    assert loss.total.dtype == torch.float32
    assert float(loss.total.detach()) == pytest.approx(full, rel=0.02)
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all(), name


def test_training_is_the_same_from_the_same_seed(case: Case) -> None:
    def trained() -> list[Tensor]:
        model = case.build(seed=3).train()
        overfit(case, model, updates=3)
        return list(model.parameters())

    for first, second in zip(trained(), trained(), strict=True):
        assert torch.equal(first, second)


def test_rows_can_be_repeated_and_reordered(case: Case) -> None:
    model = case.build().eval()
    with torch.inference_mode():
        memory = model.encode(case.batch(*DOCUMENTS, targets=False))
        tokens, state = model.start(memory)
        step = model.step(tokens, state, memory)
        again = model.step(tokens, step.state, memory).log_probs
        for rows in ([len(tokens) - 1, 0, 0], [0, 0]):  # of all documents, of one of them
            index = torch.tensor(rows)
            chosen = model.step(tokens[index], step.state.select(index), memory.select(index))
            assert torch.allclose(chosen.log_probs, again[index], atol=1e-5)
