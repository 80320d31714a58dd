"""A pretrained BERT in a folder: its sizes, wordpieces and weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import safetensors
from safetensors.torch import load_file

from keywright.data import minilm
from keywright.errors import ConfigError
from keywright.files import NOT_JSON
from keywright.nn.cross_encoder import CrossEncoder
from keywright.scorers.config import Scorer, Sizes

MINILM = "minilm"
_FILES = ("config.json", "vocab.txt", "model.safetensors")
_ACTIVATION = "gelu"


class _Description(msgspec.Struct):
    """The entries of config.json that matter here."""

    hidden_size: int
    num_attention_heads: int
    intermediate_size: int
    num_hidden_layers: int
    max_position_embeddings: int
    model_type: str = "bert"
    hidden_act: str = _ACTIVATION
    layer_norm_eps: float = 1e-12


@dataclass(frozen=True)
class Pretrained:
    folder: Path
    sizes: Sizes
    pieces: list[str]  # in the order of their ids

    def fill(self, model: CrossEncoder) -> None:
        """Put the weights into a model; they have Hugging Face's names of a BertModel."""
        path = self.folder / "model.safetensors"
        try:
            loaded = load_file(path)
            model.fill({name.removeprefix("bert."): value for name, value in loaded.items()})
        except KeyError as error:
            raise ConfigError(f"scorer.encoder: {path} lacks the tensor {error}") from None
        except (safetensors.SafetensorError, OSError) as error:
            raise ConfigError(f"scorer.encoder: {path} cannot be read ({error})") from None


def find(scorer: Scorer) -> Pretrained:
    """The encoder that a scorer starts from, or an error that says what the folder lacks."""
    folder = minilm.folder() if scorer.encoder == MINILM else Path(scorer.encoder)
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise ConfigError(
            f"scorer.encoder: {folder} has no {' and no '.join(missing)}; name a folder with a "
            f"BERT in Hugging Face's format (weights as safetensors), or {MINILM!r}"
        )
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    return Pretrained(folder, _sizes(folder / "config.json", scorer), pieces)


def _sizes(path: Path, scorer: Scorer) -> Sizes:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Description)
    except NOT_JSON as error:
        raise ConfigError(f"scorer.encoder: {path} does not describe a BERT: {error}") from None
    if found.model_type != "bert" or found.hidden_act != _ACTIVATION:
        raise ConfigError(
            f"scorer.encoder: {path} describes a {found.model_type} with {found.hidden_act}; "
            f"only a bert with {_ACTIVATION} can be used"
        )
    if scorer.layers > found.num_hidden_layers:
        raise ConfigError(
            f"scorer.layers: {scorer.layers} is more than the {found.num_hidden_layers} layers "
            f"of {path.parent}"
        )
    if 2 * scorer.max_pieces + 3 > found.max_position_embeddings:
        raise ConfigError(
            f"scorer.max_pieces: two phrases of {scorer.max_pieces} wordpieces and three marks are "
            f"more than the encoder's {found.max_position_embeddings} positions"
        )
    return Sizes(
        width=found.hidden_size,
        heads=found.num_attention_heads,
        inner=found.intermediate_size,
        layers=scorer.layers or found.num_hidden_layers,
        positions=found.max_position_embeddings,
        epsilon=found.layer_norm_eps,
    )
