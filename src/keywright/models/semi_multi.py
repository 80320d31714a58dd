"""Semi-Multi: CatSeq that also learns to write titles (Ye and Wang 2018).

Two tasks share embedding and encoder: writing the keyphrases of a document, and writing its title
after reading its body alone. The second needs no keyphrases, so that documents without any can be
among those for training. Only the likelihood of keyphrases is validated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from keywright.config import NonNegative
from keywright.data.batch import Batch
from keywright.lexicon import Lexicon, SpecialIds
from keywright.models import cat_seq
from keywright.models.cat_seq import CatSeq
from keywright.nn.loss import Loss, likelihood_loss


@dataclass(frozen=True)
class Config(cat_seq.Config):
    title_weight: NonNegative = 1.0  # of the likelihood of titles


class SemiMulti(CatSeq):
    unlabelled = True

    def __init__(self, config: Config, vocabulary: Lexicon):
        super().__init__(config, vocabulary)
        self.title_weight = config.title_weight
        self.titles = CatSeq(config, vocabulary)
        # What the tasks share is set as a plain attribute, so that it is saved only once.
        for name in ("embedding", "encoder"):
            delattr(self.titles, name)
            self.titles.__dict__[name] = getattr(self, name)

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        phrases = self.phrases(batch, smoothing)
        if not self.training:
            return likelihood_loss(phrases)
        titles = self.write_titles(batch, smoothing)
        total = -phrases.sum() - self.title_weight * titles.sum()
        parts = {"nll": -phrases.sum().detach(), "titles": -titles.sum().detach()}
        return Loss(total, torch.tensor(max(1, len(phrases) + len(titles))), parts)

    def phrases(self, batch: Batch, smoothing: float = 0.0) -> Tensor:
        """Log-probabilities of the target tokens of the documents with keyphrases."""
        target, mask = batch.targets
        delimiters = torch.tensor(self.special.delimiters, device=target.device)
        rows = (mask & ~torch.isin(target, delimiters)).any(dim=1).nonzero()[:, 0]
        if not len(rows):
            return self.embedding.weight.new_zeros(0)
        return self.teach(batch if len(rows) == len(batch) else batch.take(rows), smoothing)[2]

    def write_titles(self, batch: Batch, smoothing: float = 0.0) -> Tensor:
        """Log-probabilities of the words of all titles."""
        bodies = title_task(batch, self.special)
        if bodies is None:
            return self.embedding.weight.new_zeros(0)
        return self.titles.teach(bodies, smoothing)[2]


build = SemiMulti


def title_task(batch: Batch, special: SpecialIds) -> Batch | None:
    """The bodies as sources and the titles as targets; None if no document has both."""
    lengths = batch.source_mask.sum(dim=1)
    rows = ((batch.title_lengths > 0) & (lengths > batch.title_lengths)).nonzero()[:, 0]
    if not len(rows):
        return None
    taken, title = batch.take(rows), batch.title_lengths[rows].unsqueeze(1)
    at = torch.arange(batch.source.shape[1], device=rows.device) + title
    mask = at < lengths[rows].unsqueeze(1)
    longest = int(mask.sum(dim=1).max())
    at, mask = at[:, :longest].clamp(max=batch.source.shape[1] - 1), mask[:, :longest]
    place = torch.arange(int(title.max()) + 1, device=rows.device)
    target = taken.source_extended[:, : len(place)].where(place < title, special.pad)
    return replace(
        taken,
        source=taken.source.gather(1, at).where(mask, special.pad),
        source_extended=taken.source_extended.gather(1, at).where(mask, special.pad),
        source_mask=mask,
        title_lengths=torch.zeros_like(taken.title_lengths),
        target=target.where(place != title, special.eos),
        target_mask=place <= title,
    )
