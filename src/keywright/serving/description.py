"""`/docs`: the OpenAPI description for people, with examples and forms to try requests.

It is a page like the other: its style and script are files of the service, and nothing is inline.
"""

from __future__ import annotations

import json
import shlex
from html import escape
from typing import Any

JSON, FORM = "application/json", "multipart/form-data"
TEXT = (
    "Heat pumps in old houses\n\nHeat pumps warm old houses. Old radiators need high temperatures."
)
# What the forms contain at first, and what the commands send.
EXAMPLES: dict[str, dict[str, Any]] = {
    JSON: {"text": TEXT, "top": 3},
    FORM: {"top": 3},
}


def page(openapi: dict[str, Any]) -> str:
    operations = "".join(
        _operation(path, method, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "".join(
        f'<h3 id="{escape(name)}">{escape(name)}</h3>'
        f"<p>{escape(schema.get('description', ''))}</p>{_json(schema)}"
        for name, schema in openapi.get("components", {}).get("schemas", {}).items()
    )
    title = f"{escape(openapi['info']['title'])} {escape(openapi['info']['version'])}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}: API</title>"
        '<link rel="icon" type="image/svg+xml" href="assets/mark.svg">'
        '<link rel="stylesheet" href="assets/style.css">'
        '<script type="module" src="assets/docs.js"></script></head>'
        '<body><header><h1><img src="assets/mark.svg" alt="" width="36" height="36"> '
        f"{title}</h1></header>"
        f'<main><p>{escape(openapi["info"]["description"])} <a href=".">The page for people</a>, '
        'and <a href="openapi.json">OpenAPI</a> for programs.</p>'
        f"{_key(openapi)}<h2>Requests</h2>{operations}<h2>Schemas</h2>{schemas}"
        "</main></body></html>"
    )


def _key(openapi: dict[str, Any]) -> str:
    """Where a service with keys takes one for the requests that are tried."""
    if "securitySchemes" not in openapi.get("components", {}):
        return ""
    return (
        '<p><label for="key">Access key</label> '
        '<input id="key" type="password" autocomplete="off" spellcheck="false"></p>'
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    bodies = "".join(
        f"<p>Body: <code>{escape(kind)}</code>, {_link(content['schema'])}</p>"
        for kind, content in body.items()
    )
    answers = "".join(
        f"<li><code>{escape(status)}</code> {escape(answer['description'])}</li>"
        for status, answer in operation["responses"].items()
    )
    kind = next(iter(body), "")
    return (
        f"<h3><code>{escape(method.upper())} {escape(path)}</code></h3>"
        f"<p>{escape(operation.get('description', ''))}</p>{bodies}<ul>{answers}</ul>"
        f"<pre>{escape(command(path, kind))}</pre>{_form(path, method, kind)}"
    )


def command(path: str, kind: str, address: str = "http://127.0.0.1:8000") -> str:
    """How to send the request from a shell."""
    words = ["curl", f"{address}{path}"]
    if kind == JSON:
        words += ["--json", json.dumps(EXAMPLES[JSON])]
    elif kind == FORM:
        words += ["-F", "file=@paper.pdf"]
        words += [
            part for name, value in EXAMPLES[FORM].items() for part in ("-F", f"{name}={value}")
        ]
    return shlex.join(words)


def _form(path: str, method: str, kind: str) -> str:
    """A form that the script sends; it is shown only if the script runs."""
    name = path.strip("/").replace("/", "-")
    fields = ""
    if kind == JSON:
        example = escape(json.dumps(EXAMPLES[JSON], indent=2))
        fields = (
            f'<label for="{name}-body">Body</label>'
            f'<textarea id="{name}-body" name="body" rows="5" spellcheck="false">'
            f"{example}</textarea>"
        )
    elif kind == FORM:
        top = EXAMPLES[FORM]["top"]
        fields = (
            f'<label for="{name}-file">File</label><input id="{name}-file" type="file" name="file">'
            f'<label for="{name}-text">or a text, sent as a file</label>'
            f'<textarea id="{name}-text" name="example" rows="3">{escape(TEXT)}</textarea>'
            f'<label for="{name}-top">top</label><input id="{name}-top" name="top" value="{top}">'
        )
    return (
        f'<form class="try" data-method="{escape(method.upper())}" data-path="{escape(path[1:])}" '
        f'data-kind="{escape(kind)}" hidden>{fields}'
        '<p><button type="submit">Try it</button></p><output class="answer"></output></form>'
    )


def _link(schema: dict[str, str]) -> str:
    name = escape(schema["$ref"].rpartition("/")[2])
    return f'<a href="#{name}">{name}</a>'


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"
