"""A straightforward chan19: one document at a time, loops and small numpy arrays, no cache.

Evaluators are usually written like this. It has every chan19 metric of keywright and shares no code
with it: `bench/evaluate.py` compares with it, and the tests use it as an oracle.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from nltk.stem.porter import PorterStemmer

Phrase = list[str]
CUTOFFS: tuple[int | Literal["M", "O"], ...] = (5, 10, 50, "M", "O")
SEPARATOR = "<peos>"
FG_VARIANTS = ("", "edit", "token", "repetition", "quantity")


@dataclass(frozen=True)
class Flags:
    """The command-line flags of the releases."""

    empty_line_is_a_phrase: bool = False
    one_word_filter: bool = False
    invalidate_unk: bool = True
    meng_precision: bool = False
    prediction_separated: bool = False
    target_separated: bool = False
    match_by_string: bool = False


class PlainChan19:
    """Add lines with `add`, then call `scores`."""

    def __init__(self, flags: Flags | None = None) -> None:
        self.flags = flags or Flags()
        self.stemmer = PorterStemmer()
        self.rows: dict[str, list[float]] = defaultdict(list)
        self.documents = 0

    def add(self, source: str, target: str, prediction: str) -> None:
        title, _, abstract = source.strip().partition("<eos>")
        source_words = self.stem(title.strip().split(" ") + abstract.strip().split(" "))
        targets = [self.stem(text.strip().split(" ")) for text in target.strip().split(";")]
        if prediction.strip() == "" and not self.flags.empty_line_is_a_phrase:
            predictions = []
        else:
            pieces = prediction.strip().split(";")[:200]
            predictions = [self.stem(text.strip().split(" ")) for text in pieces]
        self.documents += 1
        self.score_document(source_words, targets, predictions)

    def stem(self, words: Phrase) -> Phrase:
        return [self.stemmer.stem(word.strip().lower()) for word in words]

    def score_document(
        self, source: Phrase, targets: list[Phrase], predictions: list[Phrase]
    ) -> None:
        total = len(predictions)
        if self.flags.prediction_separated:
            predictions = [phrase for phrase in predictions if phrase[0] != SEPARATOR]
        separators = total - len(predictions)
        unique = not_repeated(predictions)
        self.count_repeats(source, predictions, unique, separators)
        keep = unique & valid(predictions, self.flags.invalidate_unk)
        if self.flags.one_word_filter:
            keep &= not_an_extra_word(predictions)
        kept = [phrase for phrase, good in zip(predictions, keep, strict=True) if good]
        gold = [
            phrase for phrase, first in zip(targets, not_repeated(targets), strict=True) if first
        ]
        present_predictions, absent_predictions = self.split(source, kept)
        if self.flags.target_separated:
            present_gold, absent_gold = split_at_separator(gold)
        else:
            present_gold, absent_gold = self.split(source, gold)
        self.score_part("present", present_predictions, present_gold)
        self.score_part("absent", absent_predictions, absent_gold)
        self.score_part("all", kept, gold)
        counted = len(present_gold) + len(absent_gold)
        self.rows["all.MAE"].append(abs(counted - len(kept)))
        self.rows["present.MAE"].append(abs(len(present_gold) - len(present_predictions)))
        self.rows["absent.MAE"].append(abs(len(absent_gold) - len(absent_predictions)))

    def count_repeats(
        self, source: Phrase, predictions: list[Phrase], unique: np.ndarray, separators: int
    ) -> None:
        """Predictions before filtering, with and without repeats; separators are never repeats."""
        inside = [self.is_present(source, phrase) for phrase in predictions]
        for part, wanted in (("present", (True,)), ("absent", (False,)), ("all", (True, False))):
            chosen = [place for place, present in enumerate(inside) if present in wanted]
            extra = 0 if part == "present" else separators
            self.rows[f"{part}.produced"].append(len(chosen) + extra)
            self.rows[f"{part}.Unique"].append(sum(int(unique[i]) for i in chosen) + extra)

    def split(self, source: Phrase, phrases: list[Phrase]) -> tuple[list[Phrase], list[Phrase]]:
        present, absent = [], []
        for phrase in phrases:
            (present if self.is_present(source, phrase) else absent).append(phrase)
        return present, absent

    def is_present(self, source: Phrase, phrase: Phrase) -> bool:
        if " ".join(phrase).strip() == "":
            return False
        if self.flags.match_by_string:
            return " ".join(phrase) in " ".join(source)
        for start in range(len(source) - len(phrase) + 1):
            found = True
            for offset, word in enumerate(phrase):
                if source[start + offset] != word:
                    found = False
                    break
            if found:
                return True
        return False

    def score_part(self, part: str, predictions: list[Phrase], targets: list[Phrase]) -> None:
        hits = exact_matches(predictions, targets)
        relevance = substring_matches(predictions, targets)
        for cutoff in CUTOFFS:
            k = {"M": len(predictions), "O": len(targets)}.get(str(cutoff), cutoff)
            self.score_cutoff(f"{part}.{{}}@{cutoff}", int(k), hits, relevance, len(targets))
        self.score_degrees(part, predictions, targets)
        self.rows[f"{part}.Predicted"].append(len(predictions))
        self.rows[f"{part}.Gold"].append(len(targets))

    def score_cutoff(
        self, name: str, k: int, hits: np.ndarray, relevance: np.ndarray, targets: int
    ) -> None:
        predicted = len(hits)
        right = int(sum(hits[:k]))
        divisor = 0 if predicted == 0 else min(k, predicted) if self.flags.meng_precision else k
        precision = right / divisor if divisor else 0.0
        recall = right / targets if targets else 0.0
        for measure, value in (
            ("P", precision),
            ("R", recall),
            ("F1", f1(precision, recall)),
            ("MAP", average_precision(hits[:k], targets)),
            ("NDCG", ndcg(hits, k)),
            ("AlphaNDCG", alpha_ndcg(relevance, k)),
            ("right", right),
            ("divisor", divisor),
            ("targets", targets),
        ):
            self.rows[name.format(measure)].append(value)

    def score_degrees(self, part: str, predictions: list[Phrase], targets: list[Phrase]) -> None:
        """FG and its ablations, each computed separately as in the release."""
        for without in FG_VARIANTS:
            name = f"{part}.FG-{without}" if without else f"{part}.FG"
            self.rows[name].append(fine_grained(predictions, targets, without))
        best = [best_pair(phrase, targets) for phrase in predictions if targets]
        for place, name in ((0, "TokenP"), (1, "TokenR"), (2, "TokenF1")):
            self.rows[f"{part}.{name}"].append(sum(pair[place] for pair in best))

    def scores(self) -> dict[str, float]:
        """The scores of the corpus, by keywright's names."""
        found: dict[str, float] = {}
        for part in ("present", "absent", "all"):
            for cutoff in CUTOFFS:
                self.corpus_cutoff(found, f"{part}.{{}}@{cutoff}", f"{part}.micro.{{}}@{cutoff}")
            fg = [f"FG-{without}" if without else "FG" for without in FG_VARIANTS]
            for name in (*fg, "MAE", "Unique", "Predicted", "Gold"):
                found[f"{part}.{name}"] = float(np.mean(self.rows[f"{part}.{name}"]))
            predicted = sum(self.rows[f"{part}.Predicted"])
            for name in ("TokenP", "TokenR", "TokenF1"):
                summed = sum(self.rows[f"{part}.{name}"])
                found[f"{part}.{name}"] = summed / predicted if predicted else 0.0
            produced = sum(self.rows[f"{part}.produced"])
            unique = sum(self.rows[f"{part}.Unique"])
            found[f"{part}.Dup"] = 1 - unique / produced if produced else 0.0
        return found

    def corpus_cutoff(self, found: dict[str, float], macro: str, micro: str) -> None:
        for measure in ("P", "R", "MAP", "NDCG", "AlphaNDCG"):
            found[macro.format(measure)] = float(np.mean(self.rows[macro.format(measure)]))
        found[macro.format("F1")] = f1(found[macro.format("P")], found[macro.format("R")])
        right, divisor, targets = (
            sum(self.rows[macro.format(name)]) for name in ("right", "divisor", "targets")
        )
        found[micro.format("P")] = right / divisor if divisor else 0.0
        found[micro.format("R")] = right / targets if targets else 0.0
        found[micro.format("F1")] = f1(found[micro.format("P")], found[micro.format("R")])


def not_repeated(phrases: Sequence[Phrase]) -> np.ndarray:
    mask = np.ones(len(phrases), dtype=bool)
    seen = set()
    for place, phrase in enumerate(phrases):
        mask[place] = "_".join(phrase) not in seen
        seen.add("_".join(phrase))
    return mask


def valid(phrases: Sequence[Phrase], invalidate_unk: bool) -> np.ndarray:
    mask = np.ones(len(phrases), dtype=bool)
    for place, phrase in enumerate(phrases):
        for word in phrase:
            if word in (",", ".") or (invalidate_unk and word == "<unk>"):
                mask[place] = False
    return mask


def not_an_extra_word(phrases: Sequence[Phrase]) -> np.ndarray:
    mask = np.ones(len(phrases), dtype=bool)
    words = 0
    for place, phrase in enumerate(phrases):
        if len(phrase) == 1:
            words += 1
            mask[place] = words == 1
    return mask


def split_at_separator(phrases: Sequence[Phrase]) -> tuple[list[Phrase], list[Phrase]]:
    before: list[Phrase] = []
    after: list[Phrase] = []
    side = before
    for phrase in phrases:
        if phrase[0] == SEPARATOR:
            side = after
        else:
            side.append(phrase)
    return before, after


def exact_matches(predictions: Sequence[Phrase], targets: Sequence[Phrase]) -> np.ndarray:
    mask = np.zeros(len(predictions), dtype=bool)
    for place, prediction in enumerate(predictions):
        for target in targets:
            if " ".join(prediction) == " ".join(target):
                mask[place] = True
                break
    return mask


def substring_matches(predictions: Sequence[Phrase], targets: Sequence[Phrase]) -> np.ndarray:
    """[targets, predictions]."""
    mask = np.zeros((len(targets), len(predictions)), dtype=bool)
    for row, target in enumerate(targets):
        for column, prediction in enumerate(predictions):
            mask[row, column] = " ".join(prediction) in " ".join(target)
    return mask


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def average_precision(hits: np.ndarray, targets: int) -> float:
    if len(hits) == 0 or targets == 0:
        return 0.0
    right = np.cumsum(hits)
    return sum(right[i] / (i + 1) for i in range(len(hits)) if hits[i]) / targets


def dcg(gains: np.ndarray) -> float:
    return float(np.sum(gains / np.log2(np.arange(2, len(gains) + 2))))


def ndcg(hits: np.ndarray, k: int) -> float:
    best = dcg(np.array(sorted(hits, reverse=True))[:k])
    return dcg(hits[:k]) / best if best > 0 else 0.0


def alpha_ndcg(relevance: np.ndarray, k: int) -> float:
    if relevance.shape[1] == 0:
        return 0.0
    order = ideal_order(relevance, k)
    best = dcg(alpha_gains(relevance[:, order])[:k])
    return dcg(alpha_gains(relevance)[:k]) / best if best > 0 else 0.0


def alpha_gains(relevance: np.ndarray) -> np.ndarray:
    targets, predictions = relevance.shape
    seen = np.concatenate((np.zeros((targets, 1)), np.cumsum(relevance, axis=1)), axis=1)
    halves = np.full(targets, 0.5)
    return np.array(
        [np.dot(relevance[:, j], np.power(halves, seen[:, j])) for j in range(predictions)]
    )


def ideal_order(relevance: np.ndarray, k: int) -> np.ndarray:
    """Greedy by gain; the earlier prediction wins a tie."""
    targets, predictions = relevance.shape
    halves = np.full(targets, 0.5)
    seen = np.zeros(targets)
    order: list[int] = []
    for _ in range(min(k, predictions)):
        gains = np.full(predictions, -1.0)
        for j in range(predictions):
            if j not in order:
                gains[j] = np.dot(relevance[:, j], np.power(halves, seen))
        order.append(int(np.argmax(gains)))
        seen = seen + relevance[:, order[-1]]
    return np.array(order, dtype=int)


def edit_similarity(prediction: Phrase, target: Phrase) -> float:
    return 1 - edit_distance(prediction, target) / max(len(prediction), len(target))


def token_scores(prediction: Phrase, target: Phrase) -> tuple[float, float, float]:
    """Precision, recall and F1 of token multisets."""
    shared = sum((Counter(prediction) & Counter(target)).values())
    precision, recall = shared / len(prediction), shared / len(target)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-5)


def degree(prediction: Phrase, target: Phrase, without: str = "") -> float:
    """How similar two phrases are."""
    if without == "edit":
        return token_scores(prediction, target)[2]
    if without == "token":
        return edit_similarity(prediction, target)
    return (edit_similarity(prediction, target) + token_scores(prediction, target)[2]) / 2


def best_pair(prediction: Phrase, targets: list[Phrase]) -> tuple[float, float, float]:
    """The token scores with the most similar target, the first one on ties."""
    degrees = [degree(prediction, target) for target in targets]
    return token_scores(prediction, targets[int(np.argmax(degrees))])


def edit_distance(a: Phrase, b: Phrase) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == 0 or j == 0:
                table[i][j] = i + j
            else:
                table[i][j] = min(
                    table[i - 1][j] + 1,
                    table[i][j - 1] + 1,
                    table[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                )
    return table[-1][-1]


def fine_grained(predictions: list[Phrase], targets: list[Phrase], without: str) -> float:
    if not predictions and not targets:
        return 1.0
    if not predictions or not targets:
        return 0.0
    scores = []
    for prediction in predictions:
        score = max(degree(prediction, target, without) for target in targets)
        scores.append(score if score > 0.1 else 0.0)
    if without != "repetition":
        scores = without_repetition(predictions, targets, scores)
    mean = sum(scores) / len(predictions)
    if without == "quantity":
        return mean
    difference, most = len(targets) - len(predictions), max(len(targets), len(predictions))
    return (1 - difference**2 / most**2) * mean


def without_repetition(
    predictions: list[Phrase], targets: list[Phrase], scores: list[float]
) -> list[float]:
    allowed = Counter(word for target in targets for word in target)
    used: Counter[str] = Counter()
    order = sorted(range(len(scores)), key=lambda place: (scores[place], place), reverse=True)
    kept = list(scores)
    for place in order:
        words = [word for word in predictions[place] if word in allowed]
        used.update(words)
        if any(used[word] > allowed[word] for word in words):
            kept[place] = 0.0
            used.subtract(words)
    return kept
