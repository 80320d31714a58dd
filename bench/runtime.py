"""How fast exported models decode: documents/s compared with torch, load time, size, memory.

    python bench/runtime.py [--model pretrained_one2set | cat_seq] [--documents 32] [--run FOLDER]

A model with default sizes, with random weights unless --run names a trained run, is exported with
32-bit numbers and with int8, and decodes the same random documents as torch does, with the same
strategy (greedy, 30 tokens per document: five phrases of about five wordpieces and their
separators; 20 tokens for models with a vocabulary of words). Every cell is measured in its own
process, after one warm-up batch.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

ENGINES = ("torch", "fp32", "int8")
BATCHES = (1, 8, 32)
LENGTHS = (128, 192, 512)
THREADS = (1, 2)
GENERATED = {"wordpieces": 30, "words": 20}  # tokens per document
OUTPUTS = 12_000  # of MiniLM's 30,522 wordpieces
WORDS = 30_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="pretrained_one2seq")
    parser.add_argument("--run", type=Path, help="a trained run instead of random weights")
    parser.add_argument("--documents", type=int, default=32)
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--cell", help=argparse.SUPPRESS)  # for the process of a cell
    arguments = parser.parse_args()
    if arguments.cell:
        print(json.dumps(cell(**json.loads(arguments.cell))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        run = arguments.run or random_run(Path(scratch) / "run", arguments.model)
        folders = exported(run, Path(scratch))
        table(folders, arguments)


def table(folders: dict[str, Path], arguments: argparse.Namespace) -> None:
    print("| threads | source | batch | engine | documents/s | of torch | CPU ms/document | MB |")
    print("| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for threads in arguments.threads:
        for length in arguments.lengths:
            for batch in arguments.batches:
                base = 0.0
                for engine in ENGINES:
                    made = measure(folders[engine], engine, threads, length, batch, arguments)
                    base = base or made["speed"]
                    print(
                        f"| {threads} | {length} | {batch} | {engine} | {made['speed']:.1f} | "
                        f"{made['speed'] / base:.2f} | {made['cpu']:.0f} | {made['memory']:.0f} |",
                        flush=True,
                    )


def measure(
    folder: Path, engine: str, threads: int, length: int, batch: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    settings = {
        "folder": str(folder),
        "engine": engine,
        "threads": threads,
        "length": length,
        "batch": batch,
        "count": min(arguments.documents, 4 * batch),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--cell", json.dumps(settings)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def cell(
    folder: str, engine: str, threads: int, length: int, batch: int, count: int
) -> dict[str, Any]:
    from keywright import predictor, runtime

    # One2Seq generates exactly this many tokens; the slots of One2Set, one phrase each, are
    # shorter.
    about = description(Path(folder))
    length_limit = GENERATED["words" if '"words"' in about else "wordpieces"]
    settings = [f"max_length={length_limit}", f"min_phrases={length_limit}", "unknown=keep"]
    if "one2set" in about:
        settings = ["max_length=6", "unknown=keep"]
    if engine == "torch":
        loaded: Any = predictor.load(
            folder, decode="greedy", settings=settings, batch=batch, max_source=length
        )
    else:
        loaded = runtime.load(
            folder, settings=settings, batch=batch, max_source=length, threads=threads
        )
    documents = random_documents(count, length)
    list(loaded.predict(documents[:batch]))
    wall, cpu = perf_counter(), process_time()
    list(loaded.predict(documents))
    wall, cpu = perf_counter() - wall, process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"speed": count / wall, "cpu": 1000 * cpu / count, "memory": memory}


def description(folder: Path) -> str:
    return "".join(
        file.read_text()
        for file in folder.iterdir()
        if file.name in ("config.toml", "manifest.json")
    )


def random_documents(count: int, length: int) -> list[Any]:
    """Documents of about `length` wordpieces or words."""
    from keywright.types import Document

    words = [f"{a}{b}" for a in ("river", "sand", "paper", "graph") for b in ("", "s", "ing", "ed")]
    return [
        Document(title="", body=" ".join(words[(7 * i + j * j) % 16] for j in range(length)))
        for i in range(count)
    ]


def random_run(folder: Path, name: str) -> Path:
    """A run with default sizes, random weights and a made-up vocabulary."""
    import torch

    from keywright import checkpoint, runs
    from keywright import config as configs
    from keywright.data import corpus

    recurrent = name.startswith("cat_seq")
    vocabulary = words() if recurrent else wordpieces()
    kind = "words" if recurrent else "wordpieces"
    table = {
        "data": {"train": ["none"], "vocabulary": kind, "max_source": 192},
        "model": {"name": name, **({} if recurrent else {"start": "random"})},
        "train": {"stage": [{"epochs": 1}]},
        "decode": {"name": "greedy", "max_length": GENERATED[kind]},
    }
    config = runs.resolve(configs.parse(table))
    digest = corpus.Digest(0, "none")
    manifest = runs.create(folder, config, vocabulary, digest, digest)
    torch.manual_seed(1)
    weights = checkpoint.model_tensors(runs.build_model(config, vocabulary))
    checkpoint.save(folder / runs.BEST, checkpoint.Checkpoint(weights, manifest.vocabulary))
    return folder


def words() -> Any:
    from keywright.lexicon import SPECIALS
    from keywright.lexicons.words import Vocabulary

    return Vocabulary(["river", "sands", *(f"word{i}" for i in range(WORDS - len(SPECIALS) - 2))])


def wordpieces() -> Any:
    from keywright.lexicons.wordpieces import WordpieceVocabulary

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ";", "|", "0"]
    known = ["river", "sand", "paper", "graph", "##s", "##ing", "##ed"]
    filler = [f"word{i}" for i in range(30_522 - len(special) - len(known))]
    pieces = special + known + filler
    return WordpieceVocabulary(pieces, pieces[-OUTPUTS:])


def exported(run: Path, scratch: Path) -> dict[str, Path]:
    from keywright.export.run import export

    folders = {"torch": run}
    for engine in ENGINES[1:]:
        folder = folders[engine] = scratch / engine
        parity = export(run, folder, int8=engine == "int8")
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        print(
            f"{engine}: {size:.1f} MB; loads in {load_time(folder):.2f} s of CPU time (including "
            f"imports); log-probabilities differ from torch's by at most {parity.largest:.1e}, "
            f"{parity.mean:.1e} on average; {parity.agreement:.2%} of {parity.steps:,} steps agree"
        )
    print()
    return folders


def load_time(folder: Path) -> float:
    program = (
        "import time; from keywright import runtime; "
        f"runtime.load({str(folder)!r}, threads=1); print(time.process_time())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    times = [
        float(subprocess.check_output([sys.executable, "-c", program], env=environment))
        for _ in range(3)
    ]
    return min(times)


if __name__ == "__main__":
    main()
