"""`keywright bulk` under kills: is every document there once, and the output the same?

    python -m bench.bulk_kills local documents.jsonl --documents 20000 --kills 100
    python -m bench.bulk_kills ray documents.jsonl --documents 200000
    python -m bench.bulk_kills spark documents.jsonl --documents 200000

The documents are repeated with new ids. `local` kills the driver (kill -9) at random moments and
starts the same command again. `ray` starts a cluster of three nodes and kills a worker every few
seconds and a node twice, which is replaced; `spark` kills a worker process every few seconds and an
executor twice. Afterwards every file is compared with what the local engine writes without kills.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from keywright import Selection
from keywright.bulk.engines import Resources
from keywright.bulk.plan import ColumnNames
from keywright.bulk.run import Request, Status, run
from keywright.data.documents import read_documents
from keywright.generation.job import Job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engine", choices=("local", "ray", "spark"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--shard-size", type=int, default=500)
    parser.add_argument("--kills", type=int, default=100, help="of the driver, with `local`")
    parser.add_argument("--model", default="rake")
    parser.add_argument("--seconds", type=float, default=5.0, help="between kills of workers")
    parser.add_argument("--titles", action="store_true", help="only titles, for slow machines")
    parser.add_argument("--folder", type=Path, default=Path("build/bulk-kills"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    table = arguments.folder / f"documents-{arguments.documents}.jsonl"
    if not table.exists():
        repeat_documents(arguments.files, arguments.documents, table, arguments.titles)
    whole = arguments.folder / f"whole-{arguments.documents}"
    began = time.perf_counter()
    run(request(arguments, table, whole, "local", Resources(2)))
    print(f"without kills: {time.perf_counter() - began:.0f} s", flush=True)
    out = arguments.folder / f"killed-{arguments.engine}-{arguments.documents}"
    began = time.perf_counter()
    kills = {"local": kill_driver, "ray": kill_ray, "spark": kill_spark}[arguments.engine](
        arguments, table, out
    )
    print(f"{kills}: {time.perf_counter() - began:.0f} s", flush=True)
    compare(whole, out, arguments.documents)


def repeat_documents(files: list[Path], count: int, output: Path, titles: bool) -> None:
    """A table of `count` documents: those of the files again and again, with new ids."""
    documents = [document for file in files for document in read_documents(file)]
    chosen = islice(chain.from_iterable(repeat(documents)), count)
    draft = output.with_suffix(".part")
    with draft.open("w", encoding="utf-8") as file:
        for number, document in enumerate(chosen):
            row = {"id": f"d{number}", "text": document.title if titles else document.text}
            file.write(json.dumps(row) + "\n")
    draft.rename(output)


def request(
    arguments: argparse.Namespace, table: Path, out: Path, engine: str, resources: Resources
) -> Request:
    job = Job(arguments.model, Selection(), 1)
    columns = ColumnNames()
    size = arguments.shard_size
    return Request([str(table)], str(out), job, columns, "jsonl", size, engine, resources)


def kill_driver(arguments: argparse.Namespace, table: Path, out: Path) -> str:
    command = [sys.executable, "-m", "keywright", "bulk", str(table), "--output", str(out)]
    command += ["--model", arguments.model, "--workers", "2"]
    command += ["--shard-size", str(arguments.shard_size)]
    moments = random.Random(1)
    killed = finished = 0
    while killed < arguments.kills:
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            process.wait(moments.uniform(0.1, 6.0))
            finished += 1
            for shard in out.glob("part-*"):  # done: let the rest of the kills have work
                if moments.random() < 0.5:
                    shard.unlink()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return f"{killed} kills of the driver; {finished} runs were complete before theirs"


class Killer(threading.Thread):
    """Kills a random process of those that `choose` finds, every few seconds."""

    def __init__(self, choose: Callable[[], list[int]], seconds: float) -> None:
        super().__init__(daemon=True)
        self._seconds = seconds
        self.kills = 0
        self._choose = choose
        self._stop_event = threading.Event()
        self._random = random.Random(2)

    def run(self) -> None:
        while not self._stop_event.wait(self._random.uniform(0.5, 1.5) * self._seconds):
            if found := self._choose():
                os.kill(self._random.choice(found), signal.SIGKILL)
                self.kills += 1

    def stop(self) -> None:
        self._stop_event.set()
        self.join()


def kill_ray(arguments: argparse.Namespace, table: Path, out: Path) -> str:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    lost: list[float] = []

    def lose(status: Status) -> None:
        """A node at a third and at two thirds."""
        if status.documents_done / status.documents > (len(lost) + 1) / 3 and len(lost) < 2:
            lost.append(status.documents_done)
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=1))

    killer = Killer(lambda: list(own_processes("ray::make")), arguments.seconds)
    killer.start()
    try:
        run(request(arguments, table, out, "ray", Resources(address=cluster.address)), lose)
    finally:
        killer.stop()
        ray.shutdown()
        cluster.shutdown()
    return f"Ray, 3 nodes, {killer.kills} kills of workers, {len(lost)} of nodes"


def kill_spark(arguments: argparse.Namespace, table: Path, out: Path) -> str:
    lost: list[int] = []

    def lose(status: Status) -> None:
        executors = list(own_processes("CoarseGrainedExecutorBackend"))
        if status.documents_done / status.documents > (len(lost) + 1) / 3 and len(lost) < 2:
            os.kill(executors[0], signal.SIGKILL)
            lost.append(executors[0])

    killer = Killer(lambda: list(own_processes("pyspark.daemon"))[1:], arguments.seconds)
    killer.start()
    try:
        address = "local-cluster[2,1,1024]"
        run(request(arguments, table, out, "spark", Resources(address=address)), lose)
    finally:
        killer.stop()
    return f"Spark, 2 executors, {killer.kills} kills of workers, {len(lost)} of executors"


def own_processes(words: str) -> Iterator[int]:
    """The descendants of this process whose command line has these words."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = (int(fields[1]), (entry / "cmdline").read_bytes())
            except (FileNotFoundError, ProcessLookupError):
                continue
    for process, (_, command) in parents.items():
        above = process
        while above in parents and above != os.getpid():
            above = parents[above][0]
        if above == os.getpid() and words.encode() in command:
            yield process


def compare(whole: Path, out: Path, documents: int) -> None:
    """Equal files, and every id once."""
    names = sorted(path.name for path in whole.iterdir())
    assert sorted(path.name for path in out.iterdir()) == names
    ids = []
    for name in names:
        content = (out / name).read_bytes()
        assert content == (whole / name).read_bytes(), name
        if name.startswith("part-"):
            ids += [json.loads(line)["id"] for line in content.splitlines()]
    assert len(ids) == len(set(ids)) == documents
    print(f"{len(names)} files are equal; each of {documents:,} documents is there once")


if __name__ == "__main__":
    main()
