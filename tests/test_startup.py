"""What the command line imports, which decides how quickly it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keywright.predictor import DEFAULT_FOLDER
from keywright.ranking.model import is_ranker

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
# Libraries whose import takes longer than most of the work of these commands.
HEAVY = {
    "accelerate", "datasets", "fastapi", "matplotlib", "nltk", "onnx", "pandas", "pypdfium2",
    "rdflib", "safetensors", "scipy", "sentence_transformers", "sklearn", "spacy", "tensorboard",
    "textblob", "torch", "transformers",
}  # fmt: skip
RUN = """
import json, sys
from keywright.cli import main
sys.argv = ["keywright", *sys.argv[1:]]
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
finally:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def imported(*arguments: object) -> set[str]:
    """The top-level modules that a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_help_imports_nothing_that_work_needs() -> None:
    heavy = {*HEAVY, "msgspec", "numpy", "onnxruntime", "rapidfuzz", "zstandard"}
    assert imported("--help") & heavy == set()


def test_a_verb_imports_no_other_verb() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from keywright.cli import app\n"
        "assert CliRunner().invoke(app, ['evaluate', '--help']).exit_code == 0\n"
        "print(*(name for name in sys.modules if name.startswith('keywright.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    verbs = {name for name in done.stdout.split() if not name.startswith("keywright.cli._")}
    assert verbs == {"keywright.cli.evaluate"}


def test_evaluation_imports_nothing_heavy() -> None:
    found = imported(
        *("evaluate", "--documents", EXAMPLES / "documents.jsonl"),
        *("--predictions", EXAMPLES / "predictions.jsonl"),
    )
    assert "numpy" in found
    assert found & {*HEAVY, "onnxruntime"} == set()


@pytest.mark.skipif(not is_ranker(DEFAULT_FOLDER), reason="this tree does not hold the model")
def test_generation_imports_nothing_heavy(tmp_path: Path) -> None:
    title = tmp_path / "title.txt"
    title.write_text("Heat pumps in old houses\n", encoding="utf-8")
    found = imported("generate", title)
    assert "onnxruntime" in found
    assert found & HEAVY == set()


@pytest.mark.parametrize(
    "code",
    [
        "import keywright; keywright.evaluate([], [])",
        "import keywright.evaluate; keywright.evaluate([], [])",
        "import keywright.evaluate, keywright; keywright.evaluate([], [])",
        "from keywright import evaluate; evaluate([], [])",
        "from keywright.evaluate import evaluate; evaluate([], [])",
        "from keywright import parts; import keywright; keywright.evaluate([], [])",
    ],
)
def test_evaluate_is_the_function_whatever_was_imported_before(code: str) -> None:
    """The package loads it on first use, and a module of the same name defines it."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600
    )
    assert "DataError" in done.stderr  # there are no documents
    assert "module" not in done.stderr.splitlines()[-1]


def test_public_names_are_listed_and_found() -> None:
    import keywright

    for name in keywright.__all__:
        assert getattr(keywright, name).__module__.startswith("keywright.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        keywright.nothing  # noqa: B018
