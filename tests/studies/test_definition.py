"""A study is checked before anything is trained; errors name file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright import checkpoint, lexicon, runs
from keywright import config as configs
from keywright.config import Config
from keywright.data.corpus import digest
from keywright.errors import ConfigError
from keywright.predictor import DEFAULT_FOLDER
from keywright.studies.loading import load
from tests.training.conftest import tiny


def test_a_study_is_read(definition: Path) -> None:
    study = load(definition)
    assert [system.name for system in study.systems] == [
        "Short", "Longer", "First phrases", "Paper",
    ]  # fmt: skip
    assert study.seeds_of(study.system("Short")) == (1,)
    assert study.system("Longer").set == ("train.stage[0].epochs=3",)
    assert study.protocol_of(study.dataset("part")) == "chan19"


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ('model = "firstphrases"', 'model = "nobody"', 'model = "nobody"', "is neither the folder"),
        ('model = "firstphrases"', "", 'name = "First', "needs one of `config`"),
        ('baseline = "Short"', 'baseline = "Shrt"', "baseline", "did you mean 'Short'"),
        ('baseline = "Short"', 'baseline = "Paper"', "baseline", "published scores only"),
        ('baseline = "Short"', 'baseline = "Short"\nletters = true', "letters", "leave one of"),
        ('kind = "overlap"', 'kind = "overlap"\nletters = true', "letters", "only on scores"),
        ('name = "Longer"', 'name = "Short"', 'name = "Short"', "is used twice"),
        ('name = "Longer"', 'name = "a/b"', 'name = "a/b"', "cannot be part of a file name"),
        ("first = 5", "frist = 5", "frist", "did you mean 'first'"),
        ("first = 5", "first = 0", "first", ">= 1"),
        ("first = 5", 'protocol = "chan20"', "protocol", "did you mean 'chan19'"),
        ("test.jsonl", "gone.jsonl", "gone.jsonl", "gone.jsonl"),
        ('documents = "', 'documents = "hf:', "hf:", "is no file; write one with"),
        ("resamples = 200", "seeds = []", "seeds = []", "name at least one seed"),
        ("resamples = 200", "seeds = [2, 2]", "seeds = [2, 2]", "2 is used twice"),
        ('set = ["train', 'seeds = [2, 2]\nset = ["train', "seeds = [2, 2]", "2 is used twice"),
        ("config.toml", "gone.toml", "gone.toml", "cannot be read"),
        ("epochs=3", "epochs=0", "set =", "epochs"),
        ('set = ["train', 'scorer = "F"\nset = ["train', "scorer =", "'F'; there is none"),
        ("train.stage[0].epochs=3", "train.seed=3", "set =", "use `seeds` of the system"),
        ("train.stage[0].epochs=3", "model.widht=8", "set =", "model.widht: unknown setting; did"),
        ("train.stage[0].epochs=3", "train.stage[0].select='all.G'", "set =", "select: "),
        (
            "train.stage[0].epochs=3",
            "decode.maximum=3",
            "set =",
            "decode.maximum: unknown setting",
        ),
        ('"absent.F1@5"', '"absent.G1@5"', "metrics =", "G1"),
        ('"absent.F1@5"', '"absent.SemF1"', "metrics =", "needs: --protocol kpeval"),
        ('systems = ["Short", "Longer"]', 'systems = ["Tall"]', 'systems = ["Tall"]', "'Tall'"),
        ('datasets = ["test"]', 'datasets = ["tset"]', 'datasets = ["tset"]', "'test'"),
        ('kind = "overlap"', 'kind = "overlop"', "overlop", "did you mean 'overlap'"),
        ('kind = "perplexity"', 'kind = "perplex"', '"perplex"', "did you mean 'perplexity'"),
        ('metric = "present.FG"', 'metric = "present.GF"', "present.GF", "'GF'"),
        ('metric = "present.FG"', 'metric = "present.FB"', "present.FB", "needs a scorer"),
        ('metric = "present.FG"', 'metric = "all.Unique"', "all.Unique", "a distribution needs"),
        ('metric = "present.FG"', 'per = "phrase"\nmetric = "present.FG"', "present.FG", "TokenF1"),
        ('metric = "present.FG"', "", 'kind = "distribution"', "needs a `metric`"),
        ('title = "Perplexity"', "sample = 5", "sample = 5", "has no effect on perplexity"),
        ('title = "Perplexity"', 'metric = "present.FG"', "present.FG", "only on scores, dist"),
        ('title = "Perplexity"', 'systems = ["Shrt"]', 'systems = ["Shrt"]', "mean 'Short'"),
        ('title = "Perplexity"', 'systems = ["Paper"]', 'systems = ["Paper"]', "published scores"),
        (
            'title = "Perplexity"',
            'systems = ["First phrases"]',
            'systems = ["First phrases"]',
            "no token probabilities",
        ),
        ('kind = "perplexity"', 'kind = "states"', 'kind = "states"', "recurrent decoder"),
        ("first = 5", "skip = 12", "skip = 12", "has no more than 12 documents"),
        (
            'kind = "overlap"',
            'kind = "contrasts"\nmetrics = ["present.FG"]',
            '"present.FG"]',
            "odd",
        ),
        ('kind = "overlap"', 'kind = "reproduction"', "reproduction", "`reproduces`"),
        (
            'model = "firstphrases"',
            'model = "firstphrases"\nreproduces = { own = "Short" }',
            "reproduces",
            "system with published scores",
        ),
        (
            'model = "firstphrases"',
            'model = "firstphrases"\ndatasets = ["tset"]',
            'datasets = ["tset"]',
            "did you mean 'test'",
        ),
    ],
)
def test_mistakes_name_the_line(
    definition: Path, old: str, new: str, where: str, message: str
) -> None:
    text = definition.read_text()
    assert old in text
    definition.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        load(definition)
    assert message in str(error.value)
    lines = [
        number
        for number, line in enumerate(definition.read_text().splitlines(), 1)
        if where in line
    ]
    assert any(str(error.value).startswith(f"{definition}:{line}: ") for line in lines), error.value


@pytest.mark.parametrize(
    ("strategy", "setting", "key", "message"),
    [
        ("baem", "width=5", "strategy", "unknown decoding strategy 'baem'; did you mean 'beam'"),
        ("beam", "widht=5", "set", "decode.widht: unknown setting; did you mean 'width'"),
        ("beam", "width", "set", "write it as section.key=value"),
        ("beam", "starts_window=2", "set", "starts_window needs unique_starts"),
    ],
)
@pytest.mark.parametrize("user", ["system", "labels"])
def test_mistakes_of_decoders_name_the_line_before_anything_is_trained(
    everything: Path, user: str, strategy: str, setting: str, key: str, message: str
) -> None:
    text = everything.read_text()
    if user == "labels":  # the only ones that use it
        text = text.replace("[[systems]]", '[[systems]]\ndecoders = ["own"]')
        text = text.replace('name = "its own"', 'name = "its own"\ndecoder = "d"')
    decoders = '\n[[decoders]]\nname = "own"\n\n[[decoders]]\nname = "d"\n'
    everything.write_text(f'{text}{decoders}strategy = "{strategy}"\nset = ["{setting}"]\n')
    line = everything.read_text().splitlines().index(f'strategy = "{strategy}"') + 1
    line += key == "set"
    with pytest.raises(ConfigError) as error:
        load(everything)
    assert str(error.value).startswith(f"{everything}:{line}: decoders[1].{key}: ")
    assert message in str(error.value)


def test_a_mistake_of_a_config_is_not_one_of_what_starts_from_it(definition: Path) -> None:
    text = definition.read_text().replace("epochs=3", "epochs=0")
    text = text.replace('name = "Short"', 'name = "Short"\nstart = "Longer"', 1)
    definition.write_text(text)
    with pytest.raises(ConfigError, match=r"systems\[1\].set: .*epochs"):
        load(definition)


def test_a_mistake_of_decoding_is_one_of_the_system_if_there_are_no_decoders(
    definition: Path,
) -> None:
    text = definition.read_text().replace("train.stage[0].epochs=3", "decode.starts_window=2")
    definition.write_text(text)
    line = text.splitlines().index('name = "Longer"') + 3
    with pytest.raises(ConfigError) as error:
        load(definition)
    assert str(error.value).startswith(f"{definition}:{line}: systems[1].set: ")


def test_pretrained_weights_are_looked_for_before_anything_is_trained(
    definition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    gone = definition.parent / "gone"
    settings = f"""'model={{name="hf_seq2seq", weights="{gone}"}}'"""
    text = definition.read_text()
    definition.write_text(text.replace('"train.stage[0].epochs=3"', settings))
    load(definition)  # a dry run asks no hub
    with pytest.raises(ConfigError) as error:
        load(definition, weights=True)
    line = text.splitlines().index('name = "Longer"') + 3
    assert str(error.value).startswith(f"{definition}:{line}: systems[1].set: ")
    assert f"model.weights: {gone}: there is no such folder" in str(error.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("train.stage[0].learning_rates={encodr=1.0}", "learning_rates"),
        ("""train.stage[0].objective={name="self_critical", reward="f1", samples=0}""", "samples"),
        ("""model={name="unikp", start="/nowhere"}""", "/nowhere"),
    ],
)
def test_every_training_is_rehearsed_before_the_first(
    definition: Path, setting: str, message: str
) -> None:
    text = definition.read_text()
    definition.write_text(text.replace('"train.stage[0].epochs=3"', f"'{setting}'"))
    line = text.splitlines().index('name = "Longer"') + 3
    with pytest.raises(ConfigError) as error:
        load(definition, weights=True)
    assert str(error.value).startswith(f"{definition}:{line}: systems[1].set: ")
    assert message in str(error.value)


def test_a_training_that_waits_for_a_scorer_is_rehearsed(everything: Path) -> None:
    text = everything.read_text()
    setting = 'set = ["train.stage[0].learning_rates={encodr=1.0}"]'
    everything.write_text(text.replace('scorer = "FB"', f'scorer = "FB"\n{setting}'))
    with pytest.raises(ConfigError, match=r"systems\[6\].set: .*learning_rates"):
        load(everything, weights=True)


def make_run(folder: Path, config: Config) -> Path:
    """A run folder whose training has been finished, as far as others can see."""
    config = runs.complete(runs.resolve(config))
    vocabulary = lexicon.build(config.data.vocabulary, ())
    manifest = runs.create(folder, config, vocabulary, digest(()), digest(()))
    weights = checkpoint.model_tensors(runs.build_model(config, vocabulary))
    saved = checkpoint.Checkpoint(weights, manifest.vocabulary)
    checkpoint.save(folder / runs.BEST, saved)
    return folder


def test_run_folders_are_read_before_anything_is_trained(definition: Path, tmp_path: Path) -> None:
    given = make_run(tmp_path / "given", configs.load(definition.parent / "config.toml"))
    text = definition.read_text().replace('model = "firstphrases"', f'model = "{given}"')
    text = text.replace('name = "Longer"', 'name = "Longer"\nstart = "First phrases"', 1)
    definition.write_text(text)
    load(definition, weights=True)

    definition.write_text(text.replace("train.stage[0].epochs=3", "model.width=8"))
    line = text.splitlines().index('start = "First phrases"') + 1
    with pytest.raises(ConfigError) as error:
        load(definition, weights=True)
    assert str(error.value).startswith(f"{definition}:{line}: systems[1].start: ")
    assert f"start: {given} has model.width = 16, and this config has 8" in str(error.value)

    definition.write_text(text.replace('start = "First phrases"', ""))
    weights = given / runs.BEST
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ConfigError, match=r"systems\[2\].model: .*: is not a checkpoint"):
        load(definition, weights=True)


def test_models_are_opened_with_every_decoder_before_anything_is_trained(definition: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = definition.read_text().replace('"firstphrases"', f'"{DEFAULT_FOLDER}"')
    definition.write_text(text)
    load(definition, weights=True)
    definition.write_text(text + '\n[[decoders]]\nname = "greedy"\nstrategy = "greedy"\n')
    with pytest.raises(ConfigError, match=r"systems\[2\].model: .* has no decoding strategy"):
        load(definition, weights=True)


def test_a_run_folder_that_describes_its_pretrained_weights_can_be_started_from(
    definition: Path, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    from tests.models.test_hf_seq2seq import write_model

    weights = write_model(tmp_path / "weights", "t5")
    table = tiny(tmp_path)
    table["model"] = {"name": "hf_seq2seq", "weights": str(weights)}
    table["data"]["vocabulary"] = {"name": "tokenizer", "path": str(weights), "format": "kpp"}
    config = configs.parse(table)
    (tmp_path / "config.toml").write_text(configs.to_toml(config))
    given = make_run(tmp_path / "given", config)
    text = definition.read_text().replace('model = "firstphrases"', f'model = "{given}"')
    definition.write_text(text.replace('name = "Short"', 'name = "Short"\nstart = "First phrases"'))
    assert load(definition, weights=True).systems[0].start == "First phrases"


def test_the_weights_of_scorers_are_looked_for(everything: Path) -> None:
    load(everything, weights=True)
    (everything.parent / "bert" / "vocab.txt").unlink()
    with pytest.raises(ConfigError, match=r"scorers\[0\].config: .*scorer.toml: .*no vocab.txt"):
        load(everything, weights=True)


def test_a_cycle_is_an_error(definition: Path) -> None:
    text = definition.read_text()
    text = text.replace('name = "Short"', 'name = "Short"\nstart = "Longer"', 1)
    text = text.replace('name = "Longer"', 'name = "Longer"\nstart = "Short"', 1)
    definition.write_text(text)
    with pytest.raises(ConfigError, match="is a cycle: Short -> Longer -> Short; one of them"):
        load(definition)


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ('system = "Recurrent"', 'system = "Paper"', 'system = "Paper"', "trained system 'Paper'"),
        ('scorer = "FB"', 'scorer = "FG"', 'scorer = "FG"', "did you mean 'FB'"),
        ('scorer = "FB"', "", "rewarded.toml", "the reward fb needs a scorer"),
        (
            'start = "Recurrent"',
            'start = "First phrases"',
            'start = "First phrases"',
            "system with weights 'First phrases'",
        ),
        (
            'start = "Recurrent"',
            'start = "Short"',
            'start = "Short"',
            "Short has data.mark_absent = False, and this config has True",
        ),
        (
            'start = "Recurrent"\nlabels',
            'start = "Recurrent"\nset = ["train.stage[0].initial=\'other\'"]\nlabels',
            'start = "Recurrent"',
            "takes the place of train.stage[0].initial",
        ),
        (
            'start = "Recurrent"\nlabels',
            'start = "Recurrent"\nset = ["data.train_documents=5"]\nlabels',
            '"data.train_documents=5"',
            "no effect on a system that learns from `labels`",
        ),
        ('start = "Recurrent"', "", 'system = "Rewarded"', "is a cycle: Rewarded -> Rewarded"),
        ("skip = 12", "skip = 99", "skip = 99", "has no more than 99 documents"),
        ("/scorer.toml", "/config.toml", "config.toml", "unknown setting"),
        ('"its own"]', '"its won"]', '"its won"]', "did you mean 'its own'"),
        ('start = "Recurrent"\nlabels', "labels", 'system = "Pupil"', "is a cycle: Pupil -> Pupil"),
        ('system = "First phrases"', 'system = "Paper"', 'system = "Paper"', "that can predict"),
        (
            'system = "First phrases"',
            'system = "First phrases"\ndecoder = "beam"',
            'decoder = "beam"',
            "decoder 'beam'",
        ),
        ("most = 1", "min_confidence = 0.1", "min_confidence", "First phrases says nothing about"),
        ("most = 1", "min_confidence = 2", "min_confidence", "<= 1"),
        ("/unlabelled.jsonl", "/gone.jsonl", "gone.jsonl", "gone.jsonl"),
        ('theirs = { test = "Paper" }', 'theirs = { tset = "Paper" }', "series", "'tset'"),
        ('"Short", "First phrases"]', '"Short"]', 'kind = "overlap"', "needs 2 systems"),
    ],
)
def test_mistakes_about_scorers_labels_and_figures(
    everything: Path, old: str, new: str, where: str, message: str
) -> None:
    text = everything.read_text()
    assert old in text
    text = text.replace(old, new)
    if "cycle" in message:
        text = text.replace('system = "Recurrent"', where)
        where = 'scorer = "FB"' if "Rewarded" in where else "labels = ["
    everything.write_text(text)
    with pytest.raises(ConfigError) as error:
        load(everything)
    assert message in str(error.value)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if where in line]
    assert any(str(error.value).startswith(f"{everything}:{line}: ") for line in lines), error.value


def test_predictions_without_probabilities_are_found_in_their_files(definition: Path) -> None:
    given = definition.parent / "given.jsonl"
    given.write_text('{"id": "test-0", "phrases": [{"text": "x", "token_log_probs": [-1.0]}]}\n')
    text = definition.read_text().replace(
        'model = "firstphrases"', f'predictions = {{ test = "{given}" }}'
    )
    text = text.replace('title = "Perplexity"', 'systems = ["First phrases"]')
    definition.write_text(text)
    assert load(definition).figures[0].systems == ("First phrases",)
    given.write_text('{"id": "test-0", "phrases": [{"text": "x", "confidence": 0.5}]}\n')
    with pytest.raises(ConfigError, match="its phrases have no token probabilities"):
        load(definition)
    definition.write_text(text.replace('kind = "perplexity"', 'kind = "reliability"'))
    assert load(definition)


def test_missing_training_data_is_named(definition: Path) -> None:
    (definition.parent / "train.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"train\.jsonl, which does not exist; get the data"):
        load(definition)


def test_what_is_not_trained_has_no_seeds(definition: Path) -> None:
    text = definition.read_text()
    definition.write_text(text.replace('"firstphrases"', '"firstphrases"\nseeds = [1, 2]', 1))
    with pytest.raises(ConfigError, match="only a system with a `config` has"):
        load(definition)
