"""One TOML file is one complete run: parsed, checked and overridden here.

A section is a frozen dataclass. `[model]`, `[decode]` and a stage's `objective` are *parts*: their
`name` picks a file of `keywright.models`, `keywright.decoding` or `keywright.training.objectives`,
and the rest of the table fills that file's own `Config`, so that each builder sees only its own
section. A part's `Config` is a frozen dataclass too; it states limits in its types
(`dropout: Fraction = 0.1`) and impossible combinations by a `ValueError` in `__post_init__`.

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
"""More than zero."""
NonNegative = Annotated[float, Meta(ge=0)]
"""Zero or more, not necessarily whole."""
Fraction = Annotated[float, Meta(ge=0, lt=1)]
"""From 0 up to, but not including, 1: dropout, label smoothing."""
Share = Annotated[float, Meta(gt=0, le=1)]
"""More than nothing, up to all."""
Probability = Annotated[float, Meta(ge=0, le=1)]
"""From 0 to 1."""


class Part:
    """The name of a part and the settings of its own `Config`, not yet checked against it."""

    def __init__(self, name: str, settings: Mapping[str, Any] | None = None):
        self.name = name
        self.settings = dict(settings or {})

    def __repr__(self) -> str:
        return f"Part({self.name!r}, {self.settings!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self.table() == other.table()

    __hash__ = None  # type: ignore[assignment]  # settings may be changed by nobody, but are a dict

    def table(self) -> dict[str, Any]:
        return {"name": self.name, **self.settings}


@dataclass(frozen=True)
class KPDrop:
    """Chowdhury et al. (2022): present keyphrases are dropped from the input, becoming absent."""

    mode: Literal["off", "replace", "augment"] = "off"
    rate: Probability = 0.7  # of present keyphrases, each by itself


@dataclass(frozen=True)
class Data:
    """What is learnt from. Paths are taken from the folder the command is run in."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    train_documents: Count | None = None  # the first so many; all of them by default
    valid_documents: Count = 1000
    vocabulary: Literal["words", "subwords"] = "words"
    vocabulary_size: Count = 50_000
    max_source: Count = 400  # tokens of title and body together
    max_phrase: Count = 10  # tokens of a keyphrase: longer ones are left out of the targets
    max_phrases: Count = 40  # keyphrases of a document
    order: Literal[
        "present_absent", "random", "alphabetical", "length", "given", "absent_present"
    ] = "present_absent"
    mark_absent: bool = False  # One2Seq: `<peos>` between present and absent phrases
    kpdrop: KPDrop = field(default_factory=KPDrop)

    def __post_init__(self) -> None:
        if not self.train:
            raise ValueError("train names no file; give at least one")
        if self.mark_absent and self.order != "present_absent":
            raise ValueError(
                f"mark_absent needs order 'present_absent', not {self.order!r}: "
                "only there does one mark part the two"
            )


@dataclass(frozen=True)
class Stage:
    """One stretch of training with its own objective, optimiser and schedule.

    A stage ends after `epochs` or `updates`, whichever comes first, or when `patience` validations
    in a row brought nothing better. The next stage starts from its best weights.
    """

    objective: Part = field(default_factory=lambda: Part("nll"))
    epochs: Count | None = None
    updates: Count | None = None
    # Documents per update, whatever the number of processes; `accumulate` cuts them into so many
    # pieces to save memory. Neither changes what is learnt.
    batch_size: Count = 32
    accumulate: Count = 1
    optimiser: Literal["adam", "adamw"] = "adam"
    learning_rate: Positive = 1e-3
    learning_rates: dict[str, NonNegative] = field(default_factory=dict)  # by group; 0 freezes it
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    epsilon: Positive = 1e-8
    weight_decay: NonNegative = 0.0
    clip: Positive = 1.0  # the largest norm of the gradient; `inf` lets it be
    schedule: Literal["constant", "linear", "cosine", "noam", "plateau"] = "constant"
    warmup: Natural = 0  # updates over which the learning rate rises from zero
    plateau_factor: Fraction = 0.5
    plateau_patience: Natural = 0  # validations without a better score that are put up with
    validate_every: Count | None = None  # updates; every epoch by default
    select: str = "loss"  # what "best" means: `loss`, or a metric such as `all.F1@O`
    patience: Count | None = None

    def __post_init__(self) -> None:
        if self.epochs is None and self.updates is None:
            raise ValueError("has no end; give `epochs`, `updates` or both")
        if self.schedule == "noam" and not self.warmup:
            raise ValueError("schedule 'noam' is defined by its `warmup`; give a number of updates")
        if self.accumulate > self.batch_size:
            raise ValueError(
                f"accumulate ({self.accumulate}) cuts a batch of {self.batch_size} documents "
                "into more pieces than it has documents"
            )


@dataclass(frozen=True)
class Train:
    stage: tuple[Stage, ...]
    seed: Natural = 1
    threads: Natural = 0  # of torch on a CPU; 0 leaves torch's own choice
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 on GPUs that have it
    minutes: Positive | None = None  # stop cleanly after so long, to be resumed
    checkpoint_minutes: NonNegative = 10.0  # between checkpoints; 0 writes one after every update
    bucket: Count = 50  # batches whose documents are sorted by length together
    log_every: Count = 50  # updates

    def __post_init__(self) -> None:
        if not self.stage:
            raise ValueError("has no stage; add a [[train.stage]] table")


@dataclass(frozen=True)
class Evaluate:
    documents: tuple[str, ...] = ()
    protocol: str = "chan19"
    metrics: tuple[str, ...] = ()  # the protocol's own by default


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


T = TypeVar("T")


def load(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """The config of a TOML file, with `section.key=value` overrides put over it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    for setting in overrides:
        override(table, setting)
    try:
        return parse(table)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def parse(table: Mapping[str, Any]) -> Config:
    return fill(Config, table)


def override(table: dict[str, Any], setting: str) -> None:
    """Put one `a.b=value` into the table; `train.stage[0].epochs` reaches into a list.

    The value is TOML; what is no TOML value is a string, so that `data.order=random` works.
    """
    path, equals, text = setting.partition("=")
    keys = re.findall(r"[^.\[\]]+", path)
    if not equals or not keys:
        raise ConfigError(f"--set {setting}: write it as section.key=value")
    try:
        value: Any = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    place: Any = table
    for key in keys[:-1]:
        place = _enter(place, key, setting)
    if isinstance(place, list):
        place[_index(place, keys[-1], setting)] = value
    else:
        place[keys[-1]] = value


def fill(cls: type[T], table: Mapping[str, Any], path: str = "") -> T:
    """The dataclass `cls` with the values of `table`, each checked; `path` is where it stands."""
    _check(cls, table, path)
    try:
        return msgspec.convert(table, cls, dec_hook=_decode_part)
    except msgspec.ValidationError as error:
        raise ConfigError(_explain(str(error), table, path)) from None


def part(chosen: Part, package: str, path: str) -> tuple[types.ModuleType, Any]:
    """The module a part names and its own `Config`, filled.

    `part(config.model, "keywright.models", "model")`
    """
    try:
        module = parts.module(package, chosen.name)
    except UnknownNameError as error:
        raise ConfigError(f"{path}.name: {error}") from None
    return module, fill(module.Config, chosen.settings, path)


def resolve_part(chosen: Part, package: str, path: str) -> Part:
    """The same part with every setting spelt out, so that later defaults cannot change a run."""
    return Part(chosen.name, to_table(part(chosen, package, path)[1]))


def to_table(value: Any) -> Any:
    """Plain tables, lists and scalars; what is None is left out, as TOML has no word for it."""
    if isinstance(value, Part):
        return to_table(value.table())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_table(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [to_table(inner) for inner in value]
    return value


def to_toml(config: Config) -> str:
    """A file that `load` reads back to an equal config."""
    lines: list[str] = []
    _write_table(to_table(config), "", lines)
    return "\n".join(lines).strip() + "\n"


def _check(kind: Any, value: Any, path: str) -> None:
    """Unknown keys and choices that do not exist, which msgspec lets pass or does not explain."""
    origin = get_origin(kind)
    if isinstance(value, float) and math.isnan(value):
        raise ConfigError(f"{path}: nan is not a number to work with")
    if origin is Annotated:
        _check(get_args(kind)[0], value, path)
    elif origin in (Union, types.UnionType):
        for choice in get_args(kind):
            if choice is not types.NoneType:
                _check(choice, value, path)
    elif origin is Literal:
        if isinstance(value, str) and value not in get_args(kind):
            raise ConfigError(f"{path}: {value!r} is no choice{nearest(value, get_args(kind))}")
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
        raise ValueError("needs a `name`, which says what the other settings are for")
    return Part(name, settings)


def _explain(message: str, table: Mapping[str, Any], path: str) -> str:
    """msgspec's sentence in our words: where, what is wrong, what stands there."""
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
            f"--set {setting}: {key!r} is no place in a list of {len(place)}; "
            f"count from 0, as in train.stage[0].epochs=3"
        )
    return int(key)


def _write_table(table: Mapping[str, Any], path: str, lines: list[str]) -> None:
    """Plain values first, then tables: in TOML a key after a table header belongs to that table."""
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
        # JSON's escapes are TOML's, but TOML also wants the delete character escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
