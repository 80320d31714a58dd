"""The loop as users see it: it learns, stops, continues, and reports errors."""

from __future__ import annotations

import json
import os
import resource
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from keywright import checkpoint, runs
from keywright.config import Config
from keywright.data import corpus
from keywright.data.batch import make_batch
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.files import sha256
from keywright.training.loop import DivergedError, train
from keywright.training.state import Status
from tests.training.conftest import Make, write_corpus


def weights(folder: Path, name: str = runs.LAST) -> dict[str, torch.Tensor]:
    saved = checkpoint.load(folder / name)
    return {**saved.model, **{f"optimiser/{key}": value for key, value in saved.optimiser.items()}}


def assert_same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name


def metrics(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (folder / runs.METRICS).read_text().splitlines()
    return [line for line in map(json.loads, lines) if kind in (None, line["kind"])]


def untimed(folder: Path) -> list[dict[str, Any]]:
    timed = ("seconds", "documents_per_second")
    return [{k: v for k, v in line.items() if k not in timed} for line in metrics(folder)]


def stop_at(update: int):
    """A watcher that sends this process a SIGTERM after an update."""

    def watch(status: Status) -> None:
        if status.validation is None and status.update == update:
            os.kill(os.getpid(), signal.SIGTERM)

    return watch


class CrashError(Exception):
    pass


def crash_at(update: int):
    """A watcher after which nothing more is written, as after a kill."""

    def watch(status: Status) -> None:
        if status.validation is None and status.update == update:
            raise CrashError

    return watch


def test_it_learns_and_leaves_a_folder_that_can_be_loaded(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "first"
    outcome = train(make("train.stage[0].epochs=6", "train.stage[0].learning_rate=0.01"), folder)
    assert (outcome.reason, outcome.updates) == ("finished", 24)
    assert {path.name for path in folder.iterdir()} == {
        "config.toml",
        "vocabulary.json",
        "run.json",
        "best.safetensors",
        "last.safetensors",
        "previous.safetensors",
        "metrics.jsonl",
        "tensorboard",
    }
    losses = [line["loss"] for line in metrics(folder, "valid")]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.5

    loaded = runs.load(folder)
    assert loaded.config.model.name == "transformer_one2seq"
    assert not loaded.model.training
    assert_same(checkpoint.model_tensors(loaded.model), weights(folder, runs.BEST))
    documents = corpus.read([str(tmp_path / "valid.jsonl")]).documents
    batch = make_batch(documents, loaded.vocabulary, loaded.config.data.max_source)
    assert loaded.model.encode(batch) is not None


def test_a_damaged_checkpoint_loses_little_work(make: Make, tmp_path: Path) -> None:
    config = make("train.checkpoint_minutes=0")
    train(config, tmp_path / "whole")
    train(config, tmp_path / "r", watch=stop_at(6))
    last = tmp_path / "r" / runs.LAST
    content = bytearray(last.read_bytes())
    content[-1] ^= 1
    last.write_bytes(content)
    with pytest.raises(DataError, match=r"last\.safetensors: .* damaged .*previous\.safetensors"):
        train(config, tmp_path / "r", resume=True)
    (tmp_path / "r" / checkpoint.PREVIOUS).replace(last)
    assert train(config, tmp_path / "r", resume=True).updates == 8
    assert_same(weights(tmp_path / "r"), weights(tmp_path / "whole"))
    assert untimed(tmp_path / "r") == untimed(tmp_path / "whole")


@pytest.fixture
def worsening(corpus: Path) -> None:
    """Validation documents on which the model gets worse during training."""
    record = {"title": "banat", "abstract": "bemor disen", "keywords": ["never seen", "at all"]}
    (corpus / "valid.jsonl").write_text(json.dumps(record) + "\n")


@pytest.mark.usefixtures("worsening")
def test_the_best_weights_are_those_of_the_best_validation(make: Make, tmp_path: Path) -> None:
    train(make("train.stage[0].epochs=3", "train.stage[0].learning_rate=0.05"), tmp_path / "r")
    lines = metrics(tmp_path / "r", "valid")
    best = min(lines, key=lambda line: line["loss"])
    state = json.loads(checkpoint.load(tmp_path / "r" / runs.BEST).state)
    assert state["update"] == best["update"]
    assert state["loss"] == best["loss"]
    assert best["update"] < lines[-1]["update"]


def test_the_manifest_describes_the_origin_of_a_run(make: Make, tmp_path: Path) -> None:
    train(make("train.seed=5"), tmp_path / "r")
    manifest = runs.read(tmp_path / "r")[2]
    assert manifest.seed == 5
    assert manifest.train.documents == 30
    assert manifest.train == corpus.read([str(tmp_path / "train.jsonl")]).digest
    assert manifest.vocabulary == sha256(tmp_path / "r" / runs.VOCABULARY)
    assert manifest.versions["torch"] == torch.__version__
    assert manifest.commit is None or len(manifest.commit) == 40


def test_the_weights_depend_on_the_seed_only(make: Make, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(make(f"train.seed={seed}"), tmp_path / name)
    assert_same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    with pytest.raises(AssertionError):
        assert_same(weights(tmp_path / "a"), weights(tmp_path / "c"))


@pytest.mark.parametrize("drop", ["off", "augment"])
def test_documents_in_a_file_train_the_same_weights(make: Make, tmp_path: Path, drop: str) -> None:
    memory = make(f"data.kpdrop.mode={drop}")
    stored = make(f"data.kpdrop.mode={drop}", "data.in_memory=false")
    train(memory, tmp_path / "memory")
    train(stored, tmp_path / "stored", watch=stop_at(3))
    assert train(stored, tmp_path / "stored", resume=True).reason == "finished"
    assert_same(weights(tmp_path / "memory"), weights(tmp_path / "stored"))
    assert untimed(tmp_path / "memory") == untimed(tmp_path / "stored")


@pytest.mark.parametrize("update", [2, 4])
def test_a_run_stopped_by_a_signal_ends_as_an_uninterrupted_one(
    make: Make, tmp_path: Path, update: int
) -> None:
    config = make("train.stage[0].schedule=cosine")
    train(config, tmp_path / "whole")
    before = signal.getsignal(signal.SIGTERM)
    outcome = train(config, tmp_path / "cut", watch=stop_at(update))
    assert (outcome.reason, outcome.signal) == ("signal", signal.SIGTERM)
    assert outcome.updates == update + 1  # the current update is completed and saved
    assert signal.getsignal(signal.SIGTERM) is before
    assert train(config, tmp_path / "cut", resume=True).reason == "finished"
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert_same(weights(tmp_path / "whole", runs.BEST), weights(tmp_path / "cut", runs.BEST))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")


@pytest.mark.parametrize(("update", "minutes"), [(1, 0), (4, 0), (3, 10)])
def test_a_run_that_crashed_continues_from_its_last_checkpoint(
    make: Make, tmp_path: Path, update: int, minutes: int
) -> None:
    config = make(
        f"train.checkpoint_minutes={minutes}",
        "train.stage=[{epochs=1, batch_size=8}, {updates=5, batch_size=6, patience=3}]",
    )
    train(config, tmp_path / "whole")
    for at in (update, update):  # a run may crash several times, also in the second stage
        with pytest.raises(CrashError):
            train(config, tmp_path / "cut", resume=True, watch=crash_at(at))
    train(config, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert_same(weights(tmp_path / "whole", runs.BEST), weights(tmp_path / "cut", runs.BEST))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")


def test_a_time_limit_stops_with_a_checkpoint(make: Make, tmp_path: Path) -> None:
    config = make("train.minutes=1e-6")
    outcome = train(config, tmp_path / "r")
    assert (outcome.reason, outcome.updates) == ("minutes", 1)
    unlimited = replace(config, train=replace(config.train, minutes=None))
    assert train(unlimited, tmp_path / "r", resume=True).updates == 8
    train(unlimited, tmp_path / "whole")
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "r"))


def test_a_finished_run_is_not_changed(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r")
    before = (tmp_path / "r" / runs.LAST).read_bytes()
    assert train(make(), tmp_path / "r", resume=True).reason == "finished"
    assert (tmp_path / "r" / runs.LAST).read_bytes() == before


@pytest.mark.parametrize("pieces", [3, 8])
def test_accumulation_changes_only_memory(make: Make, tmp_path: Path, pieces: int) -> None:
    train(make("model.dropout=0"), tmp_path / "one")
    train(make("model.dropout=0", f"train.stage[0].accumulate={pieces}"), tmp_path / "many")
    for whole, cut in zip(metrics(tmp_path / "one"), metrics(tmp_path / "many"), strict=True):
        assert whole["loss"] == pytest.approx(cut["loss"], rel=1e-5)
        assert whole["documents"] == cut["documents"]


def test_training_stops_early_without_improvement(make: Make, tmp_path: Path) -> None:
    config = make(
        "train.stage[0].epochs=50",
        "train.stage[0].patience=2",
        "train.stage[0].learning_rate=0.5",
        "train.stage[0].schedule=plateau",
        "train.stage[0].validate_every=2",
    )
    outcome = train(config, tmp_path / "r")
    assert outcome.reason == "finished"
    flags = [line["best"] for line in metrics(tmp_path / "r", "valid")]
    assert flags[-2:] == [False, False]
    assert outcome.updates == 2 * len(flags) < 200
    rates = [line["learning_rate"] for line in metrics(tmp_path / "r", "train")]
    assert rates[0] == 0.5
    assert rates[-1] < 0.5


@pytest.mark.usefixtures("worsening")
def test_a_second_stage_starts_from_the_best_weights_of_the_first(
    make: Make, tmp_path: Path
) -> None:
    config = make(
        "train.stage=[{epochs=3, batch_size=8, learning_rate=0.05}, "
        "{updates=1, batch_size=8, learning_rate=1e-9, optimiser='adamw'}]"
    )
    train(config, tmp_path / "r")
    lines = metrics(tmp_path / "r", "valid")
    first = [line["loss"] for line in lines if line["stage"] == 0]
    second = [line["loss"] for line in lines if line["stage"] == 1]
    assert min(first) < first[-1] - 1e-3
    assert second[0] == pytest.approx(min(first), rel=1e-5)
    assert second[-1] == pytest.approx(min(first), rel=1e-4)


def test_the_best_weights_may_be_selected_by_a_metric(make: Make, tmp_path: Path) -> None:
    train(make("train.stage[0].select='all.F1@O'"), tmp_path / "r")
    lines = metrics(tmp_path / "r", "valid")
    assert all(0 <= line["all.F1@O"] <= 1 for line in lines)
    best = max(lines, key=lambda line: line["all.F1@O"])
    state = json.loads(checkpoint.load(tmp_path / "r" / runs.BEST).state)
    assert state["all.F1@O"] == best["all.F1@O"]


def test_without_validation_documents_the_last_weights_are_loaded(
    make: Make, tmp_path: Path
) -> None:
    train(make("data.valid=[]"), tmp_path / "r")
    assert not (tmp_path / "r" / runs.BEST).exists()
    model = runs.load(tmp_path / "r").model
    assert_same(
        checkpoint.model_tensors(model), dict(checkpoint.load(tmp_path / "r" / runs.LAST).model)
    )


def test_training_in_bfloat16_is_close_to_full_precision(make: Make, tmp_path: Path) -> None:
    train(make("train.precision=bf16"), tmp_path / "half")
    train(make("train.precision=fp32"), tmp_path / "full")
    half, full = (metrics(tmp_path / name, "train") for name in ("half", "full"))
    assert [line["loss"] for line in half] != [line["loss"] for line in full]
    assert half[-1]["loss"] == pytest.approx(full[-1]["loss"], rel=0.02)


def test_tensorboard_shows_the_losses(make: Make, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(make(), tmp_path / "r")
    events = EventAccumulator(str(tmp_path / "r" / runs.TENSORBOARD))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("train/loss")]
    logged = [(line["update"], line["loss"]) for line in metrics(tmp_path / "r", "train")]
    assert found == [(step, pytest.approx(loss)) for step, loss in logged]


def test_the_settings_of_torch_are_restored(make: Make, tmp_path: Path) -> None:
    before, denormal = torch.get_num_threads(), torch.tensor([1e-310], dtype=torch.double)
    train(make(f"train.threads={before + 1}"), tmp_path / "r")
    assert torch.get_num_threads() == before
    assert (denormal * 0.5).item() > 0


def test_watchers_receive_the_status_of_every_update(make: Make, tmp_path: Path) -> None:
    seen: list[Status] = []
    train(make(), tmp_path / "r", watch=seen.append)
    updates = [status for status in seen if status.validation is None]
    assert [status.update for status in updates] == list(range(1, 9))
    assert all(status.updates == 8 for status in updates)
    assert all(status.documents_per_second > 0 for status in updates)
    assert updates[-1].seconds_left == 0
    assert [status.best for status in seen if status.validation] == [True, True]


# Errors are reported before anything is written, and nothing is lost.


def test_an_existing_run_folder_is_not_changed(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r")
    before = {path: path.read_bytes() for path in (tmp_path / "r").glob("*.*")}
    with pytest.raises(KeywrightError, match="already contains a run; --resume continues it"):
        train(make("train.seed=2"), tmp_path / "r")
    assert {path: path.read_bytes() for path in (tmp_path / "r").glob("*.*")} == before
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("")
    with pytest.raises(KeywrightError, match="is not an empty folder"):
        train(make(), other)


def test_two_processes_do_not_train_in_the_same_folder(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    with (
        runs.locked(tmp_path / "r"),
        pytest.raises(KeywrightError, match="another process is training here"),
    ):
        train(make(), tmp_path / "r", resume=True)
    assert train(make(), tmp_path / "r", resume=True).reason == "finished"


def test_incomplete_files_of_a_killed_process_are_removed(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    half = tmp_path / "r" / ".last.safetensors.1234.part"
    half.write_bytes(b"half")
    train(make(), tmp_path / "r", resume=True)
    assert not half.exists()


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("model.name=transformer_one2se", r"model\.name: unknown model"),
        ("model.droput=0.1", r"model\.droput: unknown setting; did you mean 'dropout'"),
        ("model.dropout=1.5", r"model\.dropout: expected float < 1\.0"),
        ("train.stage[0].objective=nlll", r"train\.stage\[0\]\.objective\.name: unknown objective"),
        ("train.stage[0].select=F1", r"train\.stage\[0\]\.select: "),
        ("train.stage[0].select=all.SemF1", r"train\.stage\[0\]\.select: .*--protocol kpeval"),
        ("train.stage[0].learning_rates={encodr=1.0}", r"learning_rates\.encodr"),
        ("decode.name=greeedy", r"decode\.name: unknown"),
        ("decode={name='greedy', width=3}", r"decode\.width: unknown setting"),
    ],
)
def test_unknown_settings_are_named(
    make: Make, tmp_path: Path, override: str, expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        train(make(override), tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("part", ["train", "valid"])
def test_a_missing_data_file_leaves_no_run_folder(make: Make, tmp_path: Path, part: str) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: no such file"):
        train(make(f"data.{part}=['none.jsonl']"), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_documents_to_validate_on_may_be_left_out_of_training(make: Make, tmp_path: Path) -> None:
    path = str(tmp_path / "train.jsonl")
    one_file = (f'data.valid=["{path}"]', "data.valid_documents=6", "data.train_skip=6")
    train(make(*one_file), tmp_path / "all")
    manifest = runs.read(tmp_path / "all")[2]
    assert manifest.valid == corpus.read([path], 6).digest
    assert manifest.train == corpus.digest(corpus.read([path]).documents[6:])

    train(make("data.train_skip=6", "data.train_documents=20"), tmp_path / "twenty")
    manifest = runs.read(tmp_path / "twenty")[2]
    assert manifest.train == corpus.digest(corpus.read([path]).documents[6:26])

    with pytest.raises(
        DataError, match=r"data\.train: its files have no more than the 30 documents"
    ):
        train(make("data.train_skip=30"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_documents_without_keyphrases_are_an_error(make: Make, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"title": "a", "abstract": "b", "keywords": []}\n')
    with pytest.raises(DataError, match=r"data\.train: none of its documents has a keyphrase"):
        train(make(), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_run_is_resumed_with_its_own_settings(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    with pytest.raises(ConfigError, match=r"^model\.width: is 32 now and 16 in .*r; resume with"):
        train(make("model.width=32"), tmp_path / "r", resume=True)
    harmless = make("train.checkpoint_minutes=1", "train.log_every=3", "train.minutes=5")
    assert train(harmless, tmp_path / "r", resume=True).reason == "finished"


def test_a_run_that_does_not_know_a_newer_setting_is_resumed(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    saved = tmp_path / "r" / runs.CONFIG
    text = saved.read_text()
    assert "own_pointer = false\n" in text
    saved.write_text(text.replace("own_pointer = false\n", ""))
    assert train(make(), tmp_path / "r", resume=True).reason == "finished"


def test_a_run_is_resumed_with_its_own_documents(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    write_corpus(tmp_path / "train.jsonl", 31, seed=1)
    with pytest.raises(
        DataError, match=r"data\.train: the documents have changed .*31 now, 30 then"
    ):
        train(make(), tmp_path / "r", resume=True)


def test_files_of_different_runs_cannot_be_mixed(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "a")
    train(make("data.vocabulary.size=50"), tmp_path / "b")
    (tmp_path / "a" / runs.BEST).write_bytes((tmp_path / "b" / runs.BEST).read_bytes())
    with pytest.raises(DataError, match="was trained with another vocabulary"):
        runs.load(tmp_path / "a")
    (tmp_path / "a" / runs.VOCABULARY).write_bytes((tmp_path / "b" / runs.VOCABULARY).read_bytes())
    with pytest.raises(DataError, match=r"vocabulary\.json: is not the vocabulary that run\.json"):
        runs.load(tmp_path / "a")
    with pytest.raises(DataError, match="is not a run folder"):
        runs.load(tmp_path)


def test_a_gradient_that_is_not_finite_stops_the_run(make: Make, tmp_path: Path) -> None:
    config = make("train.stage[0].learning_rate=1e38", "train.checkpoint_minutes=0")
    with pytest.raises(DivergedError, match="start another run with a lower"):
        train(config, tmp_path / "r")
    assert json.loads(checkpoint.load(tmp_path / "r" / runs.LAST).state)["updates"] == 1


def test_a_full_disk_ends_the_run_and_keeps_the_last_checkpoint(make: Make, tmp_path: Path) -> None:
    config = make("train.checkpoint_minutes=0")
    train(config, tmp_path / "r", watch=stop_at(2))
    before = (tmp_path / "r" / runs.LAST).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(DataError, match=r"last\.safetensors: cannot be written"):
            train(config, tmp_path / "r", resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "r" / runs.LAST).read_bytes() == before
    assert train(config, tmp_path / "r", resume=True).reason == "finished"


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "configs").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_config_of_the_project_is_valid(path: Path) -> None:
    from keywright import config as configs
    from keywright.scorers.config import Config as ScorerConfig

    if configs.SCORER in configs.read_table(path):
        assert isinstance(configs.load_as(ScorerConfig, path), ScorerConfig)
    else:
        assert isinstance(runs.resolve(configs.load(path)), Config)


@pytest.mark.parametrize(("epochs", "updates", "done"), [(2, 3, 3), (1, 100, 4)])
def test_a_stage_ends_after_epochs_or_updates_whichever_comes_first(
    make: Make, tmp_path: Path, epochs: int, updates: int, done: int
) -> None:
    config = make(f"train.stage[0].epochs={epochs}", f"train.stage[0].updates={updates}")
    assert train(config, tmp_path / "r").updates == done


def test_a_later_stage_has_to_beat_what_it_starts_from(make: Make, tmp_path: Path) -> None:
    first = make().train.stage[0]
    config = make()
    ruinous = replace(first, epochs=1, learning_rate=5.0, clip=1e9)
    stages = (replace(first, epochs=4, learning_rate=0.01), ruinous)
    config = replace(config, train=replace(config.train, stage=stages))
    train(config, tmp_path / "r")
    lines = metrics(tmp_path / "r", "valid")
    before = min(line["loss"] for line in lines if line["stage"] == 0)
    assert all(
        line["loss"] > before + 1 for line in lines if line["stage"] == 1 and line["update"] > 16
    )
    best = json.loads(checkpoint.load(tmp_path / "r" / runs.BEST).state)
    assert best["loss"] == pytest.approx(before, abs=1e-6)
    assert best["update"] == 16
