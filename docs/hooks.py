"""Hooks of mkdocs: what differs between the guides in the repository and on the site."""

from __future__ import annotations

import re
from typing import Any

# In the repository, guides link to files that the site does not contain: there, they become text.
_OUTSIDE = re.compile(r"\[([^\]\n]*)\]\((?:\.\./)+(?:CONTRIBUTING|SECURITY|examples)[^)\n]*\)")
# The theme's search loads this from a server, also for sites that are read offline.
_REMOTE = "https://unpkg.com/iframe-worker/shim"
_LOCAL = "assets/offline-worker.js"
# The theme's search dialog has no name that a screen reader could say.
_DIALOG = 'data-md-component="search" role="dialog"'


def on_page_markdown(markdown: str, **_: Any) -> str:
    return _OUTSIDE.sub(r"\1", markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    output = output.replace(_REMOTE, "../" * page.url.count("/") + _LOCAL)
    return output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"')
