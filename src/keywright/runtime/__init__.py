"""The torch-free engine: exported models, run by ONNX Runtime.

`load("folder").predict(documents)` streams predictions; see `predictor.Predictor`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keywright.runtime.batched import Batched
    from keywright.runtime.greedy import Greedy

# More than these help little: steps of decoding are small, and others may want to work too.
MOST_THREADS = 4


def load(
    folder: str | Path,
    *,
    settings: Sequence[str] = (),
    batch: int | None = None,
    max_source: int | None = None,
    threads: int | None = None,
) -> Batched[Greedy]:
    """The model of a folder that `keywright export` wrote.

    `settings` are KEY=VALUE of greedy decoding, put over those of the run; `batch` is how many
    documents are decoded together, `max_source` how many tokens of each are read.
    """
    # Imported here: torch's decoders use other files of this package, but not ONNX Runtime.
    from keywright import config
    from keywright.errors import ConfigError
    from keywright.runtime.batched import Batched, default_batch
    from keywright.runtime.folder import read_manifest
    from keywright.runtime.greedy import Greedy, Settings
    from keywright.runtime.options import Options

    manifest = read_manifest(Path(folder))
    table: dict[str, Any] = dict(manifest.decode)
    for setting in settings:
        config.override(table, setting.removeprefix("decode."))
    max_source = max_source or manifest.max_source
    if manifest.positions is not None and max_source > manifest.positions:
        raise ConfigError(
            f"max_source: {max_source} is more than the {manifest.positions} the encoder can read"
        )
    options = config.fill(Options, table, "decode")
    threads = threads or min(MOST_THREADS, os.cpu_count() or 1)
    greedy = Greedy(Path(folder), manifest, Settings(options, max_source, threads))
    return Batched(greedy, batch or default_batch(manifest.rows_per_document))
