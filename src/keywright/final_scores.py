"""The final scores of a run: the test documents of its config, predicted and scored.

predictions/1-NAME.jsonl    what the model predicts for the first file of `evaluate.documents`
scores.json                 the scores of all files

Predictions are continued after an interruption; finished scores are read and not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from keywright import predictor, protocols, runs
from keywright.config import Config
from keywright.data.corpus import digest
from keywright.data.documents import read_documents
from keywright.data.resumable import resumable_lines
from keywright.data.writers import prediction_line
from keywright.errors import ConfigError, DataError, KeywrightError
from keywright.evaluate import evaluate, resolve
from keywright.files import NOT_JSON
from keywright.predictor import LoadedModel
from keywright.progress import progress

PREDICTIONS = "predictions"
SCORES = "scores.json"
RESAMPLES = 1000


class FileScores(msgspec.Struct, frozen=True):
    """The scores of one file of documents; intervals are 95% bootstrap intervals."""

    documents: str
    count: int
    protocol: str
    signature: str
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]

    @property
    def name(self) -> str:
        return Path(self.documents).name.partition(".")[0]


def check(config: Config) -> None:
    """Check, before training starts, that the final scores can be computed."""
    try:
        resolve(_metrics(config), protocols.load(config.evaluate.protocol))
    except KeywrightError as error:
        raise ConfigError(f"evaluate.metrics: {error}") from None
    for number, documents in enumerate(config.evaluate.documents):
        try:
            next(iter(read_documents(documents, need_gold=True)), None)
        except DataError as error:
            raise ConfigError(
                f"evaluate.documents[{number}]: {error}; --set evaluate.documents=[] trains "
                "without final scores"
            ) from None


def final_scores(folder: Path) -> list[FileScores]:
    """The scores of a finished run, one entry for each file of `evaluate.documents`."""
    path = folder / SCORES
    if path.is_file():
        return _read(path)
    config = runs.read(folder)[0]
    if not config.evaluate.documents:
        return []
    loaded = predictor.load(folder)
    (folder / PREDICTIONS).mkdir(exist_ok=True)
    found = []
    for number, documents in enumerate(config.evaluate.documents, start=1):
        name = Path(documents).name.partition(".")[0]
        predicted = folder / PREDICTIONS / f"{number}-{name}.jsonl"
        _predict(loaded, documents, predicted)
        found.append(_score(config, documents, predicted))
    runs.write_whole(path, msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    return found


def _metrics(config: Config) -> Iterable[str]:
    return config.evaluate.metrics or ("standard",)


def _predict(loaded: LoadedModel, documents: str, output: Path) -> None:
    if output.exists():
        return
    described = digest(read_documents(documents))
    origin = {"documents": documents, "sha256": described.sha256, **loaded.settings}
    with resumable_lines(output, origin, resume=True) as lines:
        rest = predictor.after(loaded, read_documents(documents), lines.done)
        title = f"predicting {Path(documents).name}"
        for prediction in progress(rest, title, described.documents - lines.done):
            lines.append(prediction_line(prediction, lines.done + 1))


def _score(config: Config, documents: str, predictions: Path) -> FileScores:
    found = evaluate(
        documents,
        predictions,
        protocol=config.evaluate.protocol,
        metrics=_metrics(config),
        resamples=RESAMPLES,
        match="line",
    )
    return FileScores(
        documents, found.documents, found.protocol, found.signature, found.scores, found.intervals
    )


def _read(path: Path) -> list[FileScores]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[FileScores])
    except NOT_JSON as error:
        raise DataError(f"has no scores ({error}); remove it to compute them again", path) from None
