"""Does what is released work? Each wheel and sdist of a folder, in a clean environment, offline.

    make release-check                    # builds both into dist/, then checks them
    python -m tests.tools.release dist    # checks the files of a folder

Every file is installed alone, without the repository on the path. It then has to generate
keyphrases with the shipped model and to score predictions, while every connection is refused.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
# Runs the command line in a process that cannot connect anywhere.
OFFLINE = """
import socket, sys

def refuse(*arguments, **options):
    raise SystemExit(f"a connection was attempted: {arguments[1:]}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
from keywright.cli import main
sys.exit(main())
"""
COMMANDS = (
    ("--version",),
    ("generate", str(EXAMPLES / "heat-pumps.md"), "--format", "text"),
    ("evaluate", "--documents", str(EXAMPLES / "documents.jsonl"),
     "--predictions", str(EXAMPLES / "predictions.jsonl")),
)  # fmt: skip


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(python: Path, *arguments: str, cwd: Path) -> str:
    """What a command prints; it ends this program if it fails."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, cwd=cwd, env=clean)
    if done.returncode:
        sys.exit(f"{' '.join(arguments[:4])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(file: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "clean", with_pip=True)
        python = python_of(folder / "clean")
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(file))
        run(python, *install, cwd=folder)
        for command in COMMANDS:
            said = run(python, "-c", OFFLINE, *command, cwd=folder)
            if not said.strip():
                sys.exit(f"{file.name}: {' '.join(command)} printed nothing")
            print(said.splitlines()[0])


def build(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        tools = Path(name)
        venv.create(tools, with_pip=True)
        python = python_of(tools)
        run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "build",
            cwd=ROOT,
        )
        run(python, "-m", "build", "--outdir", str(folder.resolve()), str(ROOT), cwd=ROOT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", action="store_true", help="build the wheel and sdist first")
    parser.add_argument("--version", default="", help="the version that the files must have")
    options = parser.parse_args()
    folder: Path = options.folder
    if options.build:
        if folder.is_dir() and any(folder.iterdir()):
            sys.exit(f"{folder} is not empty; remove it first (make clean)")
        build(folder)
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if {file.suffix for file in files} != {".whl", ".gz"}:
        sys.exit(f"{folder} must contain a wheel and an sdist")
    for file in files:
        if options.version and f"-{options.version}" not in file.name:
            sys.exit(f"{file.name} is not version {options.version}; change __version__ or the tag")
        print(f"{file.name} ({file.stat().st_size / 1e6:.1f} MB)")
        check(file)


if __name__ == "__main__":
    main()
