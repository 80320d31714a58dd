"""Tiny documents and models, and a minimal greedy decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from keywright import parts
from keywright.data.batch import Batch, make_batch
from keywright.data.retrieval import Index, entries
from keywright.data.targets import Targets, split
from keywright.lexicon import EOS, NULL, PAD, SPECIALS, UNK, Lexicon, SpecialIds
from keywright.lexicons.wordpieces import WordpieceVocabulary
from keywright.lexicons.words import Vocabulary
from keywright.nn.model import Model
from keywright.types import Document

MODELS = "keywright.models"

DOCUMENTS = (
    Document(
        title="Folding paper cranes with robots",
        body="We fold paper cranes with two robot arms. The zygofold planner bends paper slowly.",
        keyphrases=("robot arms", "zygofold planner", "machine origami"),
    ),
    Document(
        title="Slow rivers",
        body="Rivers that meander carry quartzsand to the sea, and the sea returns salt. "
        "We measure how much sand a meandering river carries in a year, and why.",
        keyphrases=("meandering river", "quartzsand", "sea salt", "erosion"),
    ),
)
UNKNOWN = ("zygofold", "quartzsand", "cranes", "salt")
"""Words that are not in the vocabulary, so that they can only be copied."""

# Training documents that models retrieve from: one is similar to both documents, one to neither.
SIMILAR = (
    Document(
        title="Paper boats",
        body="Paper boats fold slowly and carry sand along the river.",
        keyphrases=("paper boats", "river sand"),
    ),
    Document(title="Choirs", body="Singers rehearse motets.", keyphrases=("motets",)),
)

# Sizes that make training fast; a model that is not listed is tested with its defaults.
TINY: dict[str, dict[str, Any]] = {
    name: {"embedding": 16, "encoder": 24, "decoder": 32, "dropout": 0.0}
    for name in (
        "copy_rnn",
        "cat_seq",
        "cat_seq_d",
        "cat_seq_corr",
        "cat_seq_tg",
        "sensenet",
        "semi_multi",
        "para_net",
        "kg_ke_kr_m",
    )
}
# States of so few units cannot be as orthogonal as those of the paper's 150.
TINY["cat_seq_d"] |= {"target_encoder": 16, "orthogonal": 0.03}
TRANSFORMER = {"width": 32, "heads": 4, "inner": 64, "encoder_layers": 2, "dropout": 0.0}
TINY["transformer_one2seq"] = {**TRANSFORMER, "decoder_layers": 2}
TINY["pretrained_one2seq"] = {**TRANSFORMER, "positions": 64, "encoder_dropout": 0.0}
TINY["transformer_one2set"] = {**TINY["transformer_one2seq"], "slots": 8}
TINY["para_net"] |= {"tag_embedding": 4, "tagger": "stopwords"}
TINY["sensenet"] |= {"features": 8}
TINY["kg_ke_kr_m"] |= {"bridge": "layer"}
TINY["div_graph_pointer"] = {"width": 32, "layers": 2, "dropout": 0.0, "floor": 1e-3}
TINY["exhird"] = {"embedding": 16, "encoder": 16}
TINY["unikp"] = {**TRANSFORMER, "positions": 48, "target_positions": 16, "encoder_dropout": 0.0}
# KPDrop makes tags rare in training; in so few updates, the loss of more frequent ones rises.
TINY["unikp"] |= {"document_weight": 1.0}
TINY["pretrained_one2set"] = {**TINY["pretrained_one2seq"], "slots": 8}
TINY["hf_seq2seq"] = {
    "architecture": {
        "model_type": "t5",
        "vocab_size": 100,
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 4,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "decoder_start_token_id": PAD,
    },
    "dropout": 0.0,
}

# Models for which the usual learning rate is too high or too low.
LEARNING_RATES: dict[str, float] = {
    f"{encoder}_{paradigm}": 3e-3
    for encoder in ("transformer", "pretrained")
    for paradigm in ("one2seq", "one2set")
}
LEARNING_RATES["hf_seq2seq"] = 3e-3
LEARNING_RATES["unikp"] = 3e-3


@dataclass(frozen=True)
class Case:
    """A model file, with everything needed to build and train its model."""

    name: str
    module: ModuleType
    vocabulary: Lexicon
    targets: Targets

    def build(self, seed: int = 1, **settings: Any) -> Any:
        torch.manual_seed(seed)
        config = self.module.Config(**{**TINY.get(self.name, {}), **settings})
        model: Model = self.module.build(config, self.vocabulary)
        model.index = Index(entries(SIMILAR)) if model.retrieves else None
        return model

    @property
    def learning_rate(self) -> float:
        return LEARNING_RATES.get(self.name, 1e-2)

    def batch(self, *documents: Document, targets: bool = True) -> Batch:
        return make_batch(documents, self.vocabulary, None, self.targets if targets else None)


def vocabulary() -> Vocabulary:
    words = Vocabulary.build(DOCUMENTS, 1000).words[7:]
    return Vocabulary([word for word in words if word not in UNKNOWN])


def word_tokenizer(documents: Sequence[Document]) -> Any:
    """A Hugging Face tokenizer of whole words, with the usual special tokens at their usual ids."""
    tokenizers = pytest.importorskip("tokenizers")
    counted = Vocabulary.build(documents, 10_000).words
    vocab = {word: i for i, word in enumerate(dict.fromkeys([*SPECIALS, *counted]))}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token=SPECIALS[UNK]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", EOS)]
    )
    return made


def tokenizer_vocabulary() -> Lexicon:
    pytest.importorskip("transformers")
    from keywright.lexicons.tokenizer import Format, TokenizerVocabulary

    return TokenizerVocabulary(word_tokenizer(DOCUMENTS), SpecialIds(), Format())


def wordpiece_vocabulary() -> WordpieceVocabulary:
    """The same words, and the unknown ones as wordpieces that can only be copied."""
    words = vocabulary().words[7:]
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ";", "|", "0"]
    pieces = ["zygo", "##fold", "quartz", "##sand", "cranes", "salt"]
    outputs = [word for word in words if word not in marks]
    return WordpieceVocabulary([*marks, *outputs, *pieces], outputs)


# Models that bring their own vocabulary, or that cannot tell apart the words that are not in one.
VOCABULARIES: dict[str, Callable[[], Lexicon]] = {
    "hf_seq2seq": tokenizer_vocabulary,
    "unikp": wordpiece_vocabulary,
}


def vocabulary_for(name: str) -> Lexicon:
    return VOCABULARIES.get(name, vocabulary)()


@pytest.fixture(params=parts.names(MODELS))
def case(request: pytest.FixtureRequest) -> Case:
    words = vocabulary_for(request.param)
    module = parts.module(MODELS, request.param)
    paradigm = module.build.paradigm
    # For One2One every phrase is a correct answer, but greedy decoding gives only one.
    limit = 1 if paradigm == "one2one" else None
    targets = Targets(paradigm, max_phrases=limit, generated=module.build.generated)
    return Case(request.param, module, words, targets)


@torch.inference_mode()
def greedy(model: Any, batch: Batch, longest: int = 40) -> list[list[int]]:
    """The most likely token at every step: a list of ids per row, including the end token."""
    memory = model.encode(batch)
    tokens, state = model.start(memory)
    rows: list[Tensor] = []
    done = torch.zeros(len(tokens), dtype=torch.bool)
    while not done.all() and len(rows) < longest:
        step = model.step(tokens, state, memory)
        tokens, state = step.log_probs.argmax(dim=-1), step.state
        rows.append(tokens.masked_fill(done, EOS))
        done |= (tokens == EOS) | (tokens == NULL)
    return torch.stack(rows, dim=1).tolist()


def phrases(model: Any, case: Case, batch: Batch) -> list[list[str]]:
    """The phrases of every document, by greedy decoding."""
    rows = greedy(model, batch)
    per_document = model.rows_per_document
    return [
        [
            " ".join(case.vocabulary.decode(ids[start:end], extension))
            for ids in rows[i * per_document : (i + 1) * per_document]
            for start, end in split(ids, case.vocabulary.special)
        ]
        for i, extension in enumerate(batch.extension)
    ]
