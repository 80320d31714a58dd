"""The page of examples says what the model says, and counts its judgements correctly."""

from __future__ import annotations

import re

from docs.examples import OURS, PAGE, PEERS, TEXTS, judgements, ours, wins


def sections() -> dict[str, str]:
    """The parts of the page by their headings."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {part.partition("\n")[0]: part for part in parts}


def test_the_phrases_are_those_of_the_model() -> None:
    judged = judgements()
    page = sections()
    for name, said in ours(judged).items():
        hint = "if this is right, run python -m docs.examples and judge again"
        assert f"| {OURS} | {said} |" in page[judged[name].heading], hint


def test_every_text_is_judged_and_every_system_is_there() -> None:
    judged = judgements()
    assert len(judged) == 20
    assert {*judged} == {file.stem for file in TEXTS.glob("*.txt")}
    page = sections()
    for each in judged.values():
        for system in (OURS, *PEERS):
            assert f"\n| {system} | " in page[each.heading]
        assert f"**Best: {each.best}.** {each.why}" in page[each.heading]
        assert {*each.best.split(" and ")} <= {OURS, *PEERS}


def test_the_table_counts_the_judgements() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    counted = dict(re.findall(r"^\| (\w+) \| (\d+) \|$", page, re.MULTILINE))
    count = wins(judgements())
    assert counted == {system: str(count[system]) for system in (OURS, *PEERS)}
