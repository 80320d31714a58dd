"""Names of systems, and reading them side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from keywright.analysis.systems import named, read_panel, read_systems
from keywright.errors import DataError, KeywrightError
from keywright.types import Document
from tests.analysis.toy import DOCUMENTS, A, B, panel, plain


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["out/catseq.jsonl", "out/t5.v2.jsonl.xz"], ["catseq", "t5.v2"]),
        (["x/bart/nus.jsonl", "x/t5/nus.jsonl"], ["bart", "t5"]),
        (["a/x/run.txt", "b/x/run.txt"], ["a", "b"]),
        (["run.jsonl", "run.jsonl"], ["run", "run (2)"]),
    ],
)
def test_names_are_the_shortest_parts_that_differ(paths: list[str], names: list[str]) -> None:
    assert list(named([Path(path) for path in paths])) == names


def test_every_system_needs_a_different_name() -> None:
    paths = [Path("a"), Path("b")]
    assert list(named(paths, ["one", "two"])) == ["one", "two"]
    with pytest.raises(KeywrightError, match="1 names for 2 systems"):
        named(paths, ["one"])
    with pytest.raises(KeywrightError, match="two systems are called 'one'"):
        named(paths, ["one", "one"])


def test_a_panel_is_in_the_order_of_the_documents() -> None:
    shuffled = read_panel(DOCUMENTS, {"a": plain(A)[::-1], "b": plain(B)})
    assert [p.document_id for p in shuffled.predictions["a"]] == ["d1", "d2", "d3"]
    assert [len(match.all.predictions) for match in shuffled.matches["a"]] == [4, 3, 0]


def test_a_panel_needs_gold_and_reading_systems_does_not() -> None:
    bare = [Document(id=d.id, title=d.title, body=d.body) for d in DOCUMENTS]
    with pytest.raises(DataError, match="d1 has no gold"):
        read_panel(bare, {"a": plain(A)})
    assert read_systems(bare, {"a": plain(A)}) == {"a": tuple(plain(A))}


def test_systems_keep_their_order() -> None:
    assert panel(z=A, a=B).systems == ("z", "a")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["run-a-test.jsonl", "run-b-test.jsonl"], ["a", "b"]),
        (["kp20k_default.jsonl", "kp20k_yake.jsonl"], ["default", "yake"]),
        (["model-1.jsonl", "model-1-beam.jsonl"], ["1", "1-beam"]),
        (["model.jsonl", "model-beam.jsonl"], ["model", "model-beam"]),
        (["cat.jsonl", "catseq.jsonl"], ["cat", "catseq"]),
        (["only-one.jsonl"], ["only-one"]),
    ],
)
def test_words_that_all_names_share_are_left_out(files: list[str], names: list[str]) -> None:
    assert list(named([Path(file) for file in files])) == names
