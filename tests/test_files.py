"""Files are read with any compression, and written completely or not at all."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from keywright.errors import DataError
from keywright.files import (
    atomic_write,
    draft_folder,
    exclusive,
    first_lines,
    read_lines,
    read_text,
    remove_leftovers,
)

COMPRESSORS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("compress", COMPRESSORS.values(), ids=COMPRESSORS.keys())
def test_compression_is_recognised_by_content_not_by_name(tmp_path, compress):
    file = tmp_path / "misnamed.txt"
    file.write_bytes(compress("one\nzwölf\n".encode()))
    assert list(read_lines(file)) == [(1, "one"), (2, "zwölf")]


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_concatenated_compressed_parts_are_one_file(tmp_path, name):
    file = tmp_path / "joined"
    compress = COMPRESSORS[name]
    file.write_bytes(compress(b"one\n") + compress(b"two\n") + compress(b"") + compress(b"three"))
    assert [line for _, line in read_lines(file)] == ["one", "two", "three"]


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_a_truncated_compressed_file_is_an_error(tmp_path, name):
    file = tmp_path / "cut"
    whole = COMPRESSORS[name](b"".join(b"line %d\n" % number for number in range(50_000)))
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut:\d+: the compressed file is truncated or damaged"):
        list(read_lines(file))


def test_only_a_line_feed_ends_a_line(tmp_path):
    file = tmp_path / "separators"
    file.write_bytes("a\u2028b\x0bc\x85d\re\r\nf".encode())
    assert list(read_lines(file)) == [(1, "a\u2028b\x0bc\x85d\re"), (2, "f")]


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path):
    file = tmp_path / "marked"
    file.write_bytes(b"\xef\xbb\xbfword\n")
    assert read_text(file) == "word"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fine\ncaf\xe9\n", r"file:2: is not UTF-8 \(byte 0xe9 at column 4\)"),
        (b"fine\nPNG\x00\x01\n", "file:2: is a binary file"),
    ],
)
def test_invalid_text_is_an_error_that_names_the_line(tmp_path, content, message):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(read_lines(file))


def test_bad_lines_can_be_recorded_and_skipped(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"one\n\xff\ntwo\nx\x00\nthree\n")
    noted: list[DataError] = []
    assert list(read_lines(file, noted.append)) == [(1, "one"), (3, "two"), (5, "three")]
    assert [str(error).split(":")[1] for error in noted] == ["2", "4"]


@pytest.mark.parametrize(("name", "message"), [("none", "no such file"), (".", "is a folder")])
def test_a_missing_file_or_a_folder_is_reported(tmp_path, name, message):
    with pytest.raises(DataError, match=message):
        list(read_lines(tmp_path / name))


def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(b"one\ntwo\n")))
    writer.start()
    assert [line for _, line in read_lines(pipe)] == ["one", "two"]
    writer.join()


def test_first_lines_reads_little_and_tolerates_errors(tmp_path):
    file = tmp_path / "file"
    whole = gzip.compress(b"\xef\xbb\xbfone\r\n\xff\n" + b"more\n" * 100_000)
    file.write_bytes(whole[:-20])
    assert first_lines(file, 3) == ["one", "\ufffd", "more"]


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_first_lines_of_a_truncated_small_file_gives_what_is_there(tmp_path, name):
    file = tmp_path / "cut"
    lines = b"".join(b"line %d: %d\n" % (number, number**9) for number in range(2_000))
    whole = COMPRESSORS[name](lines)
    file.write_bytes(whole[: len(whole) // 2])
    looked, read = first_lines(file, 3), iter(read_lines(file))
    if name == "zstd":  # less than one block of it is left, so nothing can be read
        with pytest.raises(DataError, match="truncated"):
            next(read)
    else:
        assert looked == [next(read)[1] for _ in range(3)]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
@settings(deadline=None)  # it waits for the disk
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")))
def test_text_survives_writing_and_reading(tmp_path_factory, suffix, text):
    file = tmp_path_factory.mktemp("written") / f"file{suffix}"
    with atomic_write(file) as stream:
        stream.write(text + "\n")  # type: ignore[arg-type]
    assert read_text(file) == text


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("old")

    def fail_half_way() -> None:
        with atomic_write(file) as stream:
            stream.write("half of the n")  # type: ignore[arg-type]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("place", ["no/such/folder/file", "."])
def test_an_unwritable_place_is_an_error(tmp_path: Path, place):
    with pytest.raises(DataError, match="cannot be written"), atomic_write(tmp_path / place):
        pass


def test_a_symbolic_link_still_points_to_the_written_file(tmp_path: Path):
    link, file = tmp_path / "link", tmp_path / "file"
    file.write_text("old")
    link.symlink_to(file)
    with atomic_write(link) as stream:
        stream.write("new")  # type: ignore[arg-type]
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_a_pipe_or_device_is_not_replaced_by_a_file(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is a device or a pipe"), atomic_write(pipe):
        pass
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_place_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    refused = pytest.raises(DataError, match="another process is writing it")
    with (
        exclusive(tmp_path / "out"),
        exclusive(tmp_path / "other"),
        refused,
        exclusive(tmp_path / "out"),
    ):
        pytest.fail("both have the lock")
    with exclusive(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


def left_behind(place: Path, kill: bool) -> subprocess.Popen[str]:
    """A process that is writing a file, and is killed or still there."""
    code = (
        "import sys, time\n"
        "from keywright.files import atomic_write, draft_folder\n"
        "from pathlib import Path\n"
        "place = Path(sys.argv[1])\n"
        "with atomic_write(place) as file, draft_folder(place) as folder:\n"
        "    file.write('half'); file.flush(); (folder / 'inner').touch()\n"
        "    print('ready', flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(place)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    if kill:
        process.kill()
        process.wait()
    return process


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """By their locks: the number of a process means nothing on another machine."""
    left_behind(tmp_path / "out", kill=True)
    left_behind(tmp_path / "out.json", kill=True)
    dead = {path.name for path in tmp_path.iterdir()}
    assert len(dead) == 4
    running = left_behind(tmp_path / "out", kill=False)
    alive = {path.name for path in tmp_path.iterdir()} - dead
    assert len(alive) == 2
    with atomic_write(tmp_path / "out") as file:
        file.write("whole")  # type: ignore[call-overload]
    kept = {name for name in dead if name.startswith(".out.json.")} | alive | {"out"}
    assert {path.name for path in tmp_path.iterdir()} == kept
    running.kill()
    running.wait()
    remove_leftovers(tmp_path / "out")
    remove_leftovers(tmp_path / "out.json")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_draft_that_another_process_is_removing_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False, True, False, True])
    monkeypatch.setattr("keywright.files._hold", lambda *_: next(answers))
    with atomic_write(tmp_path / "out") as file:
        file.write("whole")  # type: ignore[call-overload]
    assert (tmp_path / "out").read_text() == "whole"
    with draft_folder(tmp_path / "folder") as draft:
        assert draft.is_dir()
    assert next(answers, None) is None
