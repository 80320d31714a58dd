"""Every number of the golden files, from the field's own evaluators, to 1e-9.

Two exceptions: the ranking metrics of yuan20, to 1e-6 (`ADVANCED_TOLERANCE`), and one ratio that
exhird prints with five digits. The golden keys are checked one by one; a key without a rule
below fails the test, so that nothing is left out silently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keywright import protocols
from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from keywright.evaluate import Plan
from keywright.matches import Matches
from keywright.metric import Metric
from keywright.metrics import fg
from keywright.types import Document, Prediction
from tests.rewards.made import make
from tests.shared import SHARED, needs_golden

pytestmark = needs_golden
GOLDEN = SHARED / "golden"
TOLERANCE = 1e-9
# The release accumulates these in single precision.
ADVANCED_TOLERANCE = 1e-6

SCRIPT = ()
DEFAULT = ("one_word_filter=true", "unk=valid")
CHAN19 = {
    "one2set__script_flags": SCRIPT,
    "one2set__script_flags__meng_precision": ("precision=predicted",),
    "one2set__script_flags__prediction_separated": ("prediction_separated",),
    "one2set__script_flags__prediction_and_target_separated": (
        "prediction_separated",
        "target_separated",
    ),
    "chan_rl__script_flags": ("release=rl",),
    "chan_rl__script_flags__meng_precision": ("release=rl", "precision=predicted"),
    "chan_rl__default_flags": ("release=rl", *DEFAULT),
    "chan_rl__default_flags__meng_precision": ("release=rl", "precision=predicted", *DEFAULT),
}


@cache
def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text())


@cache
def corpus(name: str) -> tuple[tuple[Document, ...], tuple[Prediction, ...]]:
    """The documents and predictions of `sysA`, or the edge cases as one corpus."""
    if name == "sysA":
        return (
            tuple(read_documents(GOLDEN / "test_src.txt")),
            tuple(read_predictions(GOLDEN / "sysA_pred.txt")),
        )
    raise ValueError(name)


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Document], list[Prediction]]:
    """The edge cases, through the readers that users use."""
    folder = tmp_path_factory.mktemp("edge")
    cases = golden("edge_cases.json")["cases"]
    for name in ("src", "trg", "pred"):
        lines = "".join(case[name] + "\n" for case in cases)
        (folder / f"edge_{name}.txt").write_text(lines, encoding="utf-8")
    return (
        list(read_documents(folder / "edge_src.txt")),
        list(read_predictions(folder / "edge_pred.txt")),
    )


class Scorer:
    """The matches of a corpus under one protocol, and any metric of them."""

    def __init__(self, documents: Any, predictions: Any, name: str, *settings: str) -> None:
        self.protocol = protocols.load(name, settings)
        self.matches = [
            self.protocol.match(document, prediction.texts)
            for document, prediction in zip(documents, predictions, strict=True)
        ]

    def values(self, metric: str, *, row: int | None = None) -> float:
        matches = self.matches if row is None else self.matches[row : row + 1]
        plan = Plan(self.protocol, [Metric.parse(metric)])
        return float(plan.scores(plan.rows(matches).sum(axis=0))[metric])

    def with_settings(self, *settings: str) -> Scorer:
        """The same matches scored by other rules."""
        other = object.__new__(Scorer)
        other.protocol = protocols.load(str(self.protocol), settings)
        other.matches = self.matches
        return other


def leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def same(got: float, expected: float, what: object, tolerance: float = TOLERANCE) -> None:
    assert math.isclose(got, expected, rel_tol=0, abs_tol=tolerance), f"{what}: {got} {expected}"


def cutoff(key: str) -> str:
    return {"k": "O"}.get(key, key)


def check_chan19(scorer: Scorer, tree: Any, row: int | None = None) -> int:
    """Walk a chan19 block; returns how many numbers were compared."""
    compared = 0
    for path, expected in leaves(tree):
        match path:
            case (part, k, "macro_P" | "P"):
                got = scorer.values(f"{part}.P@{k}", row=row)
            case (part, k, "macro_R" | "R"):
                got = scorer.values(f"{part}.R@{k}", row=row)
            case (part, k, "macro_F1" | "F1"):
                got = scorer.values(f"{part}.F1@{k}", row=row)
            case (part, k, "mean_of_doc_F1"):
                got = scorer.with_settings("f1=mean_of_documents").values(f"{part}.F1@{k}")
            case (part, k, "micro_P" | "micro_R" | "micro_F1" as name):
                got = scorer.values(f"{part}.micro.{name.removeprefix('micro_')}@{k}", row=row)
            case (part, k, "MAP" | "AP"):
                got = scorer.values(f"{part}.MAP@{k}", row=row)
            case (part, k, "NDCG" | "AlphaNDCG" as name):
                got = scorer.values(f"{part}.{name}@{k}", row=row)
            case (part, k, "matches" | "predictions" | "targets" as name):
                got = sums(scorer, part, k, row)[name]
            case ("MAE_keyphrase_numbers", part):
                got = scorer.values(f"{part}.MAE", row=row)
            case ("dup_ratio",):
                got = scorer.values("all.Dup", row=row)
            case ("unique_predictions",):
                got = sum(match.all.unique for match in scorer.matches)
            case ("total_predictions",):
                got = sum(match.all.produced for match in scorer.matches)
            case ("docs",):
                got = len(scorer.matches)
            case ("docs_with_present_targets",):
                got = sum(bool(match.present.targets) for match in scorer.matches)
            case ("docs_with_absent_targets",):
                got = sum(bool(match.absent.targets) for match in scorer.matches)
            case ("max_unique_targets",):
                got = max(len(match.all.targets) for match in scorer.matches)
            case (part, "num_targets"):
                got = len(getattr(scorer.matches[row or 0], part).targets)
            case (part, "num_predictions"):
                got = len(getattr(scorer.matches[row or 0], part).predictions)
            case ("filtered_stemmed_predictions",):
                assert ";".join(scorer.matches[row or 0].all.predictions) == expected, path
                compared += 1
                continue
            case ("separation_error_printed", "present" | "absent"):
                continue  # how often a model misplaced its separator: not a score of any paper
            case _:
                raise AssertionError(f"no rule for golden key {path}")
        same(got, expected, path)
        compared += 1
    return compared


def sums(scorer: Scorer, part: str, k: str, row: int | None) -> dict[str, float]:
    plan = Plan(scorer.protocol, [Metric.parse(f"{part}.micro.F1@{k}")])
    matches = scorer.matches if row is None else scorer.matches[row : row + 1]
    values = plan.rows(matches).sum(axis=0)
    return dict(zip(("matches", "predictions", "targets"), values, strict=True))


def check_kpdrop(scorer: Scorer, tree: Any, row: int | None = None) -> int:
    compared = 0
    for (part, k, name), expected in leaves(tree):
        same(scorer.values(f"{part}.{name.removeprefix('macro_')}@{k}", row=row), expected, k)
        compared += 1
    return compared


def check_exhird(scorer: Scorer, tree: Any, row: int | None = None) -> int:
    compared = 0
    for path, expected in leaves(tree):
        part = {"total": "all"}.get(path[0], path[0])
        match path[1:]:
            case ("MAP", k):
                got = scorer.values(f"{part}.MAP@{k}", row=row)
            case (k, "macro_P" | "macro_R" | "P" | "R" as name):
                got = scorer.values(f"{part}.{name[-1]}@{k}", row=row)
            case (k, "macro_F1_mean_of_docs" | "F1"):
                got = scorer.values(f"{part}.F1@{k}", row=row)
            case (k, "macro_std_F1"):
                got = scorer.with_settings("f1=of_means").values(f"{part}.F1@{k}")
            case (k, "micro_P" | "micro_R" | "micro_F1" as name):
                got = scorer.values(f"{part}.micro.{name.removeprefix('micro_')}@{k}")
            case (k, "correct" | "predictions" | "targets" as name):
                got = sums(scorer, part, k, row)[{"correct": "matches"}.get(name, name)]
            case ("target_number",):
                got = len(getattr(scorer.matches[row or 0], part).targets)
            case ("prediction_number",):
                got = len(getattr(scorer.matches[row or 0], part).predictions)
            case ("correctly_matched",):
                phrases = getattr(scorer.matches[row or 0], part)
                ranks = range(len(phrases.predictions))
                assert expected == [int(rank in phrases.hits) for rank in ranks]
                compared += 1
                continue
            case () if path[0] == "ave_dup_ratio_printed":
                same(scorer.values("all.Dup"), expected, path, tolerance=5.1e-6)
                compared += 1
                continue
            case _:
                raise AssertionError(f"no rule for golden key {path}")
        same(got, expected, path)
        compared += 1
    return compared


ADVANCED = {"ap": "MAP@M", "mrr": "MRR", "sadr": "SADR", "ndcg": "NDCG@M"}
YUAN = {
    "precision": ("P", "precision=predicted"),
    "recall": ("R", "precision=predicted"),
    "f_score": ("F1", "precision=predicted"),
    "precision_hard": ("P", "precision=cutoff"),
    "f_score_hard": ("F1", "precision=cutoff"),
}


def check_yuan20(scorer: Scorer, tree: Any, row: int | None = None) -> int:
    compared = 0
    for path, expected in leaves(tree):
        average = "all"
        if path[-1] in ("all_docs", "docs_with_targets") and len(path) > 2:
            average = "all" if path[-1] == "all_docs" else "with_targets"
            path = path[:-1]
        rules = (f"average_over={average}",)
        tolerance = TOLERANCE
        match path:
            case (part, "advanced", name):
                metric = ADVANCED.get(name) or name.replace("alpha_ndcg", "AlphaNDCG")
                got = scorer.with_settings(*rules).values(f"{part}.{metric}", row=row)
                tolerance = ADVANCED_TOLERANCE
            case (part, k, "correct" | "correct_sum"):
                got = sums(scorer, part, cutoff(k), row)["matches"]
            case (part, "docs_with_targets"):
                got = sum(bool(getattr(match, part).targets) for match in scorer.matches)
            case (part, k, name) if name in YUAN:
                measure, precision = YUAN[name]
                changed = scorer.with_settings(precision, *rules)
                got = changed.values(f"{part}.{measure}@{cutoff(k)}", row=row)
            case ("targets", part):
                got = sum(len(getattr(match, part).targets) for match in scorer.matches)
            case ("valid_unique_predictions", part):
                got = sum(len(getattr(match, part).predictions) for match in scorer.matches)
            case ("present_tgt_num" | "absent_tgt_num" as name,):
                got = len(getattr(scorer.matches[row or 0], name.split("_")[0]).targets)
            case ("present_pred_num" | "absent_pred_num" as name,):
                got = len(getattr(scorer.matches[row or 0], name.split("_")[0]).predictions)
            case _:
                raise AssertionError(f"no rule for golden key {path}")
        same(got, expected, path, tolerance)
        compared += 1
    return compared


FG = {
    "fg_eva1": "present.FG",
    "absent_fg_eva1": "absent.FG",
    "wo_edit_distance_k1": "present.FG-edit",
    "wo_token_f1_k2": "present.FG-token",
    "wo_repetition_penalty_k3": "present.FG-repetition",
    "wo_number_penalty_k4": "present.FG-quantity",
}


def rewards_of(documents: list[Document], predictions: list[Prediction]) -> list[float]:
    """The training reward, all phrases together."""
    return make("fg", "fg")(documents, [prediction.texts for prediction in predictions], "all")


def as_reward(match: Matches) -> float:
    part = match.present
    found = fg.likenesses(part.predictions, part.targets)
    return fg.fine_grained(
        found,
        part.targets,
        both_empty=fg.BOTH_EMPTY_AS_REWARD,
        predicted=len(part.predictions),
    )


def check_fg(scorer: Scorer, tree: Any, rewards: list[float], row: int | None = None) -> int:
    rows = range(len(scorer.matches)) if row is None else [row]
    chosen = [scorer.matches[i] for i in rows]
    compared = 0
    for (key,), expected in leaves(tree):
        name = key.removesuffix("_mean")
        if name in FG:
            got = scorer.values(FG[name], row=row)
        elif name == "fg_eva0":
            got = float(np.mean([as_reward(match) for match in chosen]))
        elif name in ("token_f1", "token_p", "token_r"):
            got = scorer.values(f"present.Token{name.split('_')[1].upper()}")
        elif name in ("token_f1_sum", "token_p_sum", "token_r_sum"):
            what = {"f1": "f1", "p": "precision", "r": "recall"}[name.split("_")[1]]
            part = chosen[0].present
            found = fg.likenesses(part.predictions, part.targets)
            got = sum(getattr(likeness.best, what) for likeness in found)
        elif name == "reward_all_phrases_type18":
            got = float(np.mean([rewards[i] for i in rows]))
        elif name in ("present_predictions", "n_pred") and isinstance(expected, int):
            got = sum(len(match.present.predictions) for match in chosen)
        elif name == "n_trg":
            got = sum(len(match.present.targets) for match in chosen)
        elif name in ("present_predictions", "present_targets"):
            assert getattr(chosen[0].present, name.removeprefix("present_")) == expected
            compared += 1
            continue
        elif name == "per_document_fg_eva1":
            for i, value in enumerate(expected):
                same(scorer.values("present.FG", row=i), value, (key, i))
            compared += len(expected)
            continue
        else:
            raise AssertionError(f"no rule for golden key {key}")
        same(got, expected, key)
        compared += 1
    return compared


# The edge cases alone have `<peos>` in gold and predictions.
@pytest.mark.parametrize("variant", sorted(name for name in CHAN19 if "separated" not in name))
def test_chan19_corpus(variant: str) -> None:
    tree = golden("golden_sysA.json")["chan19"][variant]
    assert check_chan19(Scorer(*corpus("sysA"), "chan19", *CHAN19[variant]), tree) > 150


def test_chan19_per_document() -> None:
    scorer = Scorer(*corpus("sysA"), "chan19")
    for key, values in golden("golden_sysA.json")["chan19"][
        "per_document__one2set__script_flags"
    ].items():
        name = key.replace("_", ".", 1)
        plan = Plan(scorer.protocol, [Metric.parse(name)])
        np.testing.assert_allclose(
            plan.scores(plan.rows(scorer.matches))[name], values, rtol=0, atol=TOLERANCE
        )


def test_no_corpus_variant_is_left_out() -> None:
    variants = set(golden("golden_sysA.json")["chan19"]) - {"per_document__one2set__script_flags"}
    assert variants <= set(CHAN19)
    for case in golden("edge_cases.json")["cases"]:
        assert set(case["expected"]["chan19"]) <= set(CHAN19)


def test_kpdrop_corpus() -> None:
    tree = golden("golden_sysA.json")["kpdrop"]
    assert check_kpdrop(Scorer(*corpus("sysA"), "kpdrop"), tree) == 30


def test_exhird_corpus() -> None:
    tree = golden("golden_sysA.json")["exhird"]
    assert check_exhird(Scorer(*corpus("sysA"), "exhird"), tree) > 90


@pytest.mark.parametrize("tokeniser", ["split", "split_nopunc"])
def test_yuan20_corpus(tokeniser: str) -> None:
    tree = golden("golden_sysA.json")["meng_yuan20"][tokeniser]
    scorer = Scorer(*corpus("sysA"), "yuan20", f"tokeniser={tokeniser}")
    assert check_yuan20(scorer, tree) > 200


def test_fg_corpus() -> None:
    documents, predictions = corpus("sysA")
    rewards = rewards_of(documents, predictions)
    tree = golden("golden_sysA.json")["fg"]
    assert check_fg(Scorer(documents, predictions, "fg"), tree, rewards) > 1000


@pytest.mark.parametrize("variant", sorted(CHAN19))
def test_chan19_edge_cases(variant: str, edge: tuple[list[Document], list[Prediction]]) -> None:
    scorer = Scorer(*edge, "chan19", *CHAN19[variant])
    cases = golden("edge_cases.json")["cases"]
    rows = [i for i, case in enumerate(cases) if variant in case["expected"]["chan19"]]
    for row in rows:
        check_chan19(scorer, cases[row]["expected"]["chan19"][variant], row)
    aggregate = golden("edge_cases.json")["aggregate_over_all_cases"]["chan19"].get(variant)
    compared = 0 if aggregate is None else check_chan19(scorer, aggregate)
    assert rows or compared, "the golden files have this variant nowhere"


def test_other_edge_cases(edge: tuple[list[Document], list[Prediction]]) -> None:
    documents, predictions = edge
    rewards = rewards_of(documents, predictions)
    scorers = {
        "kpdrop": Scorer(*edge, "kpdrop"),
        "exhird": Scorer(*edge, "exhird"),
        "split": Scorer(*edge, "yuan20", "tokeniser=split"),
        "split_nopunc": Scorer(*edge, "yuan20"),
        "fg": Scorer(*edge, "fg"),
    }

    def check(expected: Any, row: int | None) -> None:
        check_kpdrop(scorers["kpdrop"], expected["kpdrop"], row)
        check_exhird(scorers["exhird"], expected["exhird"], row)
        for tokeniser, tree in expected["meng_yuan20"].items():
            check_yuan20(scorers[tokeniser], tree, row)
        check_fg(scorers["fg"], expected["fg"], rewards, row)

    for row, case in enumerate(golden("edge_cases.json")["cases"]):
        assert set(case["expected"]) == {"chan19", "kpdrop", "exhird", "meng_yuan20", "fg"}
        check(case["expected"], row)
    check(golden("edge_cases.json")["aggregate_over_all_cases"], None)


def test_golden_folder_has_no_other_numbers() -> None:
    known = {
        "README.md", "edge_cases.json", "golden_sysA.json",
        "sysA_pred.txt", "test_src.txt", "test_trg.txt",
    }  # fmt: skip
    assert {path.name for path in Path(GOLDEN).iterdir()} <= known
