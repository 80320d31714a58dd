"""Long requests run in processes of their own, which end when nobody waits for them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from keywright.serving.batcher import ClosedError, QueueFullError
from keywright.serving.lane import LongLane, WorkerDiedError
from tests.serving.test_app import ASK, ask, until_waiting
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
    return asyncio.run(asyncio.wait_for(coroutine, 300))


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


async def _short_requests(address: str) -> None:
    """Short requests are answered while hostile ones are still being processed."""
    async with httpx.AsyncClient(base_url=address, timeout=600) as client:
        asked = {"text": HOSTILE}
        hostile = [asyncio.create_task(client.post(ASK, json=asked)) for _ in range(3)]
        await until_waiting(client, len(hostile))
        for _ in range(20):
            answer = await client.post(ASK, json={"text": TEXT})
            assert answer.status_code == 200
        # Each takes hundreds of times as long as a short one.
        assert not any(task.done() for task in hostile)
        for task in hostile:
            task.cancel()


@pytest.mark.slow
def test_short_requests_do_not_wait_for_hostile_ones() -> None:
    """How long they take is measured by `python -m bench.hostile`, on a quiet machine."""
    with serving("--model", "default", "--max-seconds", "600") as server:
        asyncio.run(_short_requests(server.address))
