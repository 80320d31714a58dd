"""Documents in the form of the field's text files, and their scores under a protocol."""

from __future__ import annotations

from keywright import protocols
from keywright.data.readers.chan import split_phrases, split_source
from keywright.evaluate import Plan
from keywright.matches import Matches
from keywright.metric import Metric
from keywright.types import Document

Case = tuple[str, str, str]
"""Source, target and prediction line."""

# Words that Porter's stemmer leaves alone.
SOURCE = "a b c <eos> d e f g ."


def document(source: str, target: str) -> Document:
    title, body = split_source(source)
    return Document(title=title, body=body, keyphrases=split_phrases(target), tokenised=True)


def match(protocol: str, case: Case) -> Matches:
    source, target, prediction = case
    return protocols.load(protocol).match(document(source, target), split_phrases(prediction))


def phrases(protocol: str, case: Case) -> dict[str, tuple[list[str], list[str]]]:
    """Part -> predictions and targets, as the protocol counts them."""
    found = match(protocol, case)
    return {
        name: (getattr(found, name).predictions, getattr(found, name).targets)
        for name in ("present", "absent", "all")
    }


def score(protocol: str, metric: str, *cases: Case) -> float:
    plan = Plan(protocols.load(protocol), [Metric.parse(metric)])
    rows = plan.rows([match(protocol, case) for case in cases])
    return float(plan.scores(rows.sum(axis=0))[str(Metric.parse(metric))])
