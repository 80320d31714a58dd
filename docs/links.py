"""A hook of mkdocs: links to files of the repository that are not part of the site become text.

In the repository, guides link to CONTRIBUTING.md and examples; the site does not contain them.
"""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r"\[([^\]\n]*)\]\((?:\.\./)+(?:CONTRIBUTING|SECURITY|examples)[^)\n]*\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    return _OUTSIDE.sub(r"\1", markdown)
