"""Hooks of mkdocs: what differs between the guides in the repository and on the site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# In the repository, guides link to files that the site does not contain: there, they become text.
_OUTSIDE = re.compile(r"\[([^\]\n]*)\]\((?:\.\./)+(?:CONTRIBUTING|SECURITY|examples)[^)\n]*\)")
# The theme's search loads this from a server, also for sites that are read offline.
_REMOTE = "https://unpkg.com/iframe-worker/shim"
_LOCAL = "assets/offline-worker.js"
# The theme's search dialog has no name that a screen reader could say.
_DIALOG = 'data-md-component="search" role="dialog"'
# A link that shows the name of its file, which readers of the site do not see elsewhere.
_FILE_NAME = re.compile(r"\[(?:[\w-]+/)*[\w-]+\.md\](?=\((?:\.\./)*((?:[\w-]+/)*[\w-]+\.md)[#)])")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    names = dict(_entries(config["nav"]))

    def named(link: re.Match[str]) -> str:
        return f"[{names.get(link[1], link[1])}]"

    return _FILE_NAME.sub(named, _OUTSIDE.sub(r"\1", markdown))


def _entries(nav: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The files of the navigation with their titles."""
    for entry in nav:
        for title, target in entry.items():
            if isinstance(target, str):
                yield target, title
            else:
                yield from _entries(target)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    output = output.replace(_REMOTE, "../" * page.url.count("/") + _LOCAL)
    return output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"')
