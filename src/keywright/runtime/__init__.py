"""Exported models run by ONNX Runtime, without torch.

`load("folder").predict(documents)` streams predictions; see `predictor.Predictor`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keywright.decoding.batched import Batched
    from keywright.runtime.decoder import ExportedDecoder
    from keywright.runtime.folder import ExportManifest

# More threads help little, because decoding steps are small.
MAX_THREADS = 4


def load(
    folder: str | Path,
    *,
    decode: str | None = None,
    settings: Sequence[str] = (),
    batch: int | None = None,
    max_source: int | None = None,
    threads: int | None = None,
) -> Batched[ExportedDecoder]:
    """The model in a folder that `keywright export` wrote.

    `decode` is "greedy", the default, or "expected_f1"; `settings` are KEY=VALUE settings of it,
    which override those of the run; `batch` is how many documents are decoded together,
    `max_source` how many tokens of each are read.
    """
    from keywright.runtime.folder import read_manifest

    manifest = read_manifest(Path(folder))
    return from_manifest(
        Path(folder),
        manifest,
        decode=decode,
        settings=settings,
        batch=batch,
        max_source=max_source,
        threads=threads,
    )


def from_manifest(
    folder: Path,
    manifest: ExportManifest,
    *,
    decode: str | None = None,
    settings: Sequence[str] = (),
    batch: int | None = None,
    max_source: int | None = None,
    threads: int | None = None,
) -> Batched[ExportedDecoder]:
    """The same, with a manifest that has been read and checked, or not yet been written."""
    # Imported here, because what only reads the folder does not need ONNX Runtime.
    from keywright import config
    from keywright.decoding.batched import Batched, default_batch
    from keywright.decoding.options import ExpectedF1, Options
    from keywright.errors import ConfigError
    from keywright.runtime.decoder import ExportedDecoder, Settings

    strategies: dict[str, type[Options]] = {"greedy": Options, "expected_f1": ExpectedF1}
    strategy = strategies.get(decode or "greedy")
    if strategy is None:
        raise ConfigError(
            f"{folder} is an exported model: it can be decoded with {' or '.join(strategies)}, "
            f"not with {decode}"
        )
    # Settings of the run's own strategy do not count for another one, as with torch.
    table: dict[str, Any] = dict(manifest.decode) if strategy is Options else {}
    for setting in settings:
        config.override(table, setting.removeprefix("decode."))
    max_source = max_source or manifest.max_source
    if manifest.positions is not None and max_source > manifest.positions:
        raise ConfigError(
            f"max_source: {max_source} is more than the {manifest.positions} tokens that the "
            "encoder can read"
        )
    options = config.fill(strategy, table, "decode")
    threads = threads or min(MAX_THREADS, os.cpu_count() or 1)
    decoder = ExportedDecoder(folder, manifest, Settings(options, max_source, threads))
    rows = manifest.rows_per_document * options.beams(manifest.paradigm)
    return Batched(decoder, batch or default_batch(rows))
