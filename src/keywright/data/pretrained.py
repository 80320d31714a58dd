"""The files of a pretrained model: a folder, or a name on the Hugging Face hub.

`t5-base`, `facebook/bart-large@REVISION` and `folder/of/weights` are all accepted; a folder that
exists wins. Nothing in these files is executed: weights are read from safetensors only, because
unpickling a file can run any code, and models that bring Python code of their own are refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from keywright.errors import DataError, MissingExtraError
from keywright.files import read_bytes

CONFIG = "config.json"
GENERATION = "generation_config.json"
START = "decoder_start_token_id"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
VOCABULARY = "vocab.txt"  # of BERT-like models: a wordpiece per line
MAX_CONFIG = 1 << 20
# A name on the hub is at most one slash between two words; everything else can only be a path.
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?")


def tokenizer_folder(name: str) -> Path:
    """The folder with the tokenizer of a pretrained model."""
    return _folder(name, TOKENIZER_FILES)


def wordpiece_folder(name: str) -> Path:
    """The folder with the vocab.txt of a BERT-like model."""
    return _folder(name, (VOCABULARY,))


def weights_folder(name: str) -> Path:
    """The folder with the config and the weights of a pretrained model, in safetensors."""
    folder = _folder(name, (CONFIG, GENERATION, "*.safetensors", WEIGHTS[1]))
    if any((folder / file).is_file() for file in WEIGHTS):
        return folder
    pickled = [file.name for pattern in PICKLED for file in folder.glob(pattern)]
    found = (
        f"only {pickled[0]}, a pickle, which could run any code when it is read" if pickled else ""
    )
    raise DataError(
        f"has no model.safetensors{', ' + found if found else ''}; convert weights that you trust "
        "with AutoModelForSeq2SeqLM.from_pretrained(NAME).save_pretrained(FOLDER) of transformers",
        name,
    )


def read_config(name: str) -> dict[str, Any]:
    """The content of config.json, without downloading the weights.

    Newer models have the token that the decoder starts from in another file.
    """
    folder = _folder(name, (CONFIG, GENERATION))
    if not (folder / CONFIG).is_file():
        raise DataError(f"has no {CONFIG}, so it is not the folder of a pretrained model", name)
    found = _read(folder / CONFIG)
    if (folder / GENERATION).is_file() and found.get(START) is None:
        found[START] = _read(folder / GENERATION).get(START)
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(read_bytes(path, MAX_CONFIG), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"is not the config of a model: {error}", path) from None


def _folder(name: str, files: tuple[str, ...]) -> Path:
    if Path(name).is_dir():
        return Path(name)
    if not _NAME.fullmatch(name):
        raise DataError(
            "there is no such folder, and it is not a name on the Hugging Face hub", name
        )
    return _download(name, files)


def _download(name: str, files: tuple[str, ...]) -> Path:
    try:
        from huggingface_hub import errors, snapshot_download
    except ModuleNotFoundError:
        raise MissingExtraError("a model of the hub", "huggingface_hub", "transformers") from None
    repository, _, revision = name.partition("@")
    try:
        return Path(
            snapshot_download(repository, revision=revision or None, allow_patterns=list(files))
        )
    except errors.RepositoryNotFoundError:
        reason = "there is no such folder, and no model of this name on the Hugging Face hub"
    except errors.RevisionNotFoundError:
        reason = f"the model on the Hugging Face hub has no revision {revision!r}"
    except (OSError, ValueError, errors.HfHubHTTPError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        reason = (
            "there is no such folder, and the Hugging Face hub cannot be reached "
            f"({first}); give the folder of a downloaded model"
        )
    raise DataError(reason, name)
