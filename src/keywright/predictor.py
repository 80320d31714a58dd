"""Predictors: documents in, predictions out, whatever model makes them.

`load` finds one by name: "default" is the model that comes with the package; other names are the
folder of a trained run or of an exported model, an extractor such as `textrank`, `hf:` and a
pretrained model of transformers (a folder or a name on the hub), or `llm:NAME@URL`, a language
model behind an endpoint. Torch is imported only for trained runs and pretrained models.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from keywright import config, parts, runtime
from keywright.calibration.recalibrate import Recalibrator
from keywright.decoding.batched import Batched, default_batch
from keywright.errors import ConfigError, DataError, MissingExtraError, nearest
from keywright.ranking.adapted import BASE, AdaptedOptions, AdaptedRanker, is_adapted
from keywright.ranking.model import GENERATOR, Ranker, RankerOptions, is_ranker
from keywright.ranking.terms import PhraseScorer, TermRanker
from keywright.runtime.folder import CONFIDENCE, is_exported
from keywright.types import Document, Prediction

if TYPE_CHECKING:
    from torch import nn

    from keywright.decoding.decoder import Decoder
    from keywright.runs import Run

EXTRACTORS = "keywright.extractors"
PRETRAINED = "hf:"
LANGUAGE_MODEL = "llm:"
FORMAT = "format="
OTHER_LANGUAGES = "statistical"  # the extractor for texts that the default model cannot read
DEFAULT = "default"
DEFAULT_FOLDER = Path(__file__).parent / "default_model"


class Predictor(Protocol):
    """Anything that predicts keyphrases."""

    @property
    def window(self) -> int | None:
        """How many consecutive documents, counted from the first, may influence each other's
        predictions (documents decoded together differ in the last bits); None: all of them."""

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """One prediction for every document, in their order, streamed."""


Direction = Callable[[Iterable[str]], NDArray[np.float32]]
"""The stems of a text -> a vector [D] of length 1, or 0 if no stem is known."""


@dataclass(frozen=True)
class LoadedModel:
    """A predictor and, in `settings`, everything that its predictions depend on besides documents.

    `confidence` turns the scores of phrases into the probability that they are correct. `english`
    says why documents should be English; None if any language is fine.
    """

    predictor: Predictor
    settings: Mapping[str, Any]
    confidence: Recalibrator | None = None
    english: str | None = None
    calibrated: bool = False  # whether the predictor's own confidences are probabilities
    states_confidence: bool = False  # whether it states any, as good as its training made them
    most_words: int | None = None  # of a document that are read; None if tokens are counted
    token_probabilities: bool = False  # whether phrases come with the probabilities of tokens
    direction: Direction | None = None  # what a text means, if the model knows
    words_read: Callable[[Document], int] | None = None  # at once, if this depends on the document
    is_familiar: Callable[[Document], bool] | None = None  # is a text like those it learned from?
    knows_words: Callable[[Document], bool] | None = None  # are most words of a text known?
    phrase_scorer: PhraseScorer | None = None  # scores given phrases, such as terms
    elsewhere: Predictor | None = None  # for texts in other languages than English
    summary: Callable[[], str] | None = None  # what the predictions so far took

    def with_terms(self, names: Iterable[str]) -> LoadedModel:
        """The same model with these terms among its phrases, if it can score given phrases."""
        if self.phrase_scorer is None:
            return self
        return replace(
            self, predictor=Batched(TermRanker(self.phrase_scorer, names), default_batch(1))
        )

    @property
    def window(self) -> int | None:
        return self.predictor.window

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """The recommended phrases of each document; `predictor` itself returns all candidates."""
        if self.confidence is None:
            found = self.predictor.predict(documents)
        else:
            found = self._judged_stream(documents)
        return (prediction.recommended for prediction in found)

    def judged(self, document: Document, prediction: Prediction) -> Prediction:
        """A prediction with the confidence of every phrase added.

        For callers that pass parts of a document to `predictor`: only the whole document tells
        whether and where a phrase is present.
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
) -> LoadedModel:
    """The predictor that `model` names: "default", the folder of a model, or an extractor.

    `decode` is the decoding strategy of a trained model, by default that of its config; `settings`
    are KEY=VALUE settings of that strategy or of the extractor; `batch` is how many documents are
    decoded together, `max_source` how many tokens of each are read, and `threads` how many threads
    a model uses. `calibration` is a file that `keywright calibrate --fit` wrote for this model: the
    confidences of phrases are then probabilities for documents like those it was fitted on.
    """
    options = LoadOptions(decode, tuple(settings), batch, max_source, threads)
    loaded = _named(model, options)
    return loaded if calibration is None else _recalibrated(loaded, model, Path(calibration))


def _recalibrated(loaded: LoadedModel, model: str | Path, path: Path) -> LoadedModel:
    confidence = Recalibrator.from_json(path)
    if confidence.source == "stated" and not (loaded.calibrated or loaded.states_confidence):
        raise ConfigError(
            f"{path} was fitted to probabilities that predictions state, and {model} states none; "
            "fit it with --confidence kpp"
        )
    if confidence.source == "kpp" and not loaded.token_probabilities:
        raise ConfigError(
            f"{path} was fitted to token probabilities, and {model} has none; fit it to the "
            "predictions of this model"
        )
    used = {**loaded.settings, "calibration": hashlib.sha256(confidence.to_json()).hexdigest()}
    return replace(loaded, confidence=confidence, settings=used)


def _named(model: str | Path, options: LoadOptions) -> LoadedModel:
    if str(model) == DEFAULT:
        _check_default()
        return replace(
            _load(DEFAULT_FOLDER, options),
            english="the model was trained on English",
            elsewhere=_load_extractor(OTHER_LANGUAGES, ()).predictor,
        )
    if str(model).startswith(PRETRAINED):
        return _load_pretrained(str(model).removeprefix(PRETRAINED), options)
    if str(model).startswith(LANGUAGE_MODEL):
        return _load_language_model(str(model), options)
    if Path(model).exists():
        return _load(Path(model), options)
    known = parts.names(EXTRACTORS)
    if str(model) not in known:
        hint = nearest(str(model), [DEFAULT, *known])
        raise DataError(f"is neither the folder of a model nor an extractor{hint}", model)
    if (options.decode, options.batch, options.max_source) != (None, None, None):
        raise ConfigError(
            f"{model} is an extractor: it has no decoding strategy, batch or source length"
        )
    return _load_extractor(str(model), options.settings)


@dataclass(frozen=True)
class LoadOptions:
    """How a model is to be used; None stands for the model's own default."""

    decode: str | None
    settings: tuple[str, ...]
    batch: int | None
    max_source: int | None
    threads: int | None


def _load(folder: Path, options: LoadOptions) -> LoadedModel:
    if is_adapted(folder):
        return _load_adapted(folder, options)
    if is_ranker(folder):
        return _load_ranker(folder, options)
    if is_exported(folder):
        return _load_exported(folder, options)
    return _load_run(folder, options)


def after(predictor: Predictor, documents: Iterable[Document], done: int) -> Iterator[Prediction]:
    """The predictions after the first `done`, bit for bit as if all had been made at once."""
    again = done if predictor.window is None else done % predictor.window
    rest = islice(documents, done - again, None)
    return islice(predictor.predict(rest), again, None)


def _check_default() -> None:
    if not (is_ranker(DEFAULT_FOLDER) or is_exported(DEFAULT_FOLDER)):
        raise ConfigError(
            "this installation of keywright has no default model; install a release that has it, "
            "or name another model: a folder, or " + " or ".join(parts.names(EXTRACTORS))
        )


def _load_extractor(name: str, settings: Sequence[str]) -> LoadedModel:
    table: dict[str, Any] = {}
    for setting in settings:
        config.override(table, setting)
    module, chosen = config.part(config.Part(name, table), EXTRACTORS, name)
    used = {"extractor": name, **config.to_table(chosen)}
    return LoadedModel(module.build(chosen), used, english=f"{name} is made for English")


def _load_ranker(folder: Path, options: LoadOptions) -> LoadedModel:
    if (options.decode, options.max_source) != (None, None):
        name = DEFAULT if folder == DEFAULT_FOLDER else folder
        raise ConfigError(f"{name} is a ranker: it has no decoding strategy or source length")
    table: dict[str, Any] = {}
    for setting in options.settings:
        config.override(table, setting)
    selection = config.fill(RankerOptions, table, "ranker")
    ranker = open_ranker(folder, selection, options.threads)
    batch = options.batch or default_batch(1)
    return LoadedModel(
        Batched(ranker, batch),
        {**ranker.description, "batch": batch},
        calibrated=True,
        most_words=ranker.manifest.most_words - 1,  # a mark separates title and body
        direction=ranker.direction,
        is_familiar=ranker.is_familiar,
        knows_words=ranker.knows_words,
        words_read=ranker.words_read,
        phrase_scorer=ranker,
    )


def open_ranker(
    folder: Path, selection: RankerOptions | None = None, threads: int | None = None
) -> Ranker:
    """The ranker of a folder, with its generator if it has one."""
    generator = folder / GENERATOR
    generate = runtime.load(generator, threads=threads).decode if is_exported(generator) else None
    return Ranker(folder, selection or RankerOptions(), generate)


def ranker_folder(model: str | Path) -> Path:
    """The folder of the ranker that `model` names: "default", or a folder."""
    if str(model) == DEFAULT:
        _check_default()
    folder = DEFAULT_FOLDER if str(model) == DEFAULT else Path(model)
    if is_adapted(folder):
        raise DataError(
            "is adapted already; adapt the model that it was made from, with all documents", model
        )
    if not is_ranker(folder):
        raise DataError(
            "is not a ranker, the only kind of model that can be adapted; name the folder of one, "
            f"or {DEFAULT}",
            model,
        )
    return folder


def _load_adapted(folder: Path, options: LoadOptions) -> LoadedModel:
    if (options.decode, options.max_source) != (None, None):
        raise ConfigError(f"{folder} is a ranker: it has no decoding strategy or source length")
    table: dict[str, Any] = {}
    for setting in options.settings:
        config.override(table, setting)
    selection = config.fill(AdaptedOptions, table, "ranker")
    base = open_ranker(folder / BASE, threads=options.threads)
    ranker = AdaptedRanker(folder, selection, base)
    batch = options.batch or default_batch(1)
    return LoadedModel(
        Batched(ranker, batch),
        {**ranker.description, "batch": batch},
        english="the model was trained on English",
        calibrated=True,
        most_words=base.manifest.most_words - 1,  # a mark separates title and body
        direction=base.direction,
        words_read=base.words_read,
        phrase_scorer=ranker,
    )


def _load_exported(folder: Path, options: LoadOptions) -> LoadedModel:
    loaded = runtime.load(
        folder,
        decode=options.decode,
        settings=options.settings,
        batch=options.batch,
        max_source=options.max_source,
        threads=options.threads,
    )
    confidence = folder / CONFIDENCE  # fitted to greedy search
    fitted = confidence.is_file() and options.decode in (None, "greedy")
    return LoadedModel(
        loaded,
        {**loaded.decode.description, "batch": loaded.batch},
        Recalibrator.from_json(confidence) if fitted else None,
        states_confidence=loaded.decode.rules.states_confidence,
        token_probabilities=True,
    )


def _load_run(folder: Path, options: LoadOptions) -> LoadedModel:
    with _needs_torch("a trained model"):
        from keywright import runs

        return _of_run(runs.load(folder), options)


def _load_pretrained(weights: str, options: LoadOptions) -> LoadedModel:
    """A pretrained model without training. By default documents and phrases are written as for
    KeyBART; `format=NAME` selects another format of `lexicons.tokenizer`."""
    forms = [s.removeprefix(FORMAT) for s in options.settings if s.startswith(FORMAT)]
    others = tuple(s for s in options.settings if not s.startswith(FORMAT))
    with _needs_torch("a pretrained model"):
        from keywright import runs

        run = runs.pretrained(weights, forms[-1] if forms else "keybart")
        return _of_run(run, replace(options, settings=others))


def _load_language_model(name: str, options: LoadOptions) -> LoadedModel:
    from keywright.llm import predictor as llm

    if (options.decode, options.batch) != (None, None):
        raise ConfigError(
            f"{name} is behind an endpoint: it has no decoding strategy or batch; see the settings "
            "temperature, samples and concurrency"
        )
    model = llm.load(name, options.settings, options.max_source)
    return LoadedModel(
        model,
        model.settings,
        most_words=model.config.max_words,
        token_probabilities=model.config.logprobs,
        summary=model.summary,
    )


@contextmanager
def _needs_torch(what: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("keywright"):
            raise
        raise MissingExtraError(what, error.name, "train") from None


def _of_run(run: Run, options: LoadOptions) -> LoadedModel:
    import torch

    from keywright import runs
    from keywright.data.batch import make_batch

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    run.model.to(device)
    decoder = _decoder(run, options)
    decode = run.model.predictor(run.vocabulary, partial(decoder, run.model))
    rows = run.model.rows_per_document * decoder.beams
    batch = options.batch or default_batch(rows)
    max_source = options.max_source or runs.source_length(run.config)
    runs.require_positions(run.config, max_source)

    def predict(documents: Sequence[Document]) -> list[Prediction]:
        with torch.inference_mode():
            return decode(make_batch(documents, run.vocabulary, max_source).to(device))

    used = {
        "weights": _digest(run.model),
        "decode": decoder.settings,
        "batch": batch,
        "max_source": max_source,
    }
    return LoadedModel(
        Batched(predict, batch),
        used,
        states_confidence=decoder.rules.states_confidence and run.model.generated == "all",
        token_probabilities=True,
    )


def _decoder(run: Run, options: LoadOptions) -> Decoder:
    from keywright.decoding.decoder import Decoder
    from keywright.decoding.options import overridden

    strategy = overridden(run.config.decode, options.decode, options.settings)
    return Decoder(strategy, run.vocabulary, run.model.paradigm)


def _digest(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return digest.hexdigest()
