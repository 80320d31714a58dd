"""The rankers of pke (pip install pke-tool), on words that are tagged as ours are.

pke gets its sentences with stems and parts of speech from our reader and tagger, which both sides
are timed with; pke's own reader, which runs spaCy, is not measured.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import networkx
import nltk

from keywright.extractors._graph import TaggedText, tagger
from keywright.text.candidates import STOPWORDS
from keywright.types import Document

RANKERS = {
    "singlerank": ("SingleRank", {"window": 10, "pos": {"NOUN", "PROPN", "ADJ"}}),
    "positionrank": ("PositionRank", {"window": 10, "pos": {"NOUN", "PROPN", "ADJ"}}),
    "topicrank": ("TopicRank", {}),
    "multipartiterank": ("MultipartiteRank", {}),
}
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
    ranker, settings = RANKERS[name]
    tag = tagger("textblob", name)
    stoplist = sorted(STOPWORDS)
    began = process_time()
    for document in documents:
        model = getattr(pke.unsupervised, ranker)()
        model.stoplist = stoplist
        _fill(model, pke, TaggedText.of(document, tag))
        model.candidate_selection()
        if model.candidates:
            model.candidate_weighting(**settings)
            model.get_n_best(n=50)
    return len(documents) / (process_time() - began)


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
