"""Where shards are made: one file per engine, whose name is that of `--engine`.

An engine exposes `run(task, shards, resources)`: it calls `shard.make(task, shard)` for every shard
and yields what each became, in any order. When a worker is lost, its shard is made again, up to
`ATTEMPTS` times. `check(resources)`, where an engine has it, reports at the start what is missing.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from keywright.errors import KeywrightError

ATTEMPTS = 10  # of a shard whose workers are lost
SECONDS = 10.0  # to connect to a cluster


@dataclass(frozen=True)
class Resources:
    """`workers` is the number of workers (None: all that there are), each with `cpus` and
    `gpus` of its own; `address` is that of a cluster."""

    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0
    address: str | None = None


def require_reachable(address: str | None) -> None:
    """An error at the start if nothing listens at HOST:PORT; libraries try for many minutes.

    Other addresses, such as `auto` and `yarn`, are for the library to find.
    """
    hosts = [] if address is None else address.rpartition("://")[2].split("/")[0].split(",")
    problem = None
    for host in hosts:
        name, _, port = host.rpartition(":")
        if not name or not port.isdecimal():
            return
        try:
            socket.create_connection((name.strip("[]"), int(port)), SECONDS).close()
            return
        except (OSError, OverflowError) as error:
            problem = error
    if problem is not None:
        raise KeywrightError(f"no cluster at {address}: {problem}; start one, or correct --address")


def lost(name: str) -> str:
    """The problem of a shard that was given up."""
    return (
        f"{name}: {ATTEMPTS} workers were lost while they made this shard, perhaps because memory "
        "ran out; try a smaller --shard-size or fewer --workers"
    )
