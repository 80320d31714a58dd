"""An exported model run by ONNX Runtime: documents are encoded once, rows grow step by step.

B documents, S source positions, R rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from keywright.data.padding import Ids
from keywright.decoding.numpy_rules import LogProbs
from keywright.errors import DataError
from keywright.lexicon import Lexicon
from keywright.runtime.folder import DECODER, ENCODER, ExportManifest
from keywright.runtime.session import Session
from keywright.runtime.sources import Sources
from keywright.runtime.state import Arrays, bias

# What a decoding step can read, besides outputs of the encoder and the state.
ARRANGED = (
    *("tokens", "code", "source_bias", "grid", "cell"),
    *("copy_bias", "extended", "first", "extension"),
)
MIN_ACTIVE = 0.75  # if fewer documents than this share have rows left, the others are removed


@dataclass(frozen=True)
class Memory:
    """B documents as the decoder sees them."""

    encoded: Arrays  # outputs of the encoder, [B, ...] each
    source_bias: NDArray[np.float32]  # [B, 1, 1, S] 0 at real positions, else NEVER
    copy_bias: NDArray[np.float32]  # [B, S] 0 at positions that can be copied, else NEVER
    extended: Ids  # [B, S] ids in the output space
    first: Ids  # [B, S] for every position the first one with the same id
    extension_inputs: Ids  # [B, X] ids of the extension for the embedding

    def __len__(self) -> int:
        return len(self.extended)

    def select(self, index: Ids) -> Self:
        return type(self)(
            {name: array[index] for name, array in self.encoded.items()},
            self.source_bias[index],
            self.copy_bias[index],
            self.extended[index],
            self.first[index],
            self.extension_inputs[index],
        )


class Engine:
    """The two graphs of an exported model. Several threads may use it at the same time."""

    def __init__(self, folder: Path, manifest: ExportManifest, vocabulary: Lexicon, threads: int):
        self.manifest = manifest
        self.special = vocabulary.special
        # [V] the input id of each id that can be generated
        self.input_ids = np.array(vocabulary.input_ids, dtype=np.int64)
        self._encoder = Session(folder / ENCODER, threads)
        self._decoder = Session(folder / DECODER, threads)
        _check_names(self._encoder, self._decoder, manifest)

    def read(self, sources: Sources) -> Memory:
        extended = sources.source_extended
        mask = sources.mask.astype(np.int32)
        encoded = self._encoder.run({"source": sources.source, "mask": mask})
        _check_lengths(self._encoder, encoded, len(extended))
        same = extended[:, :, None] == extended[:, None, :]
        return Memory(
            encoded=encoded,
            source_bias=bias(sources.mask)[:, None, None, :],
            # A source may contain special tokens, which cannot be copied.
            copy_bias=bias(sources.mask & (extended != self.special.pad)),
            extended=extended,
            first=same.argmax(axis=2),
            extension_inputs=sources.extension_inputs,
        )

    def step(self, feeds: Arrays) -> dict[str, Any]:
        """One decoding step; models read different subsets of `feeds`."""
        outputs = self._decoder.run({name: feeds[name] for name in self._decoder.inputs})
        _check_lengths(self._decoder, outputs, len(feeds["tokens"]))
        size = len(self.input_ids) + feeds["extension"].shape[1]
        if outputs["log_probs"].shape[1:] != (size,) or outputs["attended"].ndim != 1:
            raise DataError(f"does not return {size} log-probabilities", self._decoder.path)
        return outputs


def _check_names(encoder: Session, decoder: Session, manifest: ExportManifest) -> None:
    """An error for graphs that do not fit each other: a folder may come from anyone."""
    read = {*ARRANGED, *encoder.outputs, *manifest.state.inputs}
    for session, known, needed in (
        (encoder, {"source", "mask"}, manifest.state.encoded),
        (decoder, read, {"log_probs", "attended", *manifest.state.outputs}),
    ):
        unknown, missing = set(session.inputs) - known, set(needed) - set(session.outputs)
        if unknown or missing:
            named = ", ".join(sorted(unknown or missing))
            what = "reads" if unknown else "does not return"
            raise DataError(f"does not fit the other files: it {what} {named}", session.path)


def _check_lengths(session: Session, found: Arrays, rows: int) -> None:
    for name, array in found.items():
        if not array.ndim or len(array) != rows:
            raise DataError(f"returns {name} of shape {array.shape} for {rows} rows", session.path)


class GrowingRows:
    """The rows of documents while they grow; at first, all rows that the model has for each,
    every one of them `times` times."""

    def __init__(self, engine: Engine, memory: Memory, times: int = 1):
        manifest = engine.manifest
        codes = np.repeat(np.arange(manifest.rows_per_document), times)
        self._engine = engine
        self._memory = memory
        self._owner = np.repeat(np.arange(len(memory)), len(codes))
        self._code = np.tile(codes, len(memory))
        self._state = manifest.state.begin(memory.encoded, self._owner)
        self._arranged = self._arrange()
        *before, self._first = manifest.prefix or (engine.special.bos,)
        for token in before:
            self.step(np.full(len(self._owner), token, dtype=np.int64))

    def start(self) -> Ids:
        """The first token of every row."""
        return np.full(len(self._owner), self._first, dtype=np.int64)

    def step(self, tokens: Ids) -> tuple[LogProbs, Ids]:
        """Read `tokens` [R] of the output space; return the log-probabilities [R, V + X] of the
        next tokens and the source position [R] most attended to."""
        feeds = {"tokens": self._inputs(tokens), **self._state.feeds(), **self._arranged}
        outputs = self._engine.step(feeds)
        self._state.advance(outputs)
        return outputs["log_probs"], outputs["attended"]

    def keep(self, index: Ids) -> None:
        """Continue with these rows only; `index` is sorted."""
        self._owner, self._code = self._owner[index], self._code[index]
        self._state.keep(index)
        read = np.unique(self._owner)
        if len(read) < MIN_ACTIVE * len(self._memory):
            self._memory = self._memory.select(read)
            self._owner = np.searchsorted(read, self._owner)
        self._arranged = self._arrange()

    def _arrange(self) -> dict[str, NDArray[Any]]:
        """All inputs of a step that change only when rows are removed."""
        memory, owner = self._memory, self._owner
        counts = np.bincount(owner, minlength=len(memory))
        most = counts.max()
        place = np.arange(len(owner)) - (counts.cumsum() - counts)[owner]
        cell = owner * most + place
        grid = np.zeros(len(memory) * most, dtype=np.int64)  # an idle cell repeats the first row
        grid[cell] = np.arange(len(owner))
        extension = (len(owner), memory.extension_inputs.shape[1])
        return {
            **memory.encoded,
            "code": self._code,
            "source_bias": memory.source_bias,
            "grid": grid.reshape(len(memory), most),
            "cell": cell,
            "copy_bias": memory.copy_bias[owner],
            "extended": memory.extended[owner],
            "first": memory.first[owner],
            "extension": np.full(extension, -np.inf, dtype=np.float32),
        }

    def _inputs(self, tokens: Ids) -> Ids:
        """The ids for the embedding of tokens [R], copied ones included."""
        known = self._engine.input_ids
        size, extension = len(known), self._memory.extension_inputs
        read = known[np.minimum(tokens, size - 1)]
        copied = tokens >= size
        read[copied] = extension[self._owner[copied], tokens[copied] - size]
        return read
