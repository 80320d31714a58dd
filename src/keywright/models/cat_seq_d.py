"""CatSeqD: CatSeq with diverse phrases (Yuan et al. 2020, section 3.2).

Semantic coverage: a target encoder reads the generated tokens, and its states are inputs of the
decoder (eq. 1). It learns to distinguish the encoding of its document from those of other documents
in the batch (eq. 2). The gradient of this loss does not reach the source encoder, and the gradient
of the likelihood does not reach the target encoder (the detached paths of figure 1). Orthogonal
regularisation: the states that generate delimiters should differ (eq. 3).

The loss is eq. 4 for every document, with its likelihood summed over tokens. The sum over a batch
is divided by its number of target tokens, as in the release of Chan et al. (2019). In evaluation
mode the loss is the likelihood alone, which needs no random documents to compare with.

The catSeqD that Chan et al. (2019) trained and released differs; settings repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from keywright.config import Count, Natural, NonNegative
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.models import _recurrent, cat_seq
from keywright.models._recurrent import Memory
from keywright.models.cat_seq import CatSeq
from keywright.nn.gru import GRU
from keywright.nn.loss import Loss, likelihood_loss


@dataclass(frozen=True)
class Config(cat_seq.Config):
    """Appendix D, with the weights of table 2.

    The release of Chan et al. (2019) has target_encoder = 64, negatives = 32, orthogonal = 0.03,
    orthogonality = "identity", contrast = "delimiters", queue = 128 and semantic_step = "own".
    """

    target_encoder: Count = 150
    negatives: Count = 16  # other documents to choose from: a 17-way classification
    orthogonal: NonNegative = 1.0  # lambda_OR
    semantic: NonNegative = 0.03  # lambda_SC
    # angles: eq. 3, the products of different states. Short states have small products, too, so
    # that a large weight shrinks them. identity: ||H^T H - I||, which draws their length to 1.
    orthogonality: Literal["angles", "identity"] = "angles"
    # The states of the target encoder that are compared with documents: the last one, or the mean
    # loss of those that have read a delimiter.
    contrast: Literal["end", "delimiters"] = "end"
    # Draw the other documents from this many recent ones instead of the batch. Every process has a
    # queue of its own, which is empty at first.
    queue: Natural = 0
    # own: the contrastive loss is minimised in a step of its own after that of the other losses,
    # without the weight `semantic`.
    semantic_step: Literal["same", "own"] = "same"


@dataclass(frozen=True)
class State(_recurrent.State):
    meaning: Tensor  # [R, C] of the target encoder


@dataclass(frozen=True, kw_only=True)
class Decoded(cat_seq.Decoded):
    meaning: Tensor  # [R, T, C] states of the target encoder


class CatSeqD(CatSeq):
    graphs = "recurrent"

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        self.config = config
        size = config.embedding + config.target_encoder
        self.decoder = GRU(size, config.decoder)
        self.target_encoder = GRU(config.embedding, config.target_encoder)
        self.bilinear = nn.Linear(config.target_encoder, 2 * config.encoder, bias=False)  # B
        self.recent: Tensor
        self.seen: Tensor
        if config.queue:  # saved with the weights, so that a resumed run draws the same documents
            self.register_buffer("recent", torch.zeros(config.queue, 2 * config.encoder))
            self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        tokens, state = super().start(memory)
        zeros = state.hidden.new_zeros(len(tokens), self.config.target_encoder)
        return tokens, State(hidden=state.hidden, meaning=zeros)

    def decode(
        self,
        embedded: Tensor,
        state: _recurrent.State,
        memory: Memory,
        counts: Tensor | None = None,
    ) -> tuple[Decoded, State]:
        assert isinstance(state, State)
        meaning = self.target_encoder.states(embedded, state.meaning)
        inputs = torch.cat([embedded, meaning.detach()], dim=-1)  # eq. 1
        decoded, after = super().decode(inputs, state, memory, counts)
        return (
            Decoded(**vars(decoded), meaning=meaning),
            State(hidden=after.hidden, meaning=meaning[:, -1]),
        )

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        memory, decoded, log_prob = self.teach(batch, smoothing)
        likelihood = likelihood_loss(log_prob)
        if not self.training:
            return likelihood
        assert isinstance(decoded, Decoded)
        target, mask = batch.targets
        delimiters = delimiter_mask(target, self.special.delimiters)
        identity = self.config.orthogonality == "identity"
        orthogonal = orthogonal_loss(decoded.hidden, delimiters, identity).sum()
        compared = last_of(mask) if self.config.contrast == "end" else after(delimiters) & mask
        semantic = self._semantic_loss(decoded.meaning, compared, memory.final.detach())
        total = likelihood.total + self.config.orthogonal * orthogonal
        parts = {"orthogonal": orthogonal.detach(), "semantic": semantic.detach()}
        found = replace(likelihood, parts={**likelihood.parts, **parts})
        if self.config.semantic_step == "own":
            return replace(found, total=total, separate=semantic)
        return replace(found, total=total + self.config.semantic * semantic)

    def separate_parameters(self) -> list[nn.Parameter]:
        if self.config.semantic_step == "same":
            return []
        modules = (self.embedding, self.target_encoder, self.bilinear)
        return [parameter for module in modules for parameter in module.parameters()]

    def _semantic_loss(self, meaning: Tensor, compared: Tensor, sources: Tensor) -> Tensor:
        """The contrastive loss, summed over documents; of each document, the mean over states.

        `meaning` [B, T, C] are the states of the target encoder, `compared` [B, T] says which are
        compared with the `sources` [B, M].
        """
        rows, _ = compared.nonzero(as_tuple=True)
        states = self.bilinear(meaning[compared])
        if self.config.queue:
            others = self._from_queue(len(rows))
            self._remember(sources)
        else:
            others = other_documents(sources, rows, self.config.negatives)
        losses = contrastive_loss(states, sources[rows], others)
        shares = 1 / compared.sum(dim=1).clamp(min=1)
        return (losses * shares[rows]).sum()

    def _from_queue(self, rows: int) -> Tensor:
        """`negatives` recent documents for each row [rows, negatives, M]; none at the start."""
        filled = min(int(self.seen), self.config.queue)
        if not filled:
            return self.recent.new_zeros(rows, 0, self.recent.shape[1])
        drawn = torch.randint(filled, (rows, self.config.negatives), device=self.recent.device)
        return self.recent[drawn]

    @torch.no_grad()
    def _remember(self, sources: Tensor) -> None:
        places = (torch.arange(len(sources), device=sources.device) + self.seen) % len(self.recent)
        kept = min(len(sources), len(self.recent))  # the later ones of a batch above the queue
        self.recent[places[-kept:]] = sources[-kept:].to(self.recent)
        self.seen += len(sources)


build = CatSeqD


def delimiter_mask(target: Tensor, delimiters: Sequence[int]) -> Tensor:
    """Where `target` [B, T] ends a phrase."""
    return torch.isin(target, torch.tensor(delimiters, device=target.device))


def last_of(mask: Tensor) -> Tensor:
    """Of the real tokens `mask` [B, T] of each row, only the last."""
    last = mask.sum(dim=1, keepdim=True) - 1
    return torch.arange(mask.shape[1], device=mask.device) == last


def after(chosen: Tensor) -> Tensor:
    """The positions [B, T] that follow the chosen ones [B, T]: what reads them as input."""
    return torch.cat([torch.zeros_like(chosen[:, :1]), chosen[:, :-1]], dim=1)


def orthogonal_loss(states: Tensor, chosen: Tensor, identity: bool = False) -> Tensor:
    """||H^T H (1 - I)||_2 (eq. 3) [B]; H are the `chosen` [B, T] states of a document [B, T, D].

    With `identity`, ||H^T H - I||_2 (Chan et al. 2019). All states of a document are multiplied
    with each other; those not chosen are set to zero.
    """
    states = states * chosen.unsqueeze(2)
    gram = torch.bmm(states, states.transpose(1, 2))
    if identity:
        wrong = gram - torch.diag_embed(chosen.to(gram))
    else:
        wrong = gram * ~torch.eye(gram.shape[1], dtype=torch.bool, device=gram.device)
    norm: Tensor = torch.linalg.vector_norm(wrong, dim=(1, 2))
    return norm


def other_documents(sources: Tensor, rows: Tensor, count: int) -> Tensor:
    """`count` random sources of the batch [B, M] other than that of each row [N]: [N, count, M].

    In a batch of one document there are none: [N, 0, M].
    """
    documents = len(sources)
    if documents == 1:
        return sources.new_zeros(len(rows), 0, sources.shape[1])
    steps = torch.randint(1, documents, (len(rows), count), device=sources.device)
    return sources[(rows.unsqueeze(1) + steps) % documents]


def contrastive_loss(states: Tensor, correct: Tensor, others: Tensor) -> Tensor:
    """-log p(the correct source) (eq. 2) [N] among it [N, M] and the others [N, K, M].

    `states` [N, M] are B h_SC.
    """
    candidates = torch.cat([correct.unsqueeze(1), others], dim=1)
    scores = torch.einsum("nm,nkm->nk", states, candidates)
    return -scores.log_softmax(dim=1)[:, 0]
