from __future__ import annotations

import resource
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from keywright import checkpoint
from keywright.checkpoint import Checkpoint
from keywright.errors import DataError


class Tied(nn.Module):
    def __init__(self, words: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 3)
        self.output = nn.Linear(3, words, bias=False)
        self.output.weight = self.embedding.weight
        self.register_buffer("seen", torch.zeros(2))


def of(model: nn.Module, **more: object) -> Checkpoint:
    return Checkpoint(model=checkpoint.model_tensors(model), vocabulary="v", **more)


def test_a_checkpoint_survives_saving_and_loading(tmp_path: Path) -> None:
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


def test_a_file_that_is_not_a_checkpoint_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    safetensors.torch.save_file({"weight": torch.ones(2)}, path)
    with pytest.raises(DataError, match="not a checkpoint of keywright"):
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


def test_the_old_checkpoint_stays_when_the_disk_is_full(tmp_path: Path) -> None:
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


def test_every_flipped_bit_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, of(Tied(), optimiser={"step": torch.ones(())}))
    content = path.read_bytes()
    for place in range(8, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        if damaged[place : place + 1].isspace() and content[place : place + 1].isspace():
            continue  # padding of the header
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"c\.safetensors: "):
            checkpoint.load(path, "v")


def test_a_header_without_state_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    header = {"format": checkpoint.FORMAT, "vocabulary": "v"}
    safetensors.torch.save_file({"model/weight": torch.ones(2)}, path, header)
    with pytest.raises(DataError, match="is damaged"):
        checkpoint.load(path)
    with pytest.raises(DataError, match="is damaged"):
        checkpoint.load_state(dict, path)


def test_a_checkpoint_without_a_digest_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    header = {"format": checkpoint.FORMAT, "vocabulary": "v", "state": "{}"}
    safetensors.torch.save_file({"model/weight": torch.ones(2)}, path, header)
    with pytest.raises(DataError, match="is damaged"):
        checkpoint.load(path, "v")


def test_a_damaged_state_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, of(Tied(), state=b'{"update":17}'))
    assert checkpoint.load_state(dict, path) == {"update": 17}
    path.write_bytes(path.read_bytes().replace(b"17", b"71"))
    with pytest.raises(DataError, match="does not match its digest"):
        checkpoint.load_state(dict, path)


@pytest.mark.parametrize("links", [True, False])
def test_the_checkpoint_before_the_latest_is_kept(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr("os.link", refuse)
    path = tmp_path / "last.safetensors"
    for number in range(3):
        checkpoint.save_latest(path, of(Tied(), state=b'{"update":%d}' % number))
    previous = tmp_path / checkpoint.PREVIOUS
    assert checkpoint.load_state(dict, path) == {"update": 2}
    assert checkpoint.load_state(dict, previous) == {"update": 1}
    assert sorted(tmp_path.iterdir()) == [path, previous]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"last\.safetensors: .*rename that to last\.safetensors"):
        checkpoint.load(path)
