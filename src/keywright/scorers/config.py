"""The config of a scorer: `[scorer]`, `[pairs]` and `[train]` of one TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from keywright.config import Count, Fraction, Natural, NonNegative, Positive, Probability, Stage


@dataclass(frozen=True)
class Sizes:
    """Those of the pretrained encoder; they are written into the config when a run begins."""

    width: Count
    heads: Count
    inner: Count
    layers: Count
    positions: Count
    epsilon: Positive


@dataclass(frozen=True)
class Scorer:
    """A BERT that reads `[CLS] prediction [SEP] target [SEP]`."""

    # `minilm`, or a folder with an uncased BERT: config.json, vocab.txt and model.safetensors.
    encoder: str = "minilm"
    layers: Natural = 0  # of the encoder, the first ones; 0 = all of them
    max_pieces: Count = 16  # wordpieces of a phrase that are read
    first: Literal["prediction", "target"] = "prediction"  # the release puts the target first
    dropout: Fraction = 0.1
    sizes: Sizes | None = None


@dataclass(frozen=True)
class Pairs:
    """JSON lines of scored pairs, as `keywright make-pairs` writes them."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    train_pairs: Count | None = None  # at most this many, the first ones; all by default
    valid_pairs: Count = 5000

    def __post_init__(self) -> None:
        if not self.train:
            raise ValueError("train lists no file; list at least one")


@dataclass(frozen=True)
class Train:
    """The release trains for one epoch with AdamW, a learning rate of 2e-5 and batches of 16."""

    epochs: Count = 1
    batch_size: Count = 16
    learning_rate: Positive = 2e-5
    head_learning_rate: Positive | None = None  # of the layers after the encoder; the same
    weight_decay: NonNegative = 0.01
    clip: Positive = 1.0  # the largest norm of the gradient
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: Natural = 0  # updates over which the learning rate rises from zero
    zero_weight: Probability = 0.5  # in the loss, of pairs whose score is 0
    validate_every: Count | None = None  # updates; every epoch by default
    patience: Count | None = None  # validations in a row without a better one that end the run
    seed: Natural = 1
    threads: Natural = 0  # of torch on a CPU; 0 leaves the choice to torch
    minutes: Positive | None = None  # stop cleanly after this time, to be resumed
    checkpoint_minutes: NonNegative = 2.0  # between checkpoints; 0 = after every update
    log_every: Count = 50  # updates

    def stage(self) -> Stage:
        """The settings as the optimiser, the schedule and the tracker read them."""
        head = self.head_learning_rate
        return Stage(
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimiser="adamw",
            learning_rate=self.learning_rate,
            learning_rates={} if head is None else {"head": head},
            weight_decay=self.weight_decay,
            clip=self.clip,
            schedule=self.schedule,
            warmup=self.warmup,
            patience=self.patience,
        )


@dataclass(frozen=True)
class Config:
    pairs: Pairs
    scorer: Scorer = field(default_factory=Scorer)
    train: Train = field(default_factory=Train)

    def __post_init__(self) -> None:
        if self.train.patience and not self.pairs.valid:
            raise ValueError("train.patience needs validation pairs; list them in pairs.valid")
