"""Predictors: documents in, predictions out, whatever does the work.

`load` finds one by name: "default" is the model that comes with the package; else the folder of a
trained run, that of an exported model, or an extractor such as `textrank`. Torch is imported only
for trained runs.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from keywright import config, parts, runtime
from keywright.calibration.recalibrate import Recalibrator
from keywright.errors import ConfigError, DataError, MissingExtraError, nearest
from keywright.ranking.model import GENERATOR, Ranker, is_ranker
from keywright.ranking.model import Options as RankerOptions
from keywright.runtime.batched import Batched, default_batch
from keywright.runtime.folder import CONFIDENCE, is_exported
from keywright.types import Document, Prediction

EXTRACTORS = "keywright.extractors"
DEFAULT = "default"
DEFAULT_FOLDER = Path(__file__).parent / "default_model"
# Tokens of a document that are read. Training cuts documents shorter to save time; abstracts are
# seldom longer, and BERT-like encoders have no more positions.
SOURCE = 512


class Predictor(Protocol):
    """What predicts keyphrases."""

    @property
    def window(self) -> int | None:
        """A prediction may depend on the other documents of its window of so many, counted from
        the first (documents decoded together differ in the last bits); None: on all of them."""

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """One prediction for every document, in their order, streamed."""


@dataclass(frozen=True)
class Loaded:
    """A predictor and, in `settings`, all that its predictions depend on but the documents.

    `confidence` turns what the predictor thinks of its phrases into the probability that they are
    right. `english` says why documents should be English, None where nothing says they should.
    """

    predictor: Predictor
    settings: Mapping[str, Any]
    confidence: Recalibrator | None = None
    english: str | None = None
    calibrated: bool = False  # whether the predictor's own confidences are probabilities
    most_words: int | None = None  # of a document that are read; None where tokens are counted
    token_probabilities: bool = False  # whether phrases have those of their tokens

    @property
    def window(self) -> int | None:
        return self.predictor.window

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        if self.confidence is None:
            return self.predictor.predict(documents)
        return self._judged_stream(documents)

    def judged(self, document: Document, prediction: Prediction) -> Prediction:
        """What `predictor` said about a document, with the confidence of every phrase.

        Apart from `predict` for those who give the predictor pieces of a document: whether a
        phrase is present, and where, is known only of the whole.
        """
        return (
            prediction if self.confidence is None else self.confidence.apply(document, prediction)
        )

    def _judged_stream(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        waiting: deque[Document] = deque()

        def remembered() -> Iterator[Document]:
            for document in documents:
                waiting.append(document)
                yield document

        for prediction in self.predictor.predict(remembered()):
            yield self.judged(waiting.popleft(), prediction)


def load(
    model: str | Path,
    *,
    decode: str | None = None,
    settings: Sequence[str] = (),
    batch: int | None = None,
    max_source: int | None = None,
    threads: int | None = None,
    calibration: str | Path | None = None,
) -> Loaded:
    """The predictor that `model` names: "default", a folder of a model, or an extractor.

    `decode` is the strategy of a trained model, its own by default; `settings` are KEY=VALUE of
    that strategy or of the extractor; `batch` is how many documents are decoded together,
    `max_source` how many tokens of each are read, and `threads` how many threads a model uses.
    `calibration` is a file that `keywright calibrate --fit` wrote for this model: phrases then have
    its probabilities, those of the documents that it was fitted on.
    """
    asked = Asked(decode, tuple(settings), batch, max_source, threads)
    loaded = _named(model, asked)
    return loaded if calibration is None else _recalibrated(loaded, model, Path(calibration))


def _recalibrated(loaded: Loaded, model: str | Path, path: Path) -> Loaded:
    confidence = Recalibrator.from_json(path)
    if confidence.source == "stated" and not loaded.calibrated:
        raise ConfigError(
            f"{path} starts from probabilities that predictions state, and {model} has none of its "
            "own; fit it with --confidence kpp"
        )
    if confidence.source == "kpp" and not loaded.token_probabilities:
        raise ConfigError(
            f"{path} starts from token probabilities, and {model} gives none; fit it on what this "
            "model predicts"
        )
    used = {**loaded.settings, "calibration": hashlib.sha256(confidence.to_json()).hexdigest()}
    return replace(loaded, confidence=confidence, settings=used)


def _named(model: str | Path, asked: Asked) -> Loaded:
    if str(model) == DEFAULT:
        _check_default()
        return replace(_load(DEFAULT_FOLDER, asked), english="the model was trained on English")
    if Path(model).exists():
        return _load(Path(model), asked)
    known = parts.names(EXTRACTORS)
    if str(model) not in known:
        hint = nearest(str(model), [DEFAULT, *known])
        raise DataError(f"no run folder, and no extractor either{hint}", model)
    if (asked.decode, asked.batch, asked.max_source) != (None, None, None):
        raise ConfigError(f"{model} is an extractor: it has no strategy, batch or length to set")
    return _load_extractor(str(model), asked.settings)


@dataclass(frozen=True)
class Asked:
    """How a model is to be used; None leaves its own choice."""

    decode: str | None
    settings: tuple[str, ...]
    batch: int | None
    max_source: int | None
    threads: int | None


def _load(folder: Path, asked: Asked) -> Loaded:
    if is_ranker(folder):
        return _load_ranker(folder, asked)
    if is_exported(folder):
        return _load_exported(folder, asked)
    return _load_run(folder, asked)


def after(predictor: Predictor, documents: Iterable[Document], done: int) -> Iterator[Prediction]:
    """The predictions after the first `done`, to the last bit as if all had been made at once."""
    again = done if predictor.window is None else done % predictor.window
    rest = islice(documents, done - again, None)
    return islice(predictor.predict(rest), again, None)


def _check_default() -> None:
    if not (is_ranker(DEFAULT_FOLDER) or is_exported(DEFAULT_FOLDER)):
        raise ConfigError(
            "this installation of keywright comes without the default model; install a release "
            "that has it, or name another: the folder of a model, or "
            + " or ".join(parts.names(EXTRACTORS))
        )


def _load_extractor(name: str, settings: Sequence[str]) -> Loaded:
    table: dict[str, Any] = {}
    for setting in settings:
        config.override(table, setting)
    module, chosen = config.part(config.Part(name, table), EXTRACTORS, name)
    used = {"extractor": name, **config.to_table(chosen)}
    return Loaded(module.build(chosen), used, english=f"{name} is made for English")


def _load_ranker(folder: Path, asked: Asked) -> Loaded:
    if (asked.decode, asked.max_source) != (None, None):
        name = DEFAULT if folder == DEFAULT_FOLDER else folder
        raise ConfigError(f"{name} is a ranker: it has no decoding strategy or length to set")
    table: dict[str, Any] = {}
    for setting in asked.settings:
        config.override(table, setting)
    options = config.fill(RankerOptions, table, "ranker")
    writer = folder / GENERATOR
    generate = runtime.load(writer, threads=asked.threads).decode if is_exported(writer) else None
    ranker = Ranker(folder, options, generate)
    batch = asked.batch or default_batch(1)
    return Loaded(
        Batched(ranker, batch),
        {**ranker.description, "batch": batch},
        calibrated=True,
        most_words=ranker.manifest.most_words - 1,  # a mark parts title and body
    )


def _load_exported(folder: Path, asked: Asked) -> Loaded:
    if asked.decode not in (None, "greedy"):
        raise ConfigError(
            f"{folder} is an exported model: it decodes greedily, not by {asked.decode}"
        )
    loaded = runtime.load(
        folder,
        settings=asked.settings,
        batch=asked.batch,
        max_source=asked.max_source,
        threads=asked.threads,
    )
    confidence = folder / CONFIDENCE
    return Loaded(
        loaded,
        {**loaded.decode.description, "batch": loaded.batch},
        Recalibrator.from_json(confidence) if confidence.is_file() else None,
        token_probabilities=True,
    )


def _load_run(folder: Path, asked: Asked) -> Loaded:
    try:
        import torch

        from keywright.data.batch import make_batch
        from keywright.decoding import Decoder
        from keywright.training import run as runs
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError("a trained model", error.name, "train") from None

    if asked.threads is not None:
        torch.set_num_threads(asked.threads)
    run = runs.load(folder)
    strategy = _strategy(run.config.decode, asked.decode, asked.settings)
    decoder = Decoder(strategy, run.vocabulary, runs.paradigm(run.config))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model: Any = run.model.to(device)
    batch = asked.batch or default_batch(model.rows_per_document * decoder.beams)
    max_source = asked.max_source or source_length(run.config)

    def predict(documents: Sequence[Document]) -> list[Prediction]:
        return decoder(model, make_batch(documents, run.vocabulary, max_source).to(device))

    used = {
        "weights": _digest(run.model),
        "decode": decoder.settings,
        "batch": batch,
        "max_source": max_source,
    }
    return Loaded(Batched(predict, batch), used, token_probabilities=True)


def source_length(run: config.Config) -> int:
    positions: int = run.model.settings.get("positions", SOURCE)
    return max(run.data.max_source, min(SOURCE, positions))


def _digest(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return digest.hexdigest()


def _strategy(own: config.Part, name: str | None, settings: Sequence[str]) -> config.Part:
    """The run's own strategy or the one asked for, with settings put over it."""
    chosen = own if name in (None, own.name) else config.Part(str(name))
    table = dict(chosen.settings)
    for setting in settings:
        config.override(table, setting.removeprefix("decode."))
    return config.Part(chosen.name, table)
