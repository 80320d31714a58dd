"""docs/decoding.md documents all settings."""

from dataclasses import fields
from pathlib import Path

import pytest

from keywright import parts

TEXT = (Path(__file__).parents[2] / "docs" / "decoding.md").read_text("utf-8")


@pytest.mark.parametrize("package", ["keywright.decoding.strategies", "keywright.extractors"])
def test_every_strategy_and_setting_is_documented(package):
    for name in parts.names(package):
        assert f"**`{name}`**" in TEXT
        for field in fields(parts.module(package, name).Config):
            known = any(f"`{field.name}{end}" in TEXT for end in ("`", "=")) or (
                f"--set {field.name}=" in TEXT
            )
            assert known, f"{name}.{field.name} is not in docs/decoding.md"
