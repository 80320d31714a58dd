"""Distilling static word vectors from MiniLM: see `ranking.meaning` for their use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from keywright.config import Count
from keywright.data import minilm
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.models.pretrained_one2seq import Config as Encoder
from keywright.models.pretrained_one2seq import encoder_of
from keywright.ranking.candidates import is_mark
from keywright.ranking.keys import keys
from keywright.ranking.meaning import unit
from keywright.text.stem import stem
from keywright.text.tokenise import document_words
from keywright.types import Document

BATCH = 256
# The arrays of `ranking.meaning` without any words.
NOTHING: dict[str, NDArray[np.generic]] = {
    "stems": np.empty(0, np.uint64),
    "vectors": np.empty((0, 1), np.int8),
    "scale": np.empty(0, np.float16),
}
RARENESS = 1e-4  # of Arora et al. (2017): words of this share have half the weight of rare ones


@dataclass(frozen=True)
class Config:
    words: Count = 60_000  # the most frequent stems
    width: Count = 128


def distil(
    documents: Iterable[tuple[Document, int]], config: Config, report: Callable[[str], None]
) -> dict[str, NDArray[np.generic]]:
    """The arrays of `ranking.meaning`, from documents and how often the words of each count."""
    written, count = _words(documents, config.words)
    report(f"meaning: {len(written):,} words")
    vectors = _encoded([written[name] for name in count])
    vectors = _fewer(vectors - vectors.mean(axis=0), config.width)
    share = np.array(list(count.values()), np.float64) / sum(count.values())
    vectors = unit(vectors) * (RARENESS / (RARENESS + share))[:, None].astype(np.float32)
    scale = np.abs(vectors).max(axis=1) / 127
    rounded = np.round(vectors / scale[:, None].clip(min=1e-9)).astype(np.int8)
    names = keys((name,) for name in count)
    order = np.argsort(names)
    return {"stems": names[order], "vectors": rounded[order], "scale": scale[order].astype("f2")}


def _words(
    documents: Iterable[tuple[Document, int]], most: int
) -> tuple[dict[str, str], dict[str, int]]:
    """The most frequent spelling of each stem, and how often the most frequent stems occur."""
    words: Counter[str] = Counter()
    for document, often in documents:
        for part in document_words(document):
            for word in part:
                words[word] += often
    count: Counter[str] = Counter()
    written: dict[str, str] = {}
    for word, often in sorted(words.items(), key=lambda item: (-item[1], item[0])):
        if not is_mark(word):
            count[stem(word)] += often
            written.setdefault(stem(word), word)
    return written, dict(sorted(count.items(), key=lambda item: (-item[1], item[0]))[:most])


@torch.inference_mode()
def _encoded(words: Sequence[str]) -> NDArray[np.float32]:
    """What MiniLM makes of each word alone: the mean of the states of its pieces."""
    vocabulary = WordpieceVocabulary(minilm.wordpieces(), [])
    encoder = encoder_of(Encoder(), vocabulary)
    encoder.fill(load_file(minilm.weights()))
    encoder.eval()
    texts = [vocabulary.encode_document(Document(title="", body=word), 16).ids for word in words]
    found = np.empty((len(words), encoder.embedding.embedding_dim), np.float32)
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        source = torch.zeros(len(chosen), max(len(texts[at]) for at in chosen), dtype=torch.long)
        for row, at in enumerate(chosen):
            source[row, : len(texts[at])] = torch.tensor(texts[at])
        mask = torch.arange(source.shape[1]) < torch.tensor([[len(texts[at])] for at in chosen])
        states = encoder(source, mask) * mask.unsqueeze(2)
        found[chosen] = (states.sum(1) / mask.sum(1, keepdim=True)).numpy()
    return found


def _fewer(vectors: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """The principal components of vectors [N, E]."""
    values, directions = np.linalg.eigh(vectors.T @ vectors)
    return np.asarray(vectors @ directions[:, np.argsort(-values)[:width]])
