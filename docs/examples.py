"""Write examples.md: twenty texts of a new user, and what keywright and other systems say.

    python -m docs.examples

The texts are in examples/texts; judgements.toml there has the order, a heading for each, whose
phrases are best and why. Requires `pip install 'keywright[bench,extractors]'`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from keywright import Keywright, predictor
from keywright.sources import text as plain_text
from keywright.tables import render
from keywright.types import Document

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT / "examples" / "texts"
PAGE = ROOT / "docs" / "examples.md"
OURS = "keywright"
PEERS = {
    "YAKE": "yake",
    "KeyBERT": "keybert",
    "TopicRank": "topicrank",
    "MultipartiteRank": "multipartiterank",
}
LONGEST = 220  # words of a text that is shown; of a longer one the beginning is
INTRODUCTION = """# Twenty texts

What a new user gets from `keywright generate` without any option, beside YAKE, KeyBERT (MiniLM,
one to three words), TopicRank and MultipartiteRank with their first ten phrases. The texts were
written for this page, before any system had read them, and are in `examples/texts`. Percentages are
keywright's probabilities; absent phrases, which do not occur in the text, are in italics.

The judgements are those of one person, who knew which system said what; another would judge some
texts otherwise. Outside science keywright's phrases are often single words, because tags are, and
that is where it loses. The page is written by `python -m docs.examples`, and a test compares
keywright's phrases with what the model says now.
"""


class Judgement(msgspec.Struct, frozen=True):
    heading: str
    best: str  # a system, or several separated by " and "
    why: str


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def judgements() -> dict[str, Judgement]:
    """By the name of the text, in the order of the page."""
    content = (TEXTS / "judgements.toml").read_bytes()
    return msgspec.toml.decode(content, type=dict[str, Judgement])


def document(name: str) -> Document:
    return plain_text.document((TEXTS / f"{name}.txt").read_text(encoding="utf-8"), name)


def ours(names: Iterable[str]) -> dict[str, str]:
    """What keywright says about each text."""
    kw = Keywright()
    return {
        name: "; ".join(
            f"{phrase.text if phrase.present else f'*{phrase.text}*'} {phrase.probability:.0%}"
            for phrase in kw.generate(document(name))
        )
        for name in names
    }


def peer(extractor: str, names: Iterable[str]) -> dict[str, str]:
    model = predictor.load(extractor)
    return {
        name: "; ".join(next(iter(model.predict([document(name)]))).texts).replace("|", "/")
        for name in names
    }


def wins(judged: Mapping[str, Judgement]) -> Counter[str]:
    """How often each system is best, alone or with others."""
    return Counter(system for each in judged.values() for system in each.best.split(" and "))


def page() -> str:
    judged = judgements()
    said = {OURS: ours(judged), **{name: peer(part, judged) for name, part in PEERS.items()}}
    count = wins(judged)
    rows = [{"system": system, "best": str(count[system])} for system in said]
    parts = [INTRODUCTION, f"{render(rows, 'markdown')}\n"]
    parts += [_section(name, each, said) for name, each in judged.items()]
    return "\n".join(parts)


def _section(name: str, judged: Judgement, said: Mapping[str, Mapping[str, str]]) -> str:
    rows = [{"system": system, "keyphrases": found[name]} for system, found in said.items()]
    return "\n".join(
        [
            f"## {judged.heading}\n",
            f"{quoted(document(name))}\n",
            f"{render(rows, 'markdown')}\n",
            f"**Best: {judged.best}.** {judged.why}\n",
        ]
    )


def quoted(text: Document) -> str:
    """The beginning of a text, below its title if it has one."""
    words = text.body.split()
    body = " ".join(words[:LONGEST]) + (" ..." if len(words) > LONGEST else "")
    title = " ".join(text.title.split())
    return "\n".join(
        f"> {each}".rstrip() for each in ([f"**{title}**", "", body] if title else [body])
    )


if __name__ == "__main__":
    main()
