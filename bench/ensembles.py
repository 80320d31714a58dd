"""How much a vote gains over the best of its members, for several weights of votes.

    python -m bench.ensembles

Every ensemble of two to six of the released systems, on Inspec and Krapivin (`../shared/data`, or
`--data FOLDER`). Prints the mean of (score of the vote - best score of a member), in points, for
four ways to weight votes, and how many ensembles gain.
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
from keywright.tables import Row, render

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
    """The name of the weights and the gains in points, for each ensemble."""
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
    lines: list[Row] = []
    for corpus in options.corpora:
        rows: dict[str, list[list[float]]] = {name: [] for name in WEIGHTS}
        for name, gained in gains(options.data, corpus):
            rows[name].append(gained)
        for name, all_gained in rows.items():
            table = np.array(all_gained)
            means = zip(METRICS, table.mean(axis=0), strict=True)
            lines.append(
                {
                    "corpus, weights": f"{corpus}, {name}",
                    **{metric: f"{value:+.2f}" for metric, value in means},
                    "better all.F1@M": f"{(table[:, -1] > 0).sum()} of {len(table)}",
                }
            )
    print(render(lines, "markdown"))


if __name__ == "__main__":
    main()
