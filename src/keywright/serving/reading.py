"""Reads one uploaded file in its own process: `python -m keywright.serving.reading NAME LIMIT`.

An untrusted file may be built to crash or hang a reader, or to expand to any size. Here it can do
no harm: the process has limited memory and time, and nothing else to do. The file is read from
standard input; the document, or the problem (for example, more than LIMIT characters of text), is
written to standard output as JSON.
"""

from __future__ import annotations

import sys

import msgspec

from keywright.errors import KeywrightError
from keywright.sources import read_content
from keywright.types import Document

MEMORY = 2 << 30  # bytes of address space, libraries included
SECONDS = 15  # of CPU time: a file of hundreds of pages takes a few


class Outcome(msgspec.Struct, omit_defaults=True):
    document: Document | None = None
    problem: str | None = None
    too_long: int | None = None


def read(content: bytes, name: str, max_characters: int) -> Outcome:
    try:
        document = read_content(content, name)
    except KeywrightError as error:
        return Outcome(problem=str(error))
    if (length := len(document.text)) > max_characters:
        return Outcome(too_long=length)
    return Outcome(document=document)


def _limit_resources() -> None:
    if sys.platform == "win32":
        return  # Windows has no such limits; the request's time limit still applies
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    _limit_resources()
    outcome = read(sys.stdin.buffer.read(), sys.argv[1], int(sys.argv[2]))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
