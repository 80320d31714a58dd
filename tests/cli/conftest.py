from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def keywright() -> Run:
    """Run the command line as a user does; exit code, standard output and error come back."""

    def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from keywright.cli import main; main()", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            **options,  # type: ignore[call-overload]
        )

    return run
