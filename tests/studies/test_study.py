"""Studies run, are killed, and change: only what is missing is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from keywright import config as configs
from keywright import lexicon, runs
from keywright.data.corpus import digest
from keywright.errors import ConfigError
from keywright.studies import plan as plans
from keywright.studies import run as runner
from keywright.studies.loading import load
from keywright.studies.plan import Plan
from keywright.studies.run import StepError

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
}
TEACHER = 'system = "Rewarded"\ndecoder = "drawn"\ndocuments'
TABLES = ("tables.txt", "tables.md", "tables.tex", "results.json", "index.html")


def start(path: Path, folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "keywright", "study", str(path), "--run", str(folder)]
    return subprocess.Popen(
        [*command, *options],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(path: Path, folder: Path, *options: str) -> tuple[str, str]:
    process = start(path, folder, *options)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output, errors


def planned(path: Path, folder: Path) -> Plan:
    return plans.make(load(path), folder)


def names(plan: Plan) -> dict[str, str]:
    return {step.name: step.key for step in plan.steps}


def test_a_plan_has_a_step_for_everything_once(definition: Path, tmp_path: Path) -> None:
    plan = planned(definition, tmp_path / "run")
    assert [step.name for step in plans.ordered(plan.steps)][:2] == ["train Short", "train Longer"]
    assert len(plan.steps) == 2 + 3 * 2
    assert not (tmp_path / "run").exists()


def test_a_changed_setting_changes_only_what_depends_on_it(
    definition: Path, tmp_path: Path
) -> None:
    before = names(planned(definition, tmp_path / "run"))
    definition.write_text(definition.read_text().replace("epochs=3", "epochs=4"))
    after = names(planned(definition, tmp_path / "run"))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"train Longer", "predict test with Longer", "predict part with Longer"}


def test_a_setting_without_effect_on_the_result_changes_nothing(
    definition: Path, tmp_path: Path
) -> None:
    before = names(planned(definition, tmp_path / "run"))
    text = definition.read_text()
    definition.write_text(text.replace('epochs=3"', 'epochs=3", "train.checkpoint_minutes=1"'))
    assert definition.read_text() != text
    assert names(planned(definition, tmp_path / "run")) == before
    definition.write_text(text.replace('epochs=3"', 'epochs=3", "train.minutes=1"'))
    assert names(planned(definition, tmp_path / "run")) != before  # it may stop early


def test_settings_without_effect_reach_an_interrupted_training(
    definition: Path, tmp_path: Path
) -> None:
    plans.prepare(planned(definition, tmp_path / "run"))
    text = definition.read_text()
    definition.write_text(text.replace('epochs=3"', 'epochs=3", "train.checkpoint_minutes=7"'))
    plan = planned(definition, tmp_path / "run")
    plans.prepare(plan)
    longer = next(step for step in plan.steps if step.name == "train Longer")
    assert configs.load(longer.command[1]).train.checkpoint_minutes == 7


def test_weights_that_a_config_names_are_part_of_what_is_trained(
    definition: Path, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "weights").write_text("some")
    text = definition.read_text()
    definition.write_text(
        text.replace('epochs=3"', f'epochs=3", \'train.stage[0].initial="{given}"\'')
    )
    before = names(planned(definition, tmp_path / "run"))
    (given / "weights").write_text("others")
    after = names(planned(definition, tmp_path / "run"))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"train Longer", "predict test with Longer", "predict part with Longer"}


def test_a_changed_file_changes_only_what_reads_it(definition: Path, tmp_path: Path) -> None:
    before = names(planned(definition, tmp_path / "run"))
    test = definition.parent / "test.jsonl"
    test.write_text("".join(reversed(test.read_text().splitlines(keepends=True))))
    after = names(planned(definition, tmp_path / "run"))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if name.startswith("predict")}


def test_a_system_that_starts_from_another_follows_it(definition: Path, tmp_path: Path) -> None:
    text = definition.read_text()
    definition.write_text(text.replace('name = "Short"', 'name = "Short"\nstart = "Longer"', 1))
    plan = planned(definition, tmp_path / "run")
    order = [step.name for step in plans.ordered(plan.steps)]
    # Both trainings come before the predictions, for which no step waits.
    assert order[:2] == ["train Longer", "train Short"]
    short = next(step for step in plan.steps if step.name == "train Short")
    config = plan.configs[Path(short.command[1])]
    longer = next(step for step in plan.steps if step.name == "train Longer")
    assert f'initial = "{longer.output}"' in config


def test_training_can_start_from_a_run_folder_that_is_there(
    definition: Path, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    config = runs.resolve(configs.load(definition.parent / "config.toml"))
    nothing = digest(())
    runs.create(given, config, lexicon.build(config.data.vocabulary, ()), nothing, nothing)
    text = definition.read_text().replace('model = "firstphrases"', f'model = "{given}"')
    definition.write_text(text.replace('name = "Short"', 'name = "Short"\nstart = "First phrases"'))
    with pytest.raises(ConfigError, match=r"systems\[2\].model: .*given: has no weights"):
        load(definition)

    (given / "best.safetensors").write_text("weights")
    plan = planned(definition, tmp_path / "run")
    short = next(step for step in plan.steps if step.name == "train Short")
    assert short.needs == ()
    assert f'initial = "{given}"' in plan.configs[Path(short.command[1])]

    (given / "notes.txt").write_text("read by nobody")
    assert names(planned(definition, tmp_path / "run"))["train Short"] == short.key
    (given / "best.safetensors").write_text("other weights")
    assert names(planned(definition, tmp_path / "run"))["train Short"] != short.key


def test_what_differs_in_name_only_is_trained_once(definition: Path, tmp_path: Path) -> None:
    text = definition.read_text().replace('set = ["train.stage[0].epochs=3"]', "")
    definition.write_text(text)
    plan = planned(definition, tmp_path / "run")
    (trained,) = (step for step in plan.steps if step.kind == "train")
    assert set(plan.runs) == {"Short", "Longer"}
    assert set(plan.runs.values()) == {trained.output}
    predicted = [step for step in plan.steps if trained.key in step.needs]
    assert all(str(trained.output) in step.command for step in predicted)


def test_labels_come_from_the_decoder_and_the_seed_that_are_named(
    everything: Path, tmp_path: Path
) -> None:
    text = everything.read_text().replace('system = "Recurrent"\ndocuments', TEACHER)
    decoders = """
[[decoders]]
name = "own"
strategy = "beam"

[[decoders]]
name = "drawn"
strategy = "sample"
set = ["temperature=0.5"]
"""
    everything.write_text(text + decoders)
    plan = planned(everything, tmp_path / "run")
    steps = {step.name: step for step in plan.steps}
    drawn = steps["predict its own with Rewarded (seed 1), drawn"].command
    assert drawn[-4:] == ("--decode", "sample", "--set", "temperature=0.5")
    assert str(plan.runs["Rewarded (seed 1)"]) in drawn
    # An extractor has nothing to decode.
    assert "--decode" not in steps["predict first words with First phrases"].command


def test_labels_of_the_same_predictions_are_told_apart(everything: Path, tmp_path: Path) -> None:
    fewer = f"""
[[labels]]
name = "its best"
system = "Recurrent"
documents = "{everything.parent}/train.jsonl"
first = 6
skip = 12
min_confidence = 0.25
"""
    text = everything.read_text().replace('"its own"]', '"its own", "its best"]')
    everything.write_text(text + fewer)
    steps = planned(everything, tmp_path / "run").steps
    own, best = (step for step in steps if step.kind == "label" and "Recurrent" in step.name)
    assert own.needs == best.needs
    assert (own.name, best.name) == (
        "label its own with Recurrent",
        "label its best with Recurrent",
    )
    assert best.key != own.key
    assert best.command[best.command.index("--min-confidence") + 1] == "0.25"
    assert "--min-confidence" not in own.command


def test_labels_of_a_file_without_a_line_end_can_be_planned(
    everything: Path, tmp_path: Path
) -> None:
    (everything.parent / "unlabelled.jsonl").write_text('{"title": "Pumps", "body": "They warm."}')
    everything.write_text(
        everything.read_text().replace('"first words", "its own"]', '"first words"]')
    )
    assert "train Pupil" in names(planned(everything, tmp_path / "run"))


def test_a_figure_of_states_shows_what_differs_in_name_only(
    everything: Path, tmp_path: Path
) -> None:
    twin = '\n[[systems]]\nname = "Twin"\nconfig = "{folder}/recurrent.toml"\n'
    everything.write_text(everything.read_text() + twin.format(folder=everything.parent))
    plan = planned(everything, tmp_path / "run")
    made = {step.output for step in plan.steps if step.kind == "states"}
    assert {system for system, _ in plan.states} >= {"Recurrent", "Twin"}
    assert set(plan.states.values()) == made


def test_copies_by_kpdrop_are_documents_that_are_read(definition: Path, tmp_path: Path) -> None:
    def work() -> float:
        plan = planned(definition, tmp_path / "run")
        return next(step.work for step in plan.steps if step.name == "train Longer")

    before = work()
    text = definition.read_text()
    for mode, factor in (("replace", 1), ("augment", 2)):
        setting = f"""'data.kpdrop={{mode="{mode}"}}'"""
        definition.write_text(text.replace('epochs=3"', f'epochs=3", {setting}'))
        assert work() == factor * before > 0


def test_documents_that_are_left_out_take_no_time(definition: Path, tmp_path: Path) -> None:
    def work(*settings: str) -> float:
        text = original.replace('epochs=3"', ", ".join(('epochs=3"', *map(repr, settings))))
        definition.write_text(text)
        plan = planned(definition, tmp_path / "run")
        return next(step.work for step in plan.steps if step.name == "train Longer")

    original = definition.read_text()
    few = work("data.train_documents=4")
    assert work("data.train_documents=4", "data.train_skip=2") == few
    documents = round(4 * work() / few)
    assert work(f"data.train_skip={documents - 2}") == few / 2


def test_seeds_are_trained_one_by_one(definition: Path, tmp_path: Path) -> None:
    definition.write_text("seeds = [1, 2]\n" + definition.read_text())
    plan = planned(definition, tmp_path / "run")
    trained = [step.name for step in plan.steps if step.kind == "train"]
    assert trained == [
        "train Short (seed 1)",
        "train Short (seed 2)",
        "train Longer (seed 1)",
        "train Longer (seed 2)",
    ]


def test_what_gets_another_name_is_kept(definition: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    plan = planned(definition, folder)
    for step in plan.steps:
        step.output.parent.mkdir(parents=True, exist_ok=True)
        step.output.touch()
    text = definition.read_text().replace('"Longer"', '"Long"').replace("Short", "Brief")
    definition.write_text("seeds = [1, 2]\n" + text)
    again = planned(definition, folder)
    assert {step.output for step in plan.steps} < {step.output for step in again.steps}
    assert again.runs["Long (seed 1)"] == plan.runs["Longer"]
    assert "Long (seed 2)" in again.runs["Long (seed 2)"].name


def test_a_dry_run_writes_nothing(definition: Path, tmp_path: Path) -> None:
    output, _ = finish(definition, tmp_path / "run", "--dry-run")
    assert "train Short" in output
    assert "8 steps, 8 to do" in output
    assert not (tmp_path / "run").exists()


def test_a_last_step_that_fails_is_reported(definition: Path, tmp_path: Path) -> None:
    plan = planned(definition, tmp_path / "run")
    last = next(step for step in plan.steps if step.name == "predict test with First phrases")
    plan = replace(plan, steps=(replace(last, command=("predict", "--model", "nobody")),))
    plans.prepare(plan)
    with pytest.raises(StepError, match="predict test with First phrases failed: "):
        runner.run(plan, 1, lambda event, step, seconds: None)


@pytest.mark.slow
def test_a_study_killed_twice_equals_one_that_was_not(definition: Path, tmp_path: Path) -> None:
    output, _ = finish(definition, tmp_path / "whole")
    killed = tmp_path / "killed"
    for records in (0, 2):
        process = start(definition, killed, "--resume", "--jobs", "2")
        while len(list(killed.glob("steps/*.json"))) <= records and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    again, errors = finish(definition, killed, "--resume")
    assert again == output
    assert "finished before" in errors
    for name in TABLES:
        assert (killed / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert "36.7" in output
    assert (killed / "curves.svg").is_file()
    assert "Two models &amp; an extractor" in (killed / "index.html").read_text()
    final, errors = finish(definition, killed, "--resume")  # nothing is left to do
    assert final == output
    assert "started" not in errors


@pytest.mark.slow
def test_a_failed_step_is_reported_and_the_rest_is_kept(definition: Path, tmp_path: Path) -> None:
    plain = definition.parent / "plain.jsonl"
    plain.write_text('{"title": "a", "abstract": "b", "keywords": []}\n')
    text = definition.read_text()
    setting = f"""'data.train=["{plain}"]'"""
    definition.write_text(text.replace('"train.stage[0].epochs=3"', setting))
    process = start(definition, tmp_path / "run")
    _, errors = process.communicate()
    assert process.returncode == 2
    last = errors.strip().splitlines()[-1]
    assert last.startswith("keywright: error: train Longer failed: ")
    assert "none of its documents has a keyphrase" in last
    again = start(definition, tmp_path / "run").communicate()[1]
    assert "exists; add --resume" in again
