"""Semi-Multi: keyphrases and titles, with and without gold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from keywright import config as configs
from keywright import parts
from keywright.data.targets import Targets
from keywright.errors import DataError
from keywright.models.semi_multi import SemiMulti, title_task
from keywright.training.loop import train
from keywright.types import Document
from tests.models.conftest import DOCUMENTS, TINY, Case, vocabulary
from tests.training.conftest import tiny, write_corpus

SHORT = Document(title="Slow rivers", body="Rivers carry quartzsand.", keyphrases=("sea",))
UNTITLED = replace(SHORT, title="")
BARE = replace(SHORT, body="")
UNLABELLED = replace(SHORT, keyphrases=None)


@pytest.fixture
def case() -> Case:
    module = parts.module("keywright.models", "semi_multi")
    return Case("semi_multi", module, vocabulary(), Targets("one2seq"))


def test_titles_are_written_from_bodies(case: Case) -> None:
    batch = case.batch(UNTITLED, SHORT, BARE, DOCUMENTS[0])
    task = title_task(batch, case.vocabulary.special)
    assert task is not None
    assert task.documents == (SHORT, DOCUMENTS[0])
    target, mask = task.targets
    special = case.vocabulary.special
    assert mask.sum(dim=1).tolist() == [3, int(batch.title_lengths[3]) + 1]
    assert target[0, 2] == special.eos
    assert (target[~mask] == special.pad).all()
    for row, original in enumerate((1, 3)):
        length, title = int(batch.source_mask[original].sum()), int(batch.title_lengths[original])
        body = batch.source_extended[original, title:length]
        assert task.source_extended[row][task.source_mask[row]].equal(body)
        assert target[row, :title].equal(batch.source_extended[original, :title])
    assert title_task(case.batch(UNTITLED, BARE), special) is None


def test_documents_without_keyphrases_only_add_their_titles(case: Case) -> None:
    model = case.build().train()
    assert isinstance(model, SemiMulti)
    labelled, both = (model.loss(case.batch(*x)) for x in ([SHORT], [SHORT, UNLABELLED]))
    assert float(both.parts["nll"]) == pytest.approx(float(labelled.parts["nll"]), rel=1e-5)
    assert float(both.parts["titles"]) == pytest.approx(
        2 * float(labelled.parts["titles"]), rel=1e-5
    )
    assert int(both.divisor) == int(labelled.divisor) + 3
    alone = model.loss(case.batch(UNLABELLED))
    assert float(alone.parts["nll"]) == 0.0
    nothing = model.loss(case.batch(replace(UNTITLED, keyphrases=None)))
    assert (float(nothing.total), int(nothing.divisor)) == (0.0, 1)


def test_what_the_tasks_share_is_saved_once(case: Case) -> None:
    model = case.build()
    assert isinstance(model, SemiMulti)
    assert model.titles.embedding is model.embedding
    assert not any(
        name.startswith(("titles.embedding", "titles.encoder")) for name in model.state_dict()
    )


def test_a_run_learns_from_documents_without_keyphrases(tmp_path: Path) -> None:
    write_corpus(tmp_path / "train.jsonl", 16, seed=1)
    write_corpus(tmp_path / "valid.jsonl", 4, seed=2)
    lines = (tmp_path / "train.jsonl").read_text().splitlines()
    records = [{k: v for k, v in json.loads(x).items() if "key" not in k} for x in lines]
    (tmp_path / "plain.jsonl").write_text("".join(json.dumps(x) + "\n" for x in records))
    table = tiny(tmp_path)
    table["data"]["train"] = [str(tmp_path / name) for name in ("train.jsonl", "plain.jsonl")]
    table["train"]["stage"] = [{"epochs": 1, "batch_size": 8}]
    settings = {"name": "cat_seq", **TINY["cat_seq"]}
    with pytest.raises(DataError, match=r"plain\.jsonl"):
        train(configs.parse({**table, "model": settings}), tmp_path / "cat_seq")
    train(configs.parse({**table, "model": {**settings, "name": "semi_multi"}}), tmp_path / "run")
    metrics = [json.loads(x) for x in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert max(x["documents"] for x in metrics if "documents" in x) == 32
