"""keywright: keyphrase generation, evaluation and calibration."""

__version__ = "0.1.0"

from typing import TYPE_CHECKING, Any

from keywright.evaluate import Evaluation, evaluate
from keywright.types import Document, Prediction, ScoredPhrase

if TYPE_CHECKING:
    from keywright.generation.engine import Keywright, Wanted
    from keywright.generation.keyphrases import Keyphrase

__all__ = [
    "Document",
    "Evaluation",
    "Keyphrase",
    "Keywright",
    "Prediction",
    "ScoredPhrase",
    "Wanted",
    "evaluate",
]

# Imported when they are asked for: who only evaluates should not wait for models.
_LAZY = {
    "Keyphrase": "keywright.generation.keyphrases",
    "Keywright": "keywright.generation.engine",
    "Wanted": "keywright.generation.engine",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
