"""Reads one uploaded file in a process of its own: `python -m keywright.serving.reading NAME MOST`.

Files of strangers may be made to crash or to hang a reader, or to swell to any size. Here they can
do so without harm: the process may use little memory and time, and has nothing else to do. The file
comes on standard input; the document, or what is wrong (its text having more than MOST characters,
for one), goes to standard output as JSON.
"""

from __future__ import annotations

import sys

import msgspec

from keywright.errors import DataError
from keywright.sources import read_content
from keywright.types import Document

MEMORY = 2 << 30  # bytes of address space, libraries included
SECONDS = 60  # of processor time


class Outcome(msgspec.Struct, omit_defaults=True):
    document: Document | None = None
    problem: str | None = None
    too_long: int | None = None


def read(content: bytes, name: str, most: int) -> Outcome:
    try:
        document = read_content(content, name)
    except DataError as error:
        return Outcome(problem=str(error))
    except (MemoryError, RecursionError):
        return Outcome(problem=f"{name}: takes too much memory to read")
    if (length := len(document.text)) > most:
        return Outcome(too_long=length)
    return Outcome(document=document)


def _restrain() -> None:
    if sys.platform == "win32":
        return  # it has no such limits; the time limit of the request holds there, too
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    _restrain()
    outcome = read(sys.stdin.buffer.read(), sys.argv[1], int(sys.argv[2]))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
