"""Published evaluation protocols, one file each: how to filter, split, divide and average.

A protocol reads the gold and the predicted phrases of a document, turns them into `Matches`, and
has the `ScoringRules` by which metrics turn matches into numbers. Its parameters are its `Config`;
`chan19:unk=valid` is a protocol with one parameter set.
"""

from __future__ import annotations

from collections.abc import Iterable

from keywright import parts
from keywright.protocol import Protocol, configure

DEFAULT = "chan19"
ALIASES = {"meng": "yuan20", "meng_yuan20": "yuan20"}


def names() -> list[str]:
    return parts.names(__name__)


def load(text: str = DEFAULT, settings: Iterable[str] = ()) -> Protocol:
    """The protocol `name[:key=value,...]`, with additional `key=value` settings."""
    name, _, inline = text.partition(":")
    name = ALIASES.get(name, name)
    module = parts.module(__name__, name)
    given = [*filter(None, inline.split(",")), *settings]
    protocol: Protocol = module.build(configure(name, module.Config, given))
    return protocol


def side_by_side() -> list[Protocol]:
    """Every protocol and its published variants, for `--protocol all`."""
    return [
        load(name, settings)
        for name in names()
        for settings in parts.module(__name__, name).VARIANTS
    ]
