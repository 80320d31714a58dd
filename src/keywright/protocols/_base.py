"""What all protocols share: parameters from text, prepared text, default metrics."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import msgspec

from keywright.errors import ConfigError, nearest
from keywright.metrics._base import Metric
from keywright.metrics._matches import Matches, Part, Rules, hits
from keywright.text.stem import TABLE
from keywright.text.tokenise import normalise
from keywright.types import Document

SIGNATURE_VERSION = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """The parameters every protocol has; each sets its own defaults."""

    # What P@k divides by: the cut-off k, or the number of predictions where that is smaller
    # ("Meng precision"). In yuan20 the former is called "hard".
    precision: Literal["cutoff", "predicted"] = "cutoff"
    # Corpus F1: harmonic mean of macro P and macro R, or mean of the documents' F1.
    f1: Literal["of_means", "mean_of_documents"] = "of_means"
    # Macro scores average over all documents, or over those with a target in the part.
    average_over: Literal["all", "with_targets"] = "all"
    # The gold is stemmed already (SemEval's is), so it is compared as it stands.
    targets_stemmed: bool = False


C = TypeVar("C", bound=Config)


def configure(protocol: str, kind: type[C], settings: Iterable[str]) -> C:
    """A protocol's parameters from `key=value` texts."""
    known = [field.name for field in dataclasses.fields(kind)]
    values: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key not in known:
            raise ConfigError(f"protocol {protocol} has no parameter {key!r}{nearest(key, known)}")
        values[key] = value if equals else "true"
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"protocol {protocol}: {_in_words(str(error), kind, values)}") from None


def _in_words(error: str, kind: type[Config], values: dict[str, str]) -> str:
    """msgspec names the path (`$.f1`); a reader wants the parameter and what it may be."""
    key = error.rpartition("$.")[2].rstrip("`")
    if key not in values:
        return error
    field = next(field for field in dataclasses.fields(kind) if field.name == key)
    allowed = str(field.type).removeprefix("Literal").replace("bool", "true or false").strip("[]")
    return f"{key}={values[key]!r} is not allowed; {key} is {allowed}"


class Prepared(NamedTuple):
    """A document and its predictions as the releases' text files would hold them."""

    title: str
    body: str
    targets: Sequence[str]
    predictions: Sequence[str]


def prepare(document: Document, phrases: Sequence[str]) -> Prepared:
    """Texts as blank-separated words: prepared corpora as they are, raw text normalised."""
    targets = document.keyphrases or ()
    if document.tokenised:
        return Prepared(document.title, document.body, targets, phrases)
    return Prepared(
        " ".join(normalise(document.title)),
        " ".join(normalise(document.body)),
        [" ".join(normalise(phrase)) for phrase in targets],
        [" ".join(normalise(phrase)) for phrase in phrases],
    )


def stemmed(words: Iterable[str]) -> str:
    """Stems joined by blanks."""
    return " ".join(map(TABLE.__getitem__, words))


class Side:
    """The phrases of one side of a document, told apart by where they belong."""

    __slots__ = ("absent", "all", "present")

    def __init__(self) -> None:
        self.present: list[str] = []
        self.absent: list[str] = []
        self.all: list[str] = []

    def add(self, phrase: str, present: bool) -> None:
        (self.present if present else self.absent).append(phrase)
        self.all.append(phrase)


class Produced:
    """Counts of predictions before filtering, with and without repeats."""

    __slots__ = ("present", "present_unique", "total", "unique")

    def __init__(self) -> None:
        self.total = self.unique = self.present = self.present_unique = 0

    def add(self, present: bool, repeated: bool) -> None:
        self.total += 1
        self.unique += not repeated
        if present:
            self.present += 1
            self.present_unique += not repeated


def matches(predictions: Side, targets: Side, produced: Produced) -> Matches:
    """Match by equality inside each part."""
    return Matches(
        Part(
            predictions.present,
            targets.present,
            hits(predictions.present, targets.present),
            produced.present,
            produced.present_unique,
        ),
        Part(
            predictions.absent,
            targets.absent,
            hits(predictions.absent, targets.absent),
            produced.total - produced.present,
            produced.unique - produced.present_unique,
        ),
        Part(
            predictions.all,
            targets.all,
            hits(predictions.all, targets.all),
            produced.total,
            produced.unique,
        ),
    )


class Protocol(ABC):
    """One published way of scoring."""

    name: ClassVar[str]
    cutoffs: ClassVar[tuple[str, ...]] = ("5", "10", "50", "M", "O")
    standard: ClassVar[tuple[str, ...]] = (
        "present.F1@5", "present.F1@10", "present.F1@M", "present.F1@O",
        "absent.F1@5", "absent.F1@M", "absent.R@10", "absent.R@50",
        "all.F1@5", "all.F1@M", "all.F1@O",
        "present.MAP@10", "present.NDCG@10", "present.FG", "all.MAE", "all.Dup", "all.Predicted",
    )  # fmt: skip

    def __init__(self, config: Config) -> None:
        self.config = config
        self.rules = self.make_rules(config)

    @abstractmethod
    def make_rules(self, config: Any) -> Rules:
        """How this protocol turns matches into numbers."""

    @abstractmethod
    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        """Filter, stem, split into present and absent, and match one document's predictions."""

    @abstractmethod
    def facts(self) -> list[str]:
        """In words: what this protocol does to phrases, with its parameters as they are set."""

    @property
    def explanation(self) -> str:
        """In words: what makes this protocol's numbers what they are."""
        config = self.config
        facts = [
            *self.facts(),
            "the gold is stemmed already and compared as it stands" * config.targets_stemmed,
            {
                "cutoff": "P@5 divides by 5 even when fewer phrases are predicted",
                "predicted": "P@5 divides by the number of predictions when that is below 5",
            }[config.precision],
            {
                "of_means": "F1 is the harmonic mean of macro P and macro R",
                "mean_of_documents": "F1 is the mean of the documents' F1",
            }[config.f1],
            {
                "all": "documents without gold in the part count as zeros",
                "with_targets": "documents without gold in the part are left out",
            }[config.average_over],
        ]
        text = "; ".join(filter(None, facts))
        return f"{text[0].upper()}{text[1:]}."

    def __str__(self) -> str:
        """`name:key=value,...` with the parameters that are not at their defaults."""
        changed = [
            f"{field.name}={_text(getattr(self.config, field.name))}"
            for field in dataclasses.fields(self.config)
            if getattr(self.config, field.name) != field.default
        ]
        return self.name + (":" + ",".join(changed) if changed else "")

    def metrics(self) -> tuple[Metric, ...]:
        """Every metric that makes sense under the protocol."""
        names = [
            f"{part}.{name}"
            for part in ("present", "absent", "all")
            for name in (
                *(f"{measure}@{k}" for k in self.cutoffs for measure in ("P", "R", "F1")),
                *(f"micro.{measure}@{k}" for k in self.cutoffs for measure in ("P", "R", "F1")),
                *(f"{m}@{k}" for m in ("MAP", "NDCG", "AlphaNDCG") for k in self.cutoffs),
                "FG", "FG-edit", "FG-token", "FG-repetition", "FG-quantity",
                "TokenP", "TokenR", "TokenF1",
                "MAE", "Dup", "Unique", "Predicted", "Gold",
            )
        ]  # fmt: skip
        return tuple(Metric.parse(name) for name in names)

    def signature(self, metric: Metric | None = None) -> str:
        """What a number is, in one line, to be stored with it."""
        fields = [] if metric is None else [str(metric)]
        fields += [
            f"protocol:{self.name}",
            "stem:porter",
            *(
                f"{field.name}:{_text(getattr(self.config, field.name))}"
                for field in dataclasses.fields(self.config)
            ),
            f"v{SIGNATURE_VERSION}",
        ]
        return "|".join(fields)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
