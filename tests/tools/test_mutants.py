"""The list of mutants fits the source and the tests; `make mutants` runs it."""

from __future__ import annotations

import pytest

from tests.tools.mutants import ROOT, SOURCE, Mutant, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    compile(mutant.mutated(SOURCE), mutant.file, "exec")
    files = [test for test in mutant.tests if test.endswith(".py")]
    assert files
    assert all((ROOT / file).is_file() for file in files)


def test_names_are_distinct() -> None:
    names = [mutant.name for mutant in mutants()]
    assert len(names) == len(set(names))
