"""The settings of every decoder, whether torch or ONNX Runtime computes the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keywright import config
from keywright.config import Count, Natural, Positive, Share
from keywright.data.targets import Paradigm
from keywright.errors import ConfigError

STRATEGIES = "keywright.decoding.strategies"
STRATEGY = "decoding strategy"


def overridden(own: config.Part, name: str | None, settings: Sequence[str]) -> config.Part:
    """The run's own strategy or the one named, with settings KEY=VALUE overridden."""
    part = own if name in (None, own.name) else config.Part(str(name))
    table = dict(part.settings)
    for setting in settings:
        config.override(table, setting.removeprefix("decode."))
    return config.Part(part.name, table)


@dataclass(frozen=True)
class Agreement:
    """Samples are compared: see `decoding.agreement`."""

    min_share: float
    all_phrases: bool
    stated: bool  # whether the share of samples is stated as the confidence of a phrase


Ranking = Literal["generated", "phrase", "sequence", "votes"] | Agreement


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of all strategies. Lengths count tokens, which are subwords in some models."""

    max_length: Count | None = None  # of a sequence, special tokens included; None: by paradigm
    max_phrase: Count | None = None  # tokens; a phrase of this length has to end
    max_phrases: Count | None = None  # per document
    min_phrases: Natural = 0  # per document; only for One2Seq, whose sequences can be prolonged
    unique_tokens: bool = False  # no token occurs twice in a phrase
    unique_starts: bool = False  # no two phrases of a document begin with the same token
    starts_window: Count | None = None  # compare only with this many previous phrases; None: all
    unique_phrases: bool = False  # no two phrases of a document have the same stems
    # Phrases that contain <unk>: left out, or <unk> replaced by the source word most attended to.
    unknown: Literal["drop", "replace", "keep"] = "drop"

    def __post_init__(self) -> None:
        if self.max_phrases is not None and self.max_phrases < self.min_phrases:
            raise ValueError(
                f"max_phrases ({self.max_phrases}) is less than min_phrases ({self.min_phrases})"
            )
        if self.starts_window is not None and not self.unique_starts:
            raise ValueError("starts_window needs unique_starts, which is not set")

    def length(self, paradigm: Paradigm) -> int:
        """The longest sequence. A phrase that is cut is lost, so there is room for long ones."""
        return self.max_length or (60 if paradigm == "one2seq" else 10)

    def beams(self, paradigm: Paradigm) -> int:
        """How many hypotheses are kept for each row of the model."""
        return 1

    def ranking(self, paradigm: Paradigm) -> Ranking:
        """How a prediction orders its phrases: see `phrases`.

        A sequence model has learnt the order of its phrases; the slots of a set model have none.
        """
        return "phrase" if paradigm == "one2set" else "generated"


@dataclass(frozen=True, kw_only=True)
class ExpectedF1(Options):
    """Settings of `strategies.expected_f1`, which exported models have as well."""

    samples: Count = 64
    temperature: Positive = 1.0
    seed: Natural = 1
    min_share: Share = 0.03  # of the samples, for a phrase to be listed
    all_phrases: bool = False  # list all such phrases, not only the best set

    def beams(self, paradigm: Paradigm) -> int:
        return self.samples

    def ranking(self, paradigm: Paradigm) -> Ranking:
        if paradigm == "one2one":
            raise ConfigError(
                "decode: expected_f1 compares sets of phrases, and a One2One model writes one "
                "phrase at a time; choose 'exhaustive'"
            )
        return Agreement(self.min_share, self.all_phrases, self._draws_as_the_model)

    @property
    def _draws_as_the_model(self) -> bool:
        """Whether samples have the model's own distribution: no setting forbids or sharpens."""
        forbids = self.min_phrases or self.max_phrase or self.unique_tokens or self.unique_starts
        return self.temperature == 1 and not forbids
