"""`keywright generate` on what people really have: it never crashes, and the exit code is right."""

from __future__ import annotations

import io
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from keywright.cli import main
from tests.sources.pdf_maker import Text, make_pdf

TEXT = "Heat pumps in old houses\n\nHeat pumps warm old houses. Radiators were replaced."


class Done(NamedTuple):
    code: int
    out: str
    err: str


Generate = Callable[..., Done]


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Generate:
    """The command in this process: exit code, standard output and error."""

    def run(*arguments: object, stdin: bytes = b"") -> Done:
        given = ["keywright", "generate", *map(str, arguments), "--model", "textrank"]
        monkeypatch.setattr(sys, "argv", given)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code or 0, *capsys.readouterr())

    return run


def encrypted() -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(io.BytesIO(make_pdf([Text("Heat pumps warm old houses.", 60, 700)])))
    writer.encrypt("secret", algorithm="RC4-128")
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.txt", lambda: b"", "is empty"),
        ("blank.txt", lambda: b" \n\t\n", "is empty"),
        ("binary.bin", lambda: bytes(range(256)) * 20, "binary"),
        ("latin1.txt", lambda: "Wärmepumpe".encode("latin-1"), "is not UTF-8"),
        ("scanned.pdf", lambda: make_pdf([]), "probably scanned"),
        ("encrypted.pdf", encrypted, "is encrypted"),
        ("cut.pdf", lambda: b"%PDF-1.4 cut off", "is not a complete PDF"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(
    generate: Generate, tmp_path: Path, name: str, content: Callable[[], bytes], said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content())
    done = generate(file, "--format", "json", "--output", tmp_path / "out.json")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert name in done.err
    assert said in done.err
    assert not (tmp_path / "out.json").exists()


def test_empty_standard_input_and_missing_files(generate: Generate, tmp_path: Path) -> None:
    done = generate("-", tmp_path / "nowhere.txt")
    assert done.code == 2
    assert "standard input: is empty" in done.err
    assert "nowhere.txt: no such file" in done.err
    assert "none of the 2 files could be read" in done.err


@pytest.mark.parametrize(
    "text", ["Photosynthesis", "a", "42", "!?", "[/b] [bold", "\x00\x01\x1b[31m x"]
)
def test_unusual_short_texts_are_not_errors(generate: Generate, text: str) -> None:
    content = text.replace("\x00", "\x02").encode()
    for form in ("table", "jsonl"):
        done = generate("-", "--format", form, stdin=content)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out


def test_another_language_gives_keyphrases_and_a_warning(
    generate: Generate, tmp_path: Path
) -> None:
    (tmp_path / "ru.txt").write_text("Тепловые насосы обогревают старые дома, если есть деньги.")
    (tmp_path / "en.txt").write_text(TEXT)
    done = generate(tmp_path, "--format", "jsonl")
    assert done.code == 0
    english, russian = map(json.loads, done.out.splitlines())
    assert english["warnings"] == []
    assert russian["warnings"] == ["does not look English; textrank is made for English"]
    assert done.err.count("does not look English") == 1


def test_precision_without_probabilities_is_an_error(generate: Generate, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    done = generate(tmp_path, "--precision", "0.8")
    assert done.code == 2
    assert "no calibrated probabilities" in done.err


def mixed_folder(folder: Path, count: int) -> tuple[int, int]:
    """Files of all kinds, some of them bad: how many are good, and how many are not."""
    kinds: list[tuple[str, bytes, bool]] = [
        (".txt", TEXT.encode(), True),
        (".md", b"# Drag sails\n\nDrag sails remove **space debris**.", True),
        (".html", b"<!doctype html><h1>Bees</h1><p>Bees dance in spring.</p>", True),
        (".pdf", make_pdf([Text("Tides turn the turbines of the sea.", 60, 700)]), True),
        (".pdf", b"%PDF-1.7 broken", False),
        (".txt", b"", False),
        (".txt", b"\xff\xfe\x00", False),
    ]
    chosen = [random.Random(number).choice(kinds) for number in range(count)]
    for number, (suffix, content, _) in enumerate(chosen):
        (folder / f"{number:03}{suffix}").write_bytes(content)
    (folder / "picture.png").write_bytes(b"\x89PNG not looked at")
    return sum(good for *_, good in chosen), sum(not good for *_, good in chosen)


def test_a_mixed_folder_is_processed_except_for_its_bad_files(
    generate: Generate, tmp_path: Path
) -> None:
    good, bad = mixed_folder(tmp_path, 60)
    done = generate(tmp_path, "--format", "jsonl")
    assert done.code == 1
    assert len(done.out.splitlines()) == good
    assert f"{bad} of the files could not be read" in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_processes_share_500_files_and_keep_their_order(generate: Generate, tmp_path: Path) -> None:
    good, bad = mixed_folder(tmp_path, 500)
    alone = generate(tmp_path, "--format", "jsonl")
    shared = generate(tmp_path, "--format", "jsonl", "--jobs", "2")
    assert (alone.code, shared.code) == (1, 1)
    assert shared.out == alone.out
    assert len(shared.out.splitlines()) == good
    assert f"{bad} of the files could not be read" in shared.err


@pytest.mark.slow
def test_two_megabytes_are_read_to_the_end(generate: Generate, tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("The river carries sand to the sea. " * 60_000 + "Quasars shine.")
    done = generate(file, "--format", "jsonl", "--top", "0")
    assert done.code == 0
    assert "quasars" in done.out.lower()


@pytest.mark.slow
def test_an_interrupt_ends_all_processes_with_one_line(tmp_path: Path) -> None:
    mixed_folder(tmp_path, 2000)
    command = "from keywright.cli import main; main()"
    arguments = ["generate", tmp_path, "--model", "textrank", "--jobs", "2", "--format", "jsonl"]
    process = subprocess.Popen(
        [sys.executable, "-c", command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who runs the tests in the background of a shell has interrupts ignored, and so children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    process.stdout.readline()  # the work has begun
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
