"""Checking finds the errors of a corpus and nothing else."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from keywright.data.check import Leak, Place, check, letters, shingles
from tests.shared import SHARED, needs_data

WORDS = "the of a graph model we show that result is method for data large with are new from"


def body(seed: int, length: int = 60) -> list[str]:
    """Words in an order that no other seed has."""
    rng = random.Random(seed)
    return [rng.choice(WORDS.split()) + "abcdefghij"[rng.randrange(10)] for _ in range(length)]


def corpus(path: Path, *documents: tuple[str, list[str]], **fields: object) -> str:
    records = (
        {"title": title, "abstract": " ".join(text), "keywords": ["k"], **fields}
        for title, text in documents
    )
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_a_clean_corpus_is_clean(tmp_path):
    a = corpus(tmp_path / "a", ("One title", body(1)), ("Another", body(2)))
    b = corpus(tmp_path / "b", ("A third", body(3)))
    report = check([a, b])
    assert report.clean
    assert [file.documents for file in report.files] == [2, 1]


def test_malformed_lines_are_counted_and_skipped(tmp_path):
    file = Path(corpus(tmp_path / "a", ("One", body(1)), ("Two", body(2))))
    good = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(good[0] + b"{broken\n" + b"\xff\xfe\n" + b'{"title": 1}\n' + good[1])
    (report,) = check([file]).files
    assert report.documents == 2
    assert [error.split(":")[1] for error in report.malformed] == ["2", "3", "4"]


def test_missing_and_empty_gold(tmp_path):
    (tmp_path / "a").write_text(
        '{"title": "x", "abstract": ""}\n'
        '{"title": "y", "abstract": "", "keywords": []}\n'
        '{"title": "z", "abstract": "", "keywords": [" "]}\n'
        '{"title": "w", "abstract": "", "keywords": ["k"]}\n'
    )
    (report,) = check([tmp_path / "a"]).files
    assert (report.without_gold, report.empty_gold) == ([1], [2, 3])


def test_repeats_are_reported_with_what_is_the_same(tmp_path):
    file = corpus(
        tmp_path / "a",
        ("On graphs", body(1)),
        ("On trees", body(2)),
        ("ON GRAPHS!", body(3)),
        ("On trees", body(2)),
    )
    (report,) = check([file]).files
    assert report.repeats == [(3, 1, "title"), (4, 2, "text")]


def test_an_id_used_twice_is_a_repeat(tmp_path):
    file = corpus(tmp_path / "a", ("One", body(1)), ("Two", body(2)), id="same")
    (report,) = check([file]).files
    assert report.repeats == [(2, 1, "id")]


def test_leaks_are_found_by_title_ignoring_case_hyphens_and_digits(tmp_path):
    train = corpus(tmp_path / "train", ("2-degenerate graphs: A new method", body(1)))
    test = corpus(tmp_path / "test", ("<digit> degenerate graphs a new method .", body(2)))
    assert check([train], [test]).leaks == [Leak(Place(train, 1), Place(test, 1), True, 0.0)]


@pytest.mark.parametrize(
    ("kept", "found"),
    # 60 words have 53 shingles; the first 34 words hold 27 of them, the first 33 hold 26.
    [(34, True), (33, False)],
)
def test_leaks_are_found_by_half_of_the_shingles(tmp_path, kept, found):
    train = corpus(tmp_path / "train", ("One", body(1)), ("Two", body(2)))
    test = corpus(tmp_path / "test", ("Three", body(2)[:kept] + body(9, 60 - kept)))
    leaks = check([train], [test]).leaks
    assert [(leak.place.line, leak.same_title) for leak in leaks] == ([(2, False)] if found else [])
    if found:
        assert leaks[0].share == pytest.approx(27 / 53)


def test_half_of_the_shorter_document_is_enough(tmp_path):
    long = corpus(tmp_path / "long", ("Full text", body(1, 1000)))
    short = corpus(tmp_path / "short", ("Abstract", body(1, 1000)[500:540]))
    (leak,) = check([long], [short]).leaks
    assert leak.share == 1.0


def test_leaks_do_not_depend_on_which_side_is_larger(tmp_path):
    one = corpus(tmp_path / "one", ("Same", body(1)))
    many = corpus(tmp_path / "many", *((f"Title {word}", body(n)) for n, word in enumerate("abcd")))
    assert len(check([one], [many]).leaks) == 1
    (leak,) = check([one], [many]).leaks
    assert leak.place.path == one
    (leak,) = check([many], [one]).leaks
    assert leak.place.path == many


def test_files_are_compared_with_each_other_once(tmp_path):
    files = [corpus(tmp_path / name, ("Shared title", body(1))) for name in "abc"]
    pairs = {
        (Path(leak.place.path).name, Path(leak.other.path).name) for leak in check(files).leaks
    }
    assert pairs == {("a", "b"), ("a", "c"), ("b", "c")}


def test_short_texts_without_title_match_nothing(tmp_path):
    a = corpus(tmp_path / "a", ("", ["short", "text"]))
    b = corpus(tmp_path / "b", ("", ["short", "text"]))
    assert check([a, b]).leaks == []


def test_only_letters_are_compared():
    assert letters("A 2-Way <digit> DIGIT DIGITAL e!") == "awaydigitale"
    raw = shingles("In 2019, the so-called BERT-model (large) won all of its 9 tasks.")
    prepared = shingles(
        "in <digit> , the so called bert model ( large ) won all of its <digit> tasks"
    )
    assert len(raw) == 5
    assert raw.tolist() == prepared.tolist()


@needs_data
def test_the_raw_and_the_prepared_semeval_are_recognised_as_one_corpus():
    data = SHARED / "data"
    report = check([data / "test-raw/semeval.jsonl"], [data / "test/semeval.jsonl"])
    assert len({leak.place.line for leak in report.leaks}) == 99
