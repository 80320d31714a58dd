"""PDF: the text in reading order; the title is found, and hyphenated words are joined.

pdfium gives the characters of a page and their places (`_pdf_page`). Here lines become a text:
columns are read one after the other, between the lines that span them; lines repeated on many pages
(running heads, page numbers) are dropped; the lines of a paragraph are joined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from keywright.errors import DataError
from keywright.sources._pdf_page import Line, page_lines
from keywright.types import Document

# A page of text has thousands of characters; a file with fewer than this is a scan.
MIN_CHARACTERS = 20
MAX_TITLE = 400  # characters
MOST_SPLITS = 3  # of a page into two columns, of these into two columns, ...
MOST_PLACES = 100  # where a column may begin
LARGE = 1.12  # times the size of the text, as a title is
LARGER = 1.05  # if the title is also centred
TITLE_LINES = 100  # of the first page, among which its title is
COLUMN_LINES = 4  # the fewest lines of a column
BY_ROWS = 0.4  # changes of sides per row from which on the file has rows, not columns
OVERFULL = 0.1  # the share of a line that may reach into the next column
WORDY = 15  # characters of a line that is not a number, a formula or a cell of a table
_HYPHENATED = re.compile(r"(?<=[a-zà-öø-ÿ])[-\u00ad\u2010\ufffe\x02]$")
_FOOTNOTES = " ∗*†‡⋆"  # marks after a title
_NUMBER = re.compile(r"\d+")
_NOT_WORD = re.compile(r"[\W_]+")


def recognise(content: bytes, name: str) -> bool:
    return b"%PDF-" in content[:1024]


def read(content: bytes, name: str) -> Document:
    pages, stated = read_pages(content, name)
    if sum(len(line.text.strip()) for page in pages for line in page) < MIN_CHARACTERS:
        raise DataError(
            "has no text and is probably scanned; run OCR first, for example with: "
            "ocrmypdf in.pdf out.pdf",
            name,
        )
    pages = without_running_heads(pages)
    first = next((page for page in pages if page), [])
    title = named_title(first, stated) or find_title(first)
    body = [[line for line in page if line not in title] for page in pages]
    return Document(
        id=name, title=joined(title).rstrip(_FOOTNOTES), body="\n".join(paragraphs(body))
    )


def read_pages(content: bytes, name: str) -> tuple[list[list[Line]], str]:
    """The lines of every page in reading order, and the title that the file states."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            raise DataError("is encrypted; remove its password first", name) from None
        raise DataError(
            "is not a complete PDF: it is damaged or cut off; copy or download it again", name
        ) from None
    try:
        pages = [ordered(lines) for lines in _each_page(pdf)]
        return pages, pdf.get_metadata_value("Title")
    except pypdfium2.PdfiumError as error:
        raise DataError(f"has a damaged page: {str(error).rstrip('.')}", name) from None
    finally:
        pdf.close()


def _each_page(pdf: Iterable[object]) -> Iterator[list[Line]]:
    for page in pdf:
        yield page_lines(page)
        page.close()  # type: ignore[attr-defined]


def ordered(lines: Sequence[Line], depth: int = MOST_SPLITS) -> list[Line]:
    """Lines in reading order: top to bottom, or by column between lines that span both columns.

    `lines` are in the order of the file.
    """
    gutter = _gutter(lines) if depth else None
    if gutter is None:
        return _top_down(lines)
    sides = [_side(line, gutter) for line in lines]
    found: list[Line] = []
    for band, across in _bands(_downwards(lines), sides):
        groups = [band]
        if not _by_rows(lines, sides, band):
            groups = [[number for number in band if sides[number] == side] for side in (-1, 1)]
        for group in groups:
            found += ordered([lines[number] for number in group], depth - 1)
        if across is not None:
            found.append(lines[across])
    return found


def _downwards(lines: Sequence[Line]) -> list[int]:
    """The numbers of the lines from top to bottom, and from left to right in a row."""
    return [number for row in _rows(lines) for number in row]


def _gutter(lines: Sequence[Line]) -> float | None:
    """Where the blank between two columns is; None if there are no columns.

    It is the place with most text on both sides at the same height, between lines that cross it.
    """
    if sum(len(line.text) > WORDY for line in lines) < 2 * COLUMN_LINES:
        return None
    size = median(line.size for line in lines if len(line.text) > WORDY)
    order = _downwards(lines)
    best: tuple[int, float, float] | None = None
    starts = Counter(round(line.left) for line in lines)
    for at, _ in starts.most_common(MOST_PLACES):
        # The blank to the left of where lines begin.
        edge = max((line.right for line in lines if line.right < at - 0.3 * size), default=None)
        if edge is None:
            continue
        place = (edge + at) / 2
        sides = [_side(line, place) for line in lines]
        beside = _lines_beside(lines, order, sides)
        rank = (beside - sides.count(0), min(at - edge, 3 * size), -place)
        if beside and (best is None or rank > best):
            best = rank
    return None if best is None else -best[2]


def _side(line: Line, gutter: float) -> int:
    """-1 for a line left of the gutter, 1 for one right of it, 0 for one that crosses it."""
    if line.left >= gutter or line.right <= gutter:
        return 1 if line.left >= gutter else -1
    beyond = (line.right - gutter) / (line.right - line.left)
    return (beyond > 1 - OVERFULL) - (beyond < OVERFULL)


def _bands(order: Sequence[int], sides: Sequence[int]) -> Iterator[tuple[list[int], int | None]]:
    """The lines beside a gutter in the order of the file, and the line across it below them."""
    band: list[int] = []
    for number in order:
        if sides[number]:
            band.append(number)
        else:
            yield sorted(band), number
            band = []
    yield sorted(band), None


def _lines_beside(lines: Sequence[Line], order: Sequence[int], sides: Sequence[int]) -> int:
    """How many lines stand in columns beside a gutter, where no line crosses it."""
    total = 0
    for band, _ in _bands(order, sides):
        left, right = _wordy(lines, sides, band)
        count = min(len(left), len(right))
        if count < COLUMN_LINES or not _side_by_side(left, right):
            continue
        if not _by_rows(lines, sides, band):
            total += count
    return total


def _wordy(lines: Sequence[Line], sides: Sequence[int], band: Sequence[int]) -> list[list[Line]]:
    wordy = [number for number in band if len(lines[number].text) > WORDY]
    return [[lines[number] for number in wordy if sides[number] == side] for side in (-1, 1)]


def _by_rows(lines: Sequence[Line], sides: Sequence[int], band: Sequence[int]) -> bool:
    """Whether a band is a table, and not two columns.

    A table is usually drawn row by row, and columns one after the other. Running text on both sides
    is never a table.
    """
    near = [_nearest([lines[n] for n in band if sides[n] == side], side) for side in (-1, 1)]
    changes = sum(sides[one] != sides[other] for one, other in pairwise(band))
    if changes < max(COLUMN_LINES, BY_ROWS * min(map(len, near))):
        return False
    few, many = sorted(map(len, near))
    return few <= 0.7 * many or not all(map(_running, near))


def _nearest(lines: Sequence[Line], side: int) -> list[Line]:
    """The piece of every row that is nearest to the gutter."""
    found: dict[int, Line] = {}
    for line in lines:
        row = round(line.base)
        if row not in found or side * (line.left - found[row].left) < 0:
            found[row] = line
    return list(found.values())


def _running(pieces: Sequence[Line]) -> bool:
    """Whether most pieces have words and fill their column, as those of running text do."""
    width = max(line.right for line in pieces) - min(line.left for line in pieces)
    full = sum(len(line.text) > WORDY and line.right - line.left > 0.6 * width for line in pieces)
    return 2 * full > len(pieces)


def _side_by_side(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Whether two groups of lines share at least half of the lower one's height."""
    top = min(max(line.top for line in side) for side in (left, right))
    bottom = max(min(line.bottom for line in side) for side in (left, right))
    heights = [
        max(line.top for line in side) - min(line.bottom for line in side) for side in (left, right)
    ]
    return top - bottom > 0.5 * min(heights)


def _top_down(lines: Sequence[Line]) -> list[Line]:
    """Top to bottom; the pieces of a row are put together, from left to right.

    Pieces in very different print do not belong together, as a title and the links beside it.
    """
    found: list[Line] = []
    for row in _rows(lines):
        pieces = [lines[row[0]]]
        for number in row[1:]:
            if 0.7 < lines[number].size / pieces[-1].size < 1.4:
                pieces.append(lines[number])
            else:
                found.append(_merged(pieces))
                pieces = [lines[number]]
        found.append(_merged(pieces))
    return found


def _rows(lines: Sequence[Line]) -> list[list[int]]:
    """The numbers of the lines in rows from top to bottom, each from left to right."""
    rows: list[list[int]] = []
    for number in sorted(range(len(lines)), key=lambda n: (-lines[n].base, lines[n].left)):
        # A row is compared with its first piece, so that a superscript does not end it.
        if rows and _same_row(lines[rows[-1][0]], lines[number]):
            rows[-1].append(number)
        else:
            rows.append([number])
    for row in rows:
        row.sort(key=lambda number: lines[number].left)
    return rows


def _same_row(first: Line, line: Line) -> bool:
    overlap = min(first.top, line.top) - max(first.bottom, line.bottom)
    return overlap > 0.6 * min(first.size, line.size)


def _merged(row: Sequence[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    largest = max(row, key=lambda line: len(line.text))
    return Line(
        " ".join(line.text for line in row),
        row[0].left,
        max(line.right for line in row),
        largest.base,
        largest.size,
    )


def without_running_heads(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Drop page numbers, and top and bottom lines that many pages share except for numbers."""
    sizes: dict[str, list[float]] = {}
    for page in pages:
        for shape, line in {_shape(line): line for line in _edge(page)}.items():
            sizes.setdefault(shape, []).append(line.size)
    # A third of the pages: left and right pages may have different heads, and the first has none.
    enough = max(2, len(pages) / 3)
    # A title may be repeated as a head, in smaller print.
    largest = {
        shape: 1.15 * min(found)
        for shape, found in sizes.items()
        if len(found) > enough or shape == "#"
    }
    kept = []
    for number, page in enumerate(pages):
        edge = [line for line in _edge(page) if line.size <= largest.get(_shape(line), 0.0)]
        if number == 0:  # the title itself may stand in a frame that all pages have
            body = median(line.size for line in page) if page else 0.0
            edge = [line for line in edge if line.size < LARGE * body]
        dropped = set(map(id, edge))
        kept.append([line for line in page if id(line) not in dropped])
    kept = kept if any(kept) else list(pages)  # if nothing else is left, it was the text
    return _frames_once(kept, enough)


def _frames_once(pages: Sequence[list[Line]], enough: float) -> list[list[Line]]:
    """With lines that many pages have in the same place, such as links in a frame, read once."""
    places = [[(line.text, round(line.left), round(line.base)) for line in page] for page in pages]
    counts = Counter(place for page in places for place in set(page))
    seen: set[tuple[str, int, int]] = set()
    kept = []
    for page, placed in zip(pages, places, strict=True):
        kept.append([line for line, place in zip(page, placed, strict=True) if place not in seen])
        seen.update(place for place in placed if counts[place] > enough)
    return kept


def _shape(line: Line) -> str:
    return _NUMBER.sub("#", line.text.strip().lower())


def _edge(page: Sequence[Line]) -> list[Line]:
    """The two highest and the two lowest lines of a page."""
    down = sorted(page, key=lambda line: -line.top)
    return down[:2] + down[-2:]


def named_title(page: Sequence[Line], stated: str) -> list[Line]:
    """The lines of the first page that make up the title that the file states, if they do."""
    wanted = _NOT_WORD.sub("", stated.lower())
    if len(stated.split()) < 2 or len(stated) > MAX_TITLE:
        return []
    texts = [_NOT_WORD.sub("", line.text.lower()) for line in page[:TITLE_LINES]]
    for start, text in enumerate(texts):
        if not text or not wanted.startswith(text):
            continue
        found = ""
        for end in range(start, len(texts)):
            found += texts[end]
            if found == wanted:
                return list(page[start : end + 1])
            if not wanted.startswith(found):
                break
    return []


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
    clear = largest >= LARGE * body_size
    title: list[Line] = []
    for line in page:
        if line in wordy and line.size > (0.88 if clear else 0.97) * largest:
            title.append(line)
        elif title and line.left < max(line.right for line in title):
            break  # a second block of large print is a drop cap or a section
    if not clear and not (largest > LARGER * body_size and _centred(title, page)):
        return []
    return title if sum(len(line.text) for line in title) < MAX_TITLE else []


def _centred(title: Sequence[Line], page: Sequence[Line]) -> bool:
    """Whether lines are in the middle of the page, away from both margins."""
    left, right = min(line.left for line in page), max(line.right for line in page)
    for line in title:
        margins = line.left - left, right - line.right
        if min(margins) < 2 * line.size or abs(margins[0] - margins[1]) > 2 * line.size:
            return False
    return True


def paragraphs(pages: Iterable[Sequence[Line]]) -> list[str]:
    """The text of each paragraph on one line."""
    found: list[list[Line]] = []
    for page in pages:
        right = _right_edges(page)
        for line in page:
            if not line.text.strip():
                continue
            if found and _continues(found[-1], line, right.get(id(found[-1][-1]))):
                found[-1].append(line)
            else:
                found.append([line])
    return [joined(lines) for lines in found]


def _right_edges(page: Sequence[Line]) -> dict[int, float]:
    """For each line the right edge of its column: of the lines that begin where it begins."""
    edges: dict[int, float] = {}
    for line in page:
        place = round(line.left / 20)
        edges[place] = max(edges.get(place, 0.0), line.right)
    return {
        id(line): max(edges.get(round(line.left / 20) + by, 0.0) for by in (-1, 0, 1))
        for line in page
    }


def _continues(paragraph: Sequence[Line], line: Line, edge: float | None) -> bool:
    """Whether a line continues a paragraph, whose column ends at `edge` (None = another page)."""
    last = paragraph[-1]
    if not 0.88 < line.size / last.size < 1.14:
        return False
    step = last.base - line.base
    if edge is None or step < 0 or line.left > last.right or line.right < last.left:
        # On the next page or in the next column, only the middle of a sentence continues.
        return bool(_HYPHENATED.search(last.text[-2:])) or line.text.lstrip()[:1].islower()
    if step > 1.75 * last.size:
        return False
    if len(paragraph) > 1 and step > 1.3 * (paragraph[-2].base - last.base) > 0:
        return False
    indented = line.left - last.left > 0.8 * line.size
    if indented and (len(paragraph) > 1 or last.text.rstrip().endswith((".", ":", "?", "!"))):
        return False
    short = edge - last.right > 0.2 * (edge - last.left)
    return not short or line.text.lstrip()[:1].islower()


def joined(lines: Iterable[Line]) -> str:
    """Lines as running text; words hyphenated at the end of a line are joined."""
    pieces: list[str] = []
    for line in lines:
        piece = line.text.strip()
        last = pieces[-1] if pieces else ""
        if _HYPHENATED.search(last[-2:]) and piece[:1].islower():
            pieces[-1] = last[:-1]
            pieces.append(piece)
        elif piece:
            pieces += [" ", piece] if pieces else [piece]
    return "".join(pieces)
