"""UniKeyphrase: one encoder that tags present phrases and generates absent ones (Wu et al. 2021).

The encoder reads `[CLS] source [SEP] absent phrases [SEP]`. Source positions see the source; target
positions see the source and the target up to themselves. A stacked relation layer passes
information between the states for present and those for absent phrases. Present phrases are found
by tagging the source; absent ones are generated, each token in the place of a [MASK]. In training,
most target tokens are masked at once, as in UniLM.

As a generator, this model writes the absent phrases only; `predictor` adds the present ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import msgspec
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from keywright.config import Count, Fraction, NonNegative, Positive, Probability, Share
from keywright.data import minilm, pretrained
from keywright.data.batch import Batch
from keywright.data.tags import (
    NO_TAG,
    TAGS,
    B,
    I,
    O,
    SourceWord,
    X,
    gold_tags,
    source_words,
    tagged_spans,
)
from keywright.errors import ConfigError, DataError
from keywright.lexicon import Lexicon
from keywright.nn import bag_of_words
from keywright.nn.bert import BertEncoder
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, at_targets
from keywright.nn.model import BatchPredictor, Model
from keywright.nn.prefix_lm import Context, PrefixEncoder, prediction_mask, prefix_mask
from keywright.nn.relation import RelationLayer, Streams
from keywright.nn.rows import SharedRows, Sharing, TensorRows
from keywright.nn.transformer import KeyValue, Shape
from keywright.text.stem import stems
from keywright.types import Prediction, ScoredPhrase

MINILM, RANDOM = "minilm", "random"
WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Config:
    """The sizes of the encoder are those of MiniLM; other weights need their own.

    The last four settings are as in the authors' release if they are set to the second value.
    """

    start: str = MINILM  # initial weights: "minilm", "random", a BERT-like folder or hub name
    width: Count = 384
    heads: Count = 12
    inner: Count = 1536
    encoder_layers: Count = 6
    positions: Count = 448  # of a source
    target_positions: Count = 64  # further positions of the encoder, for absent phrases
    encoder_dropout: Fraction = 0.1
    relation_layers: int = 2  # 0: none
    dropout: Fraction = 0.5  # of the encoder's output, and in the relation layers
    masked: Share = 0.7  # the share of target tokens that are predicted in an update
    replaced: Probability = 0.1  # of these, the share that a random token replaces, not [MASK]
    kept: Probability = 0.1  # of these, the share that is not replaced
    tag_weight: Positive = 5.0  # of the tags B, I and X, relative to O
    bag_weight: NonNegative = 1.0  # of the bag-of-words constraint at the end of training
    # How many target tokens the tags of a document, and its bag of words, count as in the loss. If
    # it is the mean length of targets, tagging and generating have equal weights.
    document_weight: Positive = 8.0
    # The relation layers see what the encoder sees, or everything, also padding and later tokens.
    relation_mask: bool = True
    label_mask: bool = True  # False: marks, padding and targets are trained to have the tag O
    bag: Literal["expected", "release"] = "expected"  # how tags become the bag of present words
    # Predictions use the relation layers as in training; as the release does ("newest": a token
    # after the first sees only the one before it, and the other stream is not updated); or not.
    decoding_relation: Literal["full", "newest", "off"] = "full"

    def __post_init__(self) -> None:
        self.shape()
        if self.relation_layers < 0:
            raise ValueError("relation_layers: must be at least 0")
        if self.replaced + self.kept > 1:
            raise ValueError("replaced and kept: their sum must be at most 1")

    def shape(self) -> Shape:
        return Shape(
            self.width,
            self.heads,
            self.inner,
            self.encoder_layers,
            self.encoder_dropout,
            norm="post",
            activation="gelu",
            epsilon=1e-12,
        )


@dataclass(frozen=True)
class Source(SharedRows):
    """Encoded documents. L is the number of encoder layers, N that of relation layers."""

    mask: Tensor  # [B, S] bool, True at real positions
    keys: Tensor  # [B, L, h, S, d] of the encoder
    values: Tensor  # [B, L, h, S, d]
    present: Tensor  # [B, N, S, D] the inputs of relation attention
    absent: Tensor  # [B, N, S, D]
    extension_inputs: Tensor  # [B, X]


@dataclass(frozen=True)
class Written(TensorRows):
    """The target tokens that R rows have read, t of them. The first step reads none."""

    steps: Tensor  # [R] long, how many steps have been taken
    keys: Tensor  # [R, L, h, t, d]
    values: Tensor  # [R, L, h, t, d]
    present: Tensor  # [R, N, t, D]
    absent: Tensor  # [R, N, t, D]


@dataclass(frozen=True)
class Reading:
    """What a training pass found out about the documents and N target tokens."""

    present: Tensor  # [B, S (+ T), D] the states that are tagged
    log_probs: Tensor  # [N, V + X] of the tokens in the place of each target token
    rows: Tensor  # [N] long, the document of each token
    target: Tensor  # [N] long
    weights: Tensor  # [N] how many tokens each stands for


class UniKP(Model[Source, Written]):
    paradigm = "one2seq"
    generated = "absent"

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        self.settings = config
        self.vocabulary = vocabulary
        self.special = vocabulary.special
        self.size = vocabulary.size
        if self.special.null is None:
            raise ConfigError("data.vocabulary: unikp needs a [MASK] token; name it in `null`")
        self.register_buffer("input_ids", torch.tensor(vocabulary.input_ids), persistent=False)
        self.mask_id = vocabulary.input_ids[self.special.null]
        positions = config.positions + config.target_positions
        self.encoder = PrefixEncoder(BertEncoder(config.shape(), vocabulary.input_size, positions))
        self.dropout = nn.Dropout(config.dropout)
        self.relation = nn.ModuleList(
            RelationLayer(config.width, config.dropout) for _ in range(config.relation_layers)
        )
        self.tag_output = nn.Linear(config.width, len(TAGS))
        # The output of BERT's masked language model, whose matrix is that of the embedding.
        self.transform = nn.Linear(config.width, config.width)
        self.transform_norm = nn.LayerNorm(config.width, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocabulary.input_size))
        weights = [config.tag_weight] * len(TAGS)
        weights[O] = 1.0
        self.register_buffer("tag_weights", torch.tensor(weights), persistent=False)
        self.progress = 0.0

    # Generating absent phrases

    def encode(self, batch: Batch) -> Source:
        return self._encode(batch)[0]

    def _encode(self, batch: Batch) -> tuple[Source, Tensor]:
        """Also the states that are tagged [B, S, D]."""
        states, memory = self.encoder.read_source(
            batch.source, batch.source_mask, self.settings.positions
        )
        states = self.dropout(states)
        streams = Streams(states, states)
        visible = batch.source_mask[:, None].expand(-1, states.shape[1], -1)
        inputs = []
        for layer in self._relation():
            inputs.append(layer.transformed(Streams(states, states) if self._newest else streams))
            streams = layer(streams, visible)
            if self._newest:
                streams = Streams(streams.present, states)
        present, absent = _layers(inputs, states)
        source = Source(
            sharing=Sharing.of(torch.arange(len(batch), device=states.device), len(batch)),
            mask=batch.source_mask,
            keys=memory.key,
            values=memory.value,
            present=present,
            absent=absent,
            extension_inputs=batch.extension_inputs,
        )
        return source, streams.present

    def start(self, memory: Source) -> tuple[Tensor, Written]:
        owner = memory.sharing.owner
        nothing = [
            tensor.new_zeros(len(owner), *tensor.shape[1:-2], 0, tensor.shape[-1])
            for tensor in (memory.keys, memory.values, memory.present, memory.absent)
        ]
        return torch.full_like(owner, self.special.bos), Written(torch.zeros_like(owner), *nothing)

    def step(self, tokens: Tensor, state: Written, memory: Source) -> Step[Written]:
        owner = memory.sharing.owner
        extension = memory.extension_inputs[owner]
        ids = torch.full_like(tokens, self.mask_id)[:, None]
        if len(tokens) and state.steps[0] > 0:  # the first step reads <bos>, which is no input
            ids = torch.cat([self._inputs(tokens[:, None], extension), ids], dim=1)
        length, new = state.keys.shape[3], ids.shape[1]
        places = memory.mask.sum(1)[owner, None] + length + torch.arange(new, device=ids.device)
        own = torch.ones(new, length + new, dtype=torch.bool, device=ids.device).tril(length)
        context = Context(memory.mask, own, memory.sharing)
        x, added = self.encoder.extend(
            self.encoder.embed(ids, places, own.new_ones(new)),
            KeyValue(memory.keys, memory.values),
            KeyValue(state.keys, state.values),
            context,
        )
        absent, inputs = self._relate(self.dropout(x), memory, state, context)
        log_probs = self._log_probs(absent[:, -1], extension)
        # The position of [MASK] is read again, with the token that takes its place.
        kept = [tensor[..., :-1, :] for tensor in (added.key, added.value, *inputs)]
        before = (state.keys, state.values, state.present, state.absent)
        after = [torch.cat(pair, dim=-2) for pair in zip(before, kept, strict=True)]
        return Step(log_probs, Written(state.steps + 1, *after))

    def _relate(
        self, states: Tensor, memory: Source, state: Written, context: Context
    ) -> tuple[Tensor, Streams]:
        """The relation layers at new positions [R, T, D]: the absent stream, and all inputs."""
        streams = Streams(states, states)
        if self._newest:
            context = _newest(context, first=states.shape[1] == 1)
        inputs = []
        for number, layer in enumerate(self._relation()):
            read = layer.transformed(streams)
            inputs.append(read)
            streams = layer.extend(
                read,
                Streams(memory.present[:, number], memory.absent[:, number]),
                Streams(state.present[:, number], state.absent[:, number]),
                context,
            )
            if self._newest:
                streams = Streams(states, streams.absent)
        return streams.absent, _layers(inputs, states)

    def _relation(self) -> list[RelationLayer]:
        used = self.training or self.settings.decoding_relation != "off"
        return [cast(RelationLayer, layer) for layer in self.relation] if used else []

    @property
    def _newest(self) -> bool:
        return not self.training and self.settings.decoding_relation == "newest"

    def _inputs(self, tokens: Tensor, extension: Tensor) -> Tensor:
        """The embedding's ids of tokens [R, T] of the output space; `extension` is [R, X]."""
        known = self.get_buffer("input_ids")[tokens.clamp(max=self.size - 1)]
        if not extension.shape[1]:
            return known
        copied = extension.gather(1, (tokens - self.size).clamp(min=0))
        return known.where(tokens < self.size, copied)

    def _log_probs(self, states: Tensor, extension: Tensor) -> Tensor:
        """The distributions [N, V + X] at states [N, D]; `extension` is [N, X].

        Tokens of the extension are those of the source that are not in the vocabulary. They are
        generated, not copied: the embedding has a row for them.
        """
        features = self.transform_norm(F.gelu(self.transform(states))).float()
        table, ids = self.encoder.bert.embedding.weight, self.get_buffer("input_ids")
        logits = F.linear(features, table[ids], self.bias[ids])
        if extension.shape[1]:
            more = (table[extension] @ features[:, :, None]).squeeze(2) + self.bias[extension]
            more = more.masked_fill(extension == self.special.pad, -math.inf)
            logits = torch.cat([logits, more], dim=1)
        return logits.float().log_softmax(dim=1)

    def score(self, batch: Batch) -> Tensor:
        read = self._read_exactly(batch)
        log_prob = read.log_probs.gather(1, read.target[:, None]).squeeze(1)
        return at_targets(log_prob, batch.targets[1])

    # Training

    def begin_update(self, progress: float) -> None:
        self.progress = progress

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """Generation, tagging and the bag-of-words constraint, as a sum over target tokens.

        In evaluation mode nothing is masked at random, and the constraint is left out.
        """
        read = self._read_masked(batch) if self.training else self._read_exactly(batch)
        nll = -(_log_likelihood(read, self.size, smoothing) * read.weights).sum()
        tags = self._gold_tags(batch)
        logits = self.tag_output(read.present).float()
        each = self.settings.document_weight
        tagging = each * self._tag_losses(logits, tags).sum()
        parts = {"nll": nll.detach(), "tags": tagging.detach()}
        total = nll + tagging
        weight = self.settings.bag_weight * bag_of_words.schedule(self.progress)
        if self.training and weight:
            bags = each * weight * self._bag_losses(batch, read, logits, tags).sum()
            parts["bags"] = bags.detach()
            total = total + bags
        return Loss(total, batch.targets[1].sum(), parts)

    def _read_exactly(self, batch: Batch) -> Reading:
        """Every target token after the true tokens before it, as in decoding."""
        target, mask = batch.targets
        ids = self._inputs(target, batch.extension_inputs)
        ids = torch.cat([ids, torch.full_like(ids, self.mask_id)], dim=1)
        streams = self._streams(batch, ids, prediction_mask(batch.source_mask, mask))
        size, length = batch.source.shape[1], target.shape[1]
        states = streams.absent[:, size + length :][mask]
        return self._reading(batch, streams.present[:, :size], states, mask, mask.float())

    def _read_masked(self, batch: Batch) -> Reading:
        """A random part of the target tokens, most of them masked."""
        target, mask = batch.targets
        chosen = choose(mask, self.settings.masked)
        ids = self._corrupted(self._inputs(target, batch.extension_inputs), chosen)
        streams = self._streams(batch, ids, prefix_mask(batch.source_mask, mask))
        states = streams.absent[:, batch.source.shape[1] :][chosen]
        weights = mask.sum(1, keepdim=True) / chosen.sum(1, keepdim=True)
        return self._reading(batch, streams.present, states, chosen, weights.expand_as(mask))

    def _reading(
        self, batch: Batch, present: Tensor, states: Tensor, chosen: Tensor, weights: Tensor
    ) -> Reading:
        rows = chosen.nonzero()[:, 0]
        log_probs = self._log_probs(states, batch.extension_inputs[rows])
        return Reading(present, log_probs, rows, batch.targets[0][chosen], weights[chosen])

    def _streams(self, batch: Batch, ids: Tensor, mask: Tensor) -> Streams:
        """The states of the source and of T or 2T target positions, read as `ids`."""
        size, length = batch.source.shape[1], batch.targets[0].shape[1]
        if size > self.settings.positions:
            raise ConfigError(
                f"data.max_source: a source has {size} tokens, but model.positions is "
                f"{self.settings.positions}"
            )
        place = torch.arange(size + ids.shape[1], device=ids.device)
        after = batch.source_mask.sum(1, keepdim=True) + (place[size:] - size) % length
        places = torch.cat([place[:size].expand(len(batch), -1), after], dim=1)
        ids = torch.cat([batch.source, ids], dim=1)
        states = self.dropout(self.encoder(ids, places, place >= size, mask))
        if self.training and not self.settings.relation_mask:
            mask = torch.ones_like(mask)
        if self._newest:
            return self._newest_streams(states, _newest_mask(mask, size, length))
        streams = Streams(states, states)
        for layer in self._relation():
            streams = layer(streams, mask)
        return streams

    def _newest_streams(self, states: Tensor, mask: Tensor) -> Streams:
        """Each stream is updated while the other stays what it was."""
        present = absent = states
        for layer in self._relation():
            present = layer(Streams(present, states), mask).present
            absent = layer(Streams(states, absent), mask).absent
        return Streams(present, absent)

    def _corrupted(self, ids: Tensor, chosen: Tensor) -> Tensor:
        """Input ids [B, T] with [MASK] or a random token at most of the chosen positions."""
        draw = torch.rand(ids.shape, device=ids.device)
        table = self.get_buffer("input_ids")
        noise = table[torch.randint(len(table), ids.shape, device=ids.device)]
        replacement = noise.masked_fill(draw >= self.settings.replaced, self.mask_id)
        return replacement.where(chosen & (draw < 1 - self.settings.kept), ids)

    def _gold_tags(self, batch: Batch) -> Tensor:
        """The tags of source positions [B, S]."""
        length = batch.source.shape[1]
        counts = batch.source_mask.sum(1).tolist()
        rows = [
            gold_tags(document, source_words(document, ids[:count], self.vocabulary), length)
            for document, ids, count in zip(
                batch.documents, batch.source_extended.tolist(), counts, strict=True
            )
        ]
        return torch.tensor(rows, device=batch.source.device)

    def _tag_losses(self, logits: Tensor, tags: Tensor) -> Tensor:
        """The weighted mean of -log p(tag) over the positions of each document [B]."""
        if self.training and not self.settings.label_mask:
            tags = F.pad(tags.clamp(min=O), (0, logits.shape[1] - tags.shape[1]), value=O)
        logits = logits[:, : tags.shape[1]]
        weights = self.get_buffer("tag_weights")
        each = F.cross_entropy(
            logits.transpose(1, 2), tags, weights, ignore_index=NO_TAG, reduction="none"
        )
        total = weights[tags.clamp(min=O)].masked_fill(tags == NO_TAG, 0.0).sum(1)
        return each.sum(1) / total.clamp(min=1.0)

    def _bag_losses(self, batch: Batch, read: Reading, logits: Tensor, tags: Tensor) -> Tensor:
        """The mean of the constraints for absent and for present words of each document [B]."""
        shape = (len(batch), self.size + batch.extension_size)
        ones = torch.ones_like(read.weights, dtype=torch.float)
        predicted = torch.zeros(shape, device=logits.device).index_add(
            0, read.rows, read.log_probs.exp()
        )
        absent = bag_of_words.difference(
            predicted,
            bag_of_words.bag(read.rows, read.target, ones, shape),
            bag_of_words.bag(read.rows, read.log_probs.argmax(1), ones, shape),
        )
        real = tags != NO_TAG
        rows, words = real.nonzero()[:, 0], batch.source_extended[real]
        logits, inside = logits[:, : tags.shape[1]][real], (tags[real] != O).float()
        gold = bag_of_words.bag(rows, words, inside, shape)
        if self.settings.bag == "release":
            present = bag_of_words.release_difference(rows, words, logits, gold)
        else:
            likeliest = (logits.argmax(1) != O).float()
            present = bag_of_words.difference(
                bag_of_words.bag(rows, words, 1 - logits.softmax(1)[:, O], shape),
                gold,
                bag_of_words.bag(rows, words, likeliest, shape),
            )
        return (absent + present) / 2

    # Pretrained weights

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"encoder": list(self.encoder.parameters())}

    @torch.no_grad()
    def initialise(self) -> None:
        if self.settings.start == RANDOM:
            return
        tensors = {
            name.removeprefix("bert."): tensor
            for name, tensor in load_file(_weights(self.settings.start)).items()
        }
        self.encoder.bert.fill(tensors)
        kinds = tensors["embeddings.token_type_embeddings.weight"]
        self.encoder.segment.copy_(kinds[-1] - kinds[0])
        self._fill_output(tensors)

    def _fill_output(self, tensors: Mapping[str, Tensor]) -> None:
        """The output of the masked language model, if the checkpoint has one."""
        names = {
            "cls.predictions.transform.dense.weight": self.transform.weight,
            "cls.predictions.transform.dense.bias": self.transform.bias,
            "cls.predictions.transform.LayerNorm.weight": self.transform_norm.weight,
            "cls.predictions.transform.LayerNorm.bias": self.transform_norm.bias,
            "cls.predictions.bias": self.bias,
        }
        if names.keys() <= tensors.keys():
            for name, parameter in names.items():
                parameter.copy_(tensors[name])

    # Predicting

    def predictor(self, vocabulary: Lexicon, decode: BatchPredictor) -> BatchPredictor:
        """Present phrases, the surest first, and then the absent ones that `decode` generates."""

        def predict(batch: Batch) -> list[Prediction]:
            return [
                _merged(present, absent)
                for present, absent in zip(self.tag(batch), decode(batch), strict=True)
            ]

        return predict

    def tag(self, batch: Batch) -> list[list[ScoredPhrase]]:
        """The tagged phrases of every document, distinct, by the mean probability of their tags.

        The tag of a word is that of its first token. The further tokens of a word belong to its
        phrase whatever their tag; their probability is that of X.
        """
        log_probs = self.tag_output(self._encode(batch)[1]).float().log_softmax(dim=-1)
        counts = batch.source_mask.sum(1).tolist()
        found = []
        for place, document in enumerate(batch.documents):
            ids = batch.source_extended[place, : counts[place]].tolist()
            words = source_words(document, ids, self.vocabulary)
            rows = log_probs[place].tolist()
            tags = [max((O, B, I), key=rows[word.start].__getitem__) for word in words]
            phrases = [
                _phrase(
                    words[start:end], [rows[word.start : word.end] for word in words[start:end]]
                )
                for start, end in tagged_spans(tags)
            ]
            found.append(_distinct(phrases))
        return found


build = UniKP


def choose(mask: Tensor, share: float) -> Tensor:
    """A random `share` of the real positions of each row [B, T], at least one."""
    counts = mask.sum(1, keepdim=True)
    wanted = (share * counts).round().clamp(min=1)
    ranks = torch.rand(mask.shape, device=mask.device).masked_fill(~mask, 2.0).argsort(1).argsort(1)
    return mask & (ranks < wanted)


def _log_likelihood(read: Reading, size: int, smoothing: float) -> Tensor:
    """log p of every target token [N]; `smoothing` is the weight of the vocabulary's mean."""
    log_prob = read.log_probs.gather(1, read.target[:, None]).squeeze(1)
    if not smoothing:
        return log_prob
    return torch.lerp(log_prob, read.log_probs[:, :size].mean(dim=1), smoothing)


def _layers(inputs: list[Streams], states: Tensor) -> Streams:
    """Streams [R, T, D] of N layers as [R, N, T, D]; `states` [R, T, D] has the shape of one."""
    if not inputs:
        return Streams(*[states[:, None, :, :][:, :0]] * 2)
    present, absent = zip(*inputs, strict=True)
    return Streams(torch.stack(present, dim=1), torch.stack(absent, dim=1))


def _newest(context: Context, first: bool) -> Context:
    """What relation layers see if `decoding_relation` is "newest".

    That is the source and [MASK] in the first step, and then [MASK] and the token before it.
    """
    if first:
        return context
    own = torch.zeros_like(context.own)
    own[:, -2:] = True
    return Context(torch.zeros_like(context.mask), own, context.sharing)


def _newest_mask(mask: Tensor, size: int, length: int) -> Tensor:
    """The same for all positions at once: a `prediction_mask` [B, L, L] of `size` and `length`."""
    newest = mask.clone()
    masks = torch.arange(size + length + 1, size + 2 * length, device=mask.device)
    newest[:, masks] = False
    newest[:, masks, masks] = True
    newest[:, masks, masks - length - 1] = True
    return newest


def _weights(start: str) -> Path:
    """The file of the initial weights."""
    if start == MINILM:
        return minilm.weights()
    pickles = sorted(Path(start).glob("*.bin"))
    if pickles and not (Path(start) / WEIGHTS).is_file():
        raise ConfigError(
            f"model.start: {pickles[0]} is a pickle, which could run code when it is read; convert "
            f"it to {WEIGHTS} with safetensors.torch.save_file"
        )
    try:
        return pretrained.weights_folder(start) / WEIGHTS
    except DataError as error:
        raise ConfigError(f"model.start: {error}, or {MINILM!r} or {RANDOM!r}") from None


def _phrase(words: Sequence[SourceWord], log_probs: Sequence[list[list[float]]]) -> ScoredPhrase:
    """The phrase of tagged words; `log_probs` are those of all tags at each token of each word."""
    first = [(B if number == 0 else I) for number in range(len(words))]
    tags = [
        (tag if place == 0 else X, token)
        for tag, tokens in zip(first, log_probs, strict=True)
        for place, token in enumerate(tokens)
    ]
    return ScoredPhrase(
        text=" ".join(word.text for word in words),
        token_log_probs=tuple(token[tag] for tag, token in tags),
        words=len(words),
    )


def _distinct(phrases: Sequence[ScoredPhrase]) -> list[ScoredPhrase]:
    """The surest occurrence of every phrase, the surest phrase first."""
    firsts: dict[tuple[str, ...], ScoredPhrase] = {}
    for phrase in sorted(phrases, key=_mean_probability, reverse=True):
        firsts.setdefault(tuple(stems(phrase.text.split())), phrase)
    return list(firsts.values())


def _mean_probability(phrase: ScoredPhrase) -> float:
    log_probs = phrase.token_log_probs or ()
    return math.fsum(map(math.exp, log_probs)) / len(log_probs)


def _merged(present: Sequence[ScoredPhrase], absent: Prediction) -> Prediction:
    """Tagged phrases, and the generated ones that are not among them.

    Tagged phrases state no confidence, and those with and without one must not be mixed.
    """
    known = {tuple(stems(phrase.text.split())) for phrase in present}
    new = [
        msgspec.structs.replace(phrase, confidence=None)
        for phrase in absent.phrases
        if tuple(stems(phrase.text.split())) not in known
    ]
    return Prediction(document_id=absent.document_id, phrases=(*present, *new))
