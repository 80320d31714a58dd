"""The file name is the name: look up a part that lives in a folder of the package.

A part is a module in `metrics/`, `protocols/`, `models/`, `lexicons/`, `data/readers/`, ... Its
file name is its name in TOML and on the command line, so adding one touches no other file. Only the
module that was named is imported: a missing optional library affects only its own part.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from keywright.errors import UnknownNameError


def names(package: str) -> list[str]:
    """The parts of a package such as `keywright.protocols`; `_private` modules are not parts."""
    folder = importlib.import_module(package)
    return sorted(
        module.name
        for module in pkgutil.iter_modules(folder.__path__)
        if not module.name.startswith("_")
    )


def module(package: str, name: str, noun: str | None = None) -> ModuleType:
    """The part `name` of a package, or an error that suggests the most similar name.

    The error calls the part a `noun`: by default the package's name without its plural "s".
    """
    known = names(package)
    if name not in known:
        raise UnknownNameError(noun or package.rpartition(".")[2].removesuffix("s"), name, known)
    return importlib.import_module(f"{package}.{name}")
