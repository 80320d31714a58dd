"""Tables of phrases: counts are exact, unknown phrases are zeros."""

from __future__ import annotations

import numpy as np
import pytest

from keywright.ranking.keys import Table, Tally, keys


def test_a_key_is_the_same_in_every_process() -> None:
    # Fitted tables are read by other processes and machines: a fixed number, not Python's hash.
    assert keys([("neural", "network")]).tolist() == [16376929489674040609]


def test_no_phrases_have_no_keys() -> None:
    assert keys([]).tolist() == []


def test_order_and_number_of_words_matter() -> None:
    phrases = [("a", "b"), ("b", "a"), ("ab",), ("a",), ("a", "b", "a")]
    assert len(set(keys(phrases).tolist())) == len(phrases)


def test_look_up_gives_zeros_for_what_is_unknown() -> None:
    known = keys([("heat",), ("pump",)])
    order = np.argsort(known)
    table = Table(known[order], np.array([[1, 2], [3, 4]])[order])
    found = table.look_up(keys([("pump",), ("house",), ("heat",)]))
    assert found.tolist() == [[3, 4], [0, 0], [1, 2]]


def test_an_empty_table_knows_nothing() -> None:
    table = Tally(2).table()
    assert table.look_up(keys([("heat",)])).tolist() == [[0, 0]]


@pytest.mark.parametrize("room", [1, 3, 1000])
def test_a_tally_counts_as_a_dictionary_would(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tally, "ROOM", room)
    rng = np.random.default_rng(0)
    tally = Tally(2)
    expected: dict[int, list[int]] = {}
    for _ in range(40):
        column = int(rng.integers(2))
        seen = rng.integers(0, 9, size=5).astype(np.uint64)
        tally.add(column, seen)
        for key in seen.tolist():
            expected.setdefault(key, [0, 0])[column] += 1
    table = tally.table()
    assert table.keys.tolist() == sorted(expected)
    assert table.rows.tolist() == [expected[key] for key in sorted(expected)]
