"""A checkpoint is one safetensors file with the state of the run as JSON in its header.

One file can be replaced by one rename, so that there is always either the old checkpoint or the new
one, even if the process that writes it is killed. A digest of everything in the file is part of its
header, and the checkpoint to resume from is kept until two newer ones have been written, so that a
disk that damages one loses little work.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import msgspec
import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from keywright.errors import DataError
from keywright.files import NOT_JSON, atomic_write, draft_of

PREVIOUS = "previous.safetensors"
"""The checkpoint before the latest, in the same folder."""
FORMAT = "keywright-checkpoint-1"
_DIGEST = "digest"
_HEADER = ("format", "vocabulary", "state", _DIGEST)
_MODEL, _OPTIMISER, _OBJECTIVE = "model/", "optimiser/", "objective/"

T = TypeVar("T")


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name; the content of `state`, which is JSON, is the writer's choice."""

    model: Mapping[str, Tensor]
    vocabulary: str  # SHA-256 of the vocabulary that the model's ids belong to
    state: bytes = b"{}"
    optimiser: Mapping[str, Tensor] = field(default_factory=dict)
    objective: Mapping[str, Tensor] = field(default_factory=dict)


def save(path: Path, checkpoint: Checkpoint) -> None:
    tensors = {_MODEL + name: tensor for name, tensor in checkpoint.model.items()}
    tensors |= {_OPTIMISER + name: tensor for name, tensor in checkpoint.optimiser.items()}
    tensors |= {_OBJECTIVE + name: tensor for name, tensor in checkpoint.objective.items()}
    header = {
        "format": FORMAT,
        "vocabulary": checkpoint.vocabulary,
        "state": checkpoint.state.decode(),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header[_DIGEST] = _digest(header, tensors)
    content = safetensors.torch.save(tensors, header)
    with atomic_write(path, "wb") as file:
        cast(IO[bytes], file).write(content)


def save_latest(path: Path, checkpoint: Checkpoint) -> None:
    """`save`, with the checkpoint that it replaces kept as `PREVIOUS` in the same folder."""
    if path.exists():
        _keep(path, path.with_name(PREVIOUS))
    save(path, checkpoint)


def load(path: Path, vocabulary: str | None = None) -> Checkpoint:
    """The checkpoint in a file; `vocabulary` is the SHA-256 that it must have, if given."""
    with _opened(path) as file:
        header = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if _digest(header, tensors) != header[_DIGEST]:
        raise _damaged(path, "its content does not match its digest")
    if vocabulary is not None and header["vocabulary"] != vocabulary:
        raise DataError(
            "was trained with another vocabulary than the one in its folder; the files of a run "
            "belong together",
            path,
        )
    return Checkpoint(
        model=_under(_MODEL, tensors),
        optimiser=_under(_OPTIMISER, tensors),
        objective=_under(_OBJECTIVE, tensors),
        vocabulary=header["vocabulary"],
        state=header["state"].encode(),
    )


def decode_state(kind: type[T], checkpoint: Checkpoint, path: Path) -> T:
    """The state in a checkpoint; `path` is shown in errors."""
    try:
        return msgspec.json.decode(checkpoint.state, type=kind)
    except NOT_JSON as error:
        raise DataError(
            f"has a state that cannot be read ({error}); another version of keywright wrote it",
            path,
        ) from None


def load_state(kind: type[T], path: Path) -> T:
    """The state in a checkpoint. All of the file is read, because its digest is verified."""
    return decode_state(kind, load(path), path)


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """All tensors of a model; of parameters with several names (tied), only the first."""
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    tied = every - {name for name, _ in model.named_parameters()}
    return {name: value for name, value in model.state_dict().items() if name not in tied}


def restore_model(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy loaded tensors into a model; an error names a tensor that does not fit."""
    expected = model_tensors(model)
    for name in sorted(expected.keys() ^ tensors.keys()):
        where = "the file" if name in expected else "the model"
        raise DataError(
            f"does not fit the model: {name} is missing in {where}; the config and the weights "
            "belong to different runs",
            path,
        )
    for name, tensor in expected.items():
        if tensor.shape != tensors[name].shape:
            raise DataError(
                f"does not fit the model: {name} is {list(tensors[name].shape)} in the file and "
                f"{list(tensor.shape)} in the model; the vocabulary or the config differs",
                path,
            )
    model.load_state_dict(dict(tensors), strict=False)


def _digest(header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """A digest of everything in a checkpoint, so that any damage is detected."""
    digest = hashlib.blake2b(digest_size=16)
    described = [header[name] for name in _HEADER if name != _DIGEST]
    digest.update(msgspec.json.encode(described))
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _keep(path: Path, copy: Path) -> None:
    """Make `copy` another name of a file; whenever the process is killed, `path` stays."""
    draft = draft_of(copy)  # not locked: the folder of a run has a lock of its own
    try:
        try:
            os.link(path, draft)
        except OSError:  # some file systems have no links
            shutil.copyfile(path, draft)
        draft.replace(copy)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise DataError(f"cannot be written: {error.strerror or error}", copy) from None


def _damaged(path: Path, reason: str) -> DataError:
    previous = path.with_name(PREVIOUS)
    remedy = "use another checkpoint of the run or a copy of this one, or train again"
    if path.name != PREVIOUS and previous.is_file():
        remedy = f"{PREVIOUS} beside it is an earlier one: rename that to {path.name} to use it"
    return DataError(f"is not a checkpoint, or is damaged ({reason}); {remedy}", path)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise DataError("no such checkpoint", path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise DataError("is a safetensors file, but not a checkpoint of keywright", path)
            if header.keys() != set(_HEADER):
                raise _damaged(path, f"its header has {', '.join(sorted(header))}")
            yield file
    except (safetensors.SafetensorError, OSError) as error:
        raise _damaged(path, str(error)) from None


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
