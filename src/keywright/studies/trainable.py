"""What is wrong with configs, decoders and run folders of a study, before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from keywright import config as configs
from keywright import parts, predictor, runs
from keywright.config import Config
from keywright.data import pretrained as files
from keywright.decoding.options import STRATEGIES, STRATEGY, overridden
from keywright.decoding.rules import DecodingRules
from keywright.errors import KeywrightError
from keywright.lexicon import SpecialIds
from keywright.predictor import PRETRAINED
from keywright.scorers import pretrained
from keywright.studies.definition import (
    Decoder,
    Study,
    System,
    asking,
    config_of,
    fb_stages,
    scorer_config_of,
    starting_from,
)
from keywright.studies.problems import Problem, unknown
from keywright.training import initial, setup

_LEARNT = ("data.train", "data.train_documents", "data.train_skip")


def config_problems(study: Study, system: System, place: str) -> Iterator[Problem]:
    """What is wrong with the config of a system that is trained."""
    try:
        config = config_of(system)
    except KeywrightError as error:
        yield f"{place}.{_mistaken(system, _checked)}", str(error)
        return
    for setting in system.set:
        key = setting.partition("=")[0].strip()
        if key == "train.seed":
            yield f"{place}.set", "train.seed has no effect in a study; use `seeds` of the system"
        if key in _LEARNT and system.labels:
            yield f"{place}.set", f"{key} has no effect on a system that learns from `labels`"
    known = [labels.name for labels in study.labels]
    for name in system.labels:
        yield from unknown("labels", name, known, f"{place}.labels")
    learnt = () if system.labels else config.data.train
    for path in (*learnt, *config.data.valid):
        if not Path(path).exists():
            yield (
                f"{place}.config",
                f"{system.config} needs {path}, which does not exist; get the data, or override "
                "data.train and data.valid in `set`",
            )
    if system.scorer is not None:
        known = [scorer.name for scorer in study.scorers]
        yield from unknown("scorer", system.scorer, known, f"{place}.scorer")
        if not fb_stages(config):
            yield f"{place}.scorer", 'no stage has the reward {name="fb"}, which would ask it'
    elif fb_stages(config):
        yield f"{place}.config", "the reward fb needs a scorer; name one of [[scorers]] in `scorer`"
    try:
        checked = _checked(system)
    except KeywrightError as error:
        yield f"{place}.{_mistaken(system, _checked)}", f"{system.config}: {error}"
    else:
        yield from _start_problems(study, system, checked, place)


def _checked(system: System) -> Config:
    return setup.check_settings(_with_scorer(system, config_of(system)))


def _mistaken(system: System, check: Callable[[System], object]) -> str:
    """Where the mistake is that a check has found: in `set`, if the file alone has none."""
    try:
        check(replace(system, set=()))
    except KeywrightError:
        return "config"
    return "set"


def _start_problems(study: Study, system: System, config: Config, place: str) -> Iterator[Problem]:
    """Whether the weights from which a system starts will fit, if they are trained here."""
    if system.start is None:
        return
    known = [other.name for other in study.systems if other.has_weights]
    yield from unknown("system with weights", system.start, known, f"{place}.start")
    if config.train.stage[0].initial is not None:
        yield f"{place}.start", "takes the place of train.stage[0].initial; remove one of the two"
    other = study.system(system.start)
    if not other.trained:
        return  # the config of a run folder says more: see `_rehearse_start`
    try:
        theirs = runs.resolve(_with_scorer(other, config_of(other)))
    except KeywrightError:
        return  # a mistake of the other system, which is reported there
    try:
        initial.require_same(config, theirs, other.name)
    except KeywrightError as error:
        yield f"{place}.start", str(error)


def run_problems(system: System, place: str) -> Iterator[Problem]:
    """What is wrong with the run folder of a system that is not trained here, if it is one."""
    if system.model is None or not system.has_weights:
        return
    folder = Path(system.model)
    try:
        runs.read(folder)
    except KeywrightError as error:
        yield f"{place}.model", str(error)
    if not all(file.is_file() for file in runs.files(folder)):
        yield f"{place}.model", f"{folder}: has no weights; its training has not begun"


def decoder_problems(study: Study) -> Iterator[Problem]:
    """What decoders would say when the models are trained that they are for."""
    used = [(system, decoder) for system in study.systems for decoder in study.decoders_of(system)]
    used += [(study.system(labels.system), study.decoder_of(labels)) for labels in study.labels]
    for system, decoder in used:
        message = _why_undecodable(system, decoder) if system.has_weights else None
        if message is not None:
            yield _place_of(study, system, decoder), f"{message} (for {system.name})"


def _why_undecodable(system: System, decoder: Decoder) -> str | None:
    try:
        config = config_of(system)
        chosen = overridden(config.decode, decoder.strategy, decoder.set)
        _, options = configs.part(chosen, STRATEGIES, "decode", STRATEGY)
        DecodingRules(options, runs.paradigm(config), SpecialIds())
    except KeywrightError as error:
        return str(error)
    return None


def _place_of(study: Study, system: System, decoder: Decoder) -> str:
    """The setting to look at: a mistake of a decoder without settings is in the config."""
    if decoder.strategy is None and not decoder.set:
        key = "config" if system.trained else "model"
        return f"systems[{study.systems.index(system)}].{key}"
    named = decoder.strategy is None or decoder.strategy in parts.names(STRATEGIES)
    return f"decoders[{study.decoders.index(decoder)}].{'set' if named else 'strategy'}"


def missing_weights(study: Study) -> Iterator[Problem]:
    """What cannot be built although its settings are right: weights that are not there, damaged, or
    of another model, or an objective that is not for its model. This may ask a hub."""
    for number, system in enumerate(study.systems):
        place = f"systems[{number}]"
        try:
            if system.trained:
                _rehearse(system)
            elif system.has_weights:
                runs.load(system.model or "")
            elif system.model is not None and system.model.startswith(PRETRAINED):
                files.weights_folder(system.model.removeprefix(PRETRAINED))
            elif system.model is not None:
                for decoder in study.decoders_of(system):
                    predictor.load(system.model, decode=decoder.strategy, settings=decoder.set)
        except KeywrightError as error:
            if system.trained:
                key = _mistaken(system, _rehearse)
                yield f"{place}.{key}", f"{system.config}: {error}"
            else:
                yield f"{place}.model", str(error)
        try:
            _rehearse_start(study, system)
        except KeywrightError as error:
            yield f"{place}.start", str(error).removeprefix("train.stage[0].initial: ")
    for number, scorer in enumerate(study.scorers):
        try:
            pretrained.find(scorer_config_of(scorer).scorer)
        except KeywrightError as error:
            yield f"scorers[{number}].config", f"{scorer.config}: {error}"


def _rehearse(system: System) -> None:
    config = config_of(system)
    waiting = fb_stages(config)  # for a scorer that is not trained yet
    setup.rehearse(setup.check(_with_scorer(system, config)), waiting)


def _rehearse_start(study: Study, system: System) -> None:
    """Compare the config with that of the run folder it starts from, and read the weights there.

    A run folder says what its model has read from elsewhere, such as the network of weights on a
    hub: only a config that has read the same can be compared with it.
    """
    folder = None if system.start is None else study.system(system.start).model
    if folder is not None:
        config = setup.check(_with_scorer(system, config_of(system)))
        initial.vocabulary(starting_from(config, folder))


def _with_scorer(system: System, config: Config) -> Config:
    """The config with something in place of the scorer that the study trains for it."""
    return config if system.scorer is None else asking(config, "scorer")
