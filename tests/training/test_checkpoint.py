from __future__ import annotations

import resource
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from keywright.errors import DataError
from keywright.training import checkpoint
from keywright.training.checkpoint import Checkpoint


class Tied(nn.Module):
    def __init__(self, words: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 3)
        self.output = nn.Linear(3, words, bias=False)
        self.output.weight = self.embedding.weight
        self.register_buffer("seen", torch.zeros(2))


def of(model: nn.Module, **more: object) -> Checkpoint:
    return Checkpoint(model=checkpoint.model_tensors(model), vocabulary="v", **more)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    model, other, path = Tied(), Tied(), tmp_path / "c.safetensors"
    model.seen += 1
    memory = {"exp_avg/embedding.weight": torch.rand(5, 3), "step/embedding.weight": torch.ones(())}
    checkpoint.save(path, of(model, optimiser=memory, state=b'{"a":1}'))
    loaded = checkpoint.load(path, "v")
    checkpoint.restore_model(other, loaded.model, path)
    assert torch.equal(other.output.weight, model.embedding.weight)
    assert torch.equal(other.seen, model.seen)
    assert other.output.weight is other.embedding.weight
    assert loaded.state == b'{"a":1}'
    assert loaded.optimiser.keys() == memory.keys()
    assert all(torch.equal(loaded.optimiser[name], memory[name]) for name in memory)


def test_a_tied_parameter_is_saved_once() -> None:
    assert set(checkpoint.model_tensors(Tied())) == {"embedding.weight", "seen"}


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_checkpoint_is_an_error(tmp_path: Path, share: float) -> None:
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, of(Tied()))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match=r"c\.safetensors: is not a checkpoint, or is damaged"):
        checkpoint.load(path)


def test_a_foreign_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    safetensors.torch.save_file({"weight": torch.ones(2)}, path)
    with pytest.raises(DataError, match="no checkpoint of keywright"):
        checkpoint.load(path)
    path.write_text("not tensors at all")
    with pytest.raises(DataError, match="is not a checkpoint"):
        checkpoint.load(path)
    with pytest.raises(DataError, match="no such checkpoint"):
        checkpoint.load(tmp_path / "none")


def test_the_checkpoint_of_another_vocabulary_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, of(Tied()))
    with pytest.raises(DataError, match="another vocabulary"):
        checkpoint.load(path, "w")


def test_a_tensor_that_does_not_fit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    with pytest.raises(DataError, match=r"embedding\.weight is \[6, 3\] in the file and \[5, 3\]"):
        checkpoint.restore_model(Tied(5), checkpoint.model_tensors(Tied(6)), path)
    with pytest.raises(DataError, match=r"seen is missing in the file"):
        checkpoint.restore_model(Tied(), {"embedding.weight": torch.ones(5, 3)}, path)
    with pytest.raises(DataError, match=r"embedding\.weight is missing in the model"):
        checkpoint.restore_model(nn.Identity(), checkpoint.model_tensors(Tied()), path)


def test_when_the_disk_is_full_the_old_checkpoint_stays(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    model = Tied()
    checkpoint.save(path, of(model))
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))  # the system says no
    try:
        with pytest.raises(DataError, match=r"c\.safetensors: cannot be written"):
            checkpoint.save(path, of(Tied()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
