"""The tables of reinforcement (Luo et al. 2021, tables 1 and 2, figure 3) for trained runs.

    python -m bench.reinforced runs/base runs/rl-f1 runs/rl-fg --cache build/reinforced --markdown

The first run is the one that the others start from. Scores are chan19's, times 100 where they are
shares; runs decode as in their own configs. Differences from the first run have the larger p-value
of paired bootstrap and paired permutation, without correction: each is one planned comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.results import OWN, scored, system
from bench.systems import DATA, Corpus, predictions, read_corpora, reported
from keywright.analysis.distribution import Distribution, fine_grained, token_f1
from keywright.analysis.significance import Design, compare
from keywright.analysis.systems import read_panel
from keywright.tables import Row, titled
from keywright.types import Prediction

CORPORA = ("kp20k-1k", "inspec", "krapivin")
SHARES = {
    "present.F1@5": "F1@5",
    "present.F1@M": "F1@M",
    "present.FG": "FG",
    "present.TokenP": "token P",
    "present.TokenR": "token R",
    "present.TokenF1": "token F1",
    "absent.F1@M": "absent F1@M",
}
NUMBERS = {"all.Predicted": "phrases", "all.Dup": "duplicates"}
TESTED = ("present.F1@M", "present.FG")

Made = Mapping[str, Sequence[Prediction]]
"""The predictions of every run for one corpus."""


def main() -> None:
    options = arguments()
    corpora = read_corpora(options.data, options.corpora, options.documents)
    made: dict[str, dict[str, Sequence[Prediction]]] = {corpus.name: {} for corpus in corpora}
    for run in options.runs:
        for name, found in predictions(system(run, OWN), corpora, options.cache).items():
            made[name][run.name] = found
    tables: list[tuple[str, Sequence[Row]]] = []
    for corpus in corpora:
        found = made[corpus.name]
        count = f"{len(corpus.documents):,} documents"
        tables.append((f"{corpus.name}, {count}", scores(corpus, found)))
        tables.append(
            (f"{corpus.name}: differences from {options.runs[0].name}", tests(corpus, found))
        )
    tables += distributions(corpora[0], made[corpora[0].name])
    print(titled(tables, "markdown" if options.markdown else "table"))


def scores(corpus: Corpus, made: Made) -> list[Row]:
    rows: list[Row] = []
    for name, found in made.items():
        values = scored(corpus, found, (*SHARES, *NUMBERS))
        shares = {column: f"{100 * values[metric]:.1f}" for metric, column in SHARES.items()}
        numbers = {column: f"{values[metric]:.2f}" for metric, column in NUMBERS.items()}
        rows.append({"run": name, **shares, **numbers})
    return rows


def tests(corpus: Corpus, made: Made) -> list[Row]:
    """What every run gains over the first one."""
    start = next(iter(made))
    found = compare(
        corpus.documents,
        made,
        metrics=TESTED,
        protocol=corpus.protocol,
        design=Design(baseline=start, correction="none"),
        match="line",
    )
    rows: dict[str, dict[str, str]] = {}
    for pair in found.differences:
        row = rows.setdefault(pair.a, {"run": pair.a})
        low, high = (100 * edge for edge in pair.interval)
        row[SHARES[pair.metric]] = f"{100 * pair.difference:+.2f} ({low:+.2f} to {high:+.2f})"
        row[f"p of {SHARES[pair.metric]}"] = f"{pair.worst_p:.4f}"
    return list(rows.values())


def distributions(corpus: Corpus, made: Made) -> list[tuple[str, Sequence[Row]]]:
    """Figure 3: FG of documents and token F1 of predicted phrases, in five bins."""
    panel = read_panel(corpus.documents, made, protocol=corpus.protocol, match="line")
    return [
        (f"{corpus.name}: {title}", [binned(make(panel, name)) for name in made])
        for title, make in (("documents by FG", fine_grained), ("phrases by token F1", token_f1))
    ]


def binned(found: Distribution) -> Row:
    edges = [f"{i / len(found.counts):.1f} to {(i + 1) / len(found.counts):.1f}" for i in range(5)]
    shares = (f"{100 * share:.1f}%" for share in found.shares)
    return {
        "run": found.system,
        **dict(zip(edges, shares, strict=True)),
        "1.0": f"{found.perfect:,}",
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, the start first")
    parser.add_argument("--cache", type=Path, required=True, help="folder for predictions")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with test/")
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--documents", type=int, help="use only the first documents of each set")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    reported(main)
