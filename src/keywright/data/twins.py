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
    """`test_src.txt.gz` -> `test_trg.txt` (or `.gz`, `.xz`, `.zst`) in the same folder."""
    path = Path(path)
    name = path.name.removesuffix(path.suffix) if path.suffix in _COMPRESSED else path.name
    for source, target in _NAMES:
        found = list(re.finditer(rf"(?<![A-Za-z]){source}(?![A-Za-z])", name))
        if not found:
            continue
        twin = name[: found[-1].start()] + target + name[found[-1].end() :]
        for suffix in _COMPRESSED:
            if (file := path.with_name(twin + suffix)).is_file():
                return file
    return None


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
