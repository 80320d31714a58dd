"""Files are read whatever their compression, and written whole or not at all."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from keywright.errors import DataError
from keywright.files import atomic_write, first_lines, read_lines, read_text

COMPRESSORS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("compress", COMPRESSORS.values(), ids=COMPRESSORS.keys())
def test_compression_is_seen_in_the_content_and_not_in_the_name(tmp_path, compress):
    file = tmp_path / "misnamed.txt"
    file.write_bytes(compress("one\nzwölf\n".encode()))
    assert list(read_lines(file)) == [(1, "one"), (2, "zwölf")]


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_several_compressed_parts_in_a_row_are_one_file(tmp_path, name):
    file = tmp_path / "joined"
    compress = COMPRESSORS[name]
    file.write_bytes(compress(b"one\n") + compress(b"two\n") + compress(b"") + compress(b"three"))
    assert [line for _, line in read_lines(file)] == ["one", "two", "three"]


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_a_compressed_file_cut_short_is_an_error_and_not_a_shorter_file(tmp_path, name):
    file = tmp_path / "cut"
    whole = COMPRESSORS[name](b"".join(b"line %d\n" % number for number in range(50_000)))
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut:\d+: the compressed file is truncated or damaged"):
        list(read_lines(file))


def test_only_a_line_feed_ends_a_line(tmp_path):
    file = tmp_path / "separators"
    file.write_bytes("a\u2028b\x0bc\x85d\re\r\nf".encode())
    assert list(read_lines(file)) == [(1, "a\u2028b\x0bc\x85d\re"), (2, "f")]


def test_a_byte_order_mark_is_no_text(tmp_path):
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
def test_what_is_not_text_is_an_error_that_names_the_line(tmp_path, content, message):
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(read_lines(file))


def test_bad_lines_can_be_noted_and_passed_over(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"one\n\xff\ntwo\nx\x00\nthree\n")
    noted: list[DataError] = []
    assert list(read_lines(file, noted.append)) == [(1, "one"), (3, "two"), (5, "three")]
    assert [str(error).split(":")[1] for error in noted] == ["2", "4"]


@pytest.mark.parametrize(("name", "message"), [("none", "no such file"), (".", "is a folder")])
def test_what_is_no_file_says_so(tmp_path, name, message):
    with pytest.raises(DataError, match=message):
        list(read_lines(tmp_path / name))


def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(b"one\ntwo\n")))
    writer.start()
    assert [line for _, line in read_lines(pipe)] == ["one", "two"]
    writer.join()


def test_a_first_look_reads_little_and_forgives_everything(tmp_path):
    file = tmp_path / "file"
    whole = gzip.compress(b"\xef\xbb\xbfone\r\n\xff\n" + b"more\n" * 100_000)
    file.write_bytes(whole[:-20])
    assert first_lines(file, 3) == ["one", "\ufffd", "more"]


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
def test_a_first_look_at_a_small_file_cut_short_gives_what_is_there(tmp_path, name):
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
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")))
def test_what_is_written_is_read_back(tmp_path_factory, suffix, text):
    file = tmp_path_factory.mktemp("written") / f"file{suffix}"
    with atomic_write(file) as stream:
        stream.write(text + "\n")  # type: ignore[arg-type]
    assert read_text(file) == text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
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
def test_where_nothing_can_be_written_is_an_error(tmp_path: Path, place):
    with pytest.raises(DataError, match="cannot be written"), atomic_write(tmp_path / place):
        pass


def test_a_link_goes_on_pointing_to_the_file_that_is_written(tmp_path: Path):
    link, file = tmp_path / "link", tmp_path / "file"
    file.write_text("old")
    link.symlink_to(file)
    with atomic_write(link) as stream:
        stream.write("new")  # type: ignore[arg-type]
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is a device or a pipe"), atomic_write(pipe):
        pass
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
