"""Rewards built as a training builds them, over documents written for a test."""

from __future__ import annotations

from typing import Any

from keywright import protocols, reward
from keywright.config import Part
from keywright.matches import Part as PartName
from keywright.reward import PlainContext, Reward
from keywright.types import Document


def make(name: str, protocol: str = "chan19", **settings: Any) -> Reward:
    return reward.build(
        Part(name, settings), PlainContext(protocols.load(protocol)), "stage.reward"
    )


def document(gold: str, text: str = "") -> Document:
    """Gold phrases separated by semicolons; those that do not occur in the text are absent."""
    return Document(
        title="", body=text, keyphrases=tuple(filter(None, gold.split(";"))), tokenised=True
    )


def score(
    name: str, predictions: str, gold: str, part: PartName = "absent", **settings: Any
) -> float:
    """The reward of one document whose gold is all absent."""
    phrases = [phrase for phrase in predictions.split(";") if phrase]
    (found,) = make(name, **settings)([document(gold)], [phrases], part)
    return found
