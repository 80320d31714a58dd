"""DivGraphPointer: a graph of the document's words, and a pointer that writes different phrases
(Sun et al. 2019).

The nodes are the distinct words of the document. Two words are connected the more strongly the
nearer they occur to each other, forwards and backwards; gated graph convolutions read the graph. A
GRU points at the words of a phrase and at its end. Two things keep phrases apart: each phrase
starts from the document and the words of the phrases before it (context modification), and the
pointer sees how much attention those phrases have given to each word (coverage).

Words that are not in the document cannot be pointed at, so that the model writes present phrases,
spelled as in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from msgspec import Meta
from torch import Tensor, nn

from keywright.config import Count, Fraction
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon
from keywright.nn.copy import NEVER, first_positions, input_ids, require_shared_ids
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss
from keywright.nn.model import Model
from keywright.nn.rows import SharedRows, Sharing, TensorRows


@dataclass(frozen=True)
class Config:
    width: Count = 128
    layers: Count = 6
    positions: Count = 1000  # words that occur first further on share the last one
    dropout: Fraction = 0.1
    # The probability of writing any word of the vocabulary: the loss of a phrase that the end of a
    # long document cut off stays finite.
    floor: Annotated[float, Meta(gt=0, lt=0.1)] = 1e-8


@dataclass(frozen=True)
class Graph(SharedRows):
    """B documents. A node has the place of its word's first occurrence; other places are empty."""

    states: Tensor  # [B, S, D] of the nodes, 0 at empty places
    keys: Tensor  # [B, S, D] the same, projected for the pointer
    nodes: Tensor  # [B, S] bool
    ids: Tensor  # [B, S] ids of the output space; `pad` at empty places
    mean: Tensor  # [B, D] of the nodes
    extension_inputs: Tensor  # [B, X]


@dataclass(frozen=True)
class State(TensorRows):
    hidden: Tensor  # [R, D]
    attention: Tensor  # [R, S] summed over this phrase
    coverage: Tensor  # [R, S] summed over the phrases before
    said: Tensor  # [R, D] the sum of the nodes that were pointed at
    words: Tensor  # [R, 1] how many


class GatedConvolution(nn.Module):
    """H + f(H) * sigmoid(g(H)), f and g being A_f H W_f + A_b H W_b + H W (and a bias)."""

    def __init__(self, width: int):
        super().__init__()
        self.own = nn.Linear(width, 2 * width)
        self.forwards = nn.Linear(width, 2 * width, bias=False)
        self.backwards = nn.Linear(width, 2 * width, bias=False)

    def forward(self, states: Tensor, before: Tensor, after: Tensor) -> Tensor:
        content, gate = (
            self.own(states)
            + self.forwards(torch.bmm(before, states))
            + self.backwards(torch.bmm(after, states))
        ).chunk(2, dim=-1)
        read: Tensor = states + content * gate.sigmoid()
        return read


class DivGraphPointer(Model[Graph, State]):
    paradigm = "one2seq"
    generated = "present"
    recurrent = True

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        require_shared_ids(vocabulary)
        width = config.width
        self.special = vocabulary.special
        self.vocabulary_size = vocabulary.size
        self.floor = config.floor
        self.embedding = nn.Embedding(vocabulary.input_size, width, padding_idx=self.special.pad)
        self.position = nn.Embedding(config.positions, width)
        for embedding in (self.embedding, self.position):
            nn.init.uniform_(embedding.weight, -0.1, 0.1)
        self.layers = nn.ModuleList([GatedConvolution(width) for _ in range(config.layers)])
        self.modify = nn.Linear(2 * width, width)
        self.decoder = nn.GRUCell(width, width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.covered = nn.Parameter(torch.empty(width).uniform_(-0.1, 0.1))
        # The keys of ending a phrase (another one follows) and of ending the sequence.
        self.ends = nn.Parameter(torch.empty(2, width).uniform_(-0.1, 0.1))
        self.energy = nn.Linear(width, 1, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, batch: Batch) -> Graph:
        source = batch.source_extended
        real = batch.source_mask & (source != self.special.pad)
        first = first_positions(source)
        at = torch.arange(source.shape[1], device=source.device)
        nodes = real & (first == at)
        with torch.autocast(source.device.type, enabled=False):
            before = adjacency(first, real)
            matrices = normalised(before), normalised(before.transpose(1, 2))
        places = at.clamp(max=self.position.num_embeddings - 1)
        states = self.dropout(self.embedding(batch.source) + self.position(places))
        for layer in self.layers:
            states = self.dropout(layer(states, *matrices))
        states = states * nodes.unsqueeze(2)
        each = torch.arange(len(batch), device=source.device)
        return Graph(
            sharing=Sharing.of(each, len(batch)),
            states=states,
            keys=self.key(states),
            nodes=nodes,
            ids=source.masked_fill(~nodes, self.special.pad),
            mean=states.sum(dim=1) / nodes.sum(dim=1, keepdim=True).clamp(min=1),
            extension_inputs=batch.extension_inputs,
        )

    def start(self, memory: Graph) -> tuple[Tensor, State]:
        owner = memory.sharing.owner
        rows, (places, width) = len(owner), memory.states.shape[1:]
        zeros = memory.mean.new_zeros
        tokens = torch.full((rows,), self.special.bos, device=owner.device)
        state = State(
            hidden=zeros(rows, width),
            attention=zeros(rows, places),
            coverage=zeros(rows, places),
            said=zeros(rows, width),
            words=zeros(rows, 1),
        )
        return tokens, state

    def step(self, tokens: Tensor, state: State, memory: Graph) -> Step[State]:
        owner = memory.sharing.owner
        begins = ((tokens == self.special.bos) | (tokens == self.special.sep)).unsqueeze(1)
        chosen = ((memory.ids[owner] == tokens.unsqueeze(1)) & memory.nodes[owner]).to(state.said)
        said = state.said + torch.bmm(chosen.unsqueeze(1), memory.states[owner]).squeeze(1)
        words = state.words + chosen.sum(dim=1, keepdim=True)
        coverage = (state.coverage + state.attention).where(begins, state.coverage)
        context = torch.cat([memory.mean[owner], said / words.clamp(min=1)], dim=1)
        hidden = self.modify(context).tanh().where(begins, state.hidden)
        hidden = self.decoder(self._embedded(tokens, memory), hidden)
        pointer = self._pointer(self.dropout(hidden), coverage, memory)
        attention = pointer[:, : coverage.shape[1]].exp()
        following = State(
            hidden=hidden,
            attention=attention.where(begins, state.attention + attention),
            coverage=coverage,
            said=said,
            words=words,
        )
        return Step(self._distribution(pointer, memory), following, attention=attention)

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """With label smoothing, the mean is over what the pointer can point at."""
        target, mask = batch.targets
        memory = self.encode(batch)
        tokens, state = self.start(memory)
        columns = []
        for t in range(target.shape[1]):
            step = self.step(tokens, state, memory)
            tokens, state = target[:, t], step.state
            chosen = step.log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)
            if smoothing:
                chosen = torch.lerp(chosen, self._mean(step.log_probs, memory), smoothing)
            columns.append(chosen)
        return likelihood_loss(torch.stack(columns, dim=1)[mask])

    def _embedded(self, tokens: Tensor, memory: Graph) -> Tensor:
        extension = memory.extension_inputs[memory.sharing.owner]
        ids = input_ids(tokens.unsqueeze(1), extension, self.vocabulary_size).squeeze(1)
        embedded: Tensor = self.dropout(self.embedding(ids))
        return embedded

    def _pointer(self, hidden: Tensor, coverage: Tensor, memory: Graph) -> Tensor:
        """log p [R, S + 2] of the nodes and of the two ends."""
        owner = memory.sharing.owner
        query = self.query(hidden).unsqueeze(1)
        keys = memory.keys[owner] + coverage.unsqueeze(2) * self.covered
        energies = self.energy((query + keys).tanh()).squeeze(2)
        energies = energies.masked_fill(~memory.nodes[owner], NEVER)
        ends = self.energy((query + self.ends).tanh()).squeeze(2)
        found: Tensor = torch.cat([energies, ends], dim=1).float().log_softmax(dim=1)
        return found

    def _candidates(self, memory: Graph) -> Tensor:
        """The ids [R, S + 2] of what the pointer can point at; `pad` at empty places."""
        ids = memory.ids[memory.sharing.owner]
        ends = ids.new_tensor([self.special.sep, self.special.eos]).expand(len(ids), -1)
        return torch.cat([ids, ends], dim=1)

    def _distribution(self, pointer: Tensor, memory: Graph) -> Tensor:
        """log p [R, V + X]."""
        ids = self._candidates(memory)
        kept = torch.log1p(pointer.new_tensor(-self.floor)) + pointer
        width = self.vocabulary_size + memory.extension_inputs.shape[1]
        empty = pointer.new_full((len(pointer), width), NEVER)
        pointed = empty.scatter(1, ids, kept.masked_fill(ids == self.special.pad, NEVER))
        anywhere = pointer.new_full((width,), NEVER)
        anywhere[: self.vocabulary_size] = pointer.new_tensor(
            self.floor / self.vocabulary_size
        ).log()
        return torch.logaddexp(pointed, anywhere)

    def _mean(self, log_probs: Tensor, memory: Graph) -> Tensor:
        ids = self._candidates(memory)
        real = ids != self.special.pad
        return (log_probs.gather(1, ids) * real).sum(dim=1) / real.sum(dim=1)


build = DivGraphPointer


def adjacency(first: Tensor, real: Tensor) -> Tensor:
    """[B, S, S]: for nodes i and j the sum of 1 / distance over all occurrences of j before i.

    `first` [B, S] is the node of every position, `real` [B, S] where there is one.
    """
    at = torch.arange(first.shape[1], device=first.device)
    distance = (at.unsqueeze(1) - at).float()
    inverse = (1 / distance.where(distance > 0, torch.inf)).expand(len(first), -1, -1)
    member = ((first.unsqueeze(2) == at) & real.unsqueeze(2)).float()  # [B, position, node]
    return member.transpose(1, 2) @ inverse @ member


def normalised(weights: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, where D are the sums of the rows of A + I."""
    looped = weights + torch.eye(weights.shape[1], device=weights.device)
    scale = looped.sum(dim=2).rsqrt()
    return scale.unsqueeze(2) * looped * scale.unsqueeze(1)
