"""The loop as a user meets it: it learns, it stops, it goes on, and it says what is wrong."""

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

from keywright.config import Config
from keywright.data.batch import make_batch
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.training import checkpoint, corpus, run
from keywright.training.loop import DivergedError, train
from keywright.training.state import Status
from tests.training.conftest import Make, write_corpus


def weights(folder: Path, name: str = run.LAST) -> dict[str, torch.Tensor]:
    saved = checkpoint.load(folder / name)
    return {**saved.model, **{f"optimiser/{key}": value for key, value in saved.optimiser.items()}}


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def metrics(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (folder / run.METRICS).read_text().splitlines()
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
    """A watcher after which nothing is saved any more: what a kill looks like to the files."""

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
        "metrics.jsonl",
        "tensorboard",
    }
    losses = [line["loss"] for line in metrics(folder, "valid")]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.5

    loaded = run.load(folder)
    assert loaded.config.model.name == "transformer_one2seq"
    assert not loaded.model.training
    assert_same(checkpoint.model_tensors(loaded.model), weights(folder, run.BEST))
    documents = corpus.read([str(tmp_path / "valid.jsonl")]).documents
    batch = make_batch(documents, loaded.vocabulary, loaded.config.data.max_source)
    assert loaded.model.encode(batch) is not None


@pytest.fixture
def worsening(corpus: Path) -> None:
    """Validation documents that are the worse predicted the more is learnt."""
    record = {"title": "banat", "abstract": "bemor disen", "keywords": ["never seen", "at all"]}
    (corpus / "valid.jsonl").write_text(json.dumps(record) + "\n")


@pytest.mark.usefixtures("worsening")
def test_the_best_weights_are_those_of_the_best_validation(make: Make, tmp_path: Path) -> None:
    train(make("train.stage[0].epochs=3", "train.stage[0].learning_rate=0.05"), tmp_path / "r")
    lines = metrics(tmp_path / "r", "valid")
    best = min(lines, key=lambda line: line["loss"])
    state = json.loads(checkpoint.load(tmp_path / "r" / run.BEST).state)
    assert state["update"] == best["update"]
    assert state["loss"] == best["loss"]
    assert best["update"] < lines[-1]["update"]


def test_the_manifest_tells_where_a_run_comes_from(make: Make, tmp_path: Path) -> None:
    train(make("train.seed=5"), tmp_path / "r")
    manifest = run.read(tmp_path / "r")[2]
    assert manifest.seed == 5
    assert manifest.train.documents == 30
    assert manifest.train == corpus.read([str(tmp_path / "train.jsonl")]).digest
    assert manifest.vocabulary == run.sha256(tmp_path / "r" / run.VOCABULARY)
    assert manifest.versions["torch"] == torch.__version__
    assert manifest.commit is None or len(manifest.commit) == 40


def test_the_same_seed_gives_the_same_weights_and_another_one_others(
    make: Make, tmp_path: Path
) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(make(f"train.seed={seed}"), tmp_path / name)
    assert_same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    with pytest.raises(AssertionError):
        assert_same(weights(tmp_path / "a"), weights(tmp_path / "c"))


@pytest.mark.parametrize("update", [2, 4])
def test_a_run_stopped_by_a_signal_goes_on_as_if_it_had_not_been(
    make: Make, tmp_path: Path, update: int
) -> None:
    config = make("train.stage[0].schedule=cosine")
    train(config, tmp_path / "whole")
    before = signal.getsignal(signal.SIGTERM)
    outcome = train(config, tmp_path / "cut", watch=stop_at(update))
    assert (outcome.reason, outcome.signal) == ("signal", signal.SIGTERM)
    assert outcome.updates == update + 1  # the one under way is made and kept
    assert signal.getsignal(signal.SIGTERM) is before
    assert train(config, tmp_path / "cut", resume=True).reason == "finished"
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert_same(weights(tmp_path / "whole", run.BEST), weights(tmp_path / "cut", run.BEST))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")


@pytest.mark.parametrize(("update", "minutes"), [(1, 0), (4, 0), (3, 10)])
def test_a_run_that_crashed_goes_on_from_its_last_checkpoint(
    make: Make, tmp_path: Path, update: int, minutes: int
) -> None:
    config = make(
        f"train.checkpoint_minutes={minutes}",
        "train.stage=[{epochs=1, batch_size=8}, {updates=5, batch_size=6, patience=3}]",
    )
    train(config, tmp_path / "whole")
    for at in (update, update):  # a run may crash more than once, also in the second stage
        with pytest.raises(CrashError):
            train(config, tmp_path / "cut", resume=True, watch=crash_at(at))
    train(config, tmp_path / "cut", resume=True)
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert_same(weights(tmp_path / "whole", run.BEST), weights(tmp_path / "cut", run.BEST))
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "cut")


def test_a_limit_on_time_stops_with_a_checkpoint(make: Make, tmp_path: Path) -> None:
    config = make("train.minutes=1e-6")
    outcome = train(config, tmp_path / "r")
    assert (outcome.reason, outcome.updates) == ("minutes", 1)
    unlimited = replace(config, train=replace(config.train, minutes=None))
    assert train(unlimited, tmp_path / "r", resume=True).updates == 8
    train(unlimited, tmp_path / "whole")
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "r"))


def test_a_finished_run_is_left_as_it_is(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r")
    before = (tmp_path / "r" / run.LAST).read_bytes()
    assert train(make(), tmp_path / "r", resume=True).reason == "finished"
    assert (tmp_path / "r" / run.LAST).read_bytes() == before


@pytest.mark.parametrize("pieces", [3, 8])
def test_accumulation_changes_nothing_but_memory(make: Make, tmp_path: Path, pieces: int) -> None:
    train(make("model.dropout=0"), tmp_path / "one")
    train(make("model.dropout=0", f"train.stage[0].accumulate={pieces}"), tmp_path / "many")
    for one, many in zip(metrics(tmp_path / "one"), metrics(tmp_path / "many"), strict=True):
        assert one["loss"] == pytest.approx(many["loss"], rel=1e-5)
        assert one["documents"] == many["documents"]


def test_training_stops_early_when_nothing_gets_better(make: Make, tmp_path: Path) -> None:
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


def test_the_best_may_be_the_best_by_a_metric(make: Make, tmp_path: Path) -> None:
    train(make("train.stage[0].select='all.F1@O'"), tmp_path / "r")
    lines = metrics(tmp_path / "r", "valid")
    assert all(0 <= line["all.F1@O"] <= 1 for line in lines)
    best = max(lines, key=lambda line: line["all.F1@O"])
    state = json.loads(checkpoint.load(tmp_path / "r" / run.BEST).state)
    assert state["all.F1@O"] == best["all.F1@O"]


def test_without_validation_documents_the_last_weights_are_loaded(
    make: Make, tmp_path: Path
) -> None:
    train(make("data.valid=[]"), tmp_path / "r")
    assert not (tmp_path / "r" / run.BEST).exists()
    model = run.load(tmp_path / "r").model
    assert_same(
        checkpoint.model_tensors(model), dict(checkpoint.load(tmp_path / "r" / run.LAST).model)
    )


def test_half_precision_trains_where_the_device_has_it(make: Make, tmp_path: Path) -> None:
    train(make("train.precision=bf16"), tmp_path / "half")
    train(make("train.precision=fp32"), tmp_path / "full")
    half, full = (metrics(tmp_path / name, "train") for name in ("half", "full"))
    assert [line["loss"] for line in half] != [line["loss"] for line in full]
    assert half[-1]["loss"] == pytest.approx(full[-1]["loss"], rel=0.02)


def test_tensorboard_shows_the_losses(make: Make, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(make(), tmp_path / "r")
    events = EventAccumulator(str(tmp_path / "r" / run.TENSORBOARD))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("train/loss")]
    logged = [(line["update"], line["loss"]) for line in metrics(tmp_path / "r", "train")]
    assert found == [(step, pytest.approx(loss)) for step, loss in logged]


def test_torch_is_left_as_it_was(make: Make, tmp_path: Path) -> None:
    before, denormal = torch.get_num_threads(), torch.tensor([1e-310], dtype=torch.double)
    train(make(f"train.threads={before + 1}"), tmp_path / "r")
    assert torch.get_num_threads() == before
    assert (denormal * 0.5).item() > 0


def test_watchers_are_told_how_it_goes(make: Make, tmp_path: Path) -> None:
    seen: list[Status] = []
    train(make(), tmp_path / "r", watch=seen.append)
    updates = [status for status in seen if status.validation is None]
    assert [status.update for status in updates] == list(range(1, 9))
    assert all(status.updates == 8 for status in updates)
    assert all(status.documents_per_second > 0 for status in updates)
    assert updates[-1].seconds_left == 0
    assert [status.best for status in seen if status.validation] == [True, True]


# What is wrong is said before anything is written, and nothing is lost.


def test_a_run_folder_that_exists_is_not_touched(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r")
    before = {path: path.read_bytes() for path in (tmp_path / "r").glob("*.*")}
    with pytest.raises(KeywrightError, match="a run is there already; --resume continues it"):
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
        run.locked(tmp_path / "r"),
        pytest.raises(KeywrightError, match="another process is training here"),
    ):
        train(make(), tmp_path / "r", resume=True)
    assert train(make(), tmp_path / "r", resume=True).reason == "finished"


def test_what_a_killed_process_left_half_written_is_removed(make: Make, tmp_path: Path) -> None:
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
        ("train.stage[0].learning_rates={encodr=1.0}", r"learning_rates\.encodr"),
        ("decode.name=greeedy", r"decode\.name: unknown"),
        ("decode={name='greedy', width=3}", r"decode\.width: unknown setting"),
    ],
)
def test_a_setting_that_does_not_exist_is_named(
    make: Make, tmp_path: Path, override: str, expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        train(make(override), tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("part", ["train", "valid"])
def test_a_missing_data_file_leaves_no_folder(make: Make, tmp_path: Path, part: str) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: no such file"):
        train(make(f"data.{part}=['none.jsonl']"), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_documents_without_keyphrases_cannot_be_learnt_from(make: Make, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"title": "a", "abstract": "b", "keywords": []}\n')
    with pytest.raises(DataError, match=r"data\.train: none of its documents has a keyphrase"):
        train(make(), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_run_is_resumed_under_its_own_settings(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    with pytest.raises(ConfigError, match=r"^model\.width: is 32 now and 16 in .*r; resume with"):
        train(make("model.width=32"), tmp_path / "r", resume=True)
    harmless = make("train.checkpoint_minutes=1", "train.log_every=3", "train.minutes=5")
    assert train(harmless, tmp_path / "r", resume=True).reason == "finished"


def test_a_run_is_resumed_on_its_own_documents(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "r", watch=stop_at(2))
    write_corpus(tmp_path / "train.jsonl", 31, seed=1)
    with pytest.raises(DataError, match=r"data\.train holds other documents .*31 now, 30 then"):
        train(make(), tmp_path / "r", resume=True)


def test_files_of_different_runs_do_not_mix(make: Make, tmp_path: Path) -> None:
    train(make(), tmp_path / "a")
    train(make("data.vocabulary_size=50"), tmp_path / "b")
    (tmp_path / "a" / run.BEST).write_bytes((tmp_path / "b" / run.BEST).read_bytes())
    with pytest.raises(DataError, match="was trained with another vocabulary"):
        run.load(tmp_path / "a")
    (tmp_path / "a" / run.VOCABULARY).write_bytes((tmp_path / "b" / run.VOCABULARY).read_bytes())
    with pytest.raises(DataError, match=r"vocabulary\.json: is not the vocabulary that run\.json"):
        run.load(tmp_path / "a")
    with pytest.raises(DataError, match="is not a run folder"):
        run.load(tmp_path)


def test_a_gradient_that_is_no_number_stops_the_run(make: Make, tmp_path: Path) -> None:
    config = make("train.stage[0].learning_rate=1e38", "train.checkpoint_minutes=0")
    with pytest.raises(DivergedError, match="start another run with a lower"):
        train(config, tmp_path / "r")
    assert json.loads(checkpoint.load(tmp_path / "r" / run.LAST).state)["updates"] == 1


def test_a_full_disk_ends_the_run_but_not_what_it_had(make: Make, tmp_path: Path) -> None:
    config = make("train.checkpoint_minutes=0")
    train(config, tmp_path / "r", watch=stop_at(2))
    before = (tmp_path / "r" / run.LAST).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(DataError, match=r"last\.safetensors: cannot be written"):
            train(config, tmp_path / "r", resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "r" / run.LAST).read_bytes() == before
    assert train(config, tmp_path / "r", resume=True).reason == "finished"


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "configs").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_config_of_the_project_fits_its_parts(path: Path) -> None:
    from keywright import config as configs

    assert isinstance(run.resolve(configs.load(path)), Config)
