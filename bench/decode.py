"""How fast models decode: documents/s, utilisation of the machine, peak memory.

    python bench/decode.py [MODEL ...] [--small] [--decode beam --set width=5] [--keep-ended]
    python bench/decode.py hf_seq2seq --small --weights FOLDER

Prints one row per model and batch size (1 and 32), with the sizes of its file in configs/ (of the
-small file with --small). Weights are random, so that greedy decoding follows a script: one to nine
gold phrases are generated for each document, while the model computes everything as usual. With
--keep-ended, all rows continue until the last one has ended, as if they were not removed from the
batch. Other strategies are not scripted: untrained models generate the longest sequences.

hf_seq2seq needs --weights, the folder of a pretrained model; transformers' own `generate`, with the
same script, is measured beside it.

Each row is measured in its own process with one thread. Utilisation is the speed of the model's
matrix products as a share of that of a large matrix product in the same process. Seconds are CPU
seconds, so that a busy machine affects the numbers less.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
from keywright import lexicon, parts
from keywright.config import Config, Part
from keywright.data import minilm
from keywright.data.batch import Batch, make_batch
from keywright.data.retrieval import Index, entries
from keywright.data.targets import Targets
from keywright.decoding.decoder import Decoder
from keywright.errors import KeywrightError
from keywright.lexicon import NULL, SPECIALS, Lexicon
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.lexicons.words import Vocabulary
from keywright.nn.generator import Rows, Step
from keywright.runs import build_model, model_class, paradigm
from keywright.types import Document

BATCHES = (1, 32)
ROUNDS = 2
PRETRAINED = "hf_seq2seq"
MIN_DOCUMENTS = 4
ANY_WORD = len(SPECIALS)
PRODUCT = 1536  # size of the matrices whose product measures the peak speed


def main() -> None:
    arguments = parse()
    if arguments.row:
        print(json.dumps(measure(arguments)))
        return
    print(f"{arguments.decode}, one thread")
    print(f"{'model':<22} batch  documents/s  utilisation  peak memory")
    for model, batch in rows_of(arguments):
        for label, options in compared(model):
            row = in_own_process(model, batch, *options)
            speed = row["documents"] / row["seconds"]
            use = row["flops"] / row["seconds"] / row["peak"]
            memory = row["memory"] / 2**20
            print(f"{label:<22} {batch:>5}  {speed:>11.2f}  {use:>11.1%}  {memory:>8,.0f} MB")


def rows_of(arguments: argparse.Namespace) -> list[tuple[str, int]]:
    known = parts.names("keywright.models")
    models = arguments.models or [m for m in known if m != PRETRAINED or arguments.weights]
    return [(model, batch) for model in models for batch in arguments.batch or BATCHES]


def compared(model: str) -> list[tuple[str, tuple[str, ...]]]:
    """The rows of a model: their labels and options."""
    own: list[tuple[str, tuple[str, ...]]] = [(model, ())]
    return [*own, ("  generate", ("--generate",))] if model == PRETRAINED else own


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--decode", default="greedy")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--batch", action="append", type=int)
    parser.add_argument("--keep-ended", action="store_true")
    parser.add_argument("--weights", metavar="FOLDER")
    parser.add_argument("--generate", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def in_own_process(model: str, batch: int, *more: str) -> dict[str, Any]:
    options = [word for word in sys.argv[1:] if word not in parts.names("keywright.models")]
    command = [sys.executable, __file__, model, *options, *more, "--batch", str(batch), "--row"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds, matrix operations and memory of decoding some documents with one model."""
    [name], size = arguments.models, arguments.batch[-1]
    config = configs.load(config_file(name, arguments.small), pretrained(name, arguments.weights))
    documents = documents_of(corpus.generated(max(MIN_DOCUMENTS, size)))
    vocabulary = vocabulary_of(config, documents)
    kind = paradigm(config)
    torch.manual_seed(1)
    model: Any = build_model(config, vocabulary, index_of(config, documents)).eval()
    if arguments.decode == "greedy":
        scripts = scripts_of(documents, kind, model.rows_per_document, vocabulary, config)
        if arguments.generate:
            model = Generate(model, scripts)
        else:
            model = Scripted(model, scripts, arguments.keep_ended, vocabulary.special.eos)
    table: dict[str, Any] = {}
    for setting in arguments.settings:
        configs.override(table, setting)
    decoder = Decoder(Part(arguments.decode, table), vocabulary, kind)
    batches = [
        make_batch(documents[at : at + size], vocabulary, config.data.max_source)
        for at in range(0, len(documents), size)
    ]
    run = model.decode if arguments.generate else partial(decoder, model)
    with FlopCounterMode(display=False) as counter:
        decode(run, batches)
    seconds = min(decode(run, batches) for _ in range(ROUNDS))
    return {
        "documents": len(documents),
        "seconds": seconds,
        "flops": counter.get_total_flops(),
        "peak": machine_peak(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def pretrained(model: str, weights: str | None) -> list[str]:
    """The settings that select the folder of a pretrained model; other models have none."""
    if model != PRETRAINED or weights is None:
        return []
    return [f"model.weights={weights}", f"data.vocabulary.path={weights}"]


def decode(run: Callable[[Batch], object], batches: Sequence[Batch]) -> float:
    began = process_time()
    for batch in batches:
        run(batch)
    return process_time() - began


def machine_peak() -> float:
    """Operations per second of the fastest of a few large matrix products."""
    a, b = torch.rand(2, PRODUCT, PRODUCT)
    seconds = []
    for _ in range(5):
        began = process_time()
        torch.mm(a, b)
        seconds.append(process_time() - began)
    return 2 * PRODUCT**3 / min(seconds)


def config_file(model: str, small: bool) -> Path:
    """The config of a model, whatever its file name; of several for hf_seq2seq, that of T5."""
    if model == PRETRAINED:
        return ROOT / "configs" / ("t5-small.toml" if small else "t5.toml")
    for file in sorted((ROOT / "configs").glob("*.toml")):
        if file.stem.endswith("-small") == small:
            try:
                if configs.load(file).model.name == model:
                    return file
            except KeywrightError:
                continue
    return ROOT / "configs" / f"{model}.toml"


def documents_of(lines: Sequence[corpus.Lines]) -> list[Document]:
    """Documents with one to nine phrases, because the numbers differ in real corpora."""
    documents = []
    for number, line in enumerate(lines):
        title, _, body = line.source.partition(" <eos> ")
        gold = f"{line.target};{lines[number - 1].target}".split(";")[: 1 + 5 * number % 9]
        documents.append(
            Document(id=str(number), title=title, body=body, keyphrases=tuple(gold), tokenised=True)
        )
    return documents


def index_of(config: Config, documents: Sequence[Document]) -> Index | None:
    """What a model retrieves from, if it does."""
    return Index(entries(documents)) if model_class(config).retrieves else None


def vocabulary_of(config: Config, documents: Sequence[Document]) -> Lexicon:
    """A vocabulary of the size in the config, whatever the documents contain."""
    chosen = configs.resolve_part(
        config.data.vocabulary, lexicon.PACKAGE, "data.vocabulary", lexicon.NOUN
    )
    if chosen.name == "tokenizer":
        return lexicon.build(chosen, ())
    size = chosen.settings["size"] - len(SPECIALS)
    if chosen.name == "wordpieces":
        pieces = minilm.wordpieces()
        return WordpieceVocabulary(pieces, [p for p in pieces if p not in SPECIALS][:size])
    words = Vocabulary.build(documents, size // 2).words[len(SPECIALS) :]
    return Vocabulary([*words, *(f"unused{i}" for i in range(size - len(words)))])


def scripts_of(
    documents: Sequence[Document], kind: Any, slots: int, vocabulary: Lexicon, config: Config
) -> dict[str | None, list[list[int]]]:
    """What the rows of each document generate: gold phrases, and <null> in the other slots."""
    targets = Targets(kind)
    scripts = {}
    for document in documents:
        source = vocabulary.encode_document(document, config.data.max_source)
        phrases = targets.phrases(document, np.random.default_rng(0))
        rows = targets.sequences(phrases, vocabulary, source.extension)[:slots]
        scripts[document.id] = [*rows, *[[NULL]] * (slots - len(rows))]
    return scripts


@dataclass(frozen=True)
class Numbered:
    """The rows of a model, each with the tokens that it still has to generate."""

    rows: Rows
    script: Tensor  # [R, t] long

    def select(self, index: Tensor) -> Self:
        return type(self)(self.rows.select(index), self.script[index])


class Scripted:
    """A model that computes as usual but generates the tokens of a script."""

    def __init__(
        self, model: Any, scripts: dict[str | None, list[list[int]]], keep_ended: bool, eos: int
    ):
        self._eos = eos
        self._model = model
        self._scripts = scripts
        self._keep_ended = keep_ended
        self.rows_per_document: int = model.rows_per_document

    def encode(self, batch: Batch) -> Rows:
        rows = [row for document in batch.documents for row in self._scripts[document.id]]
        longest = max(map(len, rows))
        if self._keep_ended:
            rows = [[*row[:-1], *[ANY_WORD] * (longest - len(row)), self._eos] for row in rows]
        self._script = torch.tensor([row + [self._eos] * (longest - len(row)) for row in rows])
        memory: Rows = self._model.encode(batch)
        return memory

    def start(self, memory: Rows) -> tuple[Tensor, Numbered]:
        tokens, state = self._model.start(memory)
        return tokens, Numbered(state, self._script)

    def step(self, tokens: Tensor, state: Numbered, memory: Rows) -> Step:
        step = self._model.step(tokens, state.rows, memory)
        tokens = state.script[:, :1]
        log_probs = torch.full_like(step.log_probs, -torch.inf).scatter_(1, tokens, 0.0)
        return Step(log_probs, Numbered(step.state, state.script[:, 1:]), step.attention)


class Generate:
    """The `generate` of transformers, which computes as usual but follows a script."""

    def __init__(self, model: Any, scripts: dict[str | None, list[list[int]]]):
        self._model = model
        self._scripts = scripts

    @torch.inference_mode()
    def decode(self, batch: Batch) -> None:
        rows = [self._scripts[document.id][0] for document in batch.documents]
        longest, end = max(map(len, rows)), rows[0][-1]
        script = torch.tensor([row + [end] * (longest - len(row)) for row in rows])
        prefix = torch.tensor([self._model.prefix]).expand(len(rows), -1)

        def follow(ids: Tensor, scores: Tensor) -> Tensor:
            tokens = script[:, ids.shape[1] - prefix.shape[1], None]
            return torch.full_like(scores, -torch.inf).scatter_(1, tokens, 0.0)

        self._model.network.generate(
            input_ids=batch.source,
            attention_mask=batch.source_mask.long(),
            decoder_input_ids=prefix,
            logits_processor=[follow],
            max_new_tokens=longest,
            eos_token_id=end,
            do_sample=False,
        )


if __name__ == "__main__":
    main()
