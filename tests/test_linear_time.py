"""Reading a text takes time proportional to its length, whatever the text is.

Every compiled pattern that reads users' text, and the functions around them, run over texts that
make a badly written pattern backtrack.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pytest

from keywright.data.recognise import looks_like_json
from keywright.data.records import explain
from keywright.data.tabular import bibtex
from keywright.errors import KeywrightError
from keywright.generation.sentences import sentences
from keywright.sources import html, markdown, text
from keywright.text.markup import original_places, readable
from keywright.text.tokenise import looks_tokenised, normalise
from tests.timing import ATTEMPTS

PACKAGES = (
    "data",
    "extractors",
    "generation",
    "lexicons",
    "serving",
    "sources",
    "text",
    "vocabularies",
)
OF_CONFIGS = frozenset({"_PLACES"})  # patterns that read short settings and no texts
UNITS = (
    *".!?…。()[]{}\"'’“`*_~#+&<>=-:;,/\\|^$%1aAß中é\n\t ",
    *("\r\n", "\x1b[", "\x1b[1;", "\u0301", "\u2028", "\xa0", "\ud83d", "\udc00", "😀", "\x00"),
    *(
        "1.",
        "a.",
        ". ",
        ".\n",
        ".)",
        ".'",
        "e.g. A ",
        "J. A ",
        "a-",
        "a-\n",
        "a@",
        "www.",
        "- ",
        "a'",
        "1,",
        "a b",
        "A1s",
    ),
    *(
        "<a ",
        "</",
        "<!--",
        "-->",
        "<!",
        "<?",
        "<meta ",
        "<!--a",
        "<a>",
        "&#",
        "&a",
        "<digit>",
        "<d",
    ),
    *("[a", "](", "[a](", "![", "[a][", "[a]: ", "# ", "---\n", "===\n", "a\n", "***", "__", "~~"),
    *(
        "* ",
        "> ",
        "1) ",
        "title:",
        "\n\n",
        "\n ",
        " \n",
        "DIGIT",
        "DIGIT ",
        "URL",
        ' "',
        '{"',
        '"\\',
    ),
    *('{"a":[', "[ ", ": ", "NaN", "-Infinity", "\\ud83d", "\\u", ".txt", ".txt.gz", "/a"),
)
# (before, after): the pattern must not succeed or fail at once.
AROUND = (("", ""), ("---\na", "a"), ('{"a": "', '"}'))
SMALLEST = 1_000
# Ten times the text takes about ten times as long, and a hundred times if time grows with the
# square. Shorter times than NOTICEABLE are mostly noise, and whatever reads FAST (in seconds per
# character) cannot grow with the square: a million characters would take at least a minute.
MOST_GROWTH, NOTICEABLE, FAST = 35, 0.05, 5e-7

Reads = Callable[[str], object]


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    for package in PACKAGES:
        parent = importlib.import_module(f"keywright.{package}")
        for info in pkgutil.walk_packages(parent.__path__, f"{parent.__name__}."):
            try:
                module = importlib.import_module(info.name)
            except ModuleNotFoundError as error:  # an optional library
                if error.name is None or error.name.startswith("keywright"):
                    raise
                continue
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern) and name not in OF_CONFIGS:
                    yield f"{info.name.removeprefix('keywright.')}.{name}", value


def finding(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Reads:
    """Search a text for a pattern; what is found is not kept."""

    def find(source: str) -> None:
        content = source if isinstance(pattern.pattern, str) else source.encode(errors="replace")
        for _ in pattern.finditer(content):  # type: ignore[arg-type]
            pass

    return find


def reader(read: Callable[[bytes, str], object]) -> Reads:
    def reads(source: str) -> None:
        with suppress(KeywrightError):  # refusing a text is fine, if it is quick
            read(source.encode(errors="replace"), "a file")

    return reads


READERS: dict[str, Reads] = {
    "sentences": sentences,
    "normalise": normalise,
    "looks_tokenised": looks_tokenised,
    "readable": readable,
    "original_places": original_places,
    "looks_like_json": looks_like_json,
    "explain": lambda source: explain(ValueError(source), source),
    "html": reader(html.read),
    "markdown": reader(markdown.read),
    "text": reader(text.read),
    "bibtex": reader(lambda content, name: list(bibtex._entries(content.decode(), name))),
    "latex": bibtex.plain,
    **{name: finding(pattern) for name, pattern in patterns()},
}


def seconds(read: Reads, source: str) -> float:
    gc.disable()  # its passes over many small results take more than linear time
    try:
        began = time.process_time()
        read(source)
        return time.process_time() - began
    finally:
        gc.enable()


def growth(read: Reads, unit: str, around: tuple[str, str], largest: int) -> str | None:
    """What is wrong with the growth of the time, None if nothing is.

    Whatever takes too long is measured again, because other processes may have caused it: each time
    next to a shorter text, as both are slow while the machine is busy.
    """

    def took(size: int) -> float:
        return seconds(read, around[0] + unit * (size // len(unit)) + around[1])

    size = SMALLEST
    while (size := 10 * size) <= largest:
        enough = max(NOTICEABLE, FAST * size)
        taken = took(size)
        if taken < enough:
            continue
        attempts = ((took(size // 10), took(size)) for _ in range(ATTEMPTS))
        if all(after > max(enough, MOST_GROWTH * before) for before, after in attempts):
            return f"{unit!r} in {around}: {taken:.4f} s for {size:,} characters"
    return None


def problems(read: Reads, largest: int, arounds: Sequence[tuple[str, str]] = AROUND) -> list[str]:
    found = (growth(read, unit, around, largest) for unit in UNITS for around in arounds)
    return [problem for problem in found if problem is not None]


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_length_of_the_text(name: str) -> None:
    assert problems(READERS[name], 10_000) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_length_of_very_long_texts(name: str) -> None:
    assert problems(READERS[name], 100_000) == []
    assert problems(READERS[name], 1_000_000, AROUND[:1]) == []  # all of them would take minutes


def test_a_pattern_that_backtracks_is_noticed() -> None:
    backtracking = finding(re.compile(r"\.+(?=A)"))
    assert growth(backtracking, ".", ("", ""), 10_000) is not None
