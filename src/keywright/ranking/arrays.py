"""The arrays of a ranker's folder, checked before memory is allocated for them.

A folder may come from anyone: a header can claim 10^12 numbers, and a small archive can unpack to
gigabytes.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from keywright.errors import DataError

MAX_BYTES = 1 << 29  # of all arrays of a file; the shipped model has 26 MB
Sizes = Mapping[str, tuple[str, ...]]
"""The names of the dimensions of every array; equal names have equal sizes in a file."""


def read_arrays(path: Path, sizes: Sizes, known: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file, whose dimensions fit each other and the `known` ones."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_shapes({name: _shape(archive, name) for name in sizes}, sizes, known, path)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in sizes}
    except (
        ValueError,
        OSError,
        EOFError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ) as e:
        raise DataError(f"cannot be read: {e}", path) from None


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """The shape of an array of numbers, from its header; `ValueError` if it cannot be right."""
    if f"{name}.npy" not in archive.namelist():
        raise ValueError(f"the array {name} is missing")
    with archive.open(f"{name}.npy") as file:
        shape, kind = _header(file)
    size = math.prod(shape) * kind.itemsize
    if kind.hasobject or kind.kind not in "uif":
        raise ValueError(f"the array {name} does not contain numbers")
    if size > MAX_BYTES or archive.getinfo(f"{name}.npy").file_size > MAX_BYTES:
        raise ValueError(f"the array {name} has {size:,} bytes, more than {MAX_BYTES:,}")
    return shape


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"npy version {version} is not supported")
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, kind = read(file)
    return shape, kind


def _check_shapes(
    shapes: Mapping[str, tuple[int, ...]], sizes: Sizes, known: Mapping[str, int], path: Path
) -> None:
    found = dict(known)
    for name, shape in shapes.items():
        if len(shape) != len(sizes[name]):
            raise DataError(f"the array {name} has {len(shape)} dimensions", path)
        for dimension, size in zip(sizes[name], shape, strict=True):
            if found.setdefault(dimension, size) != size:
                raise DataError(
                    f"the array {name} has {size:,} {dimension}, not {found[dimension]:,}", path
                )
