"""The file name is the name of a part."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keywright import parts
from keywright.errors import UnknownNameError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package `made_up_filters` with two parts, one of them broken, and a private helper."""
    folder = tmp_path / "made_up_filters"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "good.py").write_text("def build(): return 'built'\n")
    (folder / "broken.py").write_text("import a_library_nobody_has\n")
    (folder / "_helper.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield "made_up_filters"
    for name in [name for name in sys.modules if name.startswith("made_up_filters")]:
        del sys.modules[name]


def test_names_are_those_of_public_files(package: str) -> None:
    assert parts.names(package) == ["broken", "good"]


def test_only_the_named_part_is_imported(package: str) -> None:
    assert parts.module(package, "good").build() == "built"
    assert f"{package}.broken" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match="a_library_nobody_has"):
        parts.module(package, "broken")


@pytest.mark.parametrize("name", ["godo", "_helper", "", "os", "good.build"])
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(package: str, name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parts.module(package, name)
    assert str(caught.value).startswith(f"unknown made_up_filter {name!r}")
    assert "broken, good" in str(caught.value)
    with pytest.raises(UnknownNameError, match=rf"^unknown sieve {name!r}"):
        parts.module(package, name, "sieve")


def test_a_new_file_is_a_new_part(package: str) -> None:
    parts.names(package)
    folder = Path(sys.modules[package].__file__ or "").parent
    (folder / "newer.py").write_text("")
    assert "newer" in parts.names(package)
