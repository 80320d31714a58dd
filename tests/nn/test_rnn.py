from __future__ import annotations

import torch
from torch import nn

from keywright.nn.rnn import BiGRU


def test_a_sequence_gives_the_same_states_alone_and_in_a_padded_batch() -> None:
    torch.manual_seed(0)
    ours = BiGRU(3, 4)
    theirs = nn.GRU(3, 4, batch_first=True, bidirectional=True)
    for name, parameter in ours.forwards.named_parameters():
        getattr(theirs, name).data = parameter.data
    for name, parameter in ours.backwards.named_parameters():
        getattr(theirs, f"{name}_reverse").data = parameter.data
    inputs, lengths = torch.randn(3, 6, 3), [6, 1, 4]
    mask = torch.arange(6) < torch.tensor(lengths).unsqueeze(1)
    states, final = ours(inputs, mask)
    for row, length in enumerate(lengths):
        expected, last = theirs(inputs[row : row + 1, :length])
        assert torch.allclose(states[row, :length], expected[0], atol=1e-6)
        assert torch.allclose(final[row], torch.cat([last[0, 0], last[1, 0]]), atol=1e-6)
