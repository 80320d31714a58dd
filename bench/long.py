"""Keyphrases of full texts: the weights of long documents, and quality beside other systems.

    python -m bench.long --fit                      # weights for keywright/generation/whole.py
    python -m bench.long --documents 50             # ours and other systems

The weights are fitted on citeulike180 and fao30, whose readers and indexers chose mostly single
words: how much they prefer them is fitted, too, and left out of the weights. As they chose more
phrases than authors do, the odds are lowered by the ratio. Tested are nguyen2007 (NUS) and
semeval2010, which nothing was fitted on. Ours are the ten best present phrases of
`Keywright.generate`; the others read the whole text and list ten.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.systems import DATA, TRAINING, Corpus, System, peers, predictions, read_corpora, reported
from keywright import Keywright
from keywright.calibration.calibrate import gather, measure
from keywright.evaluate import evaluate
from keywright.generation.whole import Evidence, evidence
from keywright.generation.windows import windows
from keywright.predictor import DEFAULT, LoadedModel, load
from keywright.progress import progress
from keywright.ranking.phrasebook import gold_stems
from keywright.tables import Row, titled
from keywright.text.reading import Reading, Stems, literal_stems
from keywright.text.stem import stems
from keywright.text.tokenise import normalise
from keywright.types import Document, Prediction, ScoredPhrase

FITTED = ("test/fulltext/citeulike180", "test/fulltext/fao30")
TESTED = ("test/fulltext/nguyen2007", "test/fulltext/semeval2010")
PEERS = ("yake", "textrank", "tfidf", "topicrank", "multipartiterank")
METRICS = ("present.F1@5", "present.F1@10")
AUTHORS = 5  # phrases that authors choose
TOP = 10
PENALTY = 1.0
Array = NDArray[np.float64]


def main() -> None:
    options = arguments()
    if options.fit:
        print(fitted(read_corpora(options.data, FITTED, options.documents)))
        return
    corpora = read_corpora(options.data, TESTED, options.documents)
    ours = System("default", Whole, {"generate": TOP})
    systems = [ours, *peers(options.peers, options.data, training=TRAINING)]
    made = {system.name: predictions(system, corpora, options.cache) for system in systems}
    tables = [
        (
            f"{corpus.name}: {len(corpus.documents)} documents",
            [_row(corpus, name, found[corpus.name]) for name, found in made.items()],
        )
        for corpus in corpora
    ]
    print(titled(tables, "markdown" if options.markdown else "table"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--documents", type=int, help="only the first N documents of each set")
    parser.add_argument("--cache", type=Path, help="a folder that keeps predictions")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


class Whole:
    """What readers get: `Keywright.generate`, as a predictor."""

    window = 1

    def __init__(self) -> None:
        self._kw = Keywright()

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            found = self._kw.generate(document, top=TOP, present_only=True)
            yield Prediction(
                document_id=document.id,
                phrases=tuple(
                    ScoredPhrase(text=phrase.text, confidence=phrase.probability)
                    for phrase in found
                    if not phrase.stated  # the gold of a document is no achievement
                ),
            )


def _row(corpus: Corpus, name: str, made: Sequence[Prediction]) -> Row:
    result = evaluate(corpus.documents, made, metrics=METRICS, match="line")
    row = {"system": name, **{metric: f"{100 * result[metric]:.1f}" for metric in METRICS}}
    row["ECE"] = ""
    if all(phrase.confidence is not None for found in made for phrase in found.phrases):
        pairs = zip(corpus.documents, made, strict=True)
        row["ECE"] = f"{100 * measure(gather(pairs), resamples=0)['present'].scores['ECE']:.1f}"
    return row


def fitted(corpora: Sequence[Corpus]) -> Evidence:
    rows: list[list[float]] = []
    correct: list[bool] = []
    chosen: list[int] = []
    model = load(DEFAULT)
    documents = [document for corpus in corpora for document in corpus.documents]
    for document in progress(documents, "reading", len(documents)):
        gold = {phrase for phrase in gold_stems(document) if _is_present(document, phrase)}
        chosen.append(len(gold))
        for known, several, text in _candidates(model, document):
            rows.append([*known, several])
            correct.append(tuple(stems(normalise(text))) in gold)
    table, right = np.array(rows), np.array(correct)
    log_odds, others = table[:, 0], table[:, 1:]
    # The bias is a column; the last one is how much single words are preferred.
    weights = _logistic(others, right, log_odds)[:-1]
    total = log_odds + others[:, :-1] @ weights
    slope, offset = _logistic(np.stack([total, np.ones_like(total)], 1), right, 0 * total)
    lowered = offset + np.log(AUTHORS / np.mean(chosen))
    rate, first, spread, bias = slope * weights
    found = (slope, rate, first, spread, bias + lowered)
    return Evidence(*(round(float(weight), 3) for weight in found))


def _is_present(document: Document, phrase: Stems) -> bool:
    reading = Reading.of(document)
    return reading.has(phrase, len(reading.words))


def _candidates(model: LoadedModel, document: Document) -> Iterator[tuple[Evidence, float, str]]:
    reading = Reading.of(document)
    highest: dict[str, float] = {}
    assert model.words_read is not None  # the default model says how much it reads
    cut = windows(document, model.words_read(document))
    for prediction in model.predictor.predict(cut):
        for phrase in prediction.phrases:
            name = phrase.text.lower()
            highest[name] = max(highest.get(name, 0.0), phrase.confidence or 0.0)
    for text, probability in highest.items():
        phrase_stems = literal_stems(text)
        if probability > 0.004 and (places := reading.places(phrase_stems)):
            yield evidence(reading, places, probability), float(len(phrase_stems) > 1), text


def _logistic(table: Array, right: NDArray[np.bool_], offset: Array) -> Any:
    """Weights of the columns by Newton's method; `offset` is added to the log-odds."""
    weights = np.zeros(table.shape[1])
    for _ in range(30):
        sure = 1 / (1 + np.exp(-(table @ weights + offset)))
        slope = table.T @ (sure - right) + PENALTY * weights
        curve = (table * (sure * (1 - sure))[:, None]).T @ table + PENALTY * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    return weights


if __name__ == "__main__":
    reported(main)
