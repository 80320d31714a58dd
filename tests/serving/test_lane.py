"""Long requests run in processes of their own, which end when nobody waits for them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from keywright.serving.batcher import ClosedError, QueueFullError
from keywright.serving.lane import LongLane, WorkerDiedError
from tests.serving.test_app import ASK, ask
from tests.serving.test_server import TEXT, serving

T = TypeVar("T")


def work(items: Sequence[str]) -> list[str]:
    """The items in upper case; some commands misbehave."""
    for item in items:
        if item.startswith("spin "):  # and tell who spins
            Path(item.removeprefix("spin ")).write_text(str(os.getpid()), encoding="utf-8")
            while True:
                pass
        if item == "fail":
            raise ValueError("a secret")
        if item == "die":
            os._exit(1)
    return [item.upper() for item in items]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 60))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_come_in_their_order_and_errors_end_nothing() -> None:
    async def use() -> None:
        lane = LongLane(work, workers=1, capacity=4)
        assert await lane.submit(["a", "b"]) == ["A", "B"]
        with pytest.raises(RuntimeError, match="ValueError") as error:
            await lane.submit(["fail"])
        assert "secret" not in str(error.value)
        with pytest.raises(WorkerDiedError):
            await lane.submit(["die"])
        assert await lane.submit(["c"]) == ["C"]
        await lane.close()
        with pytest.raises(ClosedError):
            await lane.submit(["d"])

    run(use())


def test_cancelled_work_ends_and_the_next_request_is_processed(tmp_path: Path) -> None:
    told = tmp_path / "pid"

    async def use() -> None:
        lane = LongLane(work, workers=1, capacity=2)
        spinning = asyncio.create_task(lane.submit([f"spin {told}"]))
        while not (told.exists() and told.read_text()):
            await asyncio.sleep(0.02)
        pid = int(told.read_text())
        waiting = asyncio.create_task(lane.submit(["a"]))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError):
            await lane.submit(["b"])
        assert is_running(pid)
        spinning.cancel()
        await asyncio.gather(spinning, return_exceptions=True)
        assert not is_running(pid)
        assert await waiting == ["A"]
        await lane.close()

    run(use())


def test_a_long_text_gets_the_same_answer_as_a_short_one() -> None:
    long = ask({"text": "Bees dance. " * 1000, "top": 1}).json()["documents"][0]
    short = ask({"text": "Bees dance.", "top": 1}).json()["documents"][0]
    assert long["keyphrases"] == short["keyphrases"]


HOSTILE = "1." * 199_000


async def _short_requests(address: str) -> list[float]:
    """The seconds that short requests take while hostile ones are being processed."""
    taken = []
    async with httpx.AsyncClient(timeout=60) as client:
        asked = {"text": HOSTILE}
        hostile = [
            asyncio.create_task(client.post(f"{address}{ASK}", json=asked)) for _ in range(3)
        ]
        await asyncio.sleep(1)
        for _ in range(50):
            began = time.monotonic()
            answer = await client.post(f"{address}{ASK}", json={"text": TEXT})
            taken.append(time.monotonic() - began)
            assert answer.status_code == 200
        for task in hostile:
            task.cancel()
    return taken


@pytest.mark.slow
def test_short_requests_do_not_wait_for_hostile_ones() -> None:
    with serving("--model", "default") as server:
        taken = sorted(asyncio.run(_short_requests(server.address)))
        assert taken[-2] < 1
