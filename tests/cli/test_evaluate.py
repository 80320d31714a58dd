"""`keywright evaluate` as users run it: results, formats, and every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SOURCES = [
    "graph coloring . <eos> we color planar graphs with four colors .",
    "beam search <eos> a decoder keeps the best partial outputs .",
    "no gold here <eos> nothing to see .",
]
GOLD = ["graph coloring;planar graphs;four color theorem", "beam search;parsing", ""]
MADE = ["planar graph;graph coloring;chromatic number", "beam search;beam searches", "nothing"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Chan/Ye text files: documents (with their gold beside them) and predictions."""
    (tmp_path / "toy_src.txt").write_text("".join(line + "\n" for line in SOURCES))
    (tmp_path / "toy_trg.txt").write_text("".join(line + "\n" for line in GOLD))
    (tmp_path / "toy_pred.txt").write_text("".join(line + "\n" for line in MADE))
    return tmp_path / "toy_src.txt", tmp_path / "toy_pred.txt"


def test_json_has_the_promised_keys_and_hand_computed_scores(
    keywright: Run, files: tuple[Path, Path]
) -> None:
    documents, predictions = files
    done = keywright(
        "evaluate", "--documents", documents, "--predictions", predictions, "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["protocol"] == "chan19"
    assert result["documents"] == 3
    assert result["documents_without_gold"] == 1
    assert "protocol:chan19" in result["signature"]
    # Present: document 1 hits 2 of 2 predictions, 2 targets; document 2 hits 1 of 1 (the second
    # is a repeat), 1 target; document 3 predicts one present phrase and has no present gold.
    assert result["scores"]["present.P@M"] == pytest.approx((1 + 1 + 0) / 3)
    assert result["scores"]["present.R@M"] == pytest.approx((1 + 1 + 0) / 3)
    assert result["scores"]["present.P@5"] == pytest.approx((2 / 5 + 1 / 5 + 0) / 3)
    assert result["scores"]["present.micro.P@M"] == pytest.approx(3 / 4)
    # 6 phrases in total, one of them repeated.
    assert result["scores"]["all.Dup"] == pytest.approx(1 / 6)
    assert result["intervals"]["present.F1@5"][0] <= result["scores"]["present.F1@5"]


def test_table_says_how_many_documents_have_no_gold(
    keywright: Run, files: tuple[Path, Path]
) -> None:
    done = keywright("evaluate", "--documents", files[0], "--predictions", files[1])
    assert done.returncode == 0, done.stderr
    assert "3 documents, 1 of them without gold" in done.stdout
    assert "present.F1@5" in done.stdout
    assert "95% interval" in done.stdout


def test_all_protocols_side_by_side_with_reasons(keywright: Run, files: tuple[Path, Path]) -> None:
    done = keywright(
        "evaluate", "--documents", files[0], "--predictions", files[1], "--protocol", "all"
    )
    assert done.returncode == 0, done.stderr
    for name in ("chan19", "exhird", "kpdrop", "yuan20", "Why the numbers differ"):
        assert name in done.stdout


def test_parameters_reach_the_protocol_both_ways(keywright: Run, files: tuple[Path, Path]) -> None:
    base = ["evaluate", "--documents", files[0], "--predictions", files[1], "--format", "json"]
    inline = keywright(*base, "--protocol", "chan19:precision=predicted")
    by_set = keywright(*base, "--set", "precision=predicted")
    assert inline.returncode == by_set.returncode == 0
    assert inline.stdout == by_set.stdout
    # Meng precision: two right of two predicted in document 1, one of one in document 2.
    assert json.loads(inline.stdout)["scores"]["present.P@5"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("form", ["tsv", "latex"])
def test_other_formats_hold_the_same_metrics(
    keywright: Run, files: tuple[Path, Path], form: str
) -> None:
    done = keywright(
        "evaluate", "--documents", files[0], "--predictions", files[1],
        "--format", form, "--metrics", "present.F1@5,absent.R@50",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "present.F1@5" in done.stdout
    assert "absent.R@50" in done.stdout


def test_output_folder_gets_scores_and_rows(
    keywright: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "scores"
    done = keywright(
        "evaluate", "--documents", files[0], "--predictions", files[1],
        "--metrics", "present.F1@M", "--output", folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "per_document.tsv").read_text().splitlines() == [
        "document\tpresent.F1@M", "1\t1.0", "2\t1.0", "3\t0.0",
    ]  # fmt: skip
    assert json.loads((folder / "scores.json").read_text())["documents"] == 3


def test_predictions_are_matched_by_id_in_any_order(keywright: Run, tmp_path: Path) -> None:
    documents = tmp_path / "documents.jsonl"
    records = [
        {"id": str(i), "title": f"Topic {w}", "abstract": f"All about {w}.", "keywords": [w]}
        for i, w in enumerate(["cats", "dogs", "birds"])
    ]
    documents.write_text("".join(json.dumps(record) + "\n" for record in records))
    predictions = tmp_path / "predictions.jsonl"
    made = [
        {"id": str(i), "phrases": [{"text": w}]}
        for i, w in [(2, "birds"), (0, "cats"), (1, "dogs")]
    ]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in made))
    done = keywright(
        "evaluate", "--documents", documents, "--predictions", predictions,
        "--format", "json", "--metrics", "present.F1@M",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"]["present.F1@M"] == 1.0


def refused(keywright: Run, *arguments: object) -> str:
    """The one-line error of a command that must fail cleanly."""
    done = keywright("evaluate", *arguments)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stdout == ""
    return done.stderr.strip()


class TestBadInput:
    def test_too_few_predictions(self, keywright: Run, files: tuple[Path, Path]) -> None:
        files[1].write_text(MADE[0] + "\n")
        error = refused(keywright, "--documents", files[0], "--predictions", files[1])
        assert "toy_pred.txt" in error
        assert "1 predictions for 3 documents" in error
        assert "toy_src.txt" in error
        assert "document 2" in error

    def test_more_lines_than_documents(self, keywright: Run, files: tuple[Path, Path]) -> None:
        files[1].write_text("".join(line + "\n" for line in [*MADE, "extra"]))
        error = refused(keywright, "--documents", files[0], "--predictions", files[1])
        assert "4 predictions for 3 documents" in error

    def test_empty_prediction_file(self, keywright: Run, files: tuple[Path, Path]) -> None:
        files[1].write_text("")
        error = refused(keywright, "--documents", files[0], "--predictions", files[1])
        assert "toy_pred.txt" in error

    def test_no_gold_at_all(self, keywright: Run, files: tuple[Path, Path]) -> None:
        (files[0].parent / "toy_trg.txt").write_text("\n\n\n")
        error = refused(keywright, "--documents", files[0], "--predictions", files[1])
        assert "toy_src.txt" in error
        assert "gold keyphrase" in error

    def test_wrong_encoding(self, keywright: Run, files: tuple[Path, Path]) -> None:
        files[1].write_bytes(MADE[0].encode() + b"\ncaf\xe9\nnothing\n")
        error = refused(keywright, "--documents", files[0], "--predictions", files[1])
        assert "toy_pred.txt:2" in error
        assert "UTF-8" in error

    def test_binary_file(self, keywright: Run, files: tuple[Path, Path]) -> None:
        files[1].write_bytes(b"\x00\x01\x02" * 100)
        assert "toy_pred.txt" in refused(
            keywright, "--documents", files[0], "--predictions", files[1]
        )

    def test_line_that_is_not_json(self, keywright: Run, tmp_path: Path) -> None:
        good = '{"title": "a cat", "abstract": "cats purr", "keywords": ["cats"]}\n'
        documents = tmp_path / "documents.jsonl"
        documents.write_text(good + '{"title": "a do\n')
        predictions = tmp_path / "predictions.txt"
        predictions.write_text("cats\ndogs\n")
        error = refused(keywright, "--documents", documents, "--predictions", predictions)
        assert "documents.jsonl:2" in error

    def test_missing_field(self, keywright: Run, tmp_path: Path) -> None:
        documents = tmp_path / "documents.jsonl"
        documents.write_text(
            '{"title": "a cat", "abstract": "cats purr", "keywords": ["cats"]}\n'
            '{"title": "a dog", "abstract": "dogs bark"}\n'
        )
        predictions = tmp_path / "predictions.txt"
        predictions.write_text("cats\ndogs\n")
        error = refused(keywright, "--documents", documents, "--predictions", predictions)
        assert "documents.jsonl:2" in error
        assert "gold keyphrases" in error

    @pytest.mark.parametrize(
        ("option", "value", "suggestion"),
        [
            ("--protocol", "chan18", "chan19"),
            ("--metrics", "present.F@5", "F1"),
            ("--metrics", "presen.F1@5", "present"),
            ("--format", "jsn", "json"),
            ("--set", "precission=cutoff", "precision"),
            ("--match", "lines", "line"),
        ],
    )
    def test_unknown_names_suggest_the_nearest(
        self, keywright: Run, files: tuple[Path, Path], option: str, value: str, suggestion: str
    ) -> None:
        error = refused(
            keywright, "--documents", files[0], "--predictions", files[1], option, value
        )
        assert repr(suggestion) in error

    def test_unwritable_output(self, keywright: Run, files: tuple[Path, Path]) -> None:
        blocked = files[0].parent / "a-file"
        blocked.write_text("")
        error = refused(
            keywright, "--documents", files[0], "--predictions", files[1], "--output", blocked
        )
        assert "a-file" in error

    def test_nothing_is_left_half_written(
        self, keywright: Run, files: tuple[Path, Path], tmp_path: Path
    ) -> None:
        files[1].write_text(MADE[0] + "\n")
        folder = tmp_path / "scores"
        refused(keywright, "--documents", files[0], "--predictions", files[1], "--output", folder)
        assert not folder.exists()

    def test_ids_that_do_not_match(self, keywright: Run, tmp_path: Path) -> None:
        documents = tmp_path / "documents.jsonl"
        documents.write_text(
            '{"id": "a", "title": "a cat", "abstract": "cats purr", "keywords": ["cats"]}\n'
        )
        predictions = tmp_path / "predictions.jsonl"
        predictions.write_text('{"id": "b", "phrases": [{"text": "cats"}]}\n')
        error = refused(keywright, "--documents", documents, "--predictions", predictions)
        assert "'a'" in error
        assert "--match line" in error

    def test_a_repeated_id_is_mentioned(self, keywright: Run, tmp_path: Path) -> None:
        documents = tmp_path / "documents.jsonl"
        documents.write_text(
            "".join(
                f'{{"id": "{name}", "title": "cats", "abstract": "", "keywords": ["cats"]}}\n'
                for name in "ab"
            )
        )
        predictions = tmp_path / "predictions.jsonl"
        predictions.write_text('{"id": "a", "phrases": ["cats"]}\n' * 2)
        error = refused(keywright, "--documents", documents, "--predictions", predictions)
        assert "no prediction for document 'b'" in error
        assert "extra one for 'a'" in error

    def test_a_format_can_be_named(self, keywright: Run, files: tuple[Path, Path]) -> None:
        base = ["--documents", files[0], "--predictions", files[1]]
        done = keywright("evaluate", *base, "--predictions-format", "chan")
        assert done.returncode == 0, done.stderr
        error = refused(keywright, *base, "--predictions-format", "chn")
        assert "'chan'" in error
