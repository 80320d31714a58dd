"""Small tokenizers of the kinds that pretrained models have, trained on the words of tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("tokenizers")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

TEXTS = [
    "heat pumps warm old houses without gas , and solar panels power them .",
    "we fold paper cranes with two robot arms . the planner bends paper slowly .",
    "rivers that meander carry sand to the sea , and the sea returns salt .",
    "robot arms machine origami meandering river sea salt erosion heat pump <digit>",
]


def t5(texts: Sequence[str]) -> Tokenizer:
    """Unigram; no start token, `</s>` at the end of a source."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


def bart(texts: Sequence[str]) -> Tokenizer:
    """Byte-level BPE, in which a word has another id at the beginning of a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def bert(texts: Sequence[str]) -> Tokenizer:
    """WordPiece; saved with the truncation and padding that it was once used with."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=200,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=16)
    return tokenizer


KINDS: dict[str, Callable[[Sequence[str]], Tokenizer]] = {"t5": t5, "bart": bart, "bert": bert}
# What transformers writes beside tokenizer.json; a token may be a table.
SETTINGS: dict[str, dict[str, object]] = {
    "t5": {
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": 512,
    },
    "bart": {"bos_token": {"content": "<s>", "lstrip": False}, "eos_token": "</s>"},
    "bert": {"cls_token": "[CLS]", "sep_token": "[SEP]", "bos_token": None},
}


def write(folder: Path, kind: str, texts: Sequence[str] = TEXTS) -> Path:
    """The folder of a tokenizer, as transformers saves it."""
    folder.mkdir(parents=True, exist_ok=True)
    KINDS[kind](texts).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(SETTINGS[kind]))
    return folder
