"""The settings of every decoder, whether torch or ONNX Runtime computes the probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keywright.config import Count, Natural
from keywright.data.targets import Paradigm

STRATEGIES = "keywright.decoding.strategies"
STRATEGY = "decoding strategy"


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
