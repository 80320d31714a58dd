"""Write the lock files: every package that is installed, with its version and SHA-256.

    python requirements/lock.py            # both files

serve.txt is for the container (`Dockerfile`), dev.txt for development and CI (`make`). Versions
follow pyproject.toml and constraints.txt. torch is not locked by hash, because its builds differ
between indexes: `make` installs the version of constraints.txt before everything else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NOT_LOCKED = ("torch", "triton")
BUILD = ("hatchling>=1.26",)


@dataclass(frozen=True)
class Lock:
    file: str
    extras: tuple[str, ...]
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]


LOCKS = (
    Lock("serve.txt", ("serve",), ("3.12",), ("x86_64", "aarch64")),
    Lock(
        "dev.txt",
        ("train", "export", "analysis", "datasets", "minilm", "bench", "dev"),
        ("3.11",),
        ("x86_64",),
    ),
)


def requirements(extras: tuple[str, ...]) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    more = (name for extra in extras for name in project["optional-dependencies"][extra])
    return [*project["dependencies"], *more, *BUILD]


def resolved(lock: Lock, python: str, platform: str) -> list[dict[str, Any]]:
    """What pip would install on a platform; nothing is installed."""
    tags = [f"manylinux_2_{minor}_{platform}" for minor in (28, 27, 26, 17)]
    tags.append(f"manylinux2014_{platform}")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--dry-run", "--ignore-installed", "--report", str(report)),
            *("--target", folder, "--only-binary=:all:", "--python-version", python),
            *(option for tag in tags for option in ("--platform", tag)),
            *("--constraint", str(ROOT / "constraints.txt"), *requirements(lock.extras)),
        ]
        subprocess.run(command, check=True)
        installed: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return installed


def lines(lock: Lock) -> list[str]:
    hashes: dict[tuple[str, str], set[str]] = {}
    for python in lock.pythons:
        for platform in lock.platforms:
            for package in resolved(lock, python, platform):
                name = re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()
                version = package["metadata"]["version"]
                digest = package["download_info"]["archive_info"]["hashes"]["sha256"]
                if name not in NOT_LOCKED and not name.startswith("nvidia"):
                    hashes.setdefault((name, version), set()).add(digest)
    found = []
    for (name, version), digests in sorted(hashes.items()):
        options = [f"    --hash=sha256:{digest}" for digest in sorted(digests)]
        found.append(" \\\n".join([f"{name}=={version}", *options]))
    return found


def main() -> None:
    for lock in LOCKS:
        head = (
            f"# Written by requirements/lock.py for Python {', '.join(lock.pythons)} on Linux "
            f"({', '.join(lock.platforms)})."
        )
        (HERE / lock.file).write_text("\n".join([head, *lines(lock), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
