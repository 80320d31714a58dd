"""What the shipped model predicts for documents of our own, stored to notice every change.

After the model has been replaced on purpose, store its predictions anew and look at the difference:

    python -m tests.generation.stored
"""

from __future__ import annotations

import json
from pathlib import Path

from keywright.generation.engine import Keywright
from keywright.types import Document

DOCUMENTS = Path(__file__).with_name("stored_documents.jsonl")
KEYPHRASES = Path(__file__).with_name("stored_keyphrases.jsonl")


def documents() -> list[Document]:
    lines = DOCUMENTS.read_text(encoding="utf-8").splitlines()
    return [Document(**json.loads(line)) for line in lines]


def predicted() -> bytes:
    """One line per document with everything that readers get.

    Probabilities have three digits, because processors differ in the last bits of a sum.
    """
    lines = []
    given = documents()
    for document, found in zip(given, Keywright().generate(given), strict=True):
        keyphrases = [
            [phrase.text, round(phrase.probability or 0.0, 3), phrase.places, phrase.evidence]
            for phrase in found
        ]
        record = {"id": document.id, "keyphrases": keyphrases}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


if __name__ == "__main__":
    KEYPHRASES.write_bytes(predicted())
