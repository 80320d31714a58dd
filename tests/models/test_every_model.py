"""The contract of models, checked for every file in `models/`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from keywright import parts
from keywright.data.batch import Batch
from keywright.data.targets import Paradigm
from keywright.lexicon import BLANK, NULL
from keywright.nn.model import Model
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, Case, greedy, phrases


def gold(case: Case) -> list[list[str]]:
    return [
        [" ".join(phrase.words) for phrase in case.targets.phrases(d, np.random.default_rng(0))]
        for d in DOCUMENTS
    ]


def overfit(case: Case, model: Any, updates: int = 400) -> None:
    """Train until greedy decoding gives the gold phrases, or for `updates` updates."""
    batch = case.batch(*DOCUMENTS)
    optimiser = torch.optim.Adam(model.parameters(), lr=case.learning_rate)
    for update in range(updates):
        if update % 25 == 24 and reproduces(case, model):
            return
        model.train()
        loss = model.loss(batch)
        optimiser.zero_grad()
        loss.mean.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()


def reproduces(case: Case, model: Any) -> bool:
    model.eval()
    got = phrases(model, case, case.batch(*DOCUMENTS, targets=False))
    if case.module.build.paradigm == "one2set":
        return [sorted(p) for p in got] == [sorted(p) for p in gold(case)]
    return got == gold(case)


def test_overfits_documents_to_exact_reproduction(case: Case) -> None:
    model = case.build()
    overfit(case, model)
    got = phrases(model, case, case.batch(*DOCUMENTS, targets=False))
    if case.module.build.paradigm == "one2set":  # slots have no order
        got = [sorted(p) for p in got]
        assert got == [sorted(p) for p in gold(case)]
    else:
        assert got == gold(case)


def first_step(model: Any, batch: Any) -> Tensor:
    """log p [R, V + X] of the second token after the most likely first one."""
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


def test_a_word_that_is_not_in_the_vocabulary_can_be_generated(case: Case) -> None:
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


def test_a_document_is_decoded_the_same_alone_and_in_a_batch(case: Case) -> None:
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


def scored(case: Case, *documents: Document) -> Batch:
    """A batch with the targets that `score` expects: all phrases, or one for each slot."""
    paradigm = case.module.build.paradigm
    batch = replace(case, targets=replace(case.targets, max_phrases=None)).batch(*documents)
    if paradigm != "one2set":
        return batch
    target, mask = batch.targets
    empty = case.build().rows_per_document - target.shape[1]
    target, mask = (torch.nn.functional.pad(x, (0, 0, 0, empty)) for x in (target, mask))
    nulls = ~mask.any(dim=2)
    target[..., 0] = target[..., 0].where(~nulls, torch.tensor(NULL))
    mask[..., 0] |= nulls
    return replace(batch, target=target, target_mask=mask)


def stepped(model: Any, batch: Batch) -> Tensor:
    """What `score` should return [R, T], by generating every target token by token."""
    target, mask = (x if x.dim() == 2 else x.flatten(0, 1) for x in batch.targets)
    memory = model.encode(batch)
    rows = torch.arange(len(batch) * model.rows_per_document)
    memory = memory.select(rows.repeat_interleave(len(target) // len(rows)))
    tokens, state = model.start(memory)
    result = []
    for t in range(target.shape[1]):
        step = model.step(tokens, state, memory)
        tokens, state = target[:, t], step.state
        result.append([step.log_probs[row, token] for row, token in enumerate(tokens)])
    columns = torch.stack([torch.stack(column) for column in result], dim=1)
    return torch.where(mask, columns, 0.0)


def test_scores_are_the_log_probabilities_of_steps(case: Case) -> None:
    model = case.build().eval()
    batch = scored(case, *DOCUMENTS)
    with torch.inference_mode():
        scores = model.score(batch)
        assert torch.allclose(scores, stepped(model, batch), atol=1e-5)
    mask = batch.targets[1].view_as(scores)
    assert (scores[mask] < 0).all()
    assert (scores[~mask] == 0).all()


def test_steps_have_the_gradients_of_scores(case: Case) -> None:
    """A word that occurs several times in the source must not have its gradient several times."""
    model = case.build().eval()
    batch = scored(case, *DOCUMENTS)
    torch.manual_seed(0)
    weights = torch.randn(model.score(batch).shape)

    def gradients(scores: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(
            (scores * weights).sum(), list(model.parameters()), materialize_grads=True
        )

    of_score, of_steps = gradients(model.score(batch)), gradients(stepped(model, batch))
    for (name, _), ours, theirs in zip(model.named_parameters(), of_score, of_steps, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5, rtol=1e-3), name


def test_a_document_has_the_same_score_alone_and_in_a_batch(case: Case) -> None:
    model = case.build().eval()
    together = model.score(scored(case, *DOCUMENTS))
    together = together.view(len(DOCUMENTS), -1, together.shape[1])
    for document, scores in zip(DOCUMENTS, together, strict=True):
        alone = model.score(scored(case, document))
        rows, length = alone.shape
        assert torch.allclose(scores[:rows, :length], alone, atol=1e-5)
        assert (scores[rows:] == 0).all()
        assert (scores[:, length:] == 0).all()


def test_the_default_score_is_that_of_the_model(case: Case) -> None:
    model = case.build().eval()
    batch = scored(case, *DOCUMENTS)
    with torch.inference_mode():
        assert torch.allclose(Model.score(model, batch), model.score(batch), atol=1e-5)


def test_the_likelihood_loss_is_the_sum_of_scores(case: Case) -> None:
    if case.module.build.paradigm == "one2set":
        pytest.skip("the loss of a set model depends on how phrases are assigned to its slots")
    model = case.build().eval()
    batch = case.batch(*DOCUMENTS)
    with torch.inference_mode():
        loss, scores = model.loss(batch), model.score(batch)
    assert int(loss.divisor) == int(batch.targets[1].sum())
    assert float(loss.parts["nll"]) == pytest.approx(-float(scores.sum()), rel=1e-5)


def test_a_source_with_nothing_to_copy_makes_no_word_certain(case: Case) -> None:
    """KPDrop can remove everything but blanks from a short text."""
    blank = Document(title=BLANK, body="", keyphrases=("paper cranes",))
    model = case.build().eval()
    batch = scored(case, blank, DOCUMENTS[0])
    assert torch.allclose(first_step(model, batch).exp().sum(dim=1), torch.ones(()), atol=1e-5)
    with torch.inference_mode():
        assert torch.allclose(model.score(batch), stepped(model, batch), atol=1e-5)


def test_every_model_keeps_the_contract(case: Case) -> None:
    model = case.build()
    assert isinstance(model, Model)
    assert model.paradigm in get_args(Paradigm)
    assert model.graphs is None or model.graphs in parts.names("keywright.export.graphs")
    grouped = [id(p) for group in model.parameter_groups().values() for p in group]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= {id(parameter) for parameter in model.parameters()}


def test_the_loss_does_not_depend_on_how_documents_are_batched(case: Case) -> None:
    model = case.build().eval()
    with torch.inference_mode():
        together = model.loss(case.batch(*DOCUMENTS))
        alone = [model.loss(case.batch(document)) for document in DOCUMENTS]
    assert int(together.divisor) == sum(int(loss.divisor) for loss in alone)
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
    torch.manual_seed(0)  # the same random numbers for both
    with torch.no_grad():
        full = float(model.loss(batch).total)
    torch.manual_seed(0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model.loss(batch)
    loss.total.backward()
    assert loss.total.dtype == torch.float32
    assert float(loss.total.detach()) == pytest.approx(full, rel=0.02)
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all(), name


def test_training_with_the_same_seed_gives_the_same_weights(case: Case) -> None:
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
