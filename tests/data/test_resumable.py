"""Files that can be continued after an interruption."""

import os
from pathlib import Path

import pytest

from keywright.data.resumable import resumable_lines
from keywright.errors import DataError
from keywright.files import read_lines

FULL = Path("/dev/full")
ORIGIN = {"model": "m", "batch": 4}
LINES = [f"line {i}\n".encode() for i in range(10)]


class Killed(BaseException):
    pass


def write(path, lines=LINES, stop: int | None = None, origin=ORIGIN, **options) -> int:
    """Write the lines up to `stop`; return how many existed already."""
    with resumable_lines(path, origin, **options) as file:
        there = file.done
        for number, line in enumerate(lines[there:], start=there):
            if number == stop:
                raise Killed
            file.append(line)
    return there


def interrupt(path, stop: int) -> None:
    with pytest.raises(Killed):
        write(path, stop=stop)


def names(folder) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "out.jsonl"
    interrupt(path, 4)
    assert names(tmp_path) == ["out.jsonl.part", "out.jsonl.part.json"]
    assert write(path, resume=True) == 4
    assert names(tmp_path) == ["out.jsonl"]
    assert path.read_bytes() == b"".join(LINES)


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_line_that_was_cut_is_written_again(tmp_path, cut):
    path, part = tmp_path / "out", tmp_path / "out.part"
    interrupt(path, 4)
    part.write_bytes(part.read_bytes()[:-cut])
    assert write(path, resume=True) == 3
    assert path.read_bytes() == b"".join(LINES)


def test_resuming_without_a_file_starts_one(tmp_path):
    assert write(tmp_path / "out", resume=True) == 0
    assert (tmp_path / "out").read_bytes() == b"".join(LINES)


def test_the_lines_of_a_long_file_are_counted(tmp_path):
    lines = [b"x" * 700_000 + b"\n", *LINES, b"y" * 2_500_000 + b"\n", *LINES]
    path = tmp_path / "out"
    with pytest.raises(Killed):
        write(path, lines, stop=20)
    assert write(path, lines, resume=True) == 20
    assert path.read_bytes() == b"".join(lines)


def test_nothing_is_overwritten_without_force(tmp_path):
    path = tmp_path / "out"
    interrupt(path, 4)
    with pytest.raises(DataError, match=r"out.part; --resume continues it, --force starts"):
        write(path)
    assert write(path, force=True) == 0
    with pytest.raises(DataError, match="already exists; --force replaces it"):
        write(path)
    assert write(path, LINES[:2], force=True) == 0
    assert path.read_bytes() == b"".join(LINES[:2])
    with pytest.raises(DataError, match="choose one"):
        write(path, resume=True, force=True)


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "out"
    write(path, LINES[:2])
    with pytest.raises(Killed):
        write(path, stop=5, force=True)
    assert path.read_bytes() == b"".join(LINES[:2])


def test_a_file_cannot_be_continued_with_other_settings(tmp_path):
    path = tmp_path / "out"
    interrupt(path, 4)
    with pytest.raises(DataError, match=r"batch was 4 and is 8 now"):
        write(path, origin={"model": "m", "batch": 8}, resume=True)
    (tmp_path / "out.part.json").unlink()
    with pytest.raises(DataError, match=r"out.part.json.* is missing or damaged"):
        write(path, resume=True)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_files_are_compressed_at_the_end(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    interrupt(path, 4)
    write(path, resume=True)
    assert [line for _, line in read_lines(path)] == [line.decode()[:-1] for line in LINES]
    assert names(tmp_path) == [path.name]


def test_an_unwritable_folder_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write(tmp_path / "no" / "such" / "folder")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error_that_keeps_the_lines(tmp_path):
    path = tmp_path / "out"
    interrupt(path, 4)
    with resumable_lines(path, ORIGIN, resume=True) as file:
        for line in LINES[4:]:
            file.append(line)
        with FULL.open("wb", buffering=0) as full:
            file._file, kept = full, file._file
            with pytest.raises(DataError, match=r"No space left.*--resume continues what is done"):
                file.append(b"more\n")
            file._file = kept
    assert path.read_bytes() == b"".join(LINES)


def test_a_pipe_or_device_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is a device or a pipe"):
        write(pipe, force=True)
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_two_processes_do_not_write_the_same_file(tmp_path):
    path = tmp_path / "out"
    with resumable_lines(path, ORIGIN) as first:
        first.append(LINES[0])
        with pytest.raises(DataError, match="another process is writing it"):
            write(path, resume=True)
        for line in LINES[1:]:
            first.append(line)
    assert path.read_bytes() == b"".join(LINES)
    assert names(tmp_path) == ["out"]
