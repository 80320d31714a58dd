"""The folder of an exported model: ONNX graphs, their weights, the vocabulary, and a manifest.

manifest.json     what the model is, where it comes from, and the SHA-256 of the other files
encoder.onnx      reads documents
decoder.onnx      one step of decoding
weights.bin       of both graphs
vocabulary.json
confidence.json   a recalibrator, if the model has one: what its probabilities are worth

Nothing in it is code: loading a folder from anywhere runs none.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from keywright.data.subword import SubwordVocabulary
from keywright.data.targets import Paradigm
from keywright.data.vocab import Lexicon, Vocabulary
from keywright.errors import DataError
from keywright.runtime.state import CacheShape, HiddenNames

MANIFEST = "manifest.json"
ENCODER = "encoder.onnx"
DECODER = "decoder.onnx"
WEIGHTS = "weights.bin"
VOCABULARY = "vocabulary.json"
CONFIDENCE = "confidence.json"
FILES = (ENCODER, DECODER, WEIGHTS, VOCABULARY)
FORMAT = 2

_VOCABULARIES: dict[str, type[Vocabulary] | type[SubwordVocabulary]] = {
    "words": Vocabulary,
    "subwords": SubwordVocabulary,
}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    keywright: str  # the version that exported it
    versions: dict[str, str]  # of the libraries that did
    paradigm: Paradigm
    vocabulary: Literal["words", "subwords"]
    rows_per_document: int  # 1, or the number of slots of a set model
    state: CacheShape | HiddenNames  # what rows carry from step to step
    max_source: int  # tokens of a document that are read, unless told otherwise
    positions: int | None  # more cannot be read
    int8: bool
    decode: dict[str, Any]  # settings of greedy decoding
    parity: dict[str, Any]  # how near it is to torch, measured when it was exported
    config: dict[str, Any]  # the whole config of the run
    files: dict[str, str]  # SHA-256 by name


def is_exported(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """What the folder says about itself, checked against what is there."""
    path = folder / MANIFEST
    if not path.is_file():
        raise DataError(f"is not an exported model: it has no {MANIFEST}", folder)
    try:
        version = msgspec.json.decode(path.read_bytes(), type=_Version)
        if version.format != FORMAT:
            raise DataError(
                f"is of format {version.format}, this keywright reads format {FORMAT}; "
                "export the model again",
                path,
            )
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.DecodeError as error:
        raise DataError(f"does not describe an exported model: {error}", path) from None
    for name in FILES:
        _check(folder / name, manifest.files.get(name))
    if CONFIDENCE in manifest.files or (folder / CONFIDENCE).exists():
        _check(folder / CONFIDENCE, manifest.files.get(CONFIDENCE))
    return manifest


def read_vocabulary(folder: Path, manifest: Manifest) -> Lexicon:
    return _VOCABULARIES[manifest.vocabulary].load(folder / VOCABULARY)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Version(msgspec.Struct):
    format: int


def _check(path: Path, digest: str | None) -> None:
    if not path.is_file():
        raise DataError("is missing; export the model again", path)
    if sha256(path) != digest:
        raise DataError(f"is not the file that {MANIFEST} describes; export it again", path)
