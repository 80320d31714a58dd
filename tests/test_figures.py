"""Figures are the same wherever the guide shows them, and the shipped model really has them.

The table "Measured" of docs/benchmarks.md holds them. After the model has been replaced, run the
command above that table, and let the tests here show where else a figure has to follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.quality import METRICS
from bench.systems import CORPORA, DATA, read_corpora

from keywright.evaluate import evaluate
from keywright.predictor import DEFAULT_FOLDER, load
from keywright.ranking.model import read_manifest
from tests.shared import needs_data

ROOT = Path(__file__).resolve().parents[1]
NAMES = {
    "kp20k-1k": "KP20k",
    "inspec": "Inspec",
    "krapivin": "Krapivin",
    "nus": "NUS",
    "semeval": "SemEval",
}
Figures = tuple[str, ...]
"""present F1@5, F1@M, absent F1@5, F1@M, R@10"""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every line of the Markdown tables in a text."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def measured() -> dict[tuple[str, str], Figures]:
    """By test set and system, from docs/benchmarks.md."""
    return {
        (cells[0].partition(" (")[0], cells[1]): tuple(cells[2:])
        for cells in rows(read("docs/benchmarks.md"))
        if len(cells) == 7 and re.fullmatch(r"\d+\.\d", cells[2])
    }


def test_the_table_is_complete() -> None:
    found = measured()
    assert {system for _, system in found} >= {"default", "yake", "keybert", "textrank", "tfidf"}
    assert len({corpus for corpus, _ in found}) == len(CORPORA)


def test_the_readme_quotes_the_benchmarks() -> None:
    text = " ".join(read("README.md").split())
    default, yake = measured()["KP20k", "default"], measured()["KP20k", "yake"]
    ours = f"F1@5 {default[0]} and F1@M {default[1]}, its absent ones F1@M {default[3]}"
    assert ours in text
    assert f"YAKE's present phrases have {yake[0]} and {yake[1]}" in text


def test_the_table_of_the_readme_has_the_figures_of_the_benchmarks() -> None:
    """Its columns are keywright, KeyBERT, YAKE, pke; OpenNMT-kpg has not been measured."""
    found = {cells[0]: tuple(cells[1:4]) for cells in rows(read("README.md")) if len(cells) == 6}
    for corpus in ("KP20k", "Inspec", "SemEval"):
        figures = [measured()[corpus, system] for system in ("default", "keybert", "yake")]
        assert found[f"{corpus}, present F1@5"] == tuple(figure[0] for figure in figures)
    assert found["KP20k, present F1@M"] == tuple(
        measured()["KP20k", system][1] for system in ("default", "keybert", "yake")
    )
    speed = next(
        cells for cells in rows(read("docs/benchmarks.md")) if cells[:3] == ["1", "170", "1"]
    )
    ours, yake, keybert = speed[3:6]
    assert found["documents per second (170 words, one thread)"] == (ours, keybert, yake)


def test_the_table_of_the_readme_has_the_figures_of_pke() -> None:
    section = read("docs/benchmarks.md").partition("## pke\n")[2].partition("\n## ")[0]
    pke = {cells[0].partition(",")[0]: cells[1:] for cells in rows(section) if len(cells) == 3}
    found = {cells[0]: cells[4] for cells in rows(read("README.md")) if len(cells) == 6}
    for corpus in ("KP20k", "Inspec", "SemEval"):
        assert found[f"{corpus}, present F1@5"] == pke[corpus][0]
    assert found["KP20k, present F1@M"] == pke["KP20k"][1]
    (speed,) = re.findall(r"\d+\.\d+", found["documents per second (170 words, one thread)"])
    assert f"{speed} documents per second" in section


def test_the_table_of_the_readme_has_the_speeds_of_the_benchmarks() -> None:
    section = read("docs/benchmarks.md").partition("## Speed: ")[2].partition("\n## ")[0]
    measured = {cells[2]: cells[3:6] for cells in rows(section) if len(cells) == 8}
    table = {cells[0]: cells for cells in rows(read("README.md")) if len(cells) == 6}
    for batch, row in (
        ("1", table["documents per second (170 words, one thread)"]),
        ("32", table["the same in batches of 32"]),
    ):
        ours, keybert, yake = row[1:4]
        assert measured[batch] == [ours, yake, keybert]


def test_the_model_card_has_the_figures_of_the_benchmarks() -> None:
    quality = read("docs/model-card.md").partition("## Quality")[2].partition("\n## ")[0]
    lines = [cells for cells in rows(quality) if re.fullmatch(r"\d+\.\d", cells[1])]
    named = {cells[0].partition(" (")[0]: tuple(cells[1:]) for cells in lines}
    found = {name: named[name] for name in NAMES.values()}
    expected = {
        corpus: figures for (corpus, system), figures in measured().items() if system == "default"
    }
    assert found == expected


def test_the_results_quote_the_benchmarks() -> None:
    text = " ".join(read("docs/results.md").split())
    default = measured()["KP20k", "default"]
    assert f"has present F1@M {default[1]} and absent F1@M {default[3]} on KP20k" in text


def test_the_model_card_counts_the_features_of_the_model() -> None:
    text = read("docs/model-card.md")
    manifest = read_manifest(DEFAULT_FOLDER)
    assert manifest.start is not None
    for wording, features in (
        ("over {} features of a present candidate and {} of an absent", manifest.start.features),
        ("over {} and {} features", manifest.features),
    ):
        assert wording.format(len(features["present"]), len(features["absent"])) in text


def test_the_model_card_sums_up_its_table_of_calibration() -> None:
    text = read("docs/model-card.md")
    table = [cells for cells in rows(text) if re.search(", (present|absent)$", cells[0])]
    assert len(table) == 2 * len(CORPORA)
    adapted = max(float(cells[5].partition(" ")[0]) for cells in table)
    correct = [float(cells[3]) for cells in table if cells[0].endswith("absent")]
    assert f"to {adapted} points or less" in text
    assert f"({min(correct)}–{max(correct)}% of them" in text


def test_the_results_sum_up_their_table_of_training() -> None:
    text = read("docs/results.md")
    table = text.partition("## Training")[2].partition("\n## ")[0]
    minutes = [float(cells[2]) for cells in rows(table) if cells[1].replace(",", "").isdigit()]
    assert f"{min(minutes):.0f} to {max(minutes):.0f} minutes" in text


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", CORPORA)
def test_the_shipped_model_has_the_figures_of_the_benchmarks(name: str) -> None:
    (corpus,) = read_corpora(DATA, [name], None)
    predictions = list(load("default").predict(corpus.documents))
    found = evaluate(
        corpus.documents, predictions, protocol=corpus.protocol, metrics=METRICS, match="line"
    )
    figures = tuple(f"{100 * found[metric]:.1f}" for metric in METRICS)
    assert figures == measured()[NAMES[name], "default"]
