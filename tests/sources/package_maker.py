"""Small docx and EPUB files for tests."""

from __future__ import annotations

import io
import zipfile

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def archive(parts: dict[str, str | bytes], *, stored: str | None = None) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            # A fixed date, so that the same parts always give the same bytes.
            entry = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
            how = zipfile.ZIP_STORED if name == stored else zipfile.ZIP_DEFLATED
            file.writestr(entry, content, how)
    return made.getvalue()


def paragraph(words: str, style: str = "") -> str:
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}<w:r><w:t>{words}</w:t></w:r></w:p>"


def make_docx(*paragraphs: str, **parts: str) -> bytes:
    body = f"<w:document {_W}><w:body>{''.join(paragraphs)}</w:body></w:document>"
    return archive({"word/document.xml": body, **parts})


def make_epub(chapters: dict[str, str], title: str = "Bees", **parts: str) -> bytes:
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/book.opf"/>'
            "</rootfiles></container>",
            "OPS/book.opf": book,
            **{f"OPS/{name}": text for name, text in chapters.items()},
            **parts,
        },
        stored="mimetype",
    )
