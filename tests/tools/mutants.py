"""Do the tests notice? Each mutant is one small fault in the source; its tests must fail.

    python -m tests.tools.mutants                 # all mutants of mutants.toml (make mutants)
    python -m tests.tools.mutants --minutes 5     # as many as fit
    python -m tests.tools.mutants --only guard    # those whose file or name contains "guard"

The source is copied to a temporary folder, so that the working tree is never changed. Heavy
libraries are imported once, and each mutant is tested in a forked process. The same tests
have to pass without the fault, or their failure would show nothing. The exit code is 1 if a mutant
survives.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "keywright"
LIST = Path(__file__).with_suffix(".toml")
PRELOADED = ("numpy", "msgspec", "pytest", "hypothesis", "httpx", "fastapi", "torch", "scipy")
SECONDS = 600  # of the tests of one mutant; a fault may make them hang


@dataclass(frozen=True)
class Mutant:
    """`old` occurs once in `file` (below src/keywright) and is replaced by `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]  # arguments of pytest

    def mutated(self, source: Path) -> str:
        text = (source / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.name}: {self.file} has {text.count(self.old)} of {self.old!r}")
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    table = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in table["mutant"]]


def run_tests(source: Path, tests: tuple[str, ...]) -> None:
    """Run tests on the package in a folder; the exit code of this process is that of pytest."""
    import pytest

    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source.parent))
    os.environ["PYTHONPATH"] = str(source.parent)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    options = ["-x", "-n", "0", "-p", "no:cacheprovider", "-m", "slow or not slow"]
    os._exit(int(pytest.main([*options, *tests])))


def is_killed(source: Path, tests: tuple[str, ...]) -> bool:
    """Whether a test fails, or takes too long."""
    process = multiprocessing.get_context("fork").Process(target=run_tests, args=(source, tests))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    if process.exitcode in (4, 5):
        raise SystemExit(f"pytest found no tests: {' '.join(tests)}")
    return process.exitcode != 0


def copied(folder: Path) -> Path:
    """The package without its compiled files; the shipped model is linked."""
    package = folder / "keywright"
    ignored = shutil.ignore_patterns("__pycache__", "*.onnx", "*.npz", "labels.json")
    shutil.copytree(SOURCE, package, ignore=ignored)
    for file in (SOURCE / "default_model").rglob("*"):
        link = package / file.relative_to(SOURCE)
        if file.is_file() and not link.exists() and file.suffix != ".pyc":
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
    return package


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="text in the name or the file of a mutant")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no mutant after these")
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    began = time.monotonic()
    wanted = [m for m in mutants() if chosen.only in m.name or chosen.only in m.file]
    survived: list[str] = []
    passing: set[tuple[str, ...]] = set()  # tests that pass without a fault
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        package = copied(Path(folder))
        for mutant in wanted:
            if time.monotonic() - began > 60 * chosen.minutes:
                break
            tried += 1
            began_one = time.monotonic()
            if mutant.tests not in passing and is_killed(package, mutant.tests):
                raise SystemExit(f"these fail without any fault: pytest {' '.join(mutant.tests)}")
            passing.add(mutant.tests)
            place = package / mutant.file
            original = place.read_text(encoding="utf-8")
            place.write_text(mutant.mutated(package), encoding="utf-8")
            killed = is_killed(package, mutant.tests)
            place.write_text(original, encoding="utf-8")
            survived += [] if killed else [mutant.name]
            seconds = time.monotonic() - began_one
            word = "killed" if killed else "SURVIVED"
            print(f"{word:9} {seconds:6.1f} s  {mutant.file}: {mutant.name}", flush=True)  # noqa: T201
    print(f"{tried - len(survived)} of {tried} killed; {len(wanted) - tried} not tried")  # noqa: T201
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
