"""Reproduce tables 1 to 3 of "Deep Seq2Seq Keyphrase Generation: Model Calibration and
Uncertainty", and measure recalibration on the same outputs.

    python -m bench.reproduce_000                              # print all tables
    python -m bench.reproduce_000 --update docs/reproduction.md

reads the released outputs of the authors (`released/` in the data folder) and writes Markdown
tables of published values and ours; `--update` puts them between the marks of a document. Where the
release differs from the equations of the paper, its way is implemented here, so that every
difference has a cause that can be run.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from keywright.calibration import ece
from keywright.calibration.calibrate import gather
from keywright.calibration.fit import FEATURES, METHODS, cross_validate, fit
from keywright.calibration.position import SECTIONS, SectionCounts, section
from keywright.calibration.sample import Sample
from keywright.evaluate import evaluate, pair
from keywright.metric import Array
from keywright.protocols import load
from keywright.tables import Cell, lay_out
from keywright.text.stem import stems

Record = TypeVar("Record")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DATASETS = ("inspec", "krapivin")
MODELS = {
    "exhird_h": "ExHiRD",
    "one2seq": "Transformer",
    "one2set": "Trans2Set",
    "bart": "BART",
    "t5": "T5",
}
# CatSeq was released with the others, but the paper does not report it.
SYSTEMS = {**MODELS, "catseq": "CatSeq"}
METRICS = ("present.F1@M", "present.F1@5", "absent.F1@M", "absent.F1@5")

TABLE_1 = {  # in the order of METRICS
    ("exhird_h", "inspec"): (0.291, 0.253, 0.022, 0.011),
    ("one2seq", "inspec"): (0.325, 0.281, 0.019, 0.010),
    ("one2set", "inspec"): (0.324, 0.285, 0.034, 0.021),
    ("bart", "inspec"): (0.323, 0.270, 0.017, 0.010),
    ("t5", "inspec"): (0.340, 0.287, 0.025, 0.014),
    ("exhird_h", "krapivin"): (0.347, 0.286, 0.043, 0.022),
    ("one2seq", "krapivin"): (0.315, 0.365, 0.060, 0.032),
    ("one2set", "krapivin"): (0.364, 0.326, 0.073, 0.047),
    ("bart", "krapivin"): (0.336, 0.270, 0.049, 0.028),
    ("t5", "krapivin"): (0.328, 0.271, 0.053, 0.028),
}
TABLE_2 = {  # present, absent
    ("exhird_h", "inspec"): (15.66, 11.87),
    ("one2seq", "inspec"): (20.01, 78.65),
    ("one2set", "inspec"): (26.38, 37.57),
    ("bart", "inspec"): (21.85, 11.14),
    ("t5", "inspec"): (23.04, 15.76),
    ("exhird_h", "krapivin"): (11.69, 15.55),
    ("one2seq", "krapivin"): (22.96, 75.16),
    ("one2set", "krapivin"): (24.38, 43.69),
    ("bart", "krapivin"): (51.85, 9.27),
    ("t5", "krapivin"): (61.78, 13.44),
}
TABLE_3 = {"inspec": (1326, 845, 686, 602, 173), "krapivin": (706, 206, 182, 159, 59)}
# Every fold of every repetition is judged by curves fitted on the other four folds.
REPETITIONS = 5
SIMULATIONS = 200


def documents_of(data: Path, model: str, dataset: str) -> Path:
    """The texts and gold that the authors used for a model."""
    own = data / "released" / model / f"{dataset}.docs.jsonl"
    return own if own.exists() else data / "test" / f"{dataset}.jsonl"


def predictions_of(data: Path, model: str, dataset: str) -> Path:
    return data / "released" / model / f"{dataset}.jsonl"


def sample_of(data: Path, model: str, dataset: str) -> Sample:
    pairs = pair(documents_of(data, model, dataset), predictions_of(data, model, dataset))
    return gather(pairs, confidence="kpp").sample


def cells() -> Iterator[tuple[str, str]]:
    return ((model, dataset) for dataset in DATASETS for model in MODELS)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return lay_out(head, [[Cell(text) for text in row] for row in rows], "markdown")


def table_1(data: Path, protocol: str) -> str:
    """F1 times 100, `published / ours`."""
    rows = []
    for model, dataset in cells():
        ours = evaluate(
            documents_of(data, model, dataset),
            predictions_of(data, model, dataset),
            protocol=protocol,
            metrics=METRICS,
        )
        published = TABLE_1[model, dataset]
        rows.append(
            [
                f"{dataset}, {MODELS[model]}",
                *(
                    f"{100 * printed:.1f} / {100 * ours[metric]:.1f}"
                    for metric, printed in zip(METRICS, published, strict=True)
                ),
            ]
        )
    return markdown(["", *METRICS], rows)


class Phrase(msgspec.Struct):
    text: str
    tokens: list[str]
    token_probs: list[float]
    marker: str | None = None


class Released(msgspec.Struct):
    phrases: list[Phrase]


class Source(msgspec.Struct):
    title: str
    abstract: str
    keywords: list[str]

    @property
    def line(self) -> str:
        return f"{self.title} <eos> {self.abstract}"


def lines_of(path: Path, kind: type[Record]) -> list[Record]:
    decode = msgspec.json.Decoder(kind).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def stemmed(text: str) -> str:
    return " ".join(stems(text.split()))


def geometric_mean(probabilities: Sequence[float], count: int) -> float:
    return float(math.prod(probabilities) ** (1 / count))


class Bins:
    """Ten bins of one part, and a total that may differ from what is in them."""

    def __init__(self) -> None:
        self._sums = np.zeros((ece.BINS, 3))
        self.total = 0

    def add(self, confidence: float, correct: bool) -> None:
        at = int(ece.bin_of(np.array([confidence]), ece.equal_width())[0])
        self._sums[at] += (1, confidence, correct)

    def points(self) -> float:
        binned = self._sums[:, 0].sum()
        return 100 * float(ece.expected_error(self._sums)) * binned / self.total


def in_parts(phrases: Iterable[str], source: str) -> dict[bool, list[str]]:
    """Present and absent by characters; a part without phrases contains a placeholder."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for phrase in phrases:
        parts[phrase in source].append(phrase)
    return {present: found or ["<dummy>"] for present, found in parts.items()}


def unfinished(record: Released, longest: int) -> bool:
    """Whether a sequence reached the limit: a mark or separator per phrase, and the start."""
    return sum(len(phrase.tokens) for phrase in record.phrases) + len(record.phrases) >= longest


def release_subword(
    sources: Sequence[Source], records: Sequence[Released], last_counts: Callable[[Released], bool]
) -> tuple[float, float]:
    """BART's and T5's ECE as released.

    Targets are stemmed twice, so stems that change when stemmed again match nothing; repeats are
    recognised by their spelling; presence is decided by characters; and the total is counted
    separately, with placeholders and with last phrases that are never binned.
    """
    bins = {True: Bins(), False: Bins()}
    for source, record in zip(sources, records, strict=True):
        line = stemmed(source.line)
        spelled = {phrase.text: phrase for phrase in reversed(record.phrases)}
        counted = in_parts(map(stemmed, spelled), line)
        gold = in_parts(map(stemmed, source.keywords), line)
        seen: set[str] = set()
        for phrase in record.phrases if last_counts(record) else record.phrases[:-1]:
            if phrase.text not in seen:
                seen.add(phrase.text)
                stem = stemmed(phrase.text)
                present = stem in line
                bins[present].add(
                    geometric_mean(phrase.token_probs, len(phrase.text.split())),
                    stem in map(stemmed, gold[present]),
                )
        for present in bins:
            bins[present].total += len(counted[present])
    return bins[True].points(), bins[False].points()


def release_exhird(sources: Sequence[Source], records: Sequence[Released]) -> tuple[float, float]:
    """ExHiRD's ECE as released.

    A phrase belongs to the part that the model announces, is correct if its characters occur
    anywhere in the gold of the part (joined by blanks, stemmed twice), and counts as often as it is
    predicted; the total counts distinct phrases, whose part is decided by characters.
    """
    bins = {True: Bins(), False: Bins()}
    for source, record in zip(sources, records, strict=True):
        line = stemmed(source.line)
        parts = in_parts(map(stemmed, source.keywords), line)
        gold = {present: stemmed(" ".join(found)) for present, found in parts.items()}
        counted = in_parts(dict.fromkeys(stemmed(phrase.text) for phrase in record.phrases), line)
        right: set[str] = set()
        for phrase in record.phrases:
            present, stem = phrase.marker == "present", stemmed(phrase.text)
            correct = stem in gold[present] and stem not in right
            bins[present].add(geometric_mean(phrase.token_probs, len(phrase.token_probs)), correct)
            right |= {stem} if correct else set()
        for present in bins:
            bins[present].total += len(counted[present])
    return bins[True].points(), bins[False].points()


def release_ece(data: Path, model: str, dataset: str) -> tuple[float, float] | None:
    """ECE as in the released code, for models where it comes close to the published one."""
    sources = lines_of(documents_of(data, model, dataset), Source)
    records = lines_of(predictions_of(data, model, dataset), Released)
    if model == "bart":  # the end mark is not recognised, so the last phrase never ends
        return release_subword(sources, records, lambda record: False)
    if model == "t5":  # a sequence cut off at 50 tokens has no end mark
        return release_subword(sources, records, lambda record: not unfinished(record, 50))
    if model == "exhird_h":
        return release_exhird(sources, records)
    return None


def table_2(data: Path) -> str:
    """ECE in points."""
    rows = []
    for model, dataset in cells():
        sample = sample_of(data, model, dataset)
        released = release_ece(data, model, dataset)
        row = [f"{dataset}, {MODELS[model]}"]
        for place, part in enumerate(("present", "absent")):
            mask = sample.mask(part)
            row += [
                f"{TABLE_2[model, dataset][place]:.2f}",
                f"{100 * ece.ece(sample.confidence[mask], sample.correct[mask]):.2f}",
                "" if released is None else f"{released[place]:.2f}",
                f"{int(mask.sum()):,}",
            ]
        rows.append(row)
    columns = ("published", "ours", "release's way", "phrases")
    return markdown(["", *(f"{p}: {c}" for p in ("present", "absent") for c in columns)], rows)


def release_sections(sources: Iterable[Source], same_scale: bool) -> list[int]:
    """Table 3 as released: an offset in the stemmed text over the length of the unstemmed text."""
    counts = [0] * SECTIONS
    for source in sources:
        line = stemmed(source.line)
        length = len(line if same_scale else source.line)
        for phrase in map(stemmed, source.keywords):
            if phrase in line:
                counts[section(line.index(phrase) / length)] += 1
    return counts


def our_sections(data: Path, dataset: str) -> tuple[int, ...]:
    counts = SectionCounts(load("chan19"))
    for document, _ in pair(
        data / "test" / f"{dataset}.jsonl", predictions_of(data, "one2set", dataset)
    ):
        counts.add(document, ())
    return counts.total().gold


def table_3(data: Path) -> str:
    """Present gold phrases by fifth of the text."""
    rows = []
    for dataset in DATASETS:
        sources = lines_of(data / "test" / f"{dataset}.jsonl", Source)
        for name, counts in {
            "published": TABLE_3[dataset],
            "release's way": release_sections(sources, same_scale=False),
            "the same, on one scale": release_sections(sources, same_scale=True),
            "ours": our_sections(data, dataset),
        }.items():
            rows.append([f"{dataset}, {name}", *(f"{n:,}" for n in counts), f"{sum(counts):,}"])
    head = [f"{20 * at}–{20 * at + 20}%" for at in range(SECTIONS)]
    return markdown(["", *head, "all"], rows)


def points(confidence: Array, sample: Sample, part: str) -> float:
    mask = sample.mask(part)
    return 100 * ece.ece(confidence[mask], sample.correct[mask])


def by_chance(probability: Array, sample: Sample, part: str) -> float:
    """The mean ECE if each probability were exactly right: the noise of few phrases."""
    p = probability[sample.mask(part)]
    draws = np.random.default_rng(0).random((SIMULATIONS, len(p))) < p
    return 100 * float(np.mean([ece.ece(p, draw) for draw in draws]))


def recalibration(data: Path) -> str:
    """ECE in points before and after recalibration, by cross-validation over documents."""
    rows = []
    for model, system in SYSTEMS.items():
        for dataset in DATASETS:
            sample = sample_of(data, model, dataset)
            runs = {
                method: [cross_validate(sample, method, seed=seed) for seed in range(REPETITIONS)]
                for method in METHODS
            }
            for part in ("present", "absent"):
                mask = sample.mask(part)
                after = [
                    np.mean([points(run, sample, part) for run in runs[method]])
                    for method in METHODS
                ]
                auroc = [
                    100 * ece.auroc(values[mask], sample.correct[mask])
                    for values in (sample.confidence, runs["logistic"][0])
                ]
                rows.append(
                    [
                        f"{system}, {dataset}, {part}",
                        f"{int(mask.sum()):,}",
                        f"{points(sample.confidence, sample, part):.1f}",
                        *(f"{value:.1f}" for value in after),
                        f"{by_chance(runs['logistic'][0], sample, part):.1f}",
                        f"{auroc[0]:.0f} → {auroc[1]:.0f}",
                    ]
                )
    head = ["", "phrases", "before", *METHODS, "chance", "AUROC, logistic"]
    return markdown(head, rows)


def transfer(data: Path) -> str:
    """ECE of curves fitted on one test set and applied to the other."""
    rows = []
    for model, system in SYSTEMS.items():
        samples = {dataset: sample_of(data, model, dataset) for dataset in DATASETS}
        for here, there in (DATASETS, DATASETS[::-1]):
            row = [f"{system}, {here} → {there}"]
            sample = samples[there]
            for part in ("present", "absent"):
                row.append(f"{points(sample.confidence, sample, part):.1f}")
                for method in ("isotonic", "beta", "logistic"):
                    fitted = fit(samples[here], method, tuple(FEATURES))
                    curve = fitted.curve(part == "present")
                    row.append(f"{points(curve(sample.features), sample, part):.1f}")
            rows.append(row)
    columns = ("before", "isotonic", "beta", "logistic")
    return markdown(["", *(f"{p}: {c}" for p in ("present", "absent") for c in columns)], rows)


TABLES: dict[str, Callable[[Path], str]] = {
    "table 1": lambda data: table_1(data, "kpdrop:precision=cutoff"),
    "table 1, chan19": lambda data: table_1(data, "chan19"),
    "table 2": table_2,
    "table 3": table_3,
    "recalibration": recalibration,
    "transfer": transfer,
}


def updated(text: str, name: str, table: str) -> str:
    """A document with the table between its marks replaced; unchanged without such marks."""
    block = re.compile(rf"(<!-- begin {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Published tables and ours.")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with released/ and test/")
    parser.add_argument("--update", type=Path, nargs="*", default=[], help="documents to update")
    given = parser.parse_args()
    texts = {path: path.read_text() for path in given.update}
    for name, make in TABLES.items():
        table = make(given.data)
        print(f"\n{name}\n\n{table}", flush=True)
        texts = {path: updated(text, name, table) for path, text in texts.items()}
    for path, text in texts.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
