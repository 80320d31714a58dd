"""Whatever fails while something is written, the old or the new file is there, whole.

Every command is repeated with a fault at its first, second, ... write, fsync, rename or link: once
as an error of the disk, once as memory that cannot be allocated, once as a kill.
Afterwards the same command succeeds, with the same result.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("sklearn")

from keywright import config as configs
from keywright import parts, predictor, runs, runtime
from keywright.calibration.recalibrate import Recalibrator
from keywright.cli import app
from keywright.export.run import export
from keywright.extractors import kea
from keywright.predictor import EXTRACTORS
from keywright.ranking.fitting import ranker, topics
from keywright.ranking.fitting.forest import Forest
from keywright.ranking.model import is_ranker
from keywright.training.loop import train
from tests import faults
from tests.calibration.test_recalibrate import HALF
from tests.models.conftest import DOCUMENTS, TINY
from tests.ranking.test_ranker import SMALL
from tests.ranking.test_ranker import corpus as ranker_corpus
from tests.ranking.test_ranker import write as write_ranker_corpus
from tests.runs import untrained_run
from tests.training.conftest import tiny, write_corpus

pytestmark = pytest.mark.slow
OLD = b"old\n"
# Between faults of commands that take long. EVERY_FAULT=1: all of them, in some ten minutes.
STEP = 3 if os.environ.get("EVERY_FAULT") else 10


@dataclass(frozen=True)
class Command:
    """`run` writes below a folder; `check` finds something whole there, or raises."""

    prepare: Callable[[Path], None]
    run: Callable[[Path], object]
    again: Callable[[Path], object]  # after a fault
    check: Callable[[Path], None]
    result: Callable[[Path], object]
    shared: bool = False  # the faults take turns, and few are tried by default


def documents(folder: Path) -> None:
    records = ({"id": str(n), "title": "Heat", "body": f"Heat pumps warm {n}."} for n in range(6))
    lines = (json.dumps(record) + "\n" for record in records)
    (folder / "d.jsonl").write_text("".join(lines))


def cli(*arguments: str) -> Callable[[Path], object]:
    """A command; FOLDER in its arguments is the folder."""

    def run(folder: Path) -> object:
        filled = [argument.replace("FOLDER", str(folder)) for argument in arguments]
        return app(filled, standalone_mode=False)

    return run


def whole_lines(folder: Path) -> None:
    """The old file, the new one, or none: never a part."""
    out = folder / "out.jsonl"
    if out.exists() and out.read_bytes() != OLD:
        assert len([json.loads(line) for line in out.read_text().splitlines()]) == 6


def with_old_output(folder: Path) -> None:
    documents(folder)
    (folder / "out.jsonl").write_bytes(OLD)


def content(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).read_bytes()


PREDICT = ("predict", "--model", "tfidf", "--documents", "FOLDER/d.jsonl", "--output")
GENERATE = ("generate", "FOLDER/d.jsonl", "--model", "textrank", "--format", "jsonl", "--output")


def corpus(folder: Path) -> None:
    write_corpus(folder / "train.jsonl", 16, seed=1)
    write_corpus(folder / "valid.jsonl", 4, seed=2)


def trained(folder: Path) -> object:
    table = tiny(folder)
    table["train"]["stage"] = [{"epochs": 1, "batch_size": 8}]
    table["train"]["checkpoint_minutes"] = 0.0
    return train(configs.parse(table), folder / "run", resume=True)


def loadable_run(folder: Path) -> None:
    run = folder / "run"
    if run.exists():
        runs.read(run)
        for name in (runs.BEST, runs.LAST):
            if (run / name).exists():
                runs.load(run, name)


def weights(folder: Path) -> object:
    model = runs.load(folder / "run").model
    return {name: tensor.tolist() for name, tensor in model.state_dict().items()}


def source_run(folder: Path) -> None:
    untrained_run(folder / "source", DOCUMENTS, {"name": "cat_seq", **TINY["cat_seq"]}, {})


def loadable_export(folder: Path) -> None:
    if (folder / "out").exists():
        runtime.load(folder / "out")


def predictions(folder: Path) -> object:
    return [found.texts for found in runtime.load(folder / "out").predict(DOCUMENTS)]


FIT = ("fit-extractor", "kea", "--documents", "FOLDER/train.jsonl", "--output", "FOLDER/out.json")


def whole_extractor(folder: Path) -> None:
    parts.module(EXTRACTORS, "kea").build(kea.Config(fitted=str(folder / "out.json")))


def fitted_before(folder: Path) -> None:
    corpus(folder)
    cli(*FIT, "--most", "12")(folder)


def ranker_documents(folder: Path) -> None:
    write_ranker_corpus(folder / "train.jsonl", ranker_corpus(1, 40))
    write_ranker_corpus(folder / "valid.jsonl", ranker_corpus(2, 10))


def fitted_ranker(folder: Path) -> None:
    train, valid = str(folder / "train.jsonl"), str(folder / "valid.jsonl")
    config = ranker.Config(
        books=(ranker.Book(train, valid, held_out=20),),
        topics=topics.Config(width=4, labels=5, terms=50, commonest=0.9, epochs=1, batch=32),
        span_tagger=replace(SMALL, passes=40, width=4, span=4),
        trees=Forest(rounds=2, smallest=5),
    )
    ranker.fit(config, folder / "out", None, lambda text: None)


def loadable_ranker(folder: Path) -> None:
    if is_ranker(folder / "out"):
        predictor.load(folder / "out")


def ranked(folder: Path) -> object:
    found = predictor.load(folder / "out").predict(ranker_corpus(3, 5))
    return [prediction.phrases for prediction in found]


def whole_recalibrator(folder: Path) -> None:
    assert Recalibrator.from_json(folder / "out.json") is not None


COMMANDS = {
    "predict": Command(
        documents,
        cli(*PREDICT, "FOLDER/out.jsonl"),
        cli(*PREDICT, "FOLDER/out.jsonl", "--resume"),
        whole_lines,
        content("out.jsonl"),
    ),
    "predict, replacing": Command(
        with_old_output,
        cli(*PREDICT, "FOLDER/out.jsonl", "--force"),
        cli(*PREDICT, "FOLDER/out.jsonl", "--force"),
        whole_lines,
        content("out.jsonl"),
    ),
    "predict, compressed": Command(
        documents,
        cli(*PREDICT, "FOLDER/out.jsonl.gz"),
        cli(*PREDICT, "FOLDER/out.jsonl.gz", "--resume"),
        lambda folder: None,
        content("out.jsonl.gz"),
    ),
    "generate": Command(
        with_old_output,
        cli(*GENERATE, "FOLDER/out.jsonl"),
        cli(*GENERATE, "FOLDER/out.jsonl"),
        whole_lines,
        content("out.jsonl"),
    ),
    "save a recalibrator": Command(
        lambda folder: HALF.save(folder / "out.json"),
        lambda folder: HALF.save(folder / "out.json"),
        lambda folder: HALF.save(folder / "out.json"),
        whole_recalibrator,
        content("out.json"),
    ),
    "fit-extractor": Command(
        fitted_before, cli(*FIT), cli(*FIT), whole_extractor, content("out.json")
    ),
    "fit-ranker": Command(
        ranker_documents, fitted_ranker, fitted_ranker, loadable_ranker, ranked, shared=True
    ),
    "train": Command(corpus, trained, trained, loadable_run, weights),
    "export": Command(
        source_run,
        lambda folder: export(folder / "source", folder / "out"),
        lambda folder: export(folder / "source", folder / "out"),
        loadable_export,
        predictions,
    ),
}


@pytest.mark.parametrize("mode", ["error", "memory", "kill"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_leaves_the_old_or_the_new_file(
    name: str, mode: faults.Mode, tmp_path: Path
) -> None:
    command = COMMANDS[name]
    prepared, folder = tmp_path / "prepared", tmp_path / "folder"
    prepared.mkdir()
    command.prepare(prepared)

    def fresh() -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(prepared, folder)
        return folder

    command.run(fresh())  # imports what forked processes then share
    outcome, events = faults.run(lambda: command.run(fresh()))
    assert outcome == faults.DONE
    assert events > 0
    expected = command.result(folder)
    tried = range(1, events + 1)
    if command.shared:
        tried = tried[("error", "kill", "memory").index(mode) * STEP // 3 :: STEP]
    for at in tried:
        fresh()
        outcome, _ = faults.run(lambda: command.run(folder), at, mode)
        # An error may be overcome; a kill may not.
        allowed = (faults.KILLED,) if mode == "kill" else (faults.REFUSED, faults.DONE)
        assert outcome in allowed, f"event {at} of {events}"
        command.check(folder)
        if not (outcome == faults.DONE or (name == "export" and (folder / "out").exists())):
            assert faults.run(lambda: command.again(folder))[0] == faults.DONE, f"event {at}"
        assert command.result(folder) == expected, f"event {at}"
        assert faults.leftovers(folder) == [], f"event {at}"
    print(f"{name}, {mode}: {len(tried)} faults")  # noqa: T201
