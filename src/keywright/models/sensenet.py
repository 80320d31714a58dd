"""SenSeNet: CatSeq that first decides which sentences matter (Luo et al. 2020).

A convolution over the encoder states of a sentence, pooled by their maximum, says how likely the
sentence is to contain a keyphrase; a sentence is selected if this is more than one half. One of two
learned vectors, for selected and for other sentences, is added to all states of the sentence.
Gradients pass the decision unchanged (straight-through estimator). Whether a sentence contains a
present gold phrase is learned beside the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.tags import NO_TAG, O, gold_tags, source_words
from keywright.lexicon import Lexicon
from keywright.models import cat_seq
from keywright.models._recurrent import Memory
from keywright.models.cat_seq import CatSeq
from keywright.nn.loss import Loss, likelihood_loss

MARKS = (".", "?", "!")  # that end a sentence; a title is one, too


@dataclass(frozen=True)
class Config(cat_seq.Config):
    """The networks of Chan et al. (2019), which SenSeNet was added to."""

    decoder: Count = 300
    kernel: Count = 3  # words that the convolution sees at once
    features: Count = 100  # of the convolution
    selection: NonNegative = 1.0  # lambda: the weight of the selector's loss

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel is {self.kernel}; it must be odd, to have a middle")


@dataclass(frozen=True)
class Sentences:
    """The N sentences of a batch. Positions beyond a document's end belong to its last sentence."""

    number: Tensor  # [B, S] of the sentence of every position, 0 .. N - 1
    place: Tensor  # [B, S] of the position in its sentence
    mask: Tensor  # [B, S] True at real positions

    @classmethod
    def of(cls, batch: Batch, marks: Tensor) -> Sentences:
        mask = batch.source_mask
        at = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
        ends = torch.isin(batch.source, marks) | (at == batch.title_lengths.unsqueeze(1) - 1)
        begins = torch.cat([torch.ones_like(mask[:, :1]), ends[:, :-1] & mask[:, 1:]], dim=1)
        number = begins.flatten().cumsum(0).view_as(at) - 1
        start = at.masked_fill(~begins, 0).cummax(dim=1).values
        return cls(number, at - start, mask)

    def __len__(self) -> int:
        return int(self.number[-1, -1]) + 1

    def split(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, S, M] by sentence [N, L, M], zero beyond its end, and where they are real."""
        rows, places = self.number[self.mask], self.place[self.mask]
        shape = len(self), int(places.max()) + 1
        padded = states.new_zeros(*shape, states.shape[2])
        real = torch.zeros(shape, dtype=torch.bool, device=states.device)
        real[rows, places] = True
        return padded.index_put((rows, places), states[self.mask]), real

    def containing(self, positions: Tensor) -> Tensor:
        """Which sentences [N] have any of the positions [B, S]."""
        found = torch.zeros(len(self), device=positions.device)
        found[self.number[positions & self.mask]] = 1.0
        return found


@dataclass(frozen=True)
class SelectedMemory(Memory):
    logits: Tensor  # [B, S] of the selection of every position's sentence


class SentenceSelector(nn.Module):
    """The logits of selecting each sentence, and what the decision adds to its states."""

    def __init__(self, size: int, features: int, kernel: int):
        super().__init__()
        self.convolution = nn.Conv1d(size, features, kernel, padding=kernel // 2)
        self.hidden = nn.Linear(features, features)
        self.score = nn.Linear(features, 1)
        self.meaning = nn.Parameter(torch.empty(2, size).uniform_(-0.1, 0.1))

    def forward(self, states: Tensor, sentences: Sentences) -> tuple[Tensor, Tensor]:
        """[N], and [B, S, M] to be added."""
        padded, real = sentences.split(states)
        found = self.convolution(padded.transpose(1, 2)).transpose(1, 2)
        pooled = found.masked_fill(~real.unsqueeze(2), -torch.inf).amax(dim=1)
        logits = self.score(self.hidden(pooled.relu()).relu()).squeeze(1)
        likely = logits.sigmoid()
        selected = (logits > 0).to(likely) + likely - likely.detach()
        others, chosen = self.meaning
        added = others + selected.unsqueeze(1) * (chosen - others)
        return logits, added[sentences.number]


class SenSeNet(CatSeq):
    graphs = None

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        self.vocabulary = vocabulary
        self.selection = config.selection
        self.selector = SentenceSelector(2 * config.encoder, config.features, config.kernel)
        ids = {i for mark in MARKS for i in vocabulary.encode_phrase([mark], ())}
        marks = sorted(ids - {self.special.unk})
        self.register_buffer("marks", torch.tensor(marks, dtype=torch.long), persistent=False)

    def encode(self, batch: Batch) -> SelectedMemory:
        embedded = self.dropout(self.embedding(batch.source))
        states, final = self.read(embedded, batch)
        sentences = Sentences.of(batch, self.get_buffer("marks"))
        logits, added = self.selector(states, sentences)
        memory = self.remember(self.dropout(states + added), final, batch)
        return SelectedMemory(**vars(memory), logits=logits[sentences.number])

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        memory, _, log_prob = self.teach(batch, smoothing)
        assert isinstance(memory, SelectedMemory)
        sentences = Sentences.of(batch, self.get_buffer("marks"))
        labels = sentences.containing(self.present(batch))
        logits = memory.logits[(sentences.place == 0) & sentences.mask].float()
        wrong = F.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
        written = likelihood_loss(log_prob)
        parts = {**written.parts, "selection": wrong.detach()}
        return Loss(written.total + self.selection * wrong, written.divisor, parts)

    def present(self, batch: Batch) -> Tensor:
        """The positions [B, S] of present gold phrases."""
        found = torch.zeros_like(batch.source_mask)
        for row, document in enumerate(batch.documents):
            extended = batch.source_extended[row][batch.source_mask[row]].tolist()
            words = source_words(document, extended, self.vocabulary)
            tags = torch.tensor(gold_tags(document, words, len(extended)), device=found.device)
            found[row, : len(extended)] = (tags != O) & (tags != NO_TAG)
        return found


build = SenSeNet
