"""Ray and Spark make the same files as the local engine, also when workers are killed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keywright.bulk.engines import Resources
from keywright.bulk.run import Status, run
from tests.bulk.conftest import MODEL, content, documents, write
from tests.bulk.test_kills import request

pytestmark = pytest.mark.slow


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", documents(60))


@pytest.fixture
def expected(table: Path, tmp_path: Path) -> dict[str, bytes]:
    run(request(table, tmp_path / "whole"))
    return content(tmp_path / "whole")


def test_a_ray_cluster_that_loses_a_node(
    table: Path, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    ray = pytest.importorskip("ray", reason="needs keywright[ray]")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    lost: list[Any] = []

    def lose(status: Status) -> None:
        if status.shards_done and not lost:
            lost.append(node)
            cluster.remove_node(node, allow_graceful=False)

    try:
        wanted = replace(
            request(table, tmp_path / "out"),
            engine="ray",
            resources=Resources(address=cluster.address),
        )
        done = run(wanted, lose)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert done.complete
    assert lost
    assert content(tmp_path / "out") == expected


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="needs keywright[spark] and Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "localhost"}
    builder = sql.SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_spark(table: Path, tmp_path: Path, expected: dict[str, bytes], spark: Any) -> None:
    from keywright import Keywright
    from keywright.integrations.spark import keyphrases

    done = run(replace(request(table, tmp_path / "out"), engine="spark"))
    assert done.complete
    assert content(tmp_path / "out") == expected

    texts = [documents(1)[0]["abstract"], None]
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")
    found = frame.select("id", keyphrases("text", MODEL, top=2).alias("found")).collect()
    by_id = {row.id: row.found for row in found}
    assert by_id[1] == []
    for row, phrase in zip(by_id[0], Keywright(MODEL).generate(texts[0] or "", top=2), strict=True):
        assert (row.text, row.present) == (phrase.text, phrase.present)
        assert [(place.start, place.end) for place in row.places] == list(phrase.places)
