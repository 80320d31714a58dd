"""keywright: keyphrase generation, evaluation and calibration."""

__version__ = "0.1.0"

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keywright.errors import KeywrightError
    from keywright.evaluate import Evaluation, evaluate
    from keywright.generation.engine import Keywright, Selection
    from keywright.generation.found import Keyphrases
    from keywright.generation.keyphrases import Keyphrase
    from keywright.types import Document, Prediction, ScoredPhrase

__all__ = [
    "Document",
    "Evaluation",
    "Keyphrase",
    "Keyphrases",
    "Keywright",
    "KeywrightError",
    "Prediction",
    "ScoredPhrase",
    "Selection",
    "evaluate",
]

# Imported on first use, so that `keywright --help` does not load numpy and evaluation does not
# load models.
_HOME = {
    "Document": "keywright.types",
    "Evaluation": "keywright.evaluate",
    "Keyphrase": "keywright.generation.keyphrases",
    "Keyphrases": "keywright.generation.found",
    "Keywright": "keywright.generation.engine",
    "KeywrightError": "keywright.errors",
    "Prediction": "keywright.types",
    "ScoredPhrase": "keywright.types",
    "Selection": "keywright.generation.engine",
    "evaluate": "keywright.evaluate",
}


class _Package(ModuleType):
    """Loads public names on first use and keeps `keywright.evaluate` the function."""

    def __getattr__(self, name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = vars(import_module(_HOME[name]))[name]
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted([*__all__, "__version__"])

    def __setattr__(self, name: str, value: object) -> None:
        # Python binds an imported submodule to its name in the package; here that name belongs to
        # the function that the submodule defines.
        if name == "evaluate" and isinstance(value, ModuleType):
            value = vars(value)[name]
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
