"""BERT reads two texts at once and gives one number (Devlin et al. 2019, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from keywright.nn.bert import BertEncoder
from keywright.nn.transformer import Shape


class CrossEncoder(nn.Module):
    """The state of `[CLS]`, through BERT's pooling layer, to a score between 0 and 1."""

    def __init__(self, shape: Shape, vocabulary: int, positions: int):
        super().__init__()
        self.encoder = BertEncoder(shape, vocabulary, positions)
        self.pooler = nn.Linear(shape.width, shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.output = nn.Linear(shape.width, 1)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B] of pairs [B, S], whose mask [B, S] is True at real positions.

        The score is their sigmoid; losses work on logits where they can.
        """
        first: Tensor = self.encoder(ids, mask)[:, 0]
        logits: Tensor = self.output(self.dropout(torch.tanh(self.pooler(first))))
        return logits.squeeze(-1)

    @torch.no_grad()
    def fill(self, tensors: Mapping[str, Tensor]) -> None:
        """Start from a BERT checkpoint; one without a pooling layer leaves ours at random."""
        self.encoder.fill(tensors)
        for name, parameter in self.pooler.named_parameters():
            if f"pooler.dense.{name}" in tensors:
                parameter.copy_(tensors[f"pooler.dense.{name}"])

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """The pretrained encoder, and the head, of which the last layer starts from nothing."""
        head = [*self.pooler.parameters(), *self.output.parameters()]
        return {"encoder": list(self.encoder.parameters()), "head": head}
