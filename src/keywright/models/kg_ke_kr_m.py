"""KG-KE-KR-M: generation, extraction and retrieval of keyphrases, merged (Chen et al. 2019).

The retriever finds the training documents that share most words with a document; their keyphrases
are a second source that the generator attends to. The extractor estimates the importance of every
word of the document, from the word, the document and what was important before (as Nallapati et al.
2017 do for sentences); importance rescales the probability of copying a word. Predictions merge the
phrases of all three. Phrases are generated one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keywright.config import Count, Fraction, NonNegative, Positive, Share
from keywright.data.batch import Batch
from keywright.data.padding import padded
from keywright.data.retrieval import Similar
from keywright.data.tags import SourceWord, source_words
from keywright.errors import DataError
from keywright.lexicon import Lexicon
from keywright.models import _recurrent
from keywright.models._one2one import Decoded, OneByOne
from keywright.models._recurrent import State, check_bridge
from keywright.nn.attention import GeneralAttention, attend
from keywright.nn.loss import Loss, likelihood_loss
from keywright.nn.model import BatchPredictor
from keywright.nn.rnn import BiGRU
from keywright.text.candidates import STOPWORDS, runs
from keywright.text.stem import stems
from keywright.text.tokenise import words as words_of
from keywright.types import Document, Prediction, ScoredPhrase

RELAXED = 0.8  # of the greatest importance: the threshold of a document without important words

Phrases = Sequence[tuple[str, float]]
"""Phrases of one source, with their scores."""


@dataclass(frozen=True)
class Config(_recurrent.Config):
    """The defaults are those of the authors' release."""

    decoder: Count = 300
    # The decoder's initial state: the encoder's final states, or a layer that reads them.
    bridge: Literal["copy", "layer"] = "copy"
    retrieved: Count = 3  # training documents
    same: Share = 0.7  # similarity from which a document is taken for a copy, and not retrieved
    extraction: NonNegative = 1.0  # the weight of the extractor's loss
    positive: Positive = 9.0  # the weight of important words in that loss
    threshold: Fraction = 0.7  # importance from which a word belongs to an extracted phrase
    merge: bool = True  # False: predictions are generated phrases only
    # What scores are multiplied with before they are merged: nothing, or exp(mean log p) of the
    # phrase's tokens under the generator. The release has a trained scorer, but not its training.
    scorer: Literal["none", "generator"] = "generator"

    def __post_init__(self) -> None:
        check_bridge(self.bridge, self)


@dataclass(frozen=True)
class Memory(_recurrent.Memory):
    importance: Tensor  # [B, S] logits of every source position
    retrieved: Tensor  # [B, K, M] states of the words of retrieved phrases
    retrieved_keys: Tensor  # [B, K, D] the same, projected for the attention
    retrieved_mask: Tensor  # [B, K]


class Extractor(nn.Module):
    """logit_i = c w_i + w_i S d - w_i N tanh(s_i), where s_i is the sum of p_j w_j for all j < i.

    w_i are the features of a word, d those of the document, and p_i = sigmoid(logit_i).
    """

    def __init__(self, memory_size: int, size: int):
        super().__init__()
        self.word = nn.Linear(memory_size, size)
        self.document = nn.Linear(memory_size, size)
        self.content = nn.Linear(size, 1)  # c
        self.salience = nn.Linear(size, size, bias=False)  # S
        self.novelty = nn.Linear(size, size, bias=False)  # N

    def forward(self, states: Tensor, final: Tensor) -> Tensor:
        """Logits [B, S] from encoder states [B, S, M] and final states [B, M]."""
        words = self.word(states).tanh()
        document = self.document(final).tanh().unsqueeze(1)
        fixed = self.content(words).squeeze(2) + (self.salience(words) * document).sum(dim=2)
        chosen = self.word.weight.new_zeros(words[:, 0].shape)  # s_i
        logits = []
        steps = (x.unbind(dim=1) for x in (fixed, self.novelty(words), words))
        for own, novelty, word in zip(*steps, strict=True):
            logit = own - (novelty * chosen.tanh()).sum(dim=1)
            chosen = chosen + logit.sigmoid().unsqueeze(1) * word
            logits.append(logit)
        return torch.stack(logits, dim=1)


class KGKEKRM(OneByOne):
    retrieves = True
    attention: GeneralAttention

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        memory, size = 2 * config.encoder, config.decoder
        self.config = config
        self.lexicon = vocabulary
        if config.bridge == "copy":
            del self.bridge  # it would have parameters without gradient
        self.attention = GeneralAttention(size, memory)
        self.retrieved_encoder = BiGRU(config.embedding, config.encoder)
        self.retrieved_attention = GeneralAttention(size, memory)
        self.extractor = Extractor(memory, config.encoder)
        self.decoder = nn.GRUCell(config.embedding + size, size)
        self.readout = nn.Linear(2 * memory + size, size)
        self.vocabulary = nn.Linear(size, vocabulary.size)
        self.switch = nn.Linear(size, 1)

    def encode(self, batch: Batch) -> Memory:
        memory = super().encode(batch)
        states, mask = self._read_retrieved(batch)
        return Memory(
            **vars(memory),
            importance=self.extractor(memory.states, memory.final),
            retrieved=states,
            retrieved_keys=self.retrieved_attention.key(states),
            retrieved_mask=mask,
        )

    def retrieve(self, documents: Sequence[Document]) -> list[list[Similar]]:
        if self.index is None:
            raise DataError("kg_ke_kr_m: the model has no retrieval index; load it from its run")
        config = self.config
        return [
            self.index.similar(document, config.retrieved, config.same) for document in documents
        ]

    def _read_retrieved(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """States [B, K, M] of the words of retrieved phrases, and where they are real [B, K].

        Every phrase ends with `<sep>`; if nothing is retrieved, that is all there is.
        """
        end = self.special.sep
        rows = []
        for found in self.retrieve(batch.documents):
            phrases = [phrase.split() for similar in found for phrase in similar.keyphrases]
            encoded = [[*self.lexicon.encode_phrase(phrase, ()), end] for phrase in phrases]
            rows.append([token for phrase in encoded for token in phrase] or [end])
        ids, mask = (
            torch.from_numpy(x).to(batch.source.device) for x in padded(rows, self.special.pad)
        )
        states, _ = self.retrieved_encoder(self.dropout(self.embedding(ids)), mask)
        return self.dropout(states), mask

    def start(self, memory: _recurrent.Memory) -> tuple[Tensor, State]:
        """The recurrent state and the features of the step before, which are zero, side by side."""
        if self.config.bridge == "copy":
            hidden = memory.final[memory.sharing.owner]
            tokens = torch.full((len(hidden),), self.special.bos, device=hidden.device)
        else:
            tokens, state = super().start(memory)
            hidden = state.hidden
        return tokens, State(hidden=torch.cat([hidden, torch.zeros_like(hidden)], dim=1))

    def decode(
        self,
        embedded: Tensor,
        hidden: Tensor,
        memory: _recurrent.Memory,
        counts: Tensor | None = None,
    ) -> Decoded:
        assert isinstance(memory, Memory)
        hidden, fed = hidden.chunk(2, dim=-1)  # input feeding (Luong et al. 2015)
        inputs = torch.cat([embedded, fed], dim=-1)
        hidden = self.decoder(inputs.flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
        energies = self.attention(hidden, memory.keys, memory.mask)
        similar = self.retrieved_attention(hidden, memory.retrieved_keys, memory.retrieved_mask)
        read = [attend(similar, memory.retrieved), attend(energies, memory.states), hidden]
        features = self.dropout(self.readout(torch.cat(read, dim=-1)).tanh())
        # Copying has the probability of attention times importance, normalised; the attended
        # source is not rescaled.
        copying = energies + F.logsigmoid(memory.importance).unsqueeze(1)
        return Decoded(torch.cat([hidden, features], dim=-1), features, copying, energies)

    def gate(self, features: Tensor) -> Tensor:
        logits: Tensor = self.switch(features).squeeze(-1)
        return logits

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The likelihood, and in training the loss of the extractor for every gold phrase.

        The release chooses its weights by the likelihood alone.
        """
        memory = self.encode(batch)
        log_prob, _ = self.teach(batch, memory, smoothing)
        written = likelihood_loss(log_prob)
        if not self.training:
            return written
        wrong = self.extraction_loss(memory.importance.float(), batch)
        total = written.total + self.config.extraction * wrong
        return Loss(total, written.divisor, {**written.parts, "extraction": wrong.detach()})

    def extraction_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Cross-entropy averaged over the words of a document, times its number of phrases."""
        mask, phrases = batch.source_mask, batch.targets[1].any(dim=2).sum(dim=1)
        wrong = F.binary_cross_entropy_with_logits(
            logits,
            self.important(batch),
            pos_weight=logits.new_tensor(self.config.positive),
            reduction="none",
        )
        return ((wrong * mask).sum(dim=1) / mask.sum(dim=1) * phrases).sum()

    def important(self, batch: Batch) -> Tensor:
        """1 at the positions [B, S] of words that are in a gold phrase, without stopwords."""
        rows = []
        for row, document in enumerate(batch.documents):
            gold = {
                word
                for text in document.keyphrases or ()
                for word in words_of(text, document.tokenised)
                if word not in STOPWORDS and any(map(str.isalnum, word))
            }
            labels = [0.0] * batch.source.shape[1]
            for word in self._words(batch, row):
                if word.text in gold:
                    labels[word.start : word.end] = [1.0] * (word.end - word.start)
            rows.append(labels)
        return torch.tensor(rows, device=batch.source.device)

    def _words(self, batch: Batch, row: int) -> list[SourceWord]:
        extended = batch.source_extended[row][batch.source_mask[row]].tolist()
        return source_words(batch.documents[row], extended, self.lexicon)

    def predictor(self, vocabulary: Lexicon, decode: BatchPredictor) -> BatchPredictor:
        """The merged phrases of generator, retriever and extractor."""

        @torch.inference_mode()
        def predict(batch: Batch) -> list[Prediction]:
            memory = self.encode(batch)
            generated = decode(batch)
            retrieved, extracted = self.retrieved_phrases(batch), self.extracted(batch, memory)
            others = [[*a, *b] for a, b in zip(retrieved, extracted, strict=True)]
            scored = self._log_probs(batch, memory, others)
            return [
                self._merged(*parts)
                for parts in zip(generated, retrieved, extracted, scored, strict=True)
            ]

        return predict if self.config.merge else decode

    def retrieved_phrases(self, batch: Batch) -> list[Phrases]:
        return [
            [(phrase, similar.score) for similar in found for phrase in similar.keyphrases]
            for found in self.retrieve(batch.documents)
        ]

    def extracted(self, batch: Batch, memory: Memory) -> list[Phrases]:
        found: list[Phrases] = []
        for row, likely in enumerate(memory.importance.float().sigmoid().tolist()):
            words, border = self._words(batch, row), int(batch.title_lengths[row])
            judged = [(word.text, likely[word.start]) for word in words]
            title = sum(word.start < border for word in words)
            parts = judged[:title], judged[title:]
            found.append(important_phrases(parts, self.config.threshold))
        return found

    def _log_probs(
        self, batch: Batch, memory: Memory, phrases: Sequence[Phrases]
    ) -> list[dict[str, tuple[float, ...]]]:
        """The log-probabilities of the tokens of phrases under the generator.

        A word that is neither in the vocabulary nor in the source has that of `<unk>`.
        """
        most = max(map(len, phrases))
        if not most:
            return [{} for _ in phrases]
        rows: list[list[int]] = []
        for extension, own in zip(batch.extension, phrases, strict=True):
            encoded = [self.lexicon.encode_phrase(text.split(), extension) for text, _ in own]
            rows += [[*ids, self.special.eos] for ids in encoded]
            rows += [[]] * (most - len(own))
        target, mask = (
            torch.from_numpy(x).to(batch.source.device).view(len(batch), most, -1)
            for x in padded(rows, self.special.pad)
        )
        asked = replace(batch, target=target, target_mask=mask, target_present=None)
        log_prob, at = self.teach(asked, memory)
        table = log_prob.new_zeros(mask.shape).index_put(at, log_prob).tolist()
        lengths = (mask.sum(dim=2) - 1).tolist()
        return [
            {
                text: tuple(table[row][number][: lengths[row][number]])
                for number, (text, _) in enumerate(own)
            }
            for row, own in enumerate(phrases)
        ]

    def _merged(
        self,
        generated: Prediction,
        retrieved: Phrases,
        extracted: Phrases,
        scored: Mapping[str, tuple[float, ...]],
    ) -> Prediction:
        log_probs = dict(scored)
        log_probs |= {phrase.text: phrase.token_log_probs or () for phrase in generated.phrases}
        if self.config.scorer == "generator":
            scorer = {text: _geometric_mean(values) for text, values in log_probs.items()}
        else:
            scorer = dict.fromkeys(log_probs, 1.0)
        sources = ([(p.text, _probability(p)) for p in generated.phrases], retrieved, extracted)
        return Prediction(
            document_id=generated.document_id,
            phrases=tuple(
                ScoredPhrase(
                    text=text,
                    token_log_probs=log_probs[text],
                    words=len(text.split()),
                    score=score,
                )
                for text, score in merge(sources, scorer)
            ),
        )


build = KGKEKRM


def important_phrases(
    parts: Sequence[Sequence[tuple[str, float]]], threshold: float
) -> list[tuple[str, float]]:
    """The longest runs of important words of each part of a text, with their mean importance."""
    greatest = max((likely for part in parts for _, likely in part), default=0.0)
    if not greatest:
        return []
    if greatest < threshold:
        threshold = RELAXED * greatest
    found = []
    for part in parts:
        for start, end in runs(part, lambda word: word[1] >= threshold):
            mean = math.fsum(likely for _, likely in part[start:end]) / (end - start)
            found.append((" ".join(word for word, _ in part[start:end]), mean))
    return found


def merge(sources: Sequence[Phrases], scorer: Mapping[str, float]) -> list[tuple[str, float]]:
    """The phrases of all sources, best first, spelled as in the first source that has them.

    The scores of each source are rescaled so that their mean is that of the first one, which the
    generator gives, and multiplied by the scorer's. A phrase has the sum of its best scores of the
    sources, by stems.
    """
    spelling: dict[tuple[str, ...], str] = {}
    total: dict[tuple[str, ...], float] = {}
    for source in sources:
        rescaled = source and sources[0] and source is not sources[0]
        scale = _mean(sources[0]) / _mean(source) if rescaled else 1.0
        best: dict[tuple[str, ...], float] = {}
        for text, score in source:
            key = tuple(stems(text.split()))
            spelling.setdefault(key, text)
            best[key] = max(best.get(key, 0.0), scale * score * scorer[text])
        for key, score in best.items():
            total[key] = total.get(key, 0.0) + score
    ranked = sorted(total, key=lambda key: -total[key])  # stable
    return [(spelling[key], total[key]) for key in ranked]


def _mean(source: Phrases) -> float:
    return math.fsum(score for _, score in source) / len(source)


def _probability(phrase: ScoredPhrase) -> float:
    """What the search ranks by, as a probability."""
    log_prob = phrase.score if phrase.score is not None else phrase.log_prob
    return math.exp(log_prob or 0.0)


def _geometric_mean(log_probs: Sequence[float]) -> float:
    return math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 0.0
