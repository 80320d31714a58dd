"""Two files line by line: a source file and its target file beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from keywright.errors import DataError
from keywright.files import Bad, read_lines

# One2Set and Chan's KP20k, fairseq, Chan's other test sets.
_NAMES = (("src", "trg"), ("src", "tgt"), ("source", "target"), ("context", "allkeywords"))
_COMPRESSED = ("", ".gz", ".xz", ".zst")


def find_target(path: str | Path) -> Path | None:
    """`test_src.txt.gz` -> `test_trg.txt` (or `.gz`, `.xz`, `.zst`) where it exists."""
    plain = _plain(Path(path))
    for source, target in _NAMES:
        twin = _renamed(plain, source, target)
        for suffix in _COMPRESSED if twin else ():
            if (file := Path(f"{twin}{suffix}")).is_file():
                return file
    return None


def target_path(path: str | Path) -> Path:
    """Where the target belongs of a source that is to be written."""
    plain = _plain(Path(path))
    for source, target in _NAMES:
        if twin := _renamed(plain, source, target):
            return Path(f"{twin}{str(Path(path)).removeprefix(str(plain))}")
    raise DataError("is no name for a source file; one such as test_src.txt has a twin", path)


def _plain(path: Path) -> Path:
    """A path without `.gz` and its like."""
    return path.with_suffix("") if path.suffix in _COMPRESSED[1:] else path


def _renamed(path: Path, source: str, target: str) -> Path | None:
    """The path with the last word `source` of its name replaced, None where there is none."""
    found = list(re.finditer(rf"(?<![A-Za-z]){source}(?![A-Za-z])", path.name))
    if not found:
        return None
    start, end = found[-1].span()
    return path.with_name(path.name[:start] + target + path.name[end:])


def paired_lines(path: str | Path, bad: Bad) -> Iterator[tuple[int, str, str | None]]:
    """Numbered source and target lines; None for every target where there is no target file."""
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
                bad(_one_sided(target, at, path, number))
                return
            at, gold = following
        if at == number:  # or else the target line was bad, which has been said
            yield number, line, gold
    if (following := next(targets, None)) is not None:
        bad(_one_sided(path, number, target, following[0]))


def _one_sided(short: str | Path, last: int, long: str | Path, number: int) -> DataError:
    return DataError(
        f"ends at line {last}, but its twin {long} has a line {number}; "
        "source and target need the same number of lines",
        short,
        max(last, 1),
    )
