"""PDF: the text in reading order; the title is found by its size, and hyphenated words are joined.

pdfium gives runs of text with their boxes. Runs are joined to lines; a page with lines in its left
and right halves is read column by column, between the lines that span both; lines repeated on most
pages (running heads, page numbers) are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from keywright.errors import DataError
from keywright.types import Document

# A page of text has thousands of characters; a file with fewer than this is a scan.
MIN_CHARACTERS = 20
_HYPHENATED = re.compile(r"(?<=[a-zà-öø-ÿ])[-\u00ad\u2010\ufffe\x02]$")
_LIGATURES = str.maketrans({"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl", "\u00a0": " "})


@dataclass(frozen=True)
class Line:
    """A line of text and its box in points, y growing upwards; `size` is the height."""

    text: str
    left: float
    right: float
    bottom: float
    top: float

    @property
    def size(self) -> float:
        return self.top - self.bottom


def recognise(content: bytes, name: str) -> bool:
    return b"%PDF-" in content[:1024]


def read(content: bytes, name: str) -> Document:
    lines = [ordered(page_lines, width) for page_lines, width in _pages(content, name)]
    if sum(len(line.text.strip()) for page in lines for line in page) < MIN_CHARACTERS:
        raise DataError(
            "has no text and is probably scanned; run OCR first, for example with: "
            "ocrmypdf in.pdf out.pdf",
            name,
        )
    lines = without_running_heads(lines)
    title = find_title(lines[0]) if lines else []
    body = [line for page in lines for line in page if line not in title]
    return Document(
        id=name,
        title=" ".join(line.text.strip() for line in title),
        body=join(line.text for line in body),
    )


def _pages(content: bytes, name: str) -> Iterator[tuple[list[Line], float]]:
    """The lines of every page, unordered, and the page's width."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            raise DataError("is encrypted; remove its password first", name) from None
        raise DataError(f"is not a complete PDF ({error})", name) from None
    try:
        for page in pdf:
            text = page.get_textpage()
            yield _lines(text), float(page.get_width())
            text.close()
            page.close()
    except pypdfium2.PdfiumError as error:
        raise DataError(f"has a damaged page ({error})", name) from None
    finally:
        pdf.close()


def _lines(page: object) -> list[Line]:
    """Join runs on the same baseline that touch, or nearly touch, to lines."""
    runs = []
    for index in range(page.count_rects()):  # type: ignore[attr-defined]
        left, bottom, right, top = page.get_rect(index)  # type: ignore[attr-defined]
        words = page.get_text_bounded(left, bottom, right, top)  # type: ignore[attr-defined]
        words = re.sub(r"\s+", " ", words.translate(_LIGATURES)).strip()
        if words and top > bottom:
            runs.append(Line(words, left, right, bottom, top))
    lines: list[Line] = []
    for run in runs:  # in file order, which keeps the words of a line together
        last = lines[-1] if lines else None
        if last and _same_line(last, run):
            gap = " " if run.left - last.right > 0.15 * run.size else ""
            lines[-1] = Line(
                last.text + gap + run.text,
                last.left,
                max(last.right, run.right),
                min(last.bottom, run.bottom),
                max(last.top, run.top),
            )
        else:
            lines.append(run)
    return lines


def _same_line(last: Line, run: Line) -> bool:
    size = max(last.size, run.size)
    overlap = min(last.top, run.top) - max(last.bottom, run.bottom)
    return overlap > 0.5 * min(last.size, run.size) and -size < run.left - last.right < 1.2 * size


def ordered(lines: Sequence[Line], width: float) -> list[Line]:
    """Lines in reading order: top to bottom, or by column between lines that span both columns."""
    middle = width / 2
    slack = width * 0.02

    def side(line: Line) -> str:
        if line.right < middle + slack:
            return "left"
        return "right" if line.left > middle - slack else "across"

    sides = Counter(side(line) for line in lines if len(line.text) > 15)
    columns = min(sides["left"], sides["right"])
    down = sorted(lines, key=lambda line: -line.top)
    if columns < 4 or sides["across"] > columns:
        return _top_down(lines)
    found: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in down:
        match side(line):
            case "left":
                left.append(line)
            case "right":
                right.append(line)
            case _:
                found += [*left, *right, line]
                left, right = [], []
    return [*found, *left, *right]


def _top_down(lines: Sequence[Line]) -> list[Line]:
    """Top to bottom, and left to right if two lines are side by side."""
    if not lines:
        return []
    step = median(line.size for line in lines) / 2
    return sorted(lines, key=lambda line: (-round(line.bottom / step), line.left))


def without_running_heads(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Drop page numbers, and top and bottom lines that most pages share except for numbers."""

    def shape(line: Line) -> str:
        return re.sub(r"\d+", "#", line.text.strip().lower())

    edges = Counter(
        shape(line) for page in pages for line in {id(x): x for x in _edge(page)}.values()
    )
    repeated = {text for text, count in edges.items() if count > max(2, len(pages) / 2)}
    kept = []
    for page in pages:
        dropped = {
            id(line) for line in _edge(page) if shape(line) in repeated or shape(line) == "#"
        }
        kept.append([line for line in page if id(line) not in dropped])
    return kept if any(kept) else list(pages)  # if nothing else is left, it was the text


def _edge(page: Sequence[Line]) -> list[Line]:
    """The two highest and the two lowest lines of a page."""
    down = sorted(page, key=lambda line: -line.top)
    return down[:2] + down[-2:]


def find_title(page: Sequence[Line]) -> list[Line]:
    """The adjacent lines in the largest print in the upper part of the first page."""
    if not page:
        return []
    highest = max(line.top for line in page)
    lowest = min(line.bottom for line in page)
    upper = [line for line in page if line.top > highest - (highest - lowest) * 0.55]
    wordy = [line for line in upper if len(line.text) > 3 and any(c.isalpha() for c in line.text)]
    if not wordy:
        return []
    largest = max(line.size for line in wordy)
    body_size = median(line.size for line in page)
    if largest < 1.12 * body_size:
        return []
    title: list[Line] = []
    for line in page:
        if line in wordy and line.size > 0.88 * largest:
            title.append(line)
        elif title:
            break  # a second block of large print is a drop cap or a section
    return title if sum(len(line.text) for line in title) < 400 else []


def join(lines: Iterator[str] | Sequence[str]) -> str:
    """Lines as running text; words hyphenated at the end of a line are joined."""
    joined: list[str] = []
    for line in lines:
        line = line.strip()
        last = joined[-1] if joined else ""
        if _HYPHENATED.search(last[-2:]) and line[:1].islower():
            joined[-1] = last[:-1] + line
        else:
            joined.append(line)
    return "\n".join(joined)
