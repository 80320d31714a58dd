"""`/docs`: the OpenAPI description for people, without scripts or external requests."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def page(openapi: dict[str, Any]) -> str:
    operations = "".join(
        _operation(path, method, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "".join(
        f"<h3>{escape(name)}</h3><p>{escape(schema.get('description', ''))}</p>{_json(schema)}"
        for name, schema in openapi.get("components", {}).get("schemas", {}).items()
    )
    title = f"{escape(openapi['info']['title'])} {escape(openapi['info']['version'])}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}: API</title><link rel="stylesheet" href="assets/style.css"></head>'
        f"<body><main><h1>{title}</h1><p>{escape(openapi['info']['description'])} For programs: "
        '<a href="openapi.json">OpenAPI</a>.</p>'
        f"<h2>Requests</h2>{operations}<h2>Schemas</h2>{schemas}</main></body></html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    bodies = "".join(
        f"<p>Body: <code>{escape(kind)}</code></p>{_json(content['schema'])}"
        for kind, content in body.items()
    )
    answers = "".join(
        f"<li><code>{escape(status)}</code> {escape(answer['description'])}</li>"
        for status, answer in operation["responses"].items()
    )
    return (
        f"<h3><code>{escape(method.upper())} {escape(path)}</code></h3>"
        f"<p>{escape(operation.get('description', ''))}</p>{bodies}<ul>{answers}</ul>"
    )


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"
