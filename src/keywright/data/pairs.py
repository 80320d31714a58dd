"""Pairs of files that belong together line by line: a source file and its target file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from keywright.errors import DataError
from keywright.files import Bad, read_lines

# KP20k of One2Set and Chan et al., fairseq, the other test sets of Chan et al.
_NAMES = (("src", "trg"), ("src", "tgt"), ("source", "target"), ("context", "allkeywords"))
_COMPRESSED = ("", ".gz", ".xz", ".zst")


def find_target(path: str | Path) -> Path | None:
    """`test_src.txt.gz` -> `test_trg.txt` (or `.gz`, `.xz`, `.zst`), None if it does not exist."""
    plain = _plain(Path(path))
    for source, target in _NAMES:
        renamed = _renamed(plain, source, target)
        for suffix in _COMPRESSED if renamed else ():
            if (file := Path(f"{renamed}{suffix}")).is_file():
                return file
    return None


def target_path(path: str | Path) -> Path:
    """The name of the target file that belongs to a source file to be written."""
    plain = _plain(Path(path))
    for source, target in _NAMES:
        if renamed := _renamed(plain, source, target):
            return Path(f"{renamed}{str(Path(path)).removeprefix(str(plain))}")
    raise DataError(
        "is not the name of a source file; use one such as test_src.txt, whose target file is "
        "test_trg.txt",
        path,
    )


def _plain(path: Path) -> Path:
    """A path without the ending of a compressed file."""
    return path.with_suffix("") if path.suffix in _COMPRESSED[1:] else path


def _renamed(path: Path, source: str, target: str) -> Path | None:
    """The path with the last word `source` of its name replaced, None if there is none."""
    found = list(re.finditer(rf"(?<![A-Za-z]){source}(?![A-Za-z])", path.name))
    if not found:
        return None
    start, end = found[-1].span()
    return path.with_name(path.name[:start] + target + path.name[end:])


def paired_lines(path: str | Path, bad: Bad) -> Iterator[tuple[int, str, str | None]]:
    """Numbered source and target lines; targets are None if there is no target file."""
    target = find_target(path)
    if target is None:
        yield from ((number, line, None) for number, line in read_lines(path, bad))
        return
    targets = read_lines(target, bad)
    at, gold = 0, ""
    number = 0
    for number, line in read_lines(path, bad):
        while at < number:
            following = next(targets, None)
            if following is None:
                bad(_unequal(target, at, path, number))
                return
            at, gold = following
        if at == number:  # otherwise the target line was bad, which has been reported
            yield number, line, gold
    if (following := next(targets, None)) is not None:
        bad(_unequal(path, number, target, following[0]))


def _unequal(short: str | Path, last: int, long: str | Path, number: int) -> DataError:
    return DataError(
        f"ends at line {last}, but {long} has a line {number}; source and target need the same "
        "number of lines",
        short,
        max(last, 1),
    )
