"""kpeval: matching as in KPEval (Wu et al. 2024), for measures of meaning, diversity and utility.

Its parameters name the sentence encoder and the documents that are searched; both are part of the
signature, because the scores of different ones cannot be compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Literal

from keywright import protocol
from keywright.matches import Dropped, Judgement, Matches, ScoringRules, WordedMatches
from keywright.metric import Metric
from keywright.protocol import Protocol, prepare
from keywright.text.presence import padded
from keywright.text.stem import stems
from keywright.types import Document

# It needs an encoder, which takes seconds to load.
VARIANTS: tuple[tuple[str, ...], ...] = ()
INVALID = frozenset({"<unk>", "[unk]", ",", "."})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(protocol.Config):
    f1: Literal["of_means", "mean_of_documents"] = "mean_of_documents"
    precision: Literal["cutoff", "predicted"] = "predicted"
    # `minilm`, or a folder or name of sentence-transformers; uclanlp/keyphrase-mpnet-v1 is
    # KPEval's.
    encoder: str = "minilm"
    # Semantic recall of exact matches: 1 (`exact`), or their cosine, as the release's check, which
    # is never true, has it (`released`).
    recall: Literal["exact", "released"] = "exact"
    # A file with the documents that retrieval searches, those that are evaluated included.
    index: str = ""


class KPEval(Protocol):
    name = "kpeval"
    config: Config
    standard: ClassVar[tuple[str, ...]] = (
        "all.SemP", "all.SemR", "all.SemF1", "all.DupToken", "all.EmbSim", "all.F1@M",
        "present.F1@M", "absent.F1@M",
    )  # fmt: skip

    def make_rules(self, config: Config) -> ScoringRules:
        return ScoringRules(
            divide_by="k_if_any" if config.precision == "cutoff" else "predicted",
            f1=config.f1,
            average_over=config.average_over,
            encoder=config.encoder,
            exact_recall=config.recall == "exact",
            index=config.index,
        )

    def metrics(self) -> tuple[Metric, ...]:
        """Without those that need an index, if there is none."""
        every = super().metrics()
        if self.config.index:
            return every
        return tuple(m for m in every if not m.measure.startswith(("BM25", "Dense")))

    def facts(self) -> list[str]:
        return [
            "words are split at blanks and stemmed, presence by tokens",
            "repeats dropped on both sides",
            "a prediction with an unknown word, a separate comma or a dot is dropped",
            f"meaning is what the sentence encoder {self.config.encoder} finds",
            "an exact match counts as its cosine in semantic recall"
            * (self.config.recall == "released"),
            f"retrieval searches {self.config.index}" * bool(self.config.index),
        ]

    def judge(self, document: Document, phrases: Sequence[str]) -> Judgement:
        title, body, gold, predictions = prepare(document, phrases)
        source = padded(stems(f"{title} {body}".lower().split()))
        found = Judgement(document)
        seen: set[str] = set()
        for index, phrase in enumerate(gold):
            words = phrase.lower().split()
            text = " ".join(words if self.config.targets_stemmed else stems(words))
            if text and text not in seen:
                seen.add(text)
                found.add_gold(index, text, f" {text} " in source)
        seen = set()
        for index, phrase in enumerate(predictions):
            words = phrase.lower().split()
            text = " ".join(stems(words))
            dropped: Dropped | None = None
            if not words:
                dropped = "no words"
            elif not INVALID.isdisjoint(words):
                dropped = "invalid token"
            elif text in seen:
                dropped = "repeat"
            else:
                seen.add(text)
            found.add(index, text, bool(text) and f" {text} " in source, dropped)
        return found

    def match(self, document: Document, phrases: Sequence[str]) -> Matches:
        judged = self.judge(document, phrases)
        found = WordedMatches(judged.matches(self.not_produced), document)
        keyphrases = document.keyphrases or ()
        for gold in judged.gold:
            if gold.index is not None:
                found.gold[gold.stems] = _words(keyphrases[gold.index])
        for phrase in judged.phrases:
            if phrase.index is not None and phrase.stems:
                found.add(phrase, _words(phrases[phrase.index]))
        return found


def _words(phrase: str) -> str:
    return " ".join(phrase.lower().split())


def build(config: Config) -> KPEval:
    return KPEval(config)
