"""ParaNetT+CoAtt: words and their parts of speech are read in parallel (Zhao and Zhang 2019).

Two encoders read the words of the document and their tags; a cell like that of a tree-LSTM joins
their states at every position ("T"). The decoder predicts the next word and the tag of it, and its
attention sees how much each position was attended before (coverage, See et al. 2017). Phrases are
generated one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keywright.config import Count, NonNegative
from keywright.data.batch import Batch
from keywright.data.tags import source_words
from keywright.lexicon import Lexicon
from keywright.models import _recurrent
from keywright.models._recurrent import Memory, Recurrent
from keywright.nn.attention import attend
from keywright.nn.copy import PointerSoftmax, target_log_prob
from keywright.nn.coverage import CoverageAttention
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, likelihood_loss
from keywright.nn.rnn import BiGRU
from keywright.text.speech import Kind, TaggerName, tagger

NO_WORD = 0  # the tag of padding and of marks
KINDS: dict[Kind, int] = {"noun": 1, "adjective": 2, "other": 3}
END = 4  # what follows the last word of a phrase


@dataclass(frozen=True)
class Config(_recurrent.Config):
    tag_embedding: Count = 20
    tagger: TaggerName = "textblob"
    tag_weight: NonNegative = 1.0  # of the likelihood of tags
    coverage_weight: NonNegative = 1.0  # of attending to the same position again


@dataclass(frozen=True)
class State(_recurrent.State):
    coverage: Tensor  # [R, S] attention summed over earlier steps


@dataclass(frozen=True)
class Decoded:
    """One step of every row."""

    hidden: Tensor  # [R, D]
    energies: Tensor  # [R, S] of attention, and of copying
    features: Tensor  # [R, D] of the produced word
    gate: Tensor  # [R]
    tag: Tensor  # [R, tags] logits


class JoinCell(nn.Module):
    """A tree-LSTM cell with two children (Tai et al. 2015), whose memory are their states."""

    def __init__(self, size: int):
        super().__init__()
        self.gates = nn.Linear(2 * size, 5 * size)

    def forward(self, words: Tensor, tags: Tensor) -> Tensor:
        """[..., size] from the states of words and of tags."""
        chunks = self.gates(torch.cat([words, tags], dim=-1)).chunk(5, dim=-1)
        entering, leaving, of_words, of_tags = (gate.sigmoid() for gate in chunks[:4])
        memory = entering * chunks[4].tanh() + of_words * words + of_tags * tags
        joined: Tensor = leaving * memory.tanh()
        return joined


class ParaNet(Recurrent):
    paradigm = "one2one"
    attention: CoverageAttention

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        memory, size = 2 * config.encoder, config.decoder
        self.vocabulary = vocabulary
        self.tag_weight, self.coverage_weight = config.tag_weight, config.coverage_weight
        self.kinds = tagger(config.tagger, "para_net")
        self.tag_embedding = nn.Embedding(END, config.tag_embedding, padding_idx=NO_WORD)
        self.tag_encoder = BiGRU(config.tag_embedding, config.encoder)
        self.join = JoinCell(memory)
        self.decoder = nn.GRUCell(config.embedding, size)
        self.attention = CoverageAttention(size, memory, size)
        self.output = PointerSoftmax(size, memory, vocabulary.size)
        self.next_tag = nn.Linear(size, END + 1)

    def read(self, embedded: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        words = super().read(embedded, batch)
        tags = self.tag_encoder(
            self.dropout(self.tag_embedding(self.source_tags(batch))), batch.source_mask
        )
        states, final = (self.join(*pair) for pair in zip(words, tags, strict=True))
        return states, final

    def start(self, memory: Memory) -> tuple[Tensor, State]:
        tokens, state = super().start(memory)
        coverage = memory.states.new_zeros(len(tokens), memory.mask.shape[1])
        return tokens, State(hidden=state.hidden, coverage=coverage)

    def step(
        self, tokens: Tensor, state: _recurrent.State, memory: Memory
    ) -> Step[_recurrent.State]:
        assert isinstance(state, State)
        decoded, following = self._decode(tokens, state, memory)
        logits = self.output.vocabulary(decoded.features)
        log_probs = self.distribution(logits, decoded.gate, decoded.energies, memory)
        return Step(log_probs, following, decoded.energies.softmax(dim=-1))

    def _decode(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Decoded, State]:
        owner = memory.sharing.owner
        embedded = self.embed(tokens.unsqueeze(1), memory)
        hidden = self.decoder(embedded.squeeze(1), state.hidden)
        dropped = self.dropout(hidden)
        energies, coverage = self.attention.covering(
            dropped.unsqueeze(1), memory.keys[owner], memory.mask[owner], state.coverage
        )
        context = attend(energies, memory.states[owner]).squeeze(1)
        features, gate = self.output(dropped, context, embedded.squeeze(1))
        decoded = Decoded(hidden, energies.squeeze(1), features, gate, self.next_tag(dropped))
        return decoded, State(hidden=hidden, coverage=coverage)

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The likelihood of words and of their tags, and attention to covered positions."""
        target, mask = (x.flatten(0, 1) for x in batch.targets)
        tags = self.target_tags(batch).flatten(0, 1)
        log_prob, wrong, again = [], target.new_zeros((), dtype=torch.float), []
        for t, (decoded, covered, source) in enumerate(self._read_targets(batch)):
            real = mask[:, t]
            words = target[real, t]
            log_prob.append(
                target_log_prob(
                    decoded.features[real],
                    self.output.vocabulary,
                    decoded.gate[real],
                    decoded.energies[real],
                    source[real],
                    words,
                    smoothing,
                )
            )
            wrong = wrong + F.cross_entropy(
                decoded.tag[real].float(), tags[real, t], reduction="sum"
            )
            attention = decoded.energies[real].float().softmax(dim=-1)
            again.append(torch.minimum(attention, covered[real]).sum())
        written = likelihood_loss(torch.cat(log_prob))
        repeated = torch.stack(again).sum()
        total = written.total + self.tag_weight * wrong + self.coverage_weight * repeated
        parts = {**written.parts, "tags": wrong.detach(), "coverage": repeated.detach()}
        return Loss(total, written.divisor, parts)

    def _read_targets(self, batch: Batch) -> Iterator[tuple[Decoded, Tensor, Tensor]]:
        """Every step of the targets, the coverage before it, and the sources of its rows."""
        target = batch.targets[0]
        documents = torch.arange(len(batch), device=target.device)
        memory = self.encode(batch).select(documents.repeat_interleave(target.shape[1]))
        source = memory.source[memory.sharing.owner]
        tokens, state = self.start(memory)
        for column in target.flatten(0, 1).unbind(dim=1):
            decoded, following = self._decode(tokens, state, memory)
            yield decoded, state.coverage, source
            tokens, state = column, following

    def source_tags(self, batch: Batch) -> Tensor:
        """The tags [B, S] of source positions."""
        tags = torch.full_like(batch.source, NO_WORD)
        for row, document in enumerate(batch.documents):
            extended = batch.source_extended[row][batch.source_mask[row]].tolist()
            words = source_words(document, extended, self.vocabulary)
            for word, tag in zip(words, self._tagged([w.text for w in words]), strict=True):
                tags[row, word.start : word.end] = tag
        return tags

    def target_tags(self, batch: Batch) -> Tensor:
        """The tags [B, N, T] of target tokens: those of their words, then `END`."""
        target, mask = batch.targets
        tags = torch.full_like(target, END)
        for row, number in mask.any(dim=2).nonzero().tolist():
            ids = target[row, number][mask[row, number]].tolist()[:-1]
            words = [
                " ".join(self.vocabulary.decode([token], batch.extension[row])) for token in ids
            ]
            tags[row, number, : len(ids)] = torch.tensor(self._tagged(words), device=tags.device)
        return tags

    def _tagged(self, words: Sequence[str]) -> list[int]:
        return [KINDS[kind] for kind in self.kinds(words)] if words else []


build = ParaNet
