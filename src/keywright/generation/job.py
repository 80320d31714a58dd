"""What to do with every document, in a form that can be sent to other processes and machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keywright.files import sha256
from keywright.generation.engine import Keywright, Selection
from keywright.generation.vocabulary import Mode
from keywright.vocabularies.terms import Terms


class VocabularyFile(NamedTuple):
    path: Path
    mode: Mode
    language: str
    fuzzy: float | None


@dataclass(frozen=True)
class Job:
    model: str
    selection: Selection
    threads: int | None = None
    vocabulary: VocabularyFile | None = None
    calibration: Path | None = None


@cache
def engine(job: Job) -> Keywright:
    """The model of this process, loaded on first use."""
    options: dict[str, Any] = {"threads": job.threads, "calibration": job.calibration}
    if job.vocabulary is None:
        return Keywright(job.model, **options)
    return Keywright(
        job.model,
        vocabulary=terms(job.vocabulary),
        vocabulary_mode=job.vocabulary.mode,
        **options,
    )


@cache
def terms(file: VocabularyFile) -> Terms:
    return Terms.load(file.path, language=file.language, fuzzy=file.fuzzy)


def settings(job: Job) -> dict[str, Any]:
    """Everything that the keyphrases depend on besides the documents."""
    words = job.vocabulary
    known = None if words is None else {**words._asdict(), "path": sha256(words.path)}
    used = msgspec.to_builtins(engine(job).settings, enc_hook=str)
    return {"model": used, "selection": job.selection, "vocabulary": known}
