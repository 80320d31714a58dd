"""Weights from another run (`initial` of a stage): which run, and whether it fits.

A run whose stages start from others has their vocabulary, because their weights belong to it: no
new one is built from the training documents.
"""

from __future__ import annotations

from pathlib import Path

from keywright import config as configs
from keywright import runs
from keywright.config import Config
from keywright.errors import ConfigError, KeywrightError
from keywright.lexicon import Lexicon
from keywright.nn.model import Model
from keywright.runs import Run

# What weights depend on. The order of targets may change from one run to the next, but a model that
# never saw the mark between present and absent phrases would have to learn its meaning anew.
_SAME = ("data.vocabulary", "data.mark_absent", "model")


def vocabulary(config: Config) -> Lexicon | None:
    """The vocabulary that the initial runs have in common; None if no stage names one.

    An error says which run cannot be read or does not fit the config.
    """
    chosen: tuple[str, Lexicon] | None = None
    for number, stage in enumerate(config.train.stage):
        if stage.initial is None:
            continue
        path = f"train.stage[{number}].initial"
        found = _load(stage.initial, path)
        try:
            require_same(config, runs.resolve(found.config), str(found.folder))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
        if chosen is not None and chosen[1].content() != found.vocabulary.content():
            raise ConfigError(
                f"{path}: {stage.initial} has another vocabulary than {chosen[0]}; all initial "
                "runs need the same one"
            )
        chosen = chosen or (stage.initial, found.vocabulary)
    return None if chosen is None else chosen[1]


def load_weights(model: Model, initial: str, path: str) -> None:
    """Give the model the best weights of the run in the folder `initial`."""
    model.load_state_dict(_load(initial, path).model.state_dict())


def _load(folder: str, path: str) -> Run:
    try:
        return runs.load(Path(folder))
    except KeywrightError as error:
        raise ConfigError(f"{path}: {error}") from None


def require_same(config: Config, other: Config, name: str) -> None:
    """An error unless weights of the other config fit this one; both are resolved."""
    ours, theirs = (runs.flat(configs.to_table(c)) for c in (config, other))
    for setting in sorted(ours.keys() | theirs.keys()):
        if not setting.startswith(_SAME):
            continue
        if ours.get(setting) != theirs.get(setting):
            raise ConfigError(
                f"{name} has {setting} = {theirs.get(setting)!r}, and this config "
                f"has {ours.get(setting)!r}; its weights need the same"
            )
