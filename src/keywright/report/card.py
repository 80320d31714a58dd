"""The run card: everything that is needed to make the same report again."""

from __future__ import annotations

import hashlib
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from keywright import __version__
from keywright.data.pairs import find_target
from keywright.errors import DataError
from keywright.report.findings import CALIBRATION_RESAMPLES, Findings

_CHUNK = 1 << 20


@dataclass(frozen=True)
class File:
    """A file that the report was made from, with a digest of its bytes."""

    role: str
    name: str
    sha256: str


def files(documents: Path, systems: Mapping[str, Path]) -> list[File]:
    """The documents, their gold if it is a separate file, and every system's predictions."""
    found = [_file("documents", documents)]
    if (twin := find_target(documents)) is not None:
        found.append(_file("gold", twin))
    return found + [_file(f"predictions of {name}", path) for name, path in systems.items()]


def _file(role: str, path: Path) -> File:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None
    return File(role, path.name, digest.hexdigest())


def entries(
    findings: Findings, sources: Sequence[File], command: Sequence[str]
) -> list[tuple[str, str]]:
    """The lines of the card as (name, value). No date: the same input gives the same report."""
    found = [(f"{file.role}: {file.name}", f"sha256 {file.sha256}") for file in sources]
    gold = f", {findings.without_gold:,} of them without gold" if findings.without_gold else ""
    found += [
        ("documents", f"{findings.documents:,}{gold}"),
        ("protocol", str(findings.panel.protocol)),
        ("protocol signature", findings.panel.protocol.signature()),
        ("seed", str(findings.settings.seed)),
        (
            "resamples",
            f"{findings.resamples:,} for scores and tests, "
            f"{CALIBRATION_RESAMPLES:,} for calibration",
        ),
        (
            "versions",
            f"keywright {__version__}, Python {platform.python_version()}, "
            f"numpy {version('numpy')}",
        ),
    ]
    if command:
        found.append(("command", shlex.join(command)))
    return found
