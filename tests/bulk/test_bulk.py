"""`keywright bulk`: shards that are each made once, whatever is given and whatever goes wrong."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from keywright import Document, Keywright
from keywright.bulk import shard
from keywright.bulk.run import status
from keywright.generation.job import engine
from tests.bulk.conftest import MODEL, Bulk, content, documents, records, write


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", documents(25))


def test_every_document_once_in_the_order_of_the_input(
    bulk: Bulk, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = bulk(table, "--output", out, "--shard-size", 10)
    assert done.code == 0, done.err
    assert "25 of 25 documents (100.0%), 3 of 3 shards, 0 failures" in done.err
    assert sorted(content(out)) == [
        "failures.jsonl",
        "manifest.json",
        "part-000000.jsonl",
        "part-000001.jsonl",
        "part-000002.jsonl",
    ]
    found = records(out)
    assert [record["id"] for record in found] == [f"d{n}" for n in range(25)]
    first = documents(1)[0]
    document = Document(title=first["title"], body=first["abstract"])
    expected = Keywright(MODEL).generate(document)
    assert found[0]["phrases"] == [phrase.text for phrase in expected]
    for phrase, places in zip(found[0]["phrases"], found[0]["places"], strict=True):
        assert all(document.text[start:end].lower() == phrase.lower() for start, end in places)


def test_places_are_those_of_the_cell_if_there_is_no_title(bulk: Bulk, tmp_path: Path) -> None:
    text = "  A title line\n\n  Heat pumps warm old houses.  "
    table = write(tmp_path / "data.jsonl", [{"text": text}])
    assert bulk(table, "--output", tmp_path / "out").code == 0
    (record,) = records(tmp_path / "out")
    assert record["id"] == f"{table}:1"
    assert "Heat pumps warm old houses" in [
        text[start:end] for places in record["places"] for start, end in places
    ]


def as_csv(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def test_all_kinds_of_tables_have_the_same_result(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs keywright[bulk]")
    from pyarrow import parquet

    rows = documents(25)
    as_csv(tmp_path / "data.csv", rows)
    as_csv(tmp_path / "data.tsv", rows, "\t")
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "data.parquet")
    results = []
    for kind in ("jsonl", "csv", "tsv", "parquet"):
        out = tmp_path / f"out-{kind}"
        assert bulk(tmp_path / f"data.{kind}", "--output", out, "--shard-size", 7).code == 0
        results.append(records(out))
    assert len(results[0]) == 25
    assert results[1:] == results[:1] * 3


def test_parquet_output(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs keywright[bulk]")
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    assert bulk(table, "--output", plain).code == 0
    done = bulk(table, "--output", packed, "--shard-size", 10, "--format", "parquet")
    assert done.code == 0, done.err
    files = sorted(packed.glob("*.parquet"))
    assert len(files) == 3
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    for row in rows:
        row["places"] = [[[p["start"], p["end"]] for p in places] for places in row["places"]]
    assert rows == records(plain)


def test_folders_patterns_and_small_files(bulk: Bulk, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    rows = documents(9)
    write(folder / "a.jsonl", rows[:3])
    write(folder / "b.jsonl", rows[3:5])
    write(folder / "sub" / "c.jsonl", rows[5:])
    write(folder / ".hidden" / "d.jsonl", documents(1))
    (folder / "notes.txt").write_text("not a table")
    assert bulk(folder, "--output", tmp_path / "one", "--shard-size", 5).code == 0
    # What is left of small files shares a shard.
    assert len(list((tmp_path / "one").glob("part-*"))) == 2
    assert [record["id"] for record in records(tmp_path / "one")] == [row["id"] for row in rows]
    pattern = bulk(f"{folder}/**/*.jsonl", "--output", tmp_path / "two", "--shard-size", 5)
    assert pattern.code == 0, pattern.err
    assert records(tmp_path / "two") == records(tmp_path / "one")


def test_addresses(bulk: Bulk, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs keywright[bulk]")
    store = fsspec.filesystem("memory")
    root = f"/{tmp_path.name}"
    rows = documents(9)
    for name, part in (("a", rows[:4]), ("b", rows[4:])):
        write(tmp_path / f"{name}.jsonl", part)
        store.pipe_file(f"{root}/in/{name}.jsonl", (tmp_path / f"{name}.jsonl").read_bytes())
    expected = tmp_path / "out"
    assert bulk(tmp_path / "*.jsonl", "--output", expected, "--shard-size", 2).code == 0
    for given in (f"memory:/{root}/in", f"memory:/{root}/in/*.jsonl"):
        done = bulk(given, "--output", f"memory:/{root}/out", "--shard-size", 2)
        assert done.code == 0, done.err
        names = [Path(name).name for name in store.ls(f"{root}/out", detail=False)]
        assert sorted(names) == sorted(path.name for path in expected.iterdir())
        for file in expected.glob("part-*"):
            assert store.cat_file(f"{root}/out/{file.name}") == file.read_bytes()
    told = bulk("--status", f"memory:/{root}/out")
    assert "9 of 9 documents (100.0%), 5 of 5 shards, 0 failures; complete" in told.out
    # A shard that is missing is made again; a changed input is refused.
    store.rm_file(f"{root}/out/part-000001.jsonl")
    assert bulk(given, "--output", f"memory:/{root}/out", "--shard-size", 2).code == 0
    assert store.exists(f"{root}/out/part-000001.jsonl")
    old = store.cat_file(f"{root}/in/b.jsonl")
    store.pipe_file(f"{root}/in/b.jsonl", old.replace(b"cold", b"warm"))
    changed = bulk(given, "--output", f"memory:/{root}/out", "--shard-size", 2)
    assert changed.code == 2
    assert "b.jsonl: same size, other content" in changed.err
    assert bulk(f"file://{tmp_path}/a.jsonl", "--output", f"file://{tmp_path}/local").code == 0
    assert len(records(tmp_path / "local")) == 4


def test_only_what_is_missing_is_made(
    bulk: Bulk, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    arguments = (table, "--output", out, "--shard-size", 5)
    assert bulk(*arguments).code == 0
    before = content(out)
    made: list[str] = []
    keyphrases = shard._keyphrases

    def counted(job: Any, texts: Any) -> Any:
        made.append(texts[0].title)
        return keyphrases(job, texts)

    monkeypatch.setattr(shard, "_keyphrases", counted)
    assert bulk(*arguments).code == 0
    assert made == []
    (out / "part-000003.jsonl").unlink()
    assert "20 of 25 documents (80.0%), 4 of 5 shards" in bulk("--status", out).out
    assert bulk(*arguments).code == 0
    assert made == ["Heat pump number15"]
    assert content(out) == before


def test_what_differs_is_said(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (table, "--output", out, "--shard-size", 10)
    assert bulk(*arguments).code == 0
    before = content(out)
    for more, words in (
        (("--top", 3), "selection.top: None -> 3"),
        (("--model", "statistical"), "model.extractor: 'rake' -> 'statistical'"),
        (("--format", "parquet"), "format: 'jsonl' -> 'parquet'"),
        (("--column", "title"), "columns.text: None -> 'title'"),
        ((tmp_path / "more.jsonl",), "more.jsonl: was not among the input"),
    ):
        write(tmp_path / "more.jsonl", documents(1))
        refused = bulk(*arguments, *more)
        assert refused.code == 2, more
        assert "cannot be continued" in refused.err
        assert words in refused.err
        assert len(refused.err.splitlines()) == 1
    table.write_text(table.read_text().replace("cold winters", "mild winters"))
    refused = bulk(*arguments)
    assert "data.jsonl: same size, other content (SHA-256" in refused.err
    table.write_text(table.read_text() + "\n")
    refused = bulk(*arguments)
    assert (
        f"data.jsonl: {table.stat().st_size - 1:,} bytes -> {table.stat().st_size:,}" in refused.err
    )
    assert content(out) == before


def test_documents_that_fail_do_not_stop_the_rest(
    bulk: Bulk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Any] = documents(20)
    rows[3]["abstract"] = ["a", "list"]
    rows[11]["title"] = "BROKEN"
    del rows[17]["abstract"]
    table = write(tmp_path / "data.jsonl", rows)
    with table.open("ab") as file:
        file.write(b"{not json}\n")
    predictor = engine(shard.Job(MODEL, shard_selection(), 1))._loaded.predictor
    predict = type(predictor).predict

    def broken(self: Any, given: Any) -> Any:
        for document in given:
            if document.title == "BROKEN":
                raise RuntimeError("the model\ncannot do this")
            yield from predict(self, [document])

    monkeypatch.setattr(type(predictor), "predict", broken)
    out = tmp_path / "out"
    done = bulk(table, "--output", out, "--shard-size", 10)
    assert done.code == 1
    assert "21 of 21 documents (100.0%), 3 of 3 shards, 4 failures" in done.err
    failures = [json.loads(line) for line in (out / "failures.jsonl").read_text().splitlines()]
    assert failures == [
        {"id": "d3", "reason": "'abstract' is a list, not a text"},
        {"id": "d11", "reason": "RuntimeError: the model cannot do this"},
        {"id": f"{table}:18", "reason": f"{table}:18: has no 'abstract'"},
        {"id": f"{table}:21", "reason": failures[3]["reason"]},
    ]
    assert f"{table}:21: is not JSON" in failures[3]["reason"]
    ids = [record["id"] for record in records(out)]
    assert ids == [f"d{n}" for n in range(20) if n not in (3, 11, 17)]
    before = content(out)
    (out / "failures.jsonl").unlink()
    (out / "part-000001.jsonl").unlink()
    assert bulk(table, "--output", out, "--shard-size", 10).code == 1
    assert content(out) == before


def shard_selection() -> Any:
    from keywright import Selection

    return Selection()


def test_if_all_documents_fail_the_exit_code_is_2(bulk: Bulk, tmp_path: Path) -> None:
    table = write(tmp_path / "data.jsonl", [{"text": {"a": 1}}])  # type: ignore[dict-item]
    assert bulk(table, "--output", tmp_path / "out").code == 2


def test_an_input_that_changes_during_the_run_ends_it(
    bulk: Bulk, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyphrases = shard._keyphrases

    def changed(job: Any, texts: Any) -> Any:
        with table.open("a") as file:
            file.write("\n")
        return keyphrases(job, texts)

    monkeypatch.setattr(shard, "_keyphrases", changed)
    done = bulk(table, "--output", tmp_path / "out", "--shard-size", 10)
    assert done.code == 2
    assert "when the shards were planned; restore it" in done.err
    assert "(1 of 3 shards are done; the same command continues)" in done.err


def cut_off(path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs keywright[bulk]")
    from pyarrow import parquet

    parquet.write_table(arrow.Table.from_pylist(documents(100)), path)
    path.write_bytes(path.read_bytes()[:-50])


def test_bad_input_is_refused_and_nothing_is_written(bulk: Bulk, tmp_path: Path) -> None:
    table = write(tmp_path / "data.jsonl", documents(3))
    write(tmp_path / "other.jsonl", [{"name": "a"}])
    write(tmp_path / "untitled.jsonl", [{"abstract": "a", "id": "1"}])
    cut_off(tmp_path / "cut.parquet")
    (tmp_path / "book.xlsx").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    out = tmp_path / "out"
    for given, words in (
        ((table, "--column", "body"), "data.jsonl:1: has no column called 'body'; its columns are"),
        ((table, "--id-column", "key"), "has no column called 'key'"),
        ((table, tmp_path / "other.jsonl"), "other.jsonl:1: has no column for text"),
        (
            (table, tmp_path / "untitled.jsonl"),
            "untitled.jsonl: its columns for text, title and id are 'abstract', none, 'id', but",
        ),
        ((tmp_path / "cut.parquet",), "cut.parquet: is not a complete Parquet file"),
        ((table, table), "data.jsonl: is given twice"),
        ((tmp_path / "none.csv",), "none.csv: no such file"),
        ((tmp_path / "empty",), "empty: no such file, and no tables"),
        ((tmp_path / "book.xlsx",), "book.xlsx: is not a table that can be cut into shards"),
        (("s4://bucket/a.jsonl",), "s4://bucket/a.jsonl: cannot be reached"),
        ((tmp_path, "--column", "abstract"), "out: is in the input"),
        ((table, "--engine", "rya"), "unknown engine 'rya'; did you mean 'ray'"),
        ((table, "--address", "auto"), "--address is that of a cluster"),
        ((table, "--gpus", "1"), "--gpus is for --engine ray"),
        ((table, "--model", "tfidf"), "tfidf compares each document with all others"),
        ((table, "--precision", "0.9"), "no calibrated probabilities"),
        ((table, "--format", "csv"), "unknown format 'csv'"),
    ):
        done = bulk(*given, "--output", out)
        assert done.code == 2, given
        assert words in done.err, done.err
        assert len(done.err.splitlines()) == 1, done.err
        assert not out.exists()
    assert bulk(table).code == 2
    assert bulk("--output", out).code == 2
    assert "has no manifest.json" in bulk("--status", tmp_path / "empty").err
    assert bulk("--status", out, table).code == 2


def test_a_missing_extra_is_named(
    bulk: Bulk, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for module, given, extra in (
        ("ray", ("--engine", "ray"), "keywright[ray]"),
        ("pyspark", ("--engine", "spark"), "keywright[spark]"),
        ("pyarrow", ("--format", "parquet"), "keywright[bulk]"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            done = bulk(table, "--output", tmp_path / "out", *given)
        assert done.code == 2
        assert extra in done.err, done.err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("kind", "scheme"), [("ray", ""), ("ray", "ray://"), ("spark", "spark://")]
)
def test_a_cluster_that_does_not_answer(
    bulk: Bulk,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    scheme: str,
) -> None:
    name = {"ray": "_ray", "spark": "_spark"}[kind]
    monkeypatch.setattr(f"keywright.bulk.engines.{kind}.{name}", lambda: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # a port at which nobody listens
        address = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        done = bulk(table, "--output", tmp_path / "out", "--engine", kind, "--address", address)
    assert done.code == 2
    assert f"no cluster at {address}: " in done.err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_is_not_used(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    done = bulk(table, "--output", tmp_path / "out")
    assert done.code == 2
    assert "is not empty (it has 'thesis.txt')" in done.err
    assert content(tmp_path / "out") == {"thesis.txt": b"mine"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_right_to_write(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    done = bulk(table, "--output", tmp_path / "closed" / "out")
    assert done.code == 2
    assert "cannot be written: Permission denied" in done.err


def test_a_file_in_the_way(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        done = bulk(table, "--output", out)
        assert done.code == 2, out
        assert len(done.err.splitlines()) == 1, done.err
    assert (tmp_path / "file").read_text() == "mine"


def hold(folder: str, held: Any, free: Any) -> None:
    from keywright.files import exclusive

    with exclusive(folder):
        held.set()
        free.wait(60)


def test_one_run_at_a_time(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert bulk(table, "--output", out).code == 0
    context = multiprocessing.get_context("fork")
    held, free = context.Event(), context.Event()
    other = context.Process(target=hold, args=(str(out), held, free))
    other.start()
    assert held.wait(60)
    done = bulk(table, "--output", out)
    assert done.code == 2
    assert "another process is writing it" in done.err
    assert bulk("--status", out).out.endswith("complete; running\n")
    free.set()
    other.join()
    assert bulk("--status", out).out.endswith("complete\n")


def test_what_dead_runs_left_is_removed(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert bulk(table, "--output", out).code == 0
    before = content(out)
    (out / ".failures").mkdir(exist_ok=True)
    (out / ".part-000000.jsonl.0123abcd.part").write_text("half")
    (out / ".failures" / ".part-000000.jsonl.jsonl.0123abcd.part").write_text("half")
    assert bulk(table, "--output", out).code == 0
    assert content(out) == before


def test_an_empty_table(bulk: Bulk, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("id,text\n")
    done = bulk(tmp_path / "data.csv", "--output", tmp_path / "out")
    assert done.code == 0, done.err
    assert status(str(tmp_path / "out")).complete
    assert sorted(content(tmp_path / "out")) == ["failures.jsonl", "manifest.json"]


def test_a_damaged_manifest(bulk: Bulk, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert bulk(table, "--output", out).code == 0
    whole = (out / "manifest.json").read_text()
    for text, words in (
        (whole[:-20], "manifest.json: is not a manifest"),
        (whole.replace('"version": 1', '"version": 9'), "manifest.json: is of version 9"),
    ):
        (out / "manifest.json").write_text(text)
        done = bulk(table, "--output", out)
        assert done.code == 2
        assert words in done.err
