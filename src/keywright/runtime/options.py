"""What every decoder can be told, whether torch or ONNX Runtime computes the probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keywright.config import Count, Natural
from keywright.data.targets import Paradigm

Ranking = Literal["generated", "phrase", "sequence", "votes"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every strategy can be told. Lengths count tokens, which are subwords for some models."""

    max_length: Count | None = None  # of a generated sequence, marks included; None: by paradigm
    max_phrase: Count | None = None  # tokens; then the phrase has to end
    max_phrases: Count | None = None  # of a document
    min_phrases: Natural = 0  # of a document; only for One2Seq, whose end can be put off
    unique_tokens: bool = False  # no token twice in a phrase
    unique_starts: bool = False  # no two phrases of a document begin with the same token
    starts_window: Count | None = None  # only so many phrases back; None: all
    unique_phrases: bool = False  # no two phrases of a document have the same stems
    # Phrases that contain <unk>: left out, or completed by the source word most attended to.
    unknown: Literal["drop", "replace", "keep"] = "drop"

    def __post_init__(self) -> None:
        if self.max_phrases is not None and self.max_phrases < self.min_phrases:
            raise ValueError(
                f"max_phrases ({self.max_phrases}) is less than min_phrases ({self.min_phrases})"
            )
        if self.starts_window is not None and not self.unique_starts:
            raise ValueError("starts_window limits unique_starts, which is not set")

    def length(self, paradigm: Paradigm) -> int:
        """The longest sequence: a cut phrase is lost, so there is room for unusual ones."""
        return self.max_length or (60 if paradigm == "one2seq" else 10)

    def beams(self, paradigm: Paradigm) -> int:
        """How many sequences are followed at once for each row of the model."""
        return 1

    def ranking(self, paradigm: Paradigm) -> Ranking:
        """How a prediction orders its phrases: see `phrases`.

        The order of a sequence is what its model learnt; the slots of a set have none.
        """
        return "phrase" if paradigm == "one2set" else "generated"
