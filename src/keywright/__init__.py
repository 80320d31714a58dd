"""keywright: keyphrase generation, evaluation and calibration."""

__version__ = "0.1.0"

from keywright.evaluate import Evaluation, evaluate
from keywright.types import Document, Prediction, ScoredPhrase

__all__ = ["Document", "Evaluation", "Prediction", "ScoredPhrase", "evaluate"]
