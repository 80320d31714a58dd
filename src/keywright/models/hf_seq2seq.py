"""Any encoder-decoder of transformers (T5, BART, KeyBART, Pegasus, ...) with its own tokenizer.

All phrases are written as one sequence. The network is that of transformers; it is read here
through the contract of `nn.model`, so that every decoder, rule and objective works with it. Nothing
is copied from the source: such a tokenizer can spell every word.

The decoder reads a fixed prefix before the first generated token: T5 starts from its padding token,
BART from `</s> <s>`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from keywright import lexicon
from keywright.config import Count, Data, Fraction, Natural
from keywright.data import pretrained
from keywright.data.batch import Batch
from keywright.errors import ConfigError, DataError, MissingExtraError
from keywright.lexicon import Lexicon
from keywright.nn.generator import Step
from keywright.nn.loss import Loss, at_targets, likelihood_loss
from keywright.nn.model import Model

try:
    from transformers import AutoConfig, AutoModelForSeq2SeqLM
    from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache
    from transformers.configuration_utils import PreTrainedConfig
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as SEQ2SEQ,
    )
    from transformers.utils import logging
except ModuleNotFoundError as error:
    if error.name is not None and error.name.startswith("keywright"):
        raise
    raise MissingExtraError("hf_seq2seq", "transformers", "transformers") from None

# Settings of config.json that do not describe the network. `auto_map` names code of the weights'
# authors, which is never run.
_NOT_ARCHITECTURE = (
    "_name_or_path", "architectures", "auto_map", "dtype", "id2label", "label2id",
    "task_specific_params", "torch_dtype", "transformers_version", "use_cache", "vocab_size",
)  # fmt: skip
_OUTPUT, _EMBEDDING = "lm_head.weight", "shared.weight"
_DROPOUT = ("dropout", "dropout_rate")  # what architectures call it
# How many more tokens a vocabulary may have than the weights, and how many fewer: tokens are added
# to a tokenizer, and embeddings are padded to a round number.
MOST_ADDED = 64
MOST_UNUSED = 1024

_GRAPHS = {"t5": "hf_t5", "bart": "hf_bart"}

KeyValues = tuple[tuple[Tensor, Tensor], ...]
"""Keys and values [R, heads, positions, head] of every layer."""


@dataclass(frozen=True)
class Config:
    # A folder, or a name on the hub (also NAME@REVISION); None: random weights.
    weights: str | None = None
    # The config of the network as transformers writes it; by default that of the weights.
    architecture: dict[str, Any] = field(default_factory=dict)
    # The longest source, if the network has a limit; by default the network's.
    positions: Count | None = None
    tied: bool | None = None  # whether the output has the weights of the embedding; None: as saved
    dropout: Fraction | None = None  # by default the network's
    gradient_checkpointing: bool = False  # less memory, more time: activations are computed twice
    # Low-rank adapters (Hu et al. 2022, LoRA): W + alpha / rank * B A. 0: none.
    lora_rank: Natural = 0
    lora_alpha: Count = 16
    # Which linear layers have them, by the ends of their names. Names of queries and values.
    lora_modules: tuple[str, ...] = ("q", "v", "q_proj", "v_proj")

    def __post_init__(self) -> None:
        if self.weights is None and not self.architecture:
            raise ValueError("needs `weights`: a folder, or a name on the Hugging Face hub")
        if self.architecture and "model_type" not in self.architecture:
            raise ValueError("architecture needs `model_type`, such as 't5'")


@dataclass(frozen=True)
class Memory:
    """The encoded source of every row."""

    encoded: Tensor  # [R, S, D]
    mask: Tensor  # [R, S] bool, True at real positions
    cross: KeyValues  # of the source
    begun: KeyValues  # of the decoder's prefix, without its last token

    def select(self, index: Tensor) -> Self:
        return type(self)(
            self.encoded[index],
            self.mask[index],
            _select(self.cross, index),
            _select(self.begun, index),
        )


@dataclass(frozen=True)
class Cache:
    """Keys and values of the tokens so far; steps never change them in place."""

    layers: KeyValues

    def select(self, index: Tensor) -> Self:
        return type(self)(_select(self.layers, index))


class Seq2Seq(Model[Memory, Cache]):
    paradigm = "one2seq"

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__()
        self.config = completed(config)
        described = architecture(self.config.architecture, self.config.dropout)
        require_fit(described, vocabulary, config.weights or "architecture")
        self.prefix = _prefix(described, vocabulary)
        self.graphs = _GRAPHS.get(described.model_type)
        described.vocab_size = vocabulary.size
        self.network = AutoModelForSeq2SeqLM.from_config(described)
        if not self.config.tied:
            _untie(self.network)
        if config.lora_rank:
            _adapt(self.network, config)
        if config.gradient_checkpointing:
            self.network.gradient_checkpointing_enable({"use_reentrant": False})

    @classmethod
    def complete(cls, settings: Config, data: Data) -> Config:
        try:
            config = completed(settings)
            if settings.weights is not None:
                pretrained.weights_folder(settings.weights)
            described = architecture(config.architecture, config.dropout)
        except DataError as error:
            raise ConfigError(f"model.weights: {error}") from None
        if data.vocabulary.name != "tokenizer":
            raise ConfigError(
                f"data.vocabulary.name: {data.vocabulary.name!r} does not fit; hf_seq2seq needs "
                "'tokenizer', with the tokenizer of its weights"
            )
        vocabulary = lexicon.build(data.vocabulary, ())
        require_fit(described, vocabulary, settings.weights or "architecture")
        if config.positions is not None and data.max_source > config.positions:
            raise ConfigError(
                f"data.max_source: {data.max_source} is more than the {config.positions} positions "
                f"of {settings.weights or 'the network'}"
            )
        return config

    def initialise(self) -> None:
        """Load the pretrained weights. Tokens that they lack start from the mean of all others."""
        if self.config.weights is None:
            return
        loaded = load_network(self.config.weights)
        own = self.network.state_dict()
        for name, tensor in loaded.state_dict().items():
            if name not in own:  # its layer has an adapter
                layer, _, kind = name.rpartition(".")
                name = f"{layer}.base_layer.{kind}"
            if tensor.shape != own[name].shape:  # the only size that differs is the vocabulary's
                tensor = _resized(tensor, own[name])
            own[name].copy_(tensor)

    def fold(self) -> None:
        for module in self.network.modules():
            if hasattr(module, "lora_A"):
                module.merge()

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """`lora`, `embedding`, `encoder.0`, ..., `decoder.0`, ..., and `encoder` and `decoder` for
        the rest of each; `output` if it is not tied to the embedding."""
        adapters = [x for name, x in self.network.named_parameters() if ".lora_" in name]
        groups = {"lora": adapters}
        groups["embedding"] = list(self.network.get_input_embeddings().parameters())
        for name, stack in (
            ("encoder", self.network.get_encoder()),
            ("decoder", self.network.get_decoder()),
        ):
            lists = [child for child in stack.children() if isinstance(child, nn.ModuleList)]
            layers = [layer for child in lists for layer in child]
            groups |= {f"{name}.{i}": list(x.parameters()) for i, x in enumerate(layers)}
            groups[name] = list(stack.parameters())
        groups["output"] = list(self.network.get_output_embeddings().parameters())
        return _distinct(groups)

    def trained_groups(self) -> Collection[str] | None:
        return ("lora",) if self.config.lora_rank else None

    def encode(self, batch: Batch) -> Memory:
        encoder = self.network.get_encoder()
        mask = batch.source_mask
        encoded = encoder(input_ids=batch.source, attention_mask=mask).last_hidden_state
        # Reading the prefix also computes the keys and values of the source.
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        self.network.get_decoder()(
            input_ids=self._first(len(batch), batch.source.device),
            encoder_hidden_states=encoded,
            encoder_attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
        )
        before = len(self.prefix) - 1
        begun = tuple((k[:, :, :before], v[:, :, :before]) for k, v in _layers(cache, False))
        return Memory(encoded, mask, _layers(cache, True), begun)

    def start(self, memory: Memory) -> tuple[Tensor, Cache]:
        tokens = torch.full((len(memory.mask),), self.prefix[-1], device=memory.mask.device)
        return tokens, Cache(memory.begun)

    def step(self, tokens: Tensor, state: Cache, memory: Memory) -> Step[Cache]:
        cache = EncoderDecoderCache(_dynamic(state.layers), _dynamic(memory.cross))
        logits = self._logits(tokens[:, None], memory, past_key_values=cache, use_cache=True)
        log_probs = logits[:, -1].float().log_softmax(1)
        return Step(log_probs, Cache(_layers(cache, False)))

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        return likelihood_loss(self._log_likelihood(batch, smoothing))

    def score(self, batch: Batch) -> Tensor:
        return at_targets(self._log_likelihood(batch), batch.targets[1])

    def _log_likelihood(self, batch: Batch, smoothing: float = 0.0) -> Tensor:
        """Teacher-forced log-probabilities of the real target tokens, in order: [N].

        Label `smoothing` is the weight of the mean log p of all tokens.
        """
        target, mask = batch.targets
        before = self._first(len(target), target.device)
        logits = self.network(
            input_ids=batch.source,
            attention_mask=batch.source_mask,
            decoder_input_ids=torch.cat([before, target[:, :-1]], 1),
            use_cache=False,
        ).logits[:, before.shape[1] - 1 :]
        real: Tensor = logits[mask].float()
        chosen = real.gather(1, target[mask][:, None]).squeeze(1)
        denominator = real.logsumexp(1)
        if smoothing:
            chosen = torch.lerp(chosen, real.mean(1), smoothing)
        return chosen - denominator

    def _first(self, rows: int, device: torch.device) -> Tensor:
        return torch.tensor([self.prefix], device=device).expand(rows, -1)

    def _logits(self, tokens: Tensor, memory: Memory, **options: Any) -> Tensor:
        logits: Tensor = self.network(
            encoder_outputs=(memory.encoded,),
            attention_mask=memory.mask,
            decoder_input_ids=tokens,
            **options,
        ).logits
        return logits


build = Seq2Seq


def completed(config: Config) -> Config:
    """The config with everything that describes its network."""
    found, tied = dict(config.architecture), config.tied
    if not found and config.weights is not None:
        found = _described(pretrained.read_config(config.weights), config.weights)
        tied = not _has_own_output(config.weights) if tied is None else tied
    if tied is None:
        tied = found.get("tie_word_embeddings") is not False
    limit = found.get("max_position_embeddings")
    if config.positions is not None and limit is not None and config.positions > limit:
        raise ConfigError(f"model.positions: the network has only {limit}")
    return replace(config, architecture=found, positions=config.positions or limit, tied=tied)


def architecture(table: Mapping[str, Any], dropout: float | None = None) -> PreTrainedConfig:
    """The config of the network; a `DataError` if it is not an encoder-decoder."""
    settings = dict(table)
    kind = settings.pop("model_type", None)
    if kind not in SEQ2SEQ:
        raise DataError(
            f"a network of type {kind!r} is not an encoder-decoder for text; choose one such as "
            "t5, bart, pegasus or mbart"
        )
    if dropout is not None:
        settings |= dict.fromkeys(_DROPOUT, dropout)
    described = AutoConfig.for_model(kind, **settings)
    if not described.is_encoder_decoder:
        raise DataError(f"the {kind} network has no decoder that reads an encoder")
    return described


def load_network(weights: str) -> Any:
    """The pretrained network, on the CPU and in 32 bits. Never runs code of the weights."""
    folder = pretrained.weights_folder(weights)
    try:
        with _quiet():
            return AutoModelForSeq2SeqLM.from_pretrained(
                folder,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                dtype=torch.float32,
            )
    except (OSError, ValueError, RuntimeError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataError(f"the weights cannot be loaded: {first}", weights) from None


def _adapt(network: Any, config: Config) -> None:
    """Put low-rank adapters beside linear layers. They change nothing until they are trained."""
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ModuleNotFoundError:
        raise MissingExtraError("model.lora_rank", "peft", "lora") from None
    ends = config.lora_modules
    found = [name for name, _ in network.named_modules() if name.rpartition(".")[2] in ends]
    if not found:
        raise ConfigError(
            f"model.lora_modules: the network has no layers called {', '.join(ends) or 'nothing'}"
        )
    inject_adapter_in_model(
        LoraConfig(r=config.lora_rank, lora_alpha=config.lora_alpha, target_modules=found), network
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the messages and progress bars of transformers."""
    before = logging.get_verbosity()
    shown = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if shown:
            logging.enable_progress_bar()


def require_fit(described: PreTrainedConfig, vocabulary: Lexicon, weights: str) -> None:
    """An error unless the ids of the vocabulary are those of the network's embedding."""
    special, size = vocabulary.special, described.vocab_size
    for name, ours, theirs in (
        ("padding", special.pad, described.pad_token_id),
        ("end", special.eos, described.eos_token_id),
    ):
        if theirs is not None and ours != theirs:
            raise ConfigError(
                f"data.vocabulary: is not the tokenizer of {weights}: its {name} token has id "
                f"{ours}, and that of the weights {theirs}"
            )
    if not -MOST_UNUSED <= vocabulary.size - size <= MOST_ADDED:
        raise ConfigError(
            f"data.vocabulary: is not the tokenizer of {weights}: it has {vocabulary.size} tokens, "
            f"and the weights have {size}"
        )


def _described(table: dict[str, Any], name: str) -> dict[str, Any]:
    """A config.json without what does not describe the network."""
    if "model_type" not in table:
        raise DataError("its config.json does not say what kind of model it is", name)
    architecture(table)
    kept = {key: value for key, value in table.items() if key not in _NOT_ARCHITECTURE}
    return {key: value for key, value in kept.items() if value is not None} | {
        "vocab_size": table["vocab_size"]
    }


def _prefix(described: PreTrainedConfig, vocabulary: Lexicon) -> tuple[int, ...]:
    """What the decoder reads before the first generated token."""
    bos = vocabulary.special.bos
    start: int | None = described.to_dict().get("decoder_start_token_id")  # some kinds have none
    return (bos,) if start is None or start == bos else (start, bos)


def _has_own_output(weights: str) -> bool:
    """Whether the saved output differs from the embedding, whatever config.json says: transformers
    5 writes that every T5 is tied."""
    found: dict[str, Tensor] = {}
    for file in sorted(pretrained.weights_folder(weights).glob("*.safetensors")):
        try:
            with safe_open(file, framework="pt") as content:
                for name in content.keys():  # noqa: SIM118
                    last = ".".join(name.split(".")[-2:])
                    if last in (_OUTPUT, _EMBEDDING):
                        found[last] = content.get_tensor(name)
        except SafetensorError as error:
            raise DataError(f"is damaged: {error}", file) from None
    if len(found) < 2:
        return False
    return not torch.equal(found[_OUTPUT], found[_EMBEDDING])


def _untie(network: Any) -> None:
    """Give the output a weight of its own."""
    output = network.get_output_embeddings()
    output.weight = nn.Parameter(output.weight.detach().clone())


def _resized(tensor: Tensor, like: Tensor) -> Tensor:
    """A matrix or bias with as many tokens as `like`; new ones are the mean of the others."""
    dimension = 0 if tensor.shape[0] != like.shape[0] else 1
    wanted, size = like.shape[dimension], tensor.shape[dimension]
    if wanted <= size:
        return tensor.narrow(dimension, 0, wanted)
    mean = tensor.mean(dimension, keepdim=True)
    new = mean.repeat_interleave(wanted - size, dimension)
    return torch.cat([tensor, new], dimension)


def _distinct(groups: dict[str, list[nn.Parameter]]) -> dict[str, list[nn.Parameter]]:
    """Every parameter in its first group only, without empty groups."""
    seen: set[int] = set()
    distinct: dict[str, list[nn.Parameter]] = {}
    for name, parameters in groups.items():
        new = [parameter for parameter in parameters if id(parameter) not in seen]
        seen |= {id(parameter) for parameter in new}
        distinct |= {name: new} if new else {}
    return distinct


def _select(layers: KeyValues, index: Tensor) -> KeyValues:
    return tuple((keys[index], values[index]) for keys, values in layers)


def _dynamic(layers: KeyValues) -> DynamicCache:
    """A cache of transformers with these tensors; its constructor would copy them."""
    cache = DynamicCache()
    for keys, values in layers:
        layer = DynamicLayer()
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        cache.layers.append(layer)
    return cache


def _layers(cache: EncoderDecoderCache, cross: bool) -> KeyValues:
    chosen = cache.cross_attention_cache if cross else cache.self_attention_cache
    return tuple((layer.keys, layer.values) for layer in chosen.layers)
