"""The container and the systemd unit: what they name exists, and what they start is understood."""

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
    """Those of the Dockerfile, each with its arguments, from the first stage to the last."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def last(name: str) -> str:
    """What the image has in the end."""
    made = instructions()
    final = max(at for at, (one, _) in enumerate(made) if one == "FROM")
    return [rest for one, rest in made[final:] if one == name][-1]


def started(command: Sequence[str]) -> dict[str, Any]:
    """The options of `keywright serve` that a command line gives; a wrong one raises an error."""
    program, verb, *options = command
    assert (Path(program).name, verb) == ("keywright", "serve")
    group = get_group(app)
    return group.commands["serve"].make_context("serve", options).params


def settings() -> dict[str, str]:
    lines = UNIT.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_the_image_copies_what_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    copied = [rest.split()[:-1] for name, rest in instructions() if name == "COPY"]
    own = {source for sources in copied if "--from" not in sources[0] for source in sources}
    assert {"pyproject.toml", "src"} <= own
    assert all((ROOT / source).exists() for source in own)
    assert {f"!{source}" for source in own} == {line for line in ignored if line.startswith("!")}


def test_the_image_installs_pinned_versions_of_what_the_service_needs() -> None:
    (run,) = (rest for name, rest in instructions() if name == "RUN")
    words = shlex.split(run)
    assert words[words.index("-c") + 1] == "constraints.txt"
    assert ".[serve]" in words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    names = {name.lower() for name in pinned}
    for needed in [*project["dependencies"], *project["optional-dependencies"]["serve"]]:
        assert re.split("[<>=]", needed)[0].lower() in names


def test_the_container_does_not_run_as_root() -> None:
    user = last("USER").partition(":")[0]
    assert int(user) > 0


def test_the_container_listens_where_it_says() -> None:
    options = started(json.loads(last("ENTRYPOINT")))
    assert options["host"] == "0.0.0.0"
    assert str(options["port"]) == last("EXPOSE")


def test_the_health_check_tells_a_service_that_lives_from_none() -> None:
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


def test_the_unit_waits_until_all_is_answered() -> None:
    assert int(settings()["TimeoutStopSec"]) > Limits().seconds + 5
    assert settings()["KillMode"] == "mixed"  # the readers of uploads are not to be killed


@pytest.mark.skipif(ANALYSE is None, reason="systemd-analyze is not installed")
def test_systemd_understands_the_unit_and_finds_it_safe(tmp_path: Path) -> None:
    program = settings()["ExecStart"].split()[0]
    copy = tmp_path / UNIT.name
    # Where the guide installs the program, there is none on this machine.
    copy.write_text(UNIT.read_text().replace(program, sys.executable))
    verify = [str(ANALYSE), "verify", "--man=no", str(copy)]
    done = subprocess.run(verify, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    exposure = [str(ANALYSE), "security", "--offline=true", "--threshold=20", str(copy)]
    done = subprocess.run(exposure, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-500:]
