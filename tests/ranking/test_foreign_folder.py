"""A ranker's folder made by somebody else is checked before it is used: one line, little memory."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keywright
from keywright.errors import DataError
from keywright.files import sha256
from keywright.ranking.model import (
    COUNTS,
    FILES,
    LABELS,
    MANIFEST,
    SECOND_TREES,
    START_TREES,
    TOPICS,
    Ranker,
    RankerOptions,
    read_knowledge,
    read_manifest,
)

SHIPPED = Path(keywright.__file__).parent / "default_model"
Change = Callable[[Path], None]


def manifest(**values: Any) -> Change:
    def change(folder: Path) -> None:
        table = json.loads((folder / MANIFEST).read_text(encoding="utf-8")) | values
        (folder / MANIFEST).write_text(json.dumps(table), encoding="utf-8")

    return change


def second_trees_without_features(folder: Path) -> None:
    start = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["start"]
    manifest(start=start | {"second": []})(folder)


def labels(text: str) -> Change:
    return lambda folder: (folder / LABELS).write_text(text, encoding="utf-8") and None


def arrays(name: str, **values: Any) -> Change:
    """Replace arrays of a file; None removes one."""

    def change(folder: Path) -> None:
        with np.load(folder / name) as file:
            found = {key: file[key] for key in file.files} | values
        np.savez(folder / name, **{key: value for key, value in found.items() if value is not None})

    return change


def claimed(name: str, array: str, shape: tuple[int, ...]) -> Change:
    """An array whose header claims more numbers than there are."""

    def change(folder: Path) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<u8", "fortran_order": False, "shape": shape}
        )
        with np.load(folder / name) as file:
            others = {key: file[key] for key in file.files if key != array}
        np.savez(folder / name, **others)
        with zipfile.ZipFile(folder / name, "a") as archive:
            archive.writestr(f"{array}.npy", header.getvalue())

    return change


def bomb(folder: Path) -> None:
    """A small archive that unpacks to more than is allowed."""
    with np.load(folder / TOPICS) as file:
        others = {key: file[key] for key in file.files if key != "terms"}
    np.savez(folder / TOPICS, **others)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<u8", "fortran_order": False, "shape": (5 << 20,)}
    )
    zeros = bytes(1 << 20)
    with (
        zipfile.ZipFile(folder / TOPICS, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("terms.npy", "w", force_zip64=True) as file,
    ):
        file.write(header.getvalue())
        for _ in range(40):
            file.write(zeros)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (manifest(most_words=-1), "most_words"),
        (manifest(sizes=[1]), "platt"),
        (manifest(sizes=[], platt={"present": [], "absent": []}), "sizes"),
        (manifest(platt={}), "platt"),
        (manifest(features={"present": ["a"], "absent": []}), "features"),
        (second_trees_without_features, "second trees"),
        (labels("[["), LABELS),
        (labels('[["", []]]'), "keyphrase 1 is empty"),
        (labels("[" * 5000 + "]" * 5000), LABELS),
        (labels("[]"), "labels"),
        (arrays(COUNTS, phrases=None), "phrases is missing"),
        (arrays(COUNTS, phrases=np.uint64(1)), "0 dimensions"),
        (arrays(COUNTS, words=np.array(["a"])), "does not contain numbers"),
        (arrays(TOPICS, idf=np.ones(3, np.float16)), "terms"),
        (claimed(COUNTS, "phrases", (10**12,)), "more than"),
        (bomb, "more than"),
        (lambda folder: (folder / TOPICS).write_bytes(b"PK") and None, TOPICS),
    ],
)
def test_what_does_not_fit_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, named: str
) -> None:
    monkeypatch.setattr("keywright.ranking.arrays.MAX_BYTES", 1 << 25)  # to unpack less
    folder = tmp_path / "ranker"
    shutil.copytree(SHIPPED, folder)
    change(folder)
    names = (*FILES, *START_TREES.values(), SECOND_TREES)
    files = {name: sha256(folder / name) for name in names}
    manifest(files=files)(folder)  # the hashes are right
    with pytest.raises(DataError, match=named) as error:
        read_knowledge(folder, read_manifest(folder))
    assert "\n" not in str(error.value)


def test_the_shipped_folder_fits() -> None:
    assert Ranker(SHIPPED, RankerOptions()).manifest.most_words == 1000
