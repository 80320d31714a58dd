"""From the folder of a trained run to one that needs no torch: ONNX graphs, checked on the spot."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

import keywright
from keywright import config as configs
from keywright import runtime
from keywright.calibration.recalibrate import Recalibrator
from keywright.errors import ConfigError, DataError, KeywrightError, MissingExtraError
from keywright.predictor import source_length
from keywright.runtime import folder as folders
from keywright.runtime.folder import (
    CONFIDENCE,
    DECODER,
    ENCODER,
    FILES,
    MANIFEST,
    VOCABULARY,
    WEIGHTS,
)
from keywright.runtime.options import Options
from keywright.runtime.state import CacheShape, HiddenNames
from keywright.training import run as runs
from keywright.types import Document

try:
    from keywright.export import pointer_transformer, recurrent
    from keywright.export.parity import Parity, compare, made_up
    from keywright.nn.graph import Graph, Weights
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise MissingExtraError("exporting a model", "onnx", "export") from None


class Family(Protocol):
    """A module that writes the graphs of some models."""

    def state(self, model: Any) -> CacheShape | HiddenNames: ...

    def write_encoder(self, graph: Graph, model: Any) -> None: ...

    def write_decoder(self, graph: Graph, model: Any) -> None: ...


FAMILIES: dict[str, Family] = {
    "cat_seq": recurrent,
    "cat_seq_d": recurrent,
    "pretrained_one2seq": pointer_transformer,
    "pretrained_one2set": pointer_transformer,
    "transformer_one2seq": pointer_transformer,
    "transformer_one2set": pointer_transformer,
}
"""By the name of the model. A subclass may compute something else, so that names decide."""

_LIBRARIES = ("numpy", "onnx", "onnxruntime", "torch")
# The largest difference of log-probabilities: rounding, in sums of some thousand 32-bit numbers.
TOLERANCE = 1e-3
# int8 is rounding too, of another kind; what is farther off is broken, and not merely coarse.
INT8_TOLERANCE = 0.5  # of the mean difference
INT8_AGREEMENT = 0.5  # the share of steps that must say the same


class ParityError(KeywrightError):
    """An exported model that does not say what its original says."""


def export(
    run_folder: str | Path,
    output: str | Path,
    *,
    int8: bool = False,
    documents: Sequence[Document] = (),
    confidence: str | Path | None = None,
) -> Parity:
    """Write the model of a run to the new folder `output`, if it says there what it says in torch.

    They are compared over `documents`, or over some that are made up. `confidence` is the file of
    a recalibrator fitted to the model's predictions: those of the exported model then carry the
    probability that each phrase is right.
    """
    output = Path(output)
    recalibrator = None if confidence is None else Recalibrator.from_json(Path(confidence))
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise DataError("exists and is not an empty folder; name another with --output", output)
    run = runs.load(run_folder)
    if run.config.model.name not in FAMILIES:
        raise ConfigError(
            f"{run_folder}: {run.config.model.name} models cannot be exported; those that can are: "
            + ", ".join(FAMILIES)
        )
    draft = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        draft.mkdir(parents=True)
        if recalibrator is not None:
            recalibrator.save(draft / CONFIDENCE)
        write(draft, run, int8=int8)
        parity = _checked(draft, run.model, documents, int8=int8)
        _describe(draft, run, int8=int8, parity=msgspec.to_builtins(parity))
        draft.rename(output)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}", output) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return parity


def write(folder: Path, run: runs.Run, *, int8: bool) -> None:
    """All files of an exported model, not yet compared with torch."""
    weights = Weights(folder / WEIGHTS)
    family = FAMILIES[run.config.model.name]
    for name, build in ((ENCODER, family.write_encoder), (DECODER, family.write_decoder)):
        graph = Graph(name.removesuffix(".onnx"), weights, int8=int8)
        build(graph, run.model)
        graph.save(folder / name)
    weights.save()
    shutil.copyfile(run.folder / runs.VOCABULARY, folder / VOCABULARY)
    _describe(folder, run, int8=int8, parity={})


def _checked(folder: Path, model: Any, documents: Sequence[Document], *, int8: bool) -> Parity:
    exported = runtime.load(folder).decode
    batches = [documents[i : i + 8] for i in range(0, len(documents), 8)]
    parity = compare(model, exported, batches or made_up(exported.vocabulary))
    if int8:
        right = parity.mean <= INT8_TOLERANCE and parity.agreement >= INT8_AGREEMENT
    else:
        right = parity.largest <= TOLERANCE and parity.same + parity.tied == parity.steps
    if not right:
        raise ParityError(
            "the exported model does not say what the run says: "
            f"log-probabilities differ by up to {parity.largest:.2g} ({parity.mean:.2g} on "
            f"average), {parity.same} of {parity.steps} steps agree; nothing was written"
        )
    return parity


def _describe(folder: Path, run: runs.Run, *, int8: bool, parity: dict[str, Any]) -> None:
    model: Any = run.model
    manifest = folders.Manifest(
        format=folders.FORMAT,
        keywright=keywright.__version__,
        versions={name: importlib.metadata.version(name) for name in _LIBRARIES},
        paradigm=runs.paradigm(run.config),
        vocabulary=run.config.data.vocabulary,
        rows_per_document=model.rows_per_document,
        state=FAMILIES[run.config.model.name].state(model),
        max_source=source_length(run.config),
        positions=run.config.model.settings.get("positions"),
        int8=int8,
        decode=_greedy(run.config.decode),
        parity=parity,
        config=configs.to_table(run.config),
        files={
            name: folders.sha256(folder / name)
            for name in (*FILES, CONFIDENCE)
            if name in FILES or (folder / name).exists()
        },
    )
    content = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    (folder / MANIFEST).write_bytes(content)


def _greedy(decode: configs.Part) -> dict[str, Any]:
    """What of the run's own strategy greedy decoding understands."""
    known = {field.name for field in dataclasses.fields(Options)}
    return {name: value for name, value in decode.settings.items() if name in known}
