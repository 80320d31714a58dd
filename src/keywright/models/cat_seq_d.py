"""CatSeqD: CatSeq made diverse (Yuan et al. 2020, section 3.2).

Semantic coverage: a target encoder reads what was written and tells the decoder (eq. 1). It learns
by telling the document's encoding from those of others in the batch (eq. 2); nothing of that
reaches the source encoder, and nothing of the likelihood reaches the target encoder (the detached
paths of figure 1). Orthogonal regularisation: the states that write delimiters should differ
(eq. 3).

The loss is eq. 4 for every document, its likelihood summed over tokens, summed over documents.
In evaluation it is the likelihood alone, which needs no random documents to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.targets import DELIMITERS
from keywright.data.vocab import Lexicon
from keywright.models import _recurrent, cat_seq
from keywright.models._recurrent import Memory
from keywright.models.cat_seq import CatSeq
from keywright.nn.loss import Loss, likelihood_loss

PARADIGM = cat_seq.PARADIGM


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """Appendix D, with the weights of table 2."""

    target_encoder: Count = 150
    negatives: Count = 16  # documents to tell the right one from: 17-way classification
    orthogonal: NonNegative = 1.0  # lambda_OR
    semantic: NonNegative = 0.03  # lambda_SC


def build(config: Config, vocabulary: Lexicon) -> nn.Module:
    return CatSeqD(config, vocabulary)


@dataclass(frozen=True)
class State(_recurrent.State):
    meaning: Tensor  # [R, C] of the target encoder


@dataclass(frozen=True, kw_only=True)
class Decoded(cat_seq.Decoded):
    meaning: Tensor  # [R, T, C] states of the target encoder


class CatSeqD(CatSeq):
    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        self.config = config
        size = config.embedding + config.target_encoder
        self.decoder = nn.GRU(size, config.decoder, batch_first=True)
        self.target_encoder = nn.GRU(config.embedding, config.target_encoder, batch_first=True)
        self.bilinear = nn.Linear(config.target_encoder, 2 * config.encoder, bias=False)  # B

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        tokens, state = super().start(memory)
        nothing = state.hidden.new_zeros(len(tokens), self.config.target_encoder)
        return tokens, State(hidden=state.hidden, meaning=nothing)

    def decode(
        self,
        embedded: Tensor,
        state: _recurrent.State,
        memory: Memory,
        counts: Tensor | None = None,
    ) -> tuple[Decoded, State]:
        assert isinstance(state, State)
        meaning, _ = self.target_encoder(embedded, state.meaning.unsqueeze(0))
        inputs = torch.cat([embedded, meaning.detach()], dim=-1)  # eq. 1
        decoded, state_ = super().decode(inputs, state, memory, counts)
        return (
            Decoded(**vars(decoded), meaning=meaning),
            State(hidden=state_.hidden, meaning=meaning[:, -1]),
        )

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        memory, decoded, log_prob = self.teach(batch, smoothing)
        likelihood = likelihood_loss(log_prob)
        if not self.training:
            return likelihood
        assert isinstance(decoded, Decoded)
        target, mask = batch.targets
        orthogonal = orthogonal_loss(decoded.hidden, delimiter_mask(target)).sum()
        last = (mask.sum(dim=1) - 1).view(-1, 1, 1)
        meaning = decoded.meaning.gather(1, last.expand(-1, 1, decoded.meaning.shape[2]))
        semantic = contrastive_loss(
            self.bilinear(meaning.squeeze(1)), memory.final.detach(), self.config.negatives
        ).sum()
        total = (
            likelihood.total + self.config.orthogonal * orthogonal + self.config.semantic * semantic
        )
        parts = {"orthogonal": orthogonal.detach(), "semantic": semantic.detach()}
        return replace(likelihood, total=total, parts={**likelihood.parts, **parts})


def delimiter_mask(target: Tensor) -> Tensor:
    """Where `target` [B, T] ends a phrase."""
    return torch.isin(target, torch.tensor(DELIMITERS, device=target.device))


def orthogonal_loss(states: Tensor, chosen: Tensor) -> Tensor:
    """||H^T H (1 - I)||_2 (eq. 3) [B], H the `chosen` [B, T] of each document's states [B, T, D].

    All of a document's states are multiplied with each other, those not chosen set to zero.
    """
    states = states * chosen.unsqueeze(2)
    gram = torch.bmm(states, states.transpose(1, 2))
    off_diagonal = gram * ~torch.eye(gram.shape[1], dtype=torch.bool, device=gram.device)
    norm: Tensor = torch.linalg.vector_norm(off_diagonal, dim=(1, 2))
    return norm


def contrastive_loss(meanings: Tensor, sources: Tensor, negatives: int) -> Tensor:
    """-log p(the right source) (eq. 2) [B] among it and `negatives` others drawn from the batch.

    `meanings` [B, M] are B h_SC, `sources` [B, M] the encodings. A document alone has nothing to
    be told from: its loss is zero.
    """
    documents = len(sources)
    scores = meanings @ sources.t()  # [B, B]
    right = scores.diagonal().unsqueeze(1)
    if documents == 1:
        return (right - right).squeeze(1)
    steps = torch.randint(1, documents, (documents, negatives), device=scores.device)
    others = (torch.arange(documents, device=scores.device).unsqueeze(1) + steps) % documents
    candidates = torch.cat([right, scores.gather(1, others)], dim=1)
    return -candidates.log_softmax(dim=1)[:, 0]
