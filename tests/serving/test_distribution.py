"""The container and the systemd unit: the files they name exist, and their commands are valid."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group

from keywright.cli import app
from keywright.serving.limits import Limits
from tests.serving.local import local

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "examples" / "keywright.service"
ANALYSE = shutil.which("systemd-analyze")


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, in order."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def last(name: str) -> str:
    """The arguments of the last instruction of this name in the final stage."""
    found = instructions()
    final = max(at for at, (kind, _) in enumerate(found) if kind == "FROM")
    return [rest for kind, rest in found[final:] if kind == name][-1]


def started(command: Sequence[str]) -> dict[str, Any]:
    """The options of a `keywright serve` command line; an invalid one raises an error."""
    program, verb, *options = command
    assert (Path(program).name, verb) == ("keywright", "serve")
    group = get_group(app)
    serve = group.get_command(group.make_context("keywright", [verb]), verb)
    assert serve is not None
    return serve.make_context(verb, options).params


def settings() -> dict[str, str]:
    lines = UNIT.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_the_image_copies_existing_files_that_are_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    copied = [rest.split()[:-1] for name, rest in instructions() if name == "COPY"]
    own = {source for sources in copied if "--from" not in sources[0] for source in sources}
    assert {"pyproject.toml", "src"} <= own
    assert all((ROOT / source).exists() for source in own)
    assert {f"!{source}" for source in own} == {line for line in ignored if line.startswith("!")}


def test_the_image_installs_pinned_dependencies() -> None:
    (run,) = (rest for name, rest in instructions() if name == "RUN")
    words = shlex.split(run)
    assert words[words.index("-r") + 1] == "serve.txt"
    assert "--require-hashes" in words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"], "hatchling"]
    locked = packages((ROOT / "requirements" / "serve.txt").read_text())
    assert {re.split("[<>=]", name)[0].lower() for name in needed} <= locked.keys()


def packages(lock: str) -> dict[str, str]:
    """Name -> version; every package of a lock file has a hash."""
    entries = re.findall(
        r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", lock, re.MULTILINE
    )
    assert len(entries) == lock.count("==")
    return {name.lower(): version for name, version, _ in entries}


@pytest.mark.parametrize("name", ["serve.txt", "dev.txt"])
def test_lock_files_have_the_versions_of_the_constraints(name: str) -> None:
    """After a change of dependencies: `make lock`."""
    locked = packages((ROOT / "requirements" / name).read_text())
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    known = {package.lower(): version for package, version in pinned}
    assert len(locked) > 30
    assert {p: locked[p] for p in locked.keys() & known.keys()} == {
        p: known[p] for p in locked.keys() & known.keys()
    }


def test_the_container_does_not_run_as_root() -> None:
    user = last("USER").partition(":")[0]
    assert int(user) > 0


def test_the_container_listens_on_its_exposed_port() -> None:
    options = started(json.loads(last("ENTRYPOINT")))
    assert options["host"] == "0.0.0.0"
    assert str(options["port"]) == last("EXPOSE")


def test_the_health_check_passes_only_while_the_service_runs() -> None:
    command = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    assert Path(command[0]).name == "python"
    assert last("EXPOSE") in command[-1]

    def check(port: int) -> int:
        code = command[-1].replace(last("EXPOSE"), str(port))
        return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode

    with local() as server:
        assert check(server.port) == 0
    assert check(server.port) != 0


def test_the_unit_starts_the_service_for_this_machine_only() -> None:
    assert started(shlex.split(settings()["ExecStart"]))["host"] == "127.0.0.1"
    assert settings()["DynamicUser"] == "yes"


def test_the_unit_waits_until_all_requests_are_answered() -> None:
    assert int(settings()["TimeoutStopSec"]) > Limits().seconds + 5
    assert settings()["KillMode"] == "mixed"  # processes that read uploads must not be killed


@pytest.mark.skipif(ANALYSE is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit_and_rates_it_safe(tmp_path: Path) -> None:
    program = settings()["ExecStart"].split()[0]
    copy = tmp_path / UNIT.name
    # The program is not installed on this machine where the guide puts it.
    copy.write_text(UNIT.read_text().replace(program, sys.executable))
    verify = [str(ANALYSE), "verify", "--man=no", str(copy)]
    done = subprocess.run(verify, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    exposure = [str(ANALYSE), "security", "--offline=true", "--threshold=20", str(copy)]
    done = subprocess.run(exposure, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-500:]
