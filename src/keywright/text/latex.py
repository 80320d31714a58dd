"""Letters with accents as LaTeX writes them: \\"o and \\'{e}."""

from __future__ import annotations

import unicodedata

_COMBINING = dict(
    zip(
        "`'^\"~=.cvuHrk",
        "\u0300\u0301\u0302\u0308\u0303\u0304\u0307\u0327\u030c\u0306\u030b\u030a\u0328",
        strict=True,
    )
)
# The mark, and the letter that it is put on.
ACCENT = r"\\([`'^\"~=.cvuHrk])\s*\{?\s*(\\[ij]|[A-Za-z])\s*\}?"
# The same for any text, in which a backslash and a letter may be part of a path.
PLAIN_ACCENT = r"\\[`'^\"~](?:\{\\?[A-Za-z]\}|\\?[A-Za-z])"


def accented(mark: str, letter: str) -> str:
    """A letter with a mark of `ACCENT`; the letter may be a dotless \\i or \\j."""
    return unicodedata.normalize("NFC", letter.removeprefix("\\") + _COMBINING[mark])
