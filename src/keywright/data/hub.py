"""Rows of a Hugging Face dataset: `hf:midas/inspec`, `hf:owner/name?split=train&config=raw`.

After `hf:` comes a name on the hub, or a folder that `Dataset.save_to_disk` wrote. The default
split is `test`, or the only split if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from keywright.errors import DataError, MissingExtraError

PREFIX = "hf:"


def is_hub(path: str | Path) -> bool:
    return str(path).startswith(PREFIX)


def rows(path: str | Path) -> Iterator[dict[str, Any]]:
    name, _, query = str(path).removeprefix(PREFIX).partition("?")
    options = dict(parse_qsl(query))
    config, split = options.pop("config", None), options.pop("split", None)
    if options:
        raise DataError(f"unknown option {next(iter(options))!r}; known: config, split", path)
    if config is None and name.startswith("midas/"):
        config = "raw"  # the only configuration that has both texts and keyphrases
    yield from _split(_load(name, config, path), split, path)


def _load(name: str, config: str | None, path: str | Path) -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingExtraError(f"reading {path}", "datasets", "datasets") from None
    try:
        if Path(name).is_dir():
            return datasets.load_from_disk(name)
        return datasets.load_dataset(name, config)
    except Exception as error:  # of the library, the file system or the network
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"cannot be loaded with Hugging Face datasets: {reason}", path) from error


def _split(dataset: Any, split: str | None, path: str | Path) -> Any:
    if not isinstance(dataset, dict):  # a single split that was saved
        return dataset
    if split is None:
        split = next(iter(dataset)) if len(dataset) == 1 else "test"
    if split not in dataset:
        raise DataError(f"has no split {split!r}; it has: {', '.join(dataset)}", path)
    return dataset[split]
