"""How fast models decode: documents a second, use of the machine, peak memory.

    python bench/decode.py [MODEL ...] [--small] [--decode beam --set width=5] [--keep-ended]

A row per model, alone and 32 documents at a time, with the sizes of its file in configs/ (of the
-small twin with --small). Weights are random, so greedy decoding follows a script: each document
says phrases of its own, one to nine, and everything a model computes on the way is computed. With
--keep-ended all rows go on until the last one has ended, as if they were not taken out of the
batch. Other strategies are not scripted: untrained, they run to the longest length.

Each row is a process of its own with one thread. Utilisation is the share of the speed of a large
matrix product, measured in the same process, that the model's own matrix products reach. Seconds
are CPU seconds, so that a busy machine disturbs the numbers less.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before torch is imported

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import corpus
from keywright import config as configs
from keywright import parts
from keywright.config import Config, Part
from keywright.data import minilm
from keywright.data.batch import Batch, make_batch
from keywright.data.subword import SubwordVocabulary
from keywright.data.targets import Targets
from keywright.data.vocab import EOS, NULL, SPECIALS, Lexicon, Vocabulary
from keywright.decoding import Decoder
from keywright.errors import KeywrightError
from keywright.nn.generator import Generator, Rows, Step
from keywright.training.run import build_model, paradigm
from keywright.types import Document

BATCHES = (1, 32)
ROUNDS = 2
FEWEST = 4  # documents
ANY_WORD = len(SPECIALS)
PRODUCT = 1536  # rows and columns of the matrices whose product is the machine's peak


def main() -> None:
    arguments = parse()
    if arguments.row:
        print(json.dumps(measure(arguments)))
        return
    print(f"{arguments.decode}, one thread")
    print(f"{'model':<22} batch  documents/s  utilisation  peak memory")
    for model in arguments.models or parts.names("keywright.models"):
        for batch in arguments.batch or BATCHES:
            row = in_process_of_its_own(model, batch)
            speed = row["documents"] / row["seconds"]
            use = row["flops"] / row["seconds"] / row["peak"]
            memory = row["memory"] / 2**20
            print(f"{model:<22} {batch:>5}  {speed:>11.2f}  {use:>11.1%}  {memory:>8,.0f} MB")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--decode", default="greedy")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--batch", action="append", type=int)
    parser.add_argument("--keep-ended", action="store_true")
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def in_process_of_its_own(model: str, batch: int) -> dict[str, Any]:
    options = [word for word in sys.argv[1:] if word not in parts.names("keywright.models")]
    command = [sys.executable, __file__, model, *options, "--batch", str(batch), "--row"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds, matrix operations and memory of decoding some documents with one model."""
    [name], size = arguments.models, arguments.batch[-1]
    config = configs.load(config_file(name, arguments.small))
    documents = documents_of(corpus.generated(max(FEWEST, size)))
    vocabulary = vocabulary_of(config, documents)
    kind = paradigm(config)
    torch.manual_seed(1)
    model: Any = build_model(config, vocabulary).eval()
    if arguments.decode == "greedy":
        scripts = scripts_of(documents, kind, model.rows_per_document, vocabulary, config)
        model = Scripted(model, scripts, arguments.keep_ended)
    table: dict[str, Any] = {}
    for setting in arguments.settings:
        configs.override(table, setting)
    decoder = Decoder(Part(arguments.decode, table), vocabulary, kind)
    batches = [
        make_batch(documents[at : at + size], vocabulary, config.data.max_source)
        for at in range(0, len(documents), size)
    ]
    with FlopCounterMode(display=False) as counter:
        decode(decoder, model, batches)
    seconds = min(decode(decoder, model, batches) for _ in range(ROUNDS))
    return {
        "documents": len(documents),
        "seconds": seconds,
        "flops": counter.get_total_flops(),
        "peak": machine_peak(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def decode(decoder: Decoder, model: Generator, batches: Sequence[Batch]) -> float:
    began = process_time()
    for batch in batches:
        decoder(model, batch)
    return process_time() - began


def machine_peak() -> float:
    """Operations a second of the best of a few large matrix products."""
    a, b = torch.rand(2, PRODUCT, PRODUCT)
    seconds = []
    for _ in range(5):
        began = process_time()
        torch.mm(a, b)
        seconds.append(process_time() - began)
    return 2 * PRODUCT**3 / min(seconds)


def config_file(model: str, small: bool) -> Path:
    """The config that is named after a model; the default model's has a name of its own."""
    for file in sorted((ROOT / "configs").glob("*.toml")):
        if file.stem.endswith("-small") == small:
            try:
                if configs.load(file).model.name == model:
                    return file
            except KeywrightError:
                continue
    return ROOT / "configs" / f"{model}.toml"


def documents_of(lines: Sequence[corpus.Lines]) -> list[Document]:
    """With one to nine phrases, as the numbers of keyphrases differ in real corpora."""
    documents = []
    for number, line in enumerate(lines):
        title, _, body = line.source.partition(" <eos> ")
        gold = f"{line.target};{lines[number - 1].target}".split(";")[: 1 + 5 * number % 9]
        documents.append(
            Document(id=str(number), title=title, body=body, keyphrases=tuple(gold), tokenised=True)
        )
    return documents


def vocabulary_of(config: Config, documents: Sequence[Document]) -> Lexicon:
    """As large as the config says, whatever the documents hold."""
    size = config.data.vocabulary_size - len(SPECIALS)
    if config.data.vocabulary == "subwords":
        pieces = minilm.wordpieces()
        return SubwordVocabulary(pieces, [p for p in pieces if p not in SPECIALS][:size])
    words = Vocabulary.build(documents, size // 2).words[len(SPECIALS) :]
    return Vocabulary([*words, *(f"unused{i}" for i in range(size - len(words)))])


def scripts_of(
    documents: Sequence[Document], kind: Any, slots: int, vocabulary: Lexicon, config: Config
) -> dict[str | None, list[list[int]]]:
    """What the rows of each document are to say: gold, and <null> in the slots left over."""
    targets = Targets(kind)
    scripts = {}
    for document in documents:
        source = vocabulary.encode_document(document, config.data.max_source)
        phrases = targets.phrases(document, np.random.default_rng(0))
        said = targets.sequences(phrases, vocabulary, source.extension)[:slots]
        scripts[document.id] = [*said, *[[NULL]] * (slots - len(said))]
    return scripts


@dataclass(frozen=True)
class Numbered:
    """The rows of a model, each with what it has still to say."""

    rows: Rows
    script: Tensor  # [R, t] long

    def select(self, index: Tensor) -> Self:
        return type(self)(self.rows.select(index), self.script[index])


class Scripted:
    """A model that computes what it computes and says what it is told."""

    def __init__(self, model: Any, scripts: dict[str | None, list[list[int]]], keep_ended: bool):
        self._model = model
        self._scripts = scripts
        self._keep_ended = keep_ended
        self.rows_per_document: int = model.rows_per_document

    def encode(self, batch: Batch) -> Rows:
        rows = [row for document in batch.documents for row in self._scripts[document.id]]
        longest = max(map(len, rows))
        if self._keep_ended:
            rows = [[*row[:-1], *[ANY_WORD] * (longest - len(row)), EOS] for row in rows]
        self._script = torch.tensor([row + [EOS] * (longest - len(row)) for row in rows])
        memory: Rows = self._model.encode(batch)
        return memory

    def start(self, memory: Rows) -> tuple[Tensor, Numbered]:
        tokens, state = self._model.start(memory)
        return tokens, Numbered(state, self._script)

    def step(self, tokens: Tensor, state: Numbered, memory: Rows) -> Step:
        step = self._model.step(tokens, state.rows, memory)
        said = state.script[:, :1]
        log_probs = torch.full_like(step.log_probs, -torch.inf).scatter_(1, said, 0.0)
        return Step(log_probs, Numbered(step.state, state.script[:, 1:]), step.attention)


if __name__ == "__main__":
    main()
