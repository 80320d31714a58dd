"""Prompts: a TOML file says how documents and examples are put to a model.

    part = "both"          # the keyphrases asked for: present, absent or both
    system = "..."         # optional
    document = "...{title}...{body}..."
    answer = "{keyphrases}"

Examples are earlier turns of the same conversation: a document, and its keyphrases as the answer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keywright.config import fill
from keywright.errors import ConfigError, DataError, nearest
from keywright.files import read_text
from keywright.text.presence import padded
from keywright.text.reading import Reading
from keywright.text.stem import stems
from keywright.text.tokenise import normalise, running
from keywright.types import Document

FOLDER = Path(__file__).parent / "prompts"
SEPARATOR = "; "
_FIELD = re.compile(r"\{(title|body|keyphrases)\}")

Part = Literal["present", "absent", "both"]
Message = dict[str, str]


@dataclass(frozen=True)
class Prompt:
    document: str
    part: Part = "both"
    system: str = ""
    answer: str = "{keyphrases}"

    def __post_init__(self) -> None:
        if "{body}" not in self.document:
            raise ValueError("document does not contain {body}, the text of a document")
        if "{keyphrases}" not in self.answer:
            raise ValueError("answer does not contain {keyphrases}")

    @property
    def fixed(self) -> str:
        """The words of the prompt that are the same for all documents."""
        return "\n".join(_FIELD.sub("\n", text) for text in (self.system, self.document))

    def messages(
        self, document: Document, examples: Sequence[Document], most_words: int
    ) -> list[Message]:
        """The conversation that asks for the keyphrases of a document."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        for example in examples:
            listed = SEPARATOR.join(self.wanted(example, example.keyphrases or ()))
            messages.append(self._asked(example, most_words))
            messages.append(
                {"role": "assistant", "content": _filled(self.answer, keyphrases=listed)}
            )
        return [*messages, self._asked(document, most_words)]

    def _asked(self, document: Document, most_words: int) -> Message:
        title, body = _shortened(document, most_words)
        return {"role": "user", "content": _filled(self.document, title=title, body=body)}

    def wanted(self, document: Document, phrases: Sequence[str]) -> list[str]:
        """Those of the phrases that belong to the part that is asked for."""
        if self.part == "both":
            return list(phrases)
        source = padded(Reading.of(document).stems)
        return [
            phrase
            for phrase in phrases
            if (padded(stems(normalise(phrase))) in source) == (self.part == "present")
        ]


def load(name: str) -> Prompt:
    """The prompt of a file, or one that comes with the package: both, present, absent."""
    own = sorted(path.stem for path in FOLDER.glob("*.toml"))
    path = FOLDER / f"{name}.toml" if name in own else Path(name)
    if not path.exists():
        raise ConfigError(f"prompt: {name!r} is neither a file nor a prompt{nearest(name, own)}")
    try:
        return fill(Prompt, tomllib.loads(read_text(path)), "")
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"is not TOML: {error}", path) from None
    except ConfigError as error:
        raise DataError(str(error), path) from None


def _shortened(document: Document, most_words: int) -> tuple[str, str]:
    """Title and body as people write them, the first words of both together."""
    title = document.title.split()[:most_words]
    body = document.body.split()
    left = most_words - len(title)
    if not document.tokenised:
        cut = document.body if len(body) <= left else " ".join(body[:left])
        return " ".join(title), cut
    return running(title), running(body[:left])


def _filled(template: str, **values: str) -> str:
    """The template with its fields filled in one pass: braces of a document mean nothing."""
    return _FIELD.sub(lambda found: values.get(found[1], found[0]), template)
