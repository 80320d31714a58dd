"""Vocabularies in SKOS: `prefLabel` names a concept, `altLabel` and `hiddenLabel` are synonyms.

rdflib reads the files. Used are labels in the chosen language, in its regional forms (en-GB for en)
and without a language tag; a concept without such a preferred label is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.sax import SAXException, SAXParseException

from keywright.errors import DataError, MissingExtraError
from keywright.files import read_text
from keywright.vocabularies.term import Term

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_MAX_MESSAGE = 120
_Labels = dict[Any, list[Any]]


def read(path: Path, form: str, language: str) -> list[Term]:
    """The concepts of a file, sorted by URI; blank nodes have no id."""
    graph = _graph(path, form)
    preferred = _labels(graph, "prefLabel")
    if not preferred:
        raise DataError("contains no skos:prefLabel; is it a SKOS vocabulary?", path)
    others = [_labels(graph, name) for name in ("altLabel", "hiddenLabel")]
    terms = []
    for concept, labels in preferred.items():
        names = _chosen(labels, language)
        if names:
            names += [name for table in others for name in _chosen(table[concept], language)]
            first, *rest = dict.fromkeys(names)
            terms.append(Term(text=first, id=_uri(concept), synonyms=tuple(rest)))
    if not terms:
        known = sorted({label.language for same in preferred.values() for label in same})
        raise DataError(
            f"has no preferred labels in {language!r}; its languages are {', '.join(known)}", path
        )
    return sorted(terms, key=lambda term: (term.id or "", term.text))


def _graph(path: Path, form: str) -> Any:
    try:
        import rdflib
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rdflib":
            raise
        raise MissingExtraError("reading a SKOS vocabulary", "rdflib", "skos") from None
    text = read_text(path)
    if not text.strip():
        raise DataError("is empty", path)
    try:
        return rdflib.Graph().parse(data=text, format=form)
    except Exception as error:  # the errors of rdflib's parsers have no common class
        message = f"is not valid {_NAMES[form]}: {_short_message(error)}"
        raise DataError(message, path, _line(error)) from None


_NAMES = {"turtle": "Turtle", "nt": "N-Triples", "xml": "RDF/XML"}


def _line(error: Exception) -> int | None:
    """The line where a parser stopped, if its error tells."""
    if isinstance(error, SAXParseException):
        line: int | None = error.getLineNumber()
        return line
    lines = getattr(error, "lines", None)  # rdflib's Turtle
    return lines + 1 if isinstance(lines, int) else None


def _short_message(error: Exception) -> str:
    """A parser's message in one short line; the Turtle parser's would quote the file."""
    if isinstance(error, SAXException):
        return error.getMessage()
    message = " ".join(str(error).split())
    if syntax := re.search(r"Bad syntax \((.+?)\) at \^", message):
        message = syntax[1]
    message = message.partition(" at ^ in")[0]
    return message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…"


def _labels(graph: Any, name: str) -> _Labels:
    """The literals of a property, by concept."""
    from rdflib import Literal, URIRef

    found: _Labels = defaultdict(list)
    for concept, label in graph.subject_objects(URIRef(_SKOS + name)):
        if isinstance(label, Literal) and str(label).strip():
            found[concept].append(label)
    return found


def _uri(concept: Any) -> str | None:
    from rdflib import URIRef

    return str(concept) if isinstance(concept, URIRef) else None


def _chosen(labels: list[Any], language: str) -> list[str]:
    """The labels in a language: exact tags first, then regional ones, then untagged labels."""
    chosen = language.lower()
    ranked = []
    for label in labels:
        tag = (label.language or "").lower()
        if tag == chosen or tag.startswith(f"{chosen}-") or not tag:
            rank = (tag != chosen, not tag)
            ranked.append((rank, " ".join(str(label).split())))
    return [text for _, text in sorted(ranked)]
