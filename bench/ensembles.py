"""How much a vote gains over the best of its members, and what its weights are worth.

    python -m bench.ensembles

Every ensemble of two to six of the released systems, on Inspec and Krapivin (`../shared/data`, or
`--data FOLDER`). Prints the mean of (score of the vote - best score of a member), in points, for
votes weighted in four ways, and the share of ensembles that gain.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from keywright.analysis.averages import panel_scores
from keywright.analysis.ensemble import Weigh, discounted, ensemble
from keywright.analysis.systems import read_panel

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CORPORA = ("inspec", "krapivin")
SYSTEMS = ("one2seq", "one2set", "t5", "bart", "exhird_h", "catseq")
METRICS = ("present.F1@5", "present.F1@M", "absent.F1@M", "all.F1@5", "all.F1@M")
WEIGHTS: dict[str, Weigh] = {
    "confidence and rank": discounted,
    "confidence": lambda confidence, rank: confidence,
    "rank": lambda confidence, rank: 1 / math.log2(rank + 1),
    "plain": lambda confidence, rank: 1.0,
}


def gains(data: Path, corpus: str) -> Iterator[tuple[str, list[float]]]:
    """Per ensemble the name of its weights and its gains in points."""
    files = {name: data / "released" / name / f"{corpus}.jsonl" for name in SYSTEMS}
    panel = read_panel(data / "test" / f"{corpus}.jsonl", files)
    single = panel_scores(panel, METRICS)
    for members in (c for n in range(2, len(SYSTEMS) + 1) for c in combinations(SYSTEMS, n)):
        made = {name: panel.predictions[name] for name in members}
        votes = {
            name: ensemble(panel.documents, made, "vote", weigh) for name, weigh in WEIGHTS.items()
        }
        scores = panel_scores(read_panel(panel.documents, votes), METRICS)
        for name, found in scores.items():
            best = (max(single[member][metric] for member in members) for metric in METRICS)
            yield name, [100 * (found[m] - b) for m, b in zip(METRICS, best, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    options = parser.parse_args()
    print("| corpus, weights |", " | ".join(METRICS), "| better all.F1@M |")
    print("| --- |", " | ".join(["---:"] * (len(METRICS) + 1)), "|")
    for corpus in options.corpora:
        rows: dict[str, list[list[float]]] = {name: [] for name in WEIGHTS}
        for name, gained in gains(options.data, corpus):
            rows[name].append(gained)
        for name, all_gained in rows.items():
            table = np.array(all_gained)
            cells = [f"{value:+.2f}" for value in table.mean(axis=0)]
            share = f"{(table[:, -1] > 0).sum()} of {len(table)}"
            print(f"| {corpus}, {name} |", " | ".join(cells), "|", share, "|")


if __name__ == "__main__":
    main()
