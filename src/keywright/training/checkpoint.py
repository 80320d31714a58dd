"""A checkpoint is one file: safetensors, with the state of the run as JSON in its header.

One file can be replaced by one rename, so whoever looks finds the old checkpoint or the new one,
never a mixture, whenever the writer was killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import msgspec
import safetensors
import safetensors.torch
from torch import Tensor, nn

from keywright.errors import DataError
from keywright.files import atomic_write

FORMAT = "keywright-checkpoint-1"
_MODEL, _OPTIMISER = "model/", "optimiser/"

T = TypeVar("T")


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name; `state` is JSON of the writer's own making."""

    model: Mapping[str, Tensor]
    vocabulary: str  # the hash of the vocabulary the model's ids belong to
    state: bytes = b"{}"
    optimiser: Mapping[str, Tensor] = field(default_factory=dict)


def save(path: Path, checkpoint: Checkpoint) -> None:
    tensors = {_MODEL + name: tensor for name, tensor in checkpoint.model.items()}
    tensors |= {_OPTIMISER + name: tensor for name, tensor in checkpoint.optimiser.items()}
    header = {
        "format": FORMAT,
        "vocabulary": checkpoint.vocabulary,
        "state": checkpoint.state.decode(),
    }
    content = safetensors.torch.save(
        {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, header
    )
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(content)


def load(path: Path, vocabulary: str | None = None) -> Checkpoint:
    """The checkpoint in a file; `vocabulary` is the hash of the one it has to belong to."""
    with _opened(path) as file:
        header = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if vocabulary is not None and header["vocabulary"] != vocabulary:
        raise DataError(
            "was trained with another vocabulary than the one beside it; "
            "a run's files belong together",
            path,
        )
    return Checkpoint(
        model=_under(_MODEL, tensors),
        optimiser=_under(_OPTIMISER, tensors),
        vocabulary=header["vocabulary"],
        state=header["state"].encode(),
    )


def load_state(kind: type[T], path: Path) -> T:
    """The state in a checkpoint, without its tensors."""
    with _opened(path) as file:
        state = file.metadata()["state"]
    try:
        return msgspec.json.decode(state, type=kind)
    except msgspec.DecodeError as error:
        raise DataError(
            f"its state cannot be read ({error}); another version of keywright wrote it", path
        ) from None


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """All that a model has learnt; of parameters with several names (tied), only the first."""
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    tied = every - {name for name, _ in model.named_parameters()}
    return {name: value for name, value in model.state_dict().items() if name not in tied}


def restore_model(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Put loaded tensors into a model, or say which one does not fit."""
    wanted = model_tensors(model)
    for name in sorted(wanted.keys() ^ tensors.keys()):
        where = "the file" if name in wanted else "the model"
        raise DataError(
            f"does not fit the model: {name} is missing in {where}; the config and the weights "
            "are not of the same run",
            path,
        )
    for name, tensor in wanted.items():
        if tensor.shape != tensors[name].shape:
            raise DataError(
                f"does not fit the model: {name} is {list(tensors[name].shape)} in the file and "
                f"{list(tensor.shape)} in the model; the vocabulary or the config differs",
                path,
            )
    model.load_state_dict(dict(tensors), strict=False)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise DataError("no such checkpoint", path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            if (file.metadata() or {}).get("format") != FORMAT:
                raise DataError("is a safetensors file, but no checkpoint of keywright", path)
            yield file
    except (safetensors.SafetensorError, OSError) as error:
        raise DataError(
            f"is not a checkpoint, or is damaged ({error}); take another copy of it or train again",
            path,
        ) from None


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
