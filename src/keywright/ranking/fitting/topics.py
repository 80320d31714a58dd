"""Training the topic model of a ranker: see `ranking.topics` for the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from keywright.config import Count, Fraction, Positive
from keywright.errors import KeywrightError
from keywright.nn.denormals import without_denormals
from keywright.ranking.keys import Keys, Table, Tally
from keywright.ranking.phrasebook import gold_stems
from keywright.ranking.topics import Topics
from keywright.text.reading import Stems
from keywright.text.stem import stems
from keywright.text.tokenise import words
from keywright.types import Document


@dataclass(frozen=True)
class Config:
    width: Count = 64
    labels: Count = 12_000  # the most frequent keyphrases
    terms: Count = 100_000  # the most frequent words and word pairs
    commonest: Fraction = 0.2  # terms that occur in a larger share of documents are left out
    epochs: Count = 4
    batch: Count = 256
    learning_rate: Positive = 5e-3
    dropout: Fraction = 0.2  # of a document's terms, so that the model relies on none of them


Ids = NDArray[np.int32]


def learn(
    documents: Sequence[Document],
    seen: Sequence[Keys],
    config: Config,
    report: Callable[[str], None],
) -> Topics:
    """A topic model of documents with keyphrases; `seen` are the terms of each document."""
    labels, spelling = _labels(documents, config.labels)
    terms, idf = _terms(seen, len(documents), config)
    report(f"{len(labels):,} labels, {len(terms):,} terms")
    table = Table(terms, np.empty((len(terms), 0)))
    place = {label: number for number, label in enumerate(labels)}
    inputs: list[Ids] = []
    targets: list[Ids] = []
    for document, keys in zip(documents, seen, strict=True):
        wanted = [place[phrase] for phrase in gold_stems(document) if phrase in place]
        found = table.places(keys)
        found = found[found >= 0]
        if wanted and len(found):
            inputs.append(found.astype(np.int32))
            targets.append(np.array(wanted, np.int32))
    if not inputs:
        raise KeywrightError(
            f"topics cannot be learnt: none of {len(documents):,} documents has both a keyphrase "
            "and a word that occurs in another document; give more documents"
        )
    with torch.random.fork_rng(devices=[]), without_denormals():
        vectors, output = _fit(inputs, targets, torch.from_numpy(idf), len(labels), config, report)
    return Topics(
        terms,
        idf,
        vectors.detach().numpy().astype(np.float16),
        [spelling[label] for label in labels],
        labels,
        output.weight.detach().numpy(),
        output.bias.detach().numpy(),
    )


def _labels(documents: Sequence[Document], most: int) -> tuple[list[Stems], dict[Stems, str]]:
    """The most frequent keyphrases, and the most frequent spelling of each."""
    count: Counter[Stems] = Counter()
    spellings: Counter[tuple[Stems, str]] = Counter()
    for document in documents:
        count.update(gold_stems(document))
        for text in document.keyphrases or ():
            written = words(text, document.tokenised)
            spellings[tuple(stems(written)), " ".join(written)] += 1
    labels = [label for label, _ in sorted(count.items(), key=lambda item: (-item[1], item[0]))]
    labels = labels[:most]
    spelling: dict[Stems, str] = {}
    for (phrase, text), _ in sorted(spellings.items(), key=lambda item: (-item[1], item[0])):
        spelling.setdefault(phrase, text)
    return labels, spelling


def _terms(
    seen: Sequence[Keys], documents: int, config: Config
) -> tuple[Keys, NDArray[np.float32]]:
    tally = Tally(1)
    for keys in seen:
        tally.add(0, keys)
    table = tally.table()
    count = table.rows[:, 0]
    table = table.where((count > 1) & (count <= config.commonest * documents))
    count = table.rows[:, 0]
    # The most frequent of the terms that are not too frequent.
    chosen = np.sort(np.argsort(-count.astype(np.int64), kind="stable")[: config.terms])
    return table.keys[chosen], np.log(documents / count[chosen]).astype(np.float32)


def _fit(
    inputs: Sequence[Ids],
    targets: Sequence[Ids],
    idf: Tensor,
    labels: int,
    config: Config,
    report: Callable[[str], None],
) -> tuple[Tensor, nn.Linear]:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    bag = nn.EmbeddingBag(len(idf), config.width, mode="sum")
    nn.init.normal_(bag.weight, 0, 0.05)
    output = nn.Linear(config.width, labels)
    nn.init.zeros_(output.weight)
    nn.init.zeros_(output.bias)
    optimiser = torch.optim.Adam([*bag.parameters(), *output.parameters()])
    per_epoch = len(inputs) // config.batch or 1
    for epoch in range(config.epochs):
        order = rng.permutation(len(inputs))
        total = 0.0
        for number in range(per_epoch):
            chosen = order[number * config.batch : (number + 1) * config.batch]
            rate = config.learning_rate * (
                1 - (epoch * per_epoch + number) / (config.epochs * per_epoch)
            )
            optimiser.param_groups[0]["lr"] = rate
            vectors = _documents(bag, [inputs[i] for i in chosen], idf, config.dropout, rng)
            loss = _loss(output(vectors), [targets[i] for i in chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += loss.item()
        report(f"epoch {epoch + 1} of {config.epochs}: loss {total / per_epoch:.3f}")
    return bag.weight, output


def _documents(
    bag: nn.EmbeddingBag,
    inputs: Sequence[Ids],
    idf: Tensor,
    dropout: float,
    rng: np.random.Generator,
) -> Tensor:
    kept = [ids[rng.random(len(ids)) >= dropout] for ids in inputs]
    lengths = torch.tensor([len(ids) for ids in kept])
    ids = torch.from_numpy(np.concatenate(kept)).long()
    weights = idf[ids]
    owner = torch.repeat_interleave(torch.arange(len(kept)), lengths)
    square = torch.zeros(len(kept)).index_add(0, owner, weights * weights)
    offsets = lengths.cumsum(0) - lengths
    weights = weights / square.sqrt().clamp(min=1e-6)[owner]
    found: Tensor = bag(ids, offsets, per_sample_weights=weights)
    return found


def _loss(logits: Tensor, targets: Sequence[Ids]) -> Tensor:
    """The mean of -log softmax over all targets; a document has one for each of its labels."""
    owner = torch.repeat_interleave(
        torch.arange(len(targets)), torch.tensor([len(t) for t in targets])
    )
    wanted = torch.from_numpy(np.concatenate(targets)).long()
    return (logits.logsumexp(dim=1)[owner] - logits[owner, wanted]).mean()
