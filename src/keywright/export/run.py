"""From the folder of a trained run to one that needs no torch: ONNX graphs, checked at once."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

import keywright
from keywright import config as configs
from keywright import parts, runs, runtime
from keywright.calibration.recalibrate import Recalibrator
from keywright.decoding.options import Options
from keywright.errors import ConfigError, DataError, KeywrightError, MissingExtraError
from keywright.files import drafted, exclusive, sha256
from keywright.nn.model import Model
from keywright.runtime.folder import (
    CONFIDENCE,
    DECODER,
    ENCODER,
    FILES,
    FORMAT,
    MANIFEST,
    VOCABULARY,
    WEIGHTS,
    ExportManifest,
)
from keywright.runtime.state import CacheShape, HiddenNames
from keywright.types import Document

try:
    from keywright.export.graph import Graph, Weights
    from keywright.export.parity import Parity, compare, random_documents
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise MissingExtraError("exporting a model", "onnx", "export") from None

GRAPHS = "keywright.export.graphs"
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "torch")
# The largest difference of log-probabilities: rounding, in sums of some thousand 32-bit numbers.
TOLERANCE = 1e-3
# int8 rounds as well, but more coarsely; beyond these bounds a model is broken, not just coarse.
INT8_TOLERANCE = 0.5  # of the mean difference
INT8_AGREEMENT = 0.5  # the share of steps that must have the same most likely token


class Family(Protocol):
    """What a module of `export.graphs` exposes."""

    def state(self, model: Any) -> CacheShape | HiddenNames: ...

    def write_encoder(self, graph: Graph, model: Any) -> None: ...

    def write_decoder(self, graph: Graph, model: Any) -> None: ...


class ParityError(KeywrightError):
    """An exported model that does not predict what its original predicts."""


def export(
    run_folder: str | Path,
    output: str | Path,
    *,
    int8: bool = False,
    documents: Sequence[Document] = (),
    confidence: str | Path | None = None,
) -> Parity:
    """Write the model of a run to the new folder `output`, if it predicts there what torch does.

    Both are compared on `documents`, or on random ones. `confidence` is the file of a recalibrator
    fitted to the model's predictions: each phrase that the exported model predicts then has the
    probability that it is correct.
    """
    output = Path(output)
    recalibrator = None if confidence is None else Recalibrator.from_json(Path(confidence))
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise DataError("exists and is not an empty folder; name another with --output", output)
    run = runs.load(run_folder)
    family_of(run)  # before anything is written
    run.model.fold()
    output.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(output), drafted(output) as draft:
        if recalibrator is not None:
            recalibrator.save(draft / CONFIDENCE)
        write(draft, run, int8=int8)
        manifest = _manifest(draft, run, int8=int8)
        parity = _checked(draft, manifest, run.model, documents)
        # Last, when everything it describes has been checked: without it nothing can be loaded.
        checked = msgspec.structs.replace(manifest, parity=msgspec.to_builtins(parity))
        runs.write_whole(
            draft / MANIFEST, msgspec.json.format(msgspec.json.encode(checked)) + b"\n"
        )
    return parity


def family_of(run: runs.Run) -> Family:
    """The module that writes the graphs of a run's model."""
    graphs = run.model.graphs
    if graphs is None:
        raise ConfigError(
            f"{run.folder}: models of type {run.config.model.name} cannot be exported to ONNX"
        )
    return cast(Family, parts.module(GRAPHS, graphs, "family of graphs"))


def write(folder: Path, run: runs.Run, *, int8: bool) -> None:
    """All files of an exported model, not yet compared with torch."""
    weights = Weights(folder / WEIGHTS)
    family = family_of(run)
    for name, build in ((ENCODER, family.write_encoder), (DECODER, family.write_decoder)):
        graph = Graph(name.removesuffix(".onnx"), weights, int8=int8)
        build(graph, run.model)
        graph.save(folder / name)
    weights.save()
    shutil.copyfile(run.folder / runs.VOCABULARY, folder / VOCABULARY)


def _checked(
    folder: Path, manifest: ExportManifest, model: Model, documents: Sequence[Document]
) -> Parity:
    exported = runtime.from_manifest(folder, manifest).decode
    batches = [documents[i : i + 8] for i in range(0, len(documents), 8)]
    parity = compare(model, exported, batches or random_documents(exported.vocabulary))
    if manifest.int8:
        right = parity.mean <= INT8_TOLERANCE and parity.agreement >= INT8_AGREEMENT
    else:
        right = parity.largest <= TOLERANCE and parity.same + parity.tied == parity.steps
    if not right:
        raise ParityError(
            "the exported model does not predict what the run predicts: "
            f"log-probabilities differ by up to {parity.largest:.2g} ({parity.mean:.2g} on "
            f"average), {parity.same} of {parity.steps} steps agree; nothing was written"
        )
    return parity


def _manifest(folder: Path, run: runs.Run, *, int8: bool) -> ExportManifest:
    return ExportManifest(
        format=FORMAT,
        keywright=keywright.__version__,
        versions={name: importlib.metadata.version(name) for name in _LIBRARIES},
        paradigm=run.model.paradigm,
        rows_per_document=run.model.rows_per_document,
        state=family_of(run).state(run.model),
        prefix=run.model.prefix,
        max_source=runs.source_length(run.config),
        positions=run.config.model.settings.get("positions"),
        int8=int8,
        decode=_greedy(run.config.decode),
        parity={},
        config=configs.to_table(run.config),
        files={
            name: sha256(folder / name)
            for name in (*FILES, CONFIDENCE)
            if name in FILES or (folder / name).exists()
        },
    )


def _greedy(decode: configs.Part) -> dict[str, Any]:
    """The settings of the run's own strategy that greedy decoding has as well."""
    known = {field.name for field in dataclasses.fields(Options)}
    return {name: value for name, value in decode.settings.items() if name in known}
