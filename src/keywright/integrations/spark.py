"""Keyphrases as a column of a Spark data frame."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

from keywright.errors import MissingExtraError
from keywright.generation.engine import Options, selection_of
from keywright.generation.found import Keyphrases
from keywright.generation.job import Job, engine
from keywright.predictor import DEFAULT

try:
    import pandas
    from pyspark.sql import Column
    from pyspark.sql.functions import pandas_udf
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("pyspark", "pandas", "pyarrow", "py4j"):
        raise
    raise MissingExtraError("keyphrases of Spark columns", str(error.name), "spark") from None

SCHEMA = (
    "array<struct<text: string, probability: double, present: boolean, "
    "places: array<struct<start: int, end: int>>>>"
)


def keyphrases(
    column: str | Column, model: str | Path = DEFAULT, **options: Unpack[Options]
) -> Column:
    """The keyphrases of every text of a column, best first; a missing text has none.

    Each is a struct of text, probability, present and places. The options are those of
    `Keywright.generate`. Every Python worker loads the model once, and uses one thread.

        frame.withColumn("keyphrases", keyphrases("abstract", top=5))
        frame.select("id", keyphrases("abstract").text.alias("phrases"))
    """
    job = Job(str(model), selection_of(None, options), threads=1)
    return _function(job)(column)


def _function(job: Job) -> Any:
    def find(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        model = engine(job)
        for batch in batches:
            found = model.stream(batch, job.selection)
            yield pandas.Series([_structs(phrases) for phrases in found], dtype=object)

    return pandas_udf(find, SCHEMA)


def _structs(found: Keyphrases) -> list[dict[str, Any]]:
    return [
        {
            "text": phrase.text,
            "probability": phrase.probability,
            "present": phrase.present,
            "places": [{"start": start, "end": end} for start, end in phrase.places],
        }
        for phrase in found
    ]
