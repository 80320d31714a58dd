"""A Spark cluster, or the processors of this machine with Spark.

The data frame that Spark distributes has one row and one partition per shard: its number. A pandas
function makes the shard and returns what became of it, so that the documents never pass through the
driver or the JVM, and a shard is the same file as with every other engine. Spark makes the
partitions of lost executors again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from threading import Thread
from typing import TYPE_CHECKING, Any

from keywright.bulk import places
from keywright.bulk.engines import ATTEMPTS, Resources, require_reachable
from keywright.bulk.shard import Made, Shard, Task, found, make
from keywright.errors import ConfigError, KeywrightError, MissingExtraError

if TYPE_CHECKING:
    import pandas

SCHEMA = "name string, documents long, failures long, problem string"
SECONDS = 2.0  # between looks at the folder


def check(resources: Resources) -> None:
    _spark()
    if resources.gpus:
        raise ConfigError("--gpus is for --engine ray; give Spark's own settings for GPUs")
    require_reachable(resources.address)


def run(task: Task, shards: Sequence[Shard], resources: Resources) -> Generator[Made, None, None]:
    session, started = _session(resources)
    try:
        yield from _run(session, task, shards)
    finally:
        if started:
            session.stop()


def _run(session: Any, task: Task, shards: Sequence[Shard]) -> Generator[Made, None, None]:
    count = len(shards)
    frame = session.range(0, count, 1, count).mapInPandas(_maker(task, shards), SCHEMA)
    job: Future[list[Any]] = Future()
    Thread(target=_collect, args=(frame, job), daemon=True).start()
    reported: set[str] = set()
    try:
        # Spark says what became of the partitions when all are done; the folder tells earlier.
        while not job.done():
            wait([job], SECONDS)
            present = places.folder(task.output).names()
            for shard in shards:
                if shard.name in present and shard.name not in reported:
                    reported.add(shard.name)
                    yield found(task, shard)
        for row in _result(job):
            if row.name not in reported:
                yield Made(*row)
    finally:
        if not job.done():
            _cancel(session)


def _maker(
    task: Task, shards: Sequence[Shard]
) -> Callable[[Iterator[pandas.DataFrame]], Iterator[pandas.DataFrame]]:
    def made(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        import pandas

        for frame in frames:
            rows = [make(task, shards[number]) for number in frame["id"]]
            yield pandas.DataFrame(rows, columns=list(Made._fields))

    return made


def _collect(frame: Any, job: Future[list[Any]]) -> None:
    try:
        job.set_result(frame.collect())
    except BaseException as error:
        job.set_exception(error)


def _result(job: Future[list[Any]]) -> list[Any]:
    try:
        return job.result()
    except Exception as error:
        raise KeywrightError(f"Spark ended the job: {_reason(error)}") from None


def _cancel(session: Any) -> None:
    if hasattr(session, "interruptAll"):  # Spark Connect, which has no context
        session.interruptAll()
    else:
        session.sparkContext.cancelAllJobs()


def _session(resources: Resources) -> tuple[Any, bool]:
    """The session of the program that called, or a new one, and whether it is new."""
    sql = _spark()
    if (active := sql.SparkSession.getActiveSession()) is not None:
        return active, False
    address = resources.address or f"local[{resources.workers or '*'},{ATTEMPTS}]"
    builder = sql.SparkSession.builder.appName("keywright bulk")
    if address.startswith("sc://"):
        return _created(builder.remote(address), address), True
    if address.startswith("local"):  # the workers of this machine need the same packages
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, object] = {
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": ATTEMPTS,
        "spark.task.cpus": resources.cpus,
    }
    if resources.address is None:
        settings |= {"spark.ui.enabled": "false", "spark.driver.host": "localhost"}
    elif resources.workers is not None:
        settings["spark.cores.max"] = resources.workers * resources.cpus
    for name, value in settings.items():
        builder = builder.config(name, str(value))
    return _created(builder.master(address), address), True


def _created(builder: Any, address: str) -> Any:
    try:
        return builder.getOrCreate()
    except Exception as error:  # of Java, of Python or of the connection
        raise KeywrightError(f"no Spark at {address}: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _spark() -> Any:
    try:
        from pyspark import sql
    except ModuleNotFoundError:
        raise MissingExtraError("--engine spark", "pyspark", "spark") from None
    return sql
