"""A PDF with its keyphrases highlighted; the comment of a highlight is the phrase's probability."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator, Sequence
from typing import Any

from keywright.errors import DataError
from keywright.generation.keyphrases import Keyphrase
from keywright.types import Document

_YELLOW = (255, 213, 0, 110)  # red, green, blue, opacity
_AUTHOR = "keywright"


def annotated(content: bytes, document: Document, keyphrases: Sequence[Keyphrase]) -> bytes:
    """The PDF `content`, from which `document` was read, with highlights."""
    import pypdfium2

    name = document.id or "the PDF"
    try:
        pdf = pypdfium2.PdfDocument(content)
        try:
            for page in pdf:
                _annotate(page, document.text, keyphrases)
                page.close()
            made = io.BytesIO()
            pdf.save(made)
        finally:
            pdf.close()
    except pypdfium2.PdfiumError as error:
        raise DataError(f"cannot be annotated ({error})", name) from None
    return made.getvalue()


def _annotate(page: Any, text: str, keyphrases: Sequence[Keyphrase]) -> None:
    words = page.get_textpage()
    for phrase in keyphrases:
        for written in sorted({" ".join(text[start:end].split()) for start, end in phrase.places}):
            for boxes in _occurrences(words, written):
                _highlight(page, boxes, _comment(phrase))
    words.close()


def _occurrences(words: Any, written: str) -> Iterator[list[tuple[float, ...]]]:
    """The boxes of every occurrence of a phrase, one for each line it is on."""
    search = words.search(written, match_case=True, match_whole_word=True)
    while found := search.get_next():
        yield [words.get_rect(number) for number in range(words.count_rects(*found))]
    search.close()


def _comment(phrase: Keyphrase) -> str:
    return phrase.text if phrase.probability is None else f"{phrase.text}: {phrase.probability:.0%}"


def _highlight(page: Any, boxes: Sequence[tuple[float, ...]], comment: str) -> None:
    from pypdfium2 import raw

    if not boxes:
        return
    annotation = raw.FPDFPage_CreateAnnot(page, raw.FPDF_ANNOT_HIGHLIGHT)
    left, bottom, right, top = (
        pick(side)
        for pick, side in zip((min, min, max, max), zip(*boxes, strict=True), strict=True)
    )
    raw.FPDFAnnot_SetRect(annotation, raw.FS_RECTF(left, top, right, bottom))
    raw.FPDFAnnot_SetColor(annotation, raw.FPDFANNOT_COLORTYPE_Color, *_YELLOW)
    for x0, y0, x1, y1 in boxes:
        corners = raw.FS_QUADPOINTSF(x0, y1, x1, y1, x0, y0, x1, y0)
        raw.FPDFAnnot_AppendAttachmentPoints(annotation, corners)
    for key, value in ((b"Contents", comment), (b"T", _AUTHOR)):
        wide = ctypes.create_string_buffer((value + "\0").encode("utf-16-le"))
        raw.FPDFAnnot_SetStringValue(annotation, key, ctypes.cast(wide, raw.FPDF_WIDESTRING))
    raw.FPDFPage_CloseAnnot(annotation)
