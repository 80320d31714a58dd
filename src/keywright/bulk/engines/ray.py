"""A Ray cluster, or the processors of this machine with Ray.

Shards are plain tasks, not a Ray Data pipeline: the plan already cuts the input and a shard already
writes its own file, so that the blocks of Ray Data would be cut a second time and written under
names that change from run to run. Tasks need no actors either: Ray keeps the process of a task for
the next one, in which `job.engine` still has the model; it repeats the tasks of lost workers and
nodes; and new nodes get tasks as soon as they join.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import islice
from typing import Any

from keywright.bulk.engines import ATTEMPTS, Resources, lost, require_reachable
from keywright.bulk.shard import Made, Shard, Task, make
from keywright.errors import ConfigError, KeywrightError, MissingExtraError

QUEUED = 2  # tasks for each place of the cluster: one runs, one waits


def check(resources: Resources) -> None:
    _ray()
    require_reachable(resources.address)


def run(task: Task, shards: Sequence[Shard], resources: Resources) -> Generator[Made, None, None]:
    ray = _ray()
    started = _connect(ray, resources)
    try:
        yield from _run(ray, task, shards, resources)
    finally:
        if started:
            ray.shutdown()


def _run(
    ray: Any, task: Task, shards: Sequence[Shard], resources: Resources
) -> Generator[Made, None, None]:
    # A process that has used a GPU ends after its task by default, and the model with it.
    remote = ray.remote(
        num_cpus=resources.cpus, num_gpus=resources.gpus, max_retries=ATTEMPTS, max_calls=0
    )(make)
    shared = ray.put(task)
    left = iter(shards)
    running: dict[Any, Shard] = {}
    while True:
        room = _room(ray, resources) - len(running)
        running |= {remote.remote(shared, shard): shard for shard in islice(left, max(0, room))}
        if not running:
            return
        for reference in ray.wait(list(running), timeout=10)[0]:
            yield _result(ray, reference, running.pop(reference))


def _result(ray: Any, reference: Any, shard: Shard) -> Made:
    try:
        made: Made = ray.get(reference)
    except (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.OutOfMemoryError,
        ray.exceptions.ObjectLostError,
    ):
        return Made(shard.name, problem=lost(shard.name))
    return made


def _room(ray: Any, resources: Resources) -> int:
    """How many shards to have in the cluster, whose size may change."""
    if resources.workers is not None:
        return resources.workers
    there = ray.cluster_resources()
    places = there.get("CPU", 0) / resources.cpus
    if resources.gpus:
        places = min(places, there.get("GPU", 0) / resources.gpus)
    return QUEUED * max(1, int(places))


def _connect(ray: Any, resources: Resources) -> bool:
    """Whether this process was connected here, rather than by the program that called."""
    if ray.is_initialized():
        return False
    processors = None if resources.address else (resources.workers or 0) * resources.cpus or None
    try:
        ray.init(
            address=resources.address or "local",
            num_cpus=processors,
            include_dashboard=False if resources.address is None else None,
            log_to_driver=False,
            logging_level="ERROR",
        )
    except (ray.exceptions.RayError, RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        where = resources.address or "this machine"
        raise KeywrightError(f"no Ray cluster at {where}: {reason}") from None
    _require_resources(ray, resources)
    return True


def _require_resources(ray: Any, resources: Resources) -> None:
    """A task that no node can run would wait for ever."""
    for name, wanted in (("CPU", resources.cpus), ("GPU", resources.gpus)):
        most = max((node["Resources"].get(name, 0) for node in ray.nodes()), default=0)
        if wanted > most:
            ray.shutdown()
            raise ConfigError(
                f"a worker is to have {wanted:g} {name}s, but no node of the cluster has more than "
                f"{most:g}"
            )


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtraError("--engine ray", "ray", "ray") from None
    return ray
