"""What all protocols share: parameters, prepared text, reading and matching, lists of metrics."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import msgspec

from keywright.errors import ConfigError, nearest
from keywright.matches import Dropped, GoldPhrase, JudgedPhrase, Judgement, Matches, ScoringRules
from keywright.metric import Metric, listing
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
    # The gold is already stemmed (as SemEval's is), so it is compared as it is.
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
    """msgspec names the path (`$.f1`); people need the parameter and its allowed values."""
    key = error.rpartition("$.")[2].rstrip("`")
    if key not in values:
        return error
    field = next(field for field in dataclasses.fields(kind) if field.name == key)
    allowed = str(field.type).removeprefix("Literal").replace("bool", "true or false").strip("[]")
    return f"{key}={values[key]!r} is not allowed; {key} must be {allowed}"


class Prepared(NamedTuple):
    """A document and its predictions as they would be in the releases' text files."""

    title: str
    body: str
    targets: Sequence[str]
    predictions: Sequence[str]


def prepare(document: Document, phrases: Sequence[str]) -> Prepared:
    """Texts as words separated by blanks: prepared corpora unchanged, raw text normalised."""
    targets = document.keyphrases or ()
    if document.tokenised:
        return Prepared(document.title, document.body, targets, phrases)
    return Prepared(
        " ".join(normalise(document.title)),
        " ".join(normalise(document.body)),
        [" ".join(normalise(phrase)) for phrase in targets],
        [" ".join(normalise(phrase)) for phrase in phrases],
    )


def numbered(phrases: Sequence[str]) -> Iterable[tuple[int | None, str]]:
    """Gold phrases and their numbers, for protocols that read no gold as one empty phrase."""
    return enumerate(phrases) if phrases else ((None, ""),)


def stemmed(words: Iterable[str]) -> str:
    """Stems joined by blanks."""
    return " ".join(map(TABLE.__getitem__, words))


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
    # Predictions dropped for these reasons do not count as produced (`Dup`, `Unique`).
    not_produced: ClassVar[frozenset[Dropped]] = frozenset({"beyond the limit"})

    def __init__(self, config: Config) -> None:
        self.config = config
        self.rules = self.make_rules(config)

    @abstractmethod
    def make_rules(self, config: Any) -> ScoringRules:
        """How this protocol turns matches into numbers."""

    @abstractmethod
    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        """Read the gold and the predictions of one document: split, stem, filter, compare.

        This is the only place where a protocol does any of this; the methods below follow from it.
        """

    def read(self, document: Document, phrases: Sequence[str]) -> tuple[JudgedPhrase, ...]:
        """The predicted phrases as the protocol reads them, in order.

        One text may be read as several phrases or as none: `JudgedPhrase.index` says which text a
        phrase was read from. Phrases that do not count are included and say why.
        """
        return tuple(self.judge(document, phrases).phrases)

    def read_gold(self, document: Document) -> tuple[GoldPhrase, ...]:
        """The gold phrases as the protocol reads them, in order."""
        return tuple(self.judge(document, ()).gold)

    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        """The phrases of each part that count, and which of them are hits."""
        return self.judge(document, phrases).matches(self.not_produced)

    @abstractmethod
    def facts(self) -> list[str]:
        """What this protocol does to phrases, in words, with its current parameters."""

    @property
    def explanation(self) -> str:
        """What this protocol's numbers mean, in words."""
        config = self.config
        facts = [
            *self.facts(),
            "the gold is already stemmed and compared as it is" * config.targets_stemmed,
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
        """`name:key=value,...` with the parameters that differ from their defaults."""
        changed = [
            f"{field.name}={_text(getattr(self.config, field.name))}"
            for field in dataclasses.fields(self.config)
            if getattr(self.config, field.name) != field.default
        ]
        return self.name + (":" + ",".join(changed) if changed else "")

    def metrics(self) -> tuple[Metric, ...]:
        """Every metric that is listed under the protocol."""
        return tuple(listing(self.name, self.cutoffs))

    def signature(self, metric: Metric | None = None) -> str:
        """What a number depends on, in one line, to be stored with it."""
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
