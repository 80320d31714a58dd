"""Several systems on the same documents: their names, and their predictions side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from msgspec.structs import replace

from keywright import protocols
from keywright.data.documents import read_documents
from keywright.errors import KeywrightError
from keywright.evaluate import Match, Pair, pair
from keywright.matches import Matches
from keywright.protocol import Protocol
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction

Source = str | Path | Iterable[Prediction | Sequence[str]]
Watch = Callable[[Iterable[Pair], str], Iterable[Pair]]
"""Passes on the pairs that it is given, and may show progress."""

LONG_PREFIX = 12  # characters that names have in common and that are left out
_COMPRESSED = (".gz", ".xz", ".zst")


def unwatched(pairs: Iterable[Pair], _: str) -> Iterable[Pair]:
    return pairs


@dataclass(frozen=True)
class Panel:
    """The predictions of several systems for the same documents, matched under one protocol.

    `predictions` and `matches` have one entry per document, in the documents' order.
    """

    protocol: Protocol
    documents: tuple[Document, ...]
    predictions: Mapping[str, tuple[Prediction, ...]]
    matches: Mapping[str, tuple[Matches, ...]]

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.predictions)


def read_panel(
    documents: str | Path | Iterable[Document],
    systems: Mapping[str, Source],
    *,
    protocol: str | Protocol = protocols.DEFAULT,
    match: Match = "auto",
    watch: Watch = unwatched,
) -> Panel:
    """Read and match every system.

    A system with predictions for other documents is an error that names the first difference.
    """
    judge = protocols.load(protocol) if isinstance(protocol, str) else protocol
    if isinstance(documents, str | Path):
        documents = read_documents(documents, need_gold=True)
    texts = tuple(documents)
    predictions = _paired(texts, systems, match, watch)
    matches = {
        name: tuple(
            judge.match(document, prediction.texts)
            for document, prediction in zip(texts, made, strict=True)
        )
        for name, made in predictions.items()
    }
    return Panel(judge, texts, predictions, matches)


def read_systems(
    documents: Sequence[Document],
    systems: Mapping[str, Source],
    *,
    match: Match = "auto",
    watch: Watch = unwatched,
) -> dict[str, tuple[Prediction, ...]]:
    """Every system's predictions in the documents' order; the documents need no gold."""
    texts = [
        replace(document, keyphrases=()) if document.keyphrases is None else document
        for document in documents
    ]
    return _paired(texts, systems, match, watch)


def _paired(
    documents: Sequence[Document], systems: Mapping[str, Source], match: Match, watch: Watch
) -> dict[str, tuple[Prediction, ...]]:
    return {
        name: tuple(
            prediction for _, prediction in watch(pair(documents, source, match), f"Reading {name}")
        )
        for name, source in systems.items()
    }


def named(paths: Sequence[Path], names: Sequence[str] = ()) -> dict[str, Path]:
    """The files of systems by name; default names are the shortest distinct ends of the paths."""
    if not names:
        names = _short_names(paths)
    if len(names) != len(paths):
        raise KeywrightError(
            f"there are {len(names)} names for {len(paths)} systems; give each system a name"
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise KeywrightError(f"two systems are called {repeated!r}; their names must differ")
    return dict(zip(names, paths, strict=True))


def _short_names(paths: Sequence[Path]) -> list[str]:
    ends = [(*path.parent.parts, _plain_name(path)) for path in paths]
    names: list[str] = []
    for depth in range(1, max(map(len, ends), default=0) + 1):
        names = ["/".join(end[-depth:]) for end in ends]
        if len(set(names)) == len(names):
            return _without_prefix(names)
    # Comparing a file with itself is allowed (p is then 1), so it gets two names.
    return [
        name if name not in names[:place] else f"{name} ({names[:place].count(name) + 1})"
        for place, name in enumerate(names)
    ]


def _without_prefix(names: list[str]) -> list[str]:
    """Names without the long beginning that all share: `seed1` and `seed2`, not the whole."""
    shared = "".join(
        letters[0]
        for letters in takewhile(lambda some: len(set(some)) == 1, zip(*names, strict=False))
    )
    cut = max(shared.rfind(mark) for mark in "-_./ ") + 1
    return [name[cut:] for name in names] if len(names) > 1 and cut >= LONG_PREFIX else names


def _plain_name(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in _COMPRESSED else path).stem


@lru_cache(maxsize=1 << 18)
def phrase_key(text: str) -> str:
    """The normalised stems of a phrase: equal keys mean equal phrases, whatever the protocol."""
    return " ".join(stems(normalise(text)))
