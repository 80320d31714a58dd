"""One TOML file is one complete run: it is parsed, checked and overridden here.

A section is a frozen dataclass. `[model]`, `[decode]`, `[data.vocabulary]` and the `objective` of a
stage are *parts*: their `name` selects a file of a package such as `keywright.models`, and the rest
of the table fills the `Config` of that file, so that each builder sees only its own section. A
plain string instead of a table is the name of a part with default settings. A part's `Config` is a
frozen dataclass as well; it states limits in its types (`dropout: Fraction = 0.1`) and refuses
impossible combinations with a `ValueError` in `__post_init__`.

Every error names the path of the setting, such as `train.stage[0].clip`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tomllib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

from keywright import parts
from keywright.errors import ConfigError, UnknownNameError, nearest

Count = Annotated[int, Meta(ge=1)]
"""At least one."""
Natural = Annotated[int, Meta(ge=0)]
"""Zero or more."""
Positive = Annotated[float, Meta(gt=0)]
"""Greater than zero."""
NonNegative = Annotated[float, Meta(ge=0)]
"""Zero or more, not necessarily an integer."""
Fraction = Annotated[float, Meta(ge=0, lt=1)]
"""At least 0 and less than 1: dropout, label smoothing."""
Share = Annotated[float, Meta(gt=0, le=1)]
"""Greater than 0 and at most 1."""
Probability = Annotated[float, Meta(ge=0, le=1)]
"""From 0 to 1."""


class Part:
    """The name of a part and settings for its `Config`, which are not checked yet."""

    def __init__(self, name: str, settings: Mapping[str, Any] | None = None):
        self.name = name
        self.settings = dict(settings or {})

    def __repr__(self) -> str:
        return f"Part({self.name!r}, {self.settings!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self.table() == other.table()

    __hash__ = None  # type: ignore[assignment]  # the settings are a dict

    def table(self) -> dict[str, Any]:
        return {"name": self.name, **self.settings}


@dataclass(frozen=True)
class KPDrop:
    """Chowdhury et al. (2022): present keyphrases are removed from the input and become absent."""

    mode: Literal["off", "replace", "augment"] = "off"
    rate: Probability = 0.7  # of dropping each present keyphrase, independently of the others


@dataclass(frozen=True)
class Data:
    """The training data. Paths are relative to the folder in which the command is run."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    train_skip: Natural = 0  # documents to leave out first, such as those to validate on
    train_documents: Count | None = None  # use only the first ones after those; all by default
    valid_documents: Count = 1000
    in_memory: bool = True  # False: the documents are kept in a temporary file
    vocabulary: Part = field(default_factory=lambda: Part("words"))
    max_source: Count = 400  # tokens of title and body together
    max_phrase: Count = 10  # words of a keyphrase; longer ones are not learnt
    max_phrases: Count = 40  # keyphrases per document
    order: Literal[
        "present_absent", "random", "alphabetical", "length", "given", "absent_present"
    ] = "present_absent"
    mark_absent: bool = False  # One2Seq: `<peos>` between present and absent phrases
    kpdrop: KPDrop = field(default_factory=KPDrop)

    def __post_init__(self) -> None:
        if not self.train:
            raise ValueError("train is empty; name at least one file")
        if self.mark_absent and self.order != "present_absent":
            raise ValueError(
                f"mark_absent needs order 'present_absent', not {self.order!r}: only there can one "
                "mark separate the two"
            )


@dataclass(frozen=True)
class Stage:
    """One part of the training with its own objective, optimiser and schedule.

    A stage ends after `epochs` or `updates`, whichever comes first, or after `patience` validations
    in a row without improvement. The next stage starts from its best weights, unless it names
    another run.
    """

    objective: Part = field(default_factory=lambda: Part("nll"))
    # The folder of a run to start from, instead of the weights so far. It must have the same model
    # and vocabulary settings, and its vocabulary is used.
    initial: str | None = None
    epochs: Count | None = None
    updates: Count | None = None
    # Documents per update, whatever the number of processes; `accumulate` is the number of pieces
    # that a batch is cut into to save memory. Neither changes what is learnt.
    batch_size: Count = 32
    accumulate: Count = 1
    # `sm3` uses the first beta as momentum. The learning rate of `adafactor` is relative to the
    # size of the weights. Both need less memory than Adam.
    optimiser: Literal["adam", "adamw", "sm3", "adafactor"] = "adam"
    learning_rate: Positive = 1e-3
    learning_rates: dict[str, NonNegative] = field(
        default_factory=dict
    )  # by parameter group; 0 freezes it
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    epsilon: Positive = 1e-8
    weight_decay: NonNegative = 0.0
    clip: Positive = 1.0  # the largest norm of the gradient; `inf` does not clip
    schedule: Literal["constant", "linear", "cosine", "noam", "plateau"] = "constant"
    warmup: Natural = 0  # updates over which the learning rate rises from zero
    warmup_power: Positive = 1.0  # 2: it rises with the square of the update
    plateau_factor: Fraction = 0.5
    plateau_patience: Natural = 0  # validations without improvement that are tolerated
    validate_every: Count | None = None  # updates; every epoch by default
    select: str = "loss"  # what "best" means: `loss`, or a metric such as `all.F1@O`
    patience: Count | None = None

    def __post_init__(self) -> None:
        if self.epochs is None and self.updates is None:
            raise ValueError("has no end; give `epochs`, `updates` or both")
        if self.schedule == "noam" and not self.warmup:
            raise ValueError("schedule 'noam' needs `warmup`, a number of updates")
        if self.accumulate > self.batch_size:
            raise ValueError(
                f"accumulate ({self.accumulate}) is greater than batch_size ({self.batch_size}): a "
                "batch cannot have more pieces than documents"
            )


@dataclass(frozen=True)
class Train:
    stage: tuple[Stage, ...]
    seed: Natural = 1
    threads: Natural = 0  # of torch on a CPU; 0: torch's default
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 on GPUs that support it
    minutes: Positive | None = None  # stop after this time with a checkpoint, to be resumed
    checkpoint_minutes: NonNegative = 2.0  # between checkpoints; 0: after every update
    bucket: Count = 50  # batches whose documents are sorted by length together
    log_every: Count = 50  # updates

    def __post_init__(self) -> None:
        if not self.stage:
            raise ValueError("has no stage; add a [[train.stage]] table")


@dataclass(frozen=True)
class Evaluate:
    """The final scores of a run. The protocol also scores validations, if a stage selects by it."""

    documents: tuple[str, ...] = ()  # files with gold keyphrases; without any, nothing is scored
    protocol: str = "chan19"
    metrics: tuple[str, ...] = ()  # the protocol's standard ones by default


@dataclass(frozen=True)
class Config:
    data: Data
    model: Part
    train: Train
    decode: Part = field(default_factory=lambda: Part("greedy"))
    evaluate: Evaluate = field(default_factory=Evaluate)

    def __post_init__(self) -> None:
        if self.data.valid:
            return
        for number, stage in enumerate(self.train.stage):
            if stage.patience or stage.schedule == "plateau" or stage.select != "loss":
                raise ValueError(
                    f"train.stage[{number}] uses patience, select or the plateau schedule, "
                    "which need validation documents; name them in data.valid"
                )


SCORER = "scorer"
"""The section that tells the config of a scorer (`scorers/config.py`) from that of a model."""

T = TypeVar("T")
PACKAGE = "package"


def load(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """The config of a TOML file, with some settings overridden by `section.key=value`."""
    return load_as(Config, path, overrides)


def load_as(cls: type[T], path: str | Path, overrides: Sequence[str] = ()) -> T:
    """The same for another kind of config."""
    table = read_table(path, overrides)
    if cls is Config and SCORER in table:
        raise ConfigError(f"{path}: is the config of a scorer, not of a keyphrase model")
    try:
        return fill(cls, table)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def read_table(path: str | Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The tables of a TOML file with overrides applied, not yet checked."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    table = parse_toml(text, path)
    for setting in overrides:
        override(table, setting)
    return table


def parse_toml(text: str, path: str | Path) -> dict[str, Any]:
    """The table of a TOML text; `path` is shown in errors."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply to be a config") from None
    except ValueError as error:  # such as an integer of thousands of digits
        raise ConfigError(f"{path}: has a value that cannot be read: {error}") from None


def parse(table: Mapping[str, Any]) -> Config:
    return fill(Config, table)


def override(table: dict[str, Any], setting: str) -> None:
    """Set one `a.b=value` in the table; `train.stage[0].epochs` is a setting inside a list.

    The value is TOML; anything else is a string, so that `data.order=random` works.
    """
    path, equals, text = setting.partition("=")
    keys = re.findall(r"[^.\[\]]+", path)
    if not equals or not keys:
        raise ConfigError(f"--set {setting}: write it as section.key=value")
    try:
        value: Any = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # TOMLDecodeError is a ValueError
        value = text
    place: Any = table
    for key in keys[:-1]:
        place = _enter(place, key, setting)
    if isinstance(place, list):
        place[_index(place, keys[-1], setting)] = value
    else:
        place[keys[-1]] = value


def fill(cls: type[T], table: Mapping[str, Any], path: str = "") -> T:
    """The dataclass `cls` with the values of `table`, each checked; `path` locates the table."""
    _check(cls, table, path)
    try:
        return msgspec.convert(table, cls, dec_hook=_decode_part)
    except msgspec.ValidationError as error:
        raise ConfigError(_explain(str(error), table, path)) from None


def part(
    chosen: Part, package: str, path: str, noun: str | None = None
) -> tuple[types.ModuleType, Any]:
    """The module that a part names and its own `Config`, filled; `noun` is as in `parts.module`.

    `part(config.model, "keywright.models", "model")`
    """
    try:
        module = parts.module(package, chosen.name, noun)
    except UnknownNameError as error:
        raise ConfigError(f"{path}.name: {error}") from None
    return module, fill(module.Config, chosen.settings, path)


def resolve_part(chosen: Part, package: str, path: str, noun: str | None = None) -> Part:
    """The same part with every setting written out, so that later defaults cannot change a run.

    A setting can be a part itself; the metadata of its field then has the `PACKAGE` of that part.
    """
    settings = part(chosen, package, path, noun)[1]
    table = to_table(settings)
    for item in dataclasses.fields(settings):
        value = getattr(settings, item.name)
        if isinstance(value, Part) and PACKAGE in item.metadata:
            inner = resolve_part(value, item.metadata[PACKAGE], f"{path}.{item.name}")
            table[item.name] = to_table(inner)
    return Part(chosen.name, table)


def to_table(value: Any) -> Any:
    """Plain tables, lists and scalars; None is left out, because TOML cannot express it."""
    if isinstance(value, Part):
        return to_table(value.table())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_table(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [to_table(inner) for inner in value]
    return value


def to_toml(config: object) -> str:
    """A file that `load` reads back to an equal config."""
    lines: list[str] = []
    _write_table(to_table(config), "", lines)
    return "\n".join(lines).strip() + "\n"


def _check(kind: Any, value: Any, path: str) -> None:
    """Refuse unknown keys and choices, which msgspec ignores or does not explain."""
    origin = get_origin(kind)
    if isinstance(value, float) and math.isnan(value):
        raise ConfigError(f"{path}: must be a number, not nan")
    if origin is Annotated:
        _check(get_args(kind)[0], value, path)
    elif origin in (Union, types.UnionType):
        for choice in get_args(kind):
            if choice is not types.NoneType:
                _check(choice, value, path)
    elif origin is Literal:
        if isinstance(value, str) and value not in get_args(kind):
            raise ConfigError(
                f"{path}: {value!r} is not one of the choices{nearest(value, get_args(kind))}"
            )
    elif origin is tuple and isinstance(value, list):
        for number, inner in enumerate(value):
            _check(get_args(kind)[0], inner, f"{path}[{number}]")
    elif dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        hints = get_type_hints(kind, include_extras=True)
        known = [item.name for item in dataclasses.fields(kind)]
        for key, inner in value.items():
            if key not in known:
                raise ConfigError(f"{_join(path, key)}: unknown setting{nearest(key, known)}")
            _check(hints[key], inner, _join(path, key))


def _decode_part(kind: type, value: Any) -> Any:
    if kind is not Part:
        raise TypeError(f"settings of type {kind} cannot be read")
    if isinstance(value, str):
        return Part(value)
    if not isinstance(value, Mapping):
        raise ValueError("expected a table with a `name`")
    settings = dict(value)
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise ValueError("needs a `name`, which selects the part that the other settings belong to")
    return Part(name, settings)


def _explain(message: str, table: Mapping[str, Any], path: str) -> str:
    """Rephrase an error of msgspec: where, what is wrong, and the value that is there."""
    what, _, place = message.partition(" - at `$")
    place = place.removesuffix("`").removeprefix(".")
    missing = re.fullmatch(r"Object missing required field `(\w+)`", what)
    if missing:
        return f"{_join(_join(path, place), missing[1])}: is required and missing"
    what = what.replace("`", "").replace("Expected", "expected").replace("array", "a list")
    what = what.replace("object", "a table")
    found = _at(table, place)
    shown = "" if isinstance(found, Mapping | list) else f" (it is {found!r})"
    return f"{_join(path, place) or 'config'}: {what}{shown}"


def _at(table: Any, place: str) -> Any:
    for key, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        table = table[int(number)] if number else table[key]
    return table


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path and key and not key.startswith("[") else path + key


def _enter(place: Any, key: str, setting: str) -> Any:
    inner = place[_index(place, key, setting)] if isinstance(place, list) else None
    if isinstance(place, dict):
        inner = place.setdefault(key, {})
    if not isinstance(inner, dict | list):
        raise ConfigError(f"--set {setting}: {key} is a value, not a table")
    return inner


def _index(place: list[Any], key: str, setting: str) -> int:
    if not key.isdecimal() or int(key) >= len(place):
        raise ConfigError(
            f"--set {setting}: {key!r} is not an index of a list of length {len(place)}; indices "
            "start at 0, as in train.stage[0].epochs=3"
        )
    return int(key)


def _write_table(table: Mapping[str, Any], path: str, lines: list[str]) -> None:
    """Plain values first, because in TOML a key after a table header belongs to that table."""
    tables = {key: inner for key, inner in table.items() if isinstance(inner, Mapping)}
    lists = {
        key: inner
        for key, inner in table.items()
        if isinstance(inner, list) and inner and all(isinstance(item, Mapping) for item in inner)
    }
    for key, inner in table.items():
        if key not in tables and key not in lists:
            lines.append(f"{_key(key)} = {_value(inner)}")
    for key, inner in tables.items():
        name = f"{path}.{_key(key)}" if path else _key(key)
        lines += ["", f"[{name}]"]
        _write_table(inner, name, lines)
    for key, items in lists.items():
        name = f"{path}.{_key(key)}" if path else _key(key)
        for item in items:
            lines += ["", f"[[{name}]]"]
            _write_table(item, name, lines)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML has the same escapes as JSON, but also requires one for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
