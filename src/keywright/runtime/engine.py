"""An exported model, run by ONNX Runtime: documents are read once, rows grow a step at a time.

B documents, S source positions, R rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from keywright.data.vocab import BOS, PAD
from keywright.runtime.folder import DECODER, ENCODER, Manifest
from keywright.runtime.rules import LogProbs
from keywright.runtime.session import open_session
from keywright.runtime.sources import Ids, Sources
from keywright.runtime.state import Arrays, bias

FEWEST_READ = 0.75  # the share of documents still read below which the others are let go


@dataclass(frozen=True)
class Memory:
    """B documents as the decoder sees them."""

    encoded: Arrays  # what the encoder says, [B, ...] each
    source_bias: NDArray[np.float32]  # [B, 1, 1, S] 0 at real positions, else NEVER
    copy_bias: NDArray[np.float32]  # [B, S] 0 at what can be copied, else NEVER
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
    """The two graphs of an exported model. Any number of threads may use it at once."""

    def __init__(self, folder: Path, manifest: Manifest, input_ids: Ids, threads: int):
        self.manifest = manifest
        self.input_ids = input_ids  # [V] what to read for each id that can be produced
        self._encoder = open_session(folder / ENCODER, threads)
        self._decoder = open_session(folder / DECODER, threads)
        self._encoded = [output.name for output in self._encoder.get_outputs()]
        self._asked = [asked.name for asked in self._decoder.get_inputs()]
        self._said = [output.name for output in self._decoder.get_outputs()]

    def read(self, sources: Sources) -> Memory:
        extended = sources.source_extended
        feeds = {"source": sources.source, "mask": sources.mask.astype(np.int32)}
        encoded = self._encoder.run(self._encoded, feeds)
        same = extended[:, :, None] == extended[:, None, :]
        return Memory(
            encoded=dict(zip(self._encoded, encoded, strict=True)),
            source_bias=bias(sources.mask)[:, None, None, :],
            # A source may hold marks of its own, which no output id stands for.
            copy_bias=bias(sources.mask & (extended != PAD)),
            extended=extended,
            first=same.argmax(axis=2),
            extension_inputs=sources.extension_inputs,
        )

    def step(self, feeds: Arrays) -> dict[str, Any]:
        """One step of decoding, of which each model reads what it asks for."""
        asked = {name: feeds[name] for name in self._asked}
        return dict(zip(self._said, self._decoder.run(self._said, asked), strict=True))


class Rows:
    """The rows of documents while they grow: at first as many for each as the model has."""

    def __init__(self, engine: Engine, memory: Memory):
        manifest = engine.manifest
        each = manifest.rows_per_document
        self._engine = engine
        self._memory = memory
        self._owner = np.repeat(np.arange(len(memory)), each)
        self._code = np.tile(np.arange(each), len(memory))
        self._state = manifest.state.begin(memory.encoded, self._owner)
        self._arranged = self._arrange()

    def start(self) -> Ids:
        """The first token of every row."""
        return np.full(len(self._owner), BOS, dtype=np.int64)

    def step(self, tokens: Ids) -> tuple[LogProbs, Ids]:
        """Read `tokens` [R] of the output space: the log-probabilities [R, V + X] of what follows,
        and the source position [R] most attended to."""
        feeds = {"tokens": self._inputs(tokens), **self._state.feeds(), **self._arranged}
        said = self._engine.step(feeds)
        self._state.advance(said)
        return said["log_probs"], said["attended"]

    def keep(self, index: Ids) -> None:
        """Go on with these rows only; `index` is sorted."""
        self._owner, self._code = self._owner[index], self._code[index]
        self._state.keep(index)
        read = np.unique(self._owner)
        if len(read) < FEWEST_READ * len(self._memory):
            self._memory = self._memory.select(read)
            self._owner = np.searchsorted(read, self._owner)
        self._arranged = self._arrange()

    def _arrange(self) -> dict[str, NDArray[Any]]:
        """All inputs of a step that change only when rows leave."""
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
