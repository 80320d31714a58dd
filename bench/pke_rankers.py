"""The rankers of pke (pip install pke-tool), on words that are tagged as ours are.

    python -m bench.pke_rankers --markdown

prints present scores of a ranker of pke with its own defaults (the ten best phrases), and, in the
same run, documents per second of it and of the model of the package, in CPU time.
pke gets its sentences with stems and parts of speech from our reader and tagger, which both sides
are timed with; pke's own reader, which runs spaCy and needs a model of it, is not measured.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import networkx
import nltk

from bench.quality import MEASURED, scores
from bench.systems import DATA, read_corpora
from keywright import predictor
from keywright.extractors._graph import TaggedText, tagger
from keywright.extractors._running import prediction
from keywright.tables import Row, titled
from keywright.text.candidates import STOPWORDS
from keywright.types import Document

RANKERS = {
    "singlerank": ("SingleRank", {"window": 10, "pos": {"NOUN", "PROPN", "ADJ"}}),
    "positionrank": ("PositionRank", {"window": 10, "pos": {"NOUN", "PROPN", "ADJ"}}),
    "topicrank": ("TopicRank", {}),
    "multipartiterank": ("MultipartiteRank", {}),
}
METRICS = ("present.F1@5", "present.F1@M")
DEFAULT_MOST = 10  # phrases that get_n_best of pke gives by default
TIMED = 100  # documents
ROUNDS = 3  # the best is reported
_UNIVERSAL = {"noun": "NOUN", "adjective": "ADJ", "other": "X"}


def load() -> Any:
    """pke 1.8.1 asks nltk for stop words when it is imported, and networkx for an old name."""
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "corpora" / "stopwords"
        words.mkdir(parents=True)
        (words / "english").write_text("\n".join(sorted(STOPWORDS)))
        nltk.data.path.insert(0, folder)
        networkx.pagerank_scipy = networkx.pagerank
        return importlib.import_module("pke")


def speed(pke: Any, name: str, documents: Sequence[Document]) -> float:
    """Documents per second of CPU time."""
    began = process_time()
    for _ in ranked(pke, name, documents, 50):
        pass
    return len(documents) / (process_time() - began)


def ranked(
    pke: Any, name: str, documents: Sequence[Document], most: int
) -> Iterator[list[tuple[str, float]]]:
    """The best phrases of each document, with their weights."""
    ranker, settings = RANKERS[name]
    tag = tagger("textblob", name)
    stoplist = sorted(STOPWORDS)
    for document in documents:
        model = getattr(pke.unsupervised, ranker)()
        model.stoplist = stoplist
        _fill(model, pke, TaggedText.of(document, tag))
        model.candidate_selection()
        if model.candidates:
            model.candidate_weighting(**settings)
            yield model.get_n_best(n=most)
        else:
            yield []


def _fill(model: Any, pke: Any, text: TaggedText) -> None:
    """The sentences of a text, which end at full stops."""
    words, stems = text.text.words, text.text.stems
    ends = [at + 1 for at, word in enumerate(words) if word == "."]
    start = 0
    for end in dict.fromkeys([*ends, len(words)]):
        if end > start:
            sentence = pke.data_structures.Sentence(list(words[start:end]))
            sentence.stems = list(stems[start:end])
            sentence.pos = [_UNIVERSAL[kind] for kind in text.kinds[start:end]]
            model.sentences.append(sentence)
            start = end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with test/")
    parser.add_argument("--corpora", nargs="+", default=["kp20k-1k", "inspec", "semeval"])
    parser.add_argument("--documents", type=int, help="of each test set, all by default")
    parser.add_argument("--ranker", choices=RANKERS, default="multipartiterank")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    pke = load()
    rows: list[Row] = []
    corpora = read_corpora(options.data, options.corpora, options.documents)
    for corpus in corpora:
        found = ranked(pke, options.ranker, corpus.documents, DEFAULT_MOST)
        made = [
            prediction(document, phrases)
            for document, phrases in zip(corpus.documents, found, strict=True)
        ]
        [scored] = [
            row
            for row in scores(corpus, {f"pke {options.ranker}": made}, METRICS)
            if row["source"] == MEASURED
        ]
        rows.append({"corpus": corpus.name, **{metric: scored[metric] for metric in METRICS}})
    timed = corpora[0].documents[:TIMED]
    speeds = [
        {
            "system": f"pke {options.ranker}",
            "documents/s": f"{_best(pke, options.ranker, timed):.1f}",
        },
        {"system": "keywright", "documents/s": f"{_ours(timed):.1f}"},
    ]
    tables = [("Present phrases", rows), (f"Speed, {len(timed)} documents", speeds)]
    print(titled(tables, "markdown" if options.markdown else "table"))


def _best(pke: Any, name: str, documents: Sequence[Document]) -> float:
    return max(speed(pke, name, documents) for _ in range(ROUNDS))


def _ours(documents: Sequence[Document]) -> float:
    model = predictor.load(predictor.DEFAULT)
    list(model.predict(documents[:1]))  # loads what is loaded once
    best = 0.0
    for _ in range(ROUNDS):
        began = process_time()
        list(model.predict(documents))
        best = max(best, len(documents) / (process_time() - began))
    return best


if __name__ == "__main__":
    main()
