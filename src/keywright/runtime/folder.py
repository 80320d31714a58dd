"""The folder of an exported model: ONNX graphs, their weights, the vocabulary, and a manifest.

manifest.json     what the model is, where it comes from, and the SHA-256 of the other files
encoder.onnx      encodes documents
decoder.onnx      one decoding step
weights.bin       the weights of both graphs
vocabulary.json   see `keywright.lexicon`
confidence.json   a recalibrator, if the model has one

The folder contains no code: loading one from an unknown source runs none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from keywright.config import Count
from keywright.data.targets import Paradigm
from keywright.errors import DataError
from keywright.files import NOT_JSON, sha256
from keywright.runtime.state import CacheShape, HiddenNames

MANIFEST = "manifest.json"
ENCODER = "encoder.onnx"
DECODER = "decoder.onnx"
WEIGHTS = "weights.bin"
VOCABULARY = "vocabulary.json"
CONFIDENCE = "confidence.json"
FILES = (ENCODER, DECODER, WEIGHTS, VOCABULARY)
FORMAT = 3


class ExportManifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    keywright: str  # the version that exported it
    versions: dict[str, str]  # of the libraries that were used
    paradigm: Paradigm
    # 1, or the number of slots of a set model. Limits, because a manifest may be anyone's.
    rows_per_document: Annotated[int, Meta(ge=1, le=1000)]
    state: CacheShape | HiddenNames  # what rows carry from step to step
    max_source: Annotated[int, Meta(ge=1, le=1 << 20)]  # tokens that are read by default
    positions: Count | None  # the largest number of tokens that can be read
    int8: bool
    decode: dict[str, Any]  # settings of greedy search; other strategies begin with their defaults
    parity: dict[str, Any]  # how close it is to torch, measured when it was exported
    config: dict[str, Any]  # the whole config of the run
    files: dict[str, str]  # SHA-256 by name
    prefix: tuple[int, ...] = ()  # what a row reads before its first token; empty: only `bos`


def is_exported(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> ExportManifest:
    """The manifest of a folder, checked against the files that are there."""
    path = folder / MANIFEST
    if not path.is_file():
        raise DataError(f"is not an exported model: it has no {MANIFEST}", folder)
    try:
        version = msgspec.json.decode(path.read_bytes(), type=_Version)
        if version.format != FORMAT:
            raise DataError(
                f"has format {version.format}, but this version of keywright reads format "
                f"{FORMAT}; export the model again",
                path,
            )
        manifest = msgspec.json.decode(path.read_bytes(), type=ExportManifest)
    except NOT_JSON as error:
        raise DataError(f"does not describe an exported model: {error}", path) from None
    for name in FILES:
        _check(folder / name, manifest.files.get(name))
    if CONFIDENCE in manifest.files or (folder / CONFIDENCE).exists():
        _check(folder / CONFIDENCE, manifest.files.get(CONFIDENCE))
    return manifest


class _Version(msgspec.Struct):
    format: int


def _check(path: Path, digest: str | None) -> None:
    if not path.is_file():
        raise DataError("is missing; export the model again", path)
    if sha256(path) != digest:
        raise DataError(f"is not the file that {MANIFEST} describes; export it again", path)
