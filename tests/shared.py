"""The corpora and golden numbers, on machines that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"

needs_golden = pytest.mark.skipif(
    not (SHARED / "golden" / "golden_sysA.json").exists(),
    reason="the golden numbers (../shared/golden) are not on this machine",
)
needs_data = pytest.mark.skipif(
    not (SHARED / "data" / "test").is_dir(),
    reason="the corpora (../shared/data) are not on this machine",
)
