"""Self-critical policy gradient (Rennie et al. 2017; for keyphrases Chan et al. 2019).

For every document, sequences are sampled from the model in training mode, and one is decoded
greedily in evaluation mode as the baseline. A reward compares the phrases of each with the gold.
The gradient raises the probability of samples that are better than the baseline and lowers that of
the others:

    loss = -sum over tokens of log p(token) * (return of the sample - return of the baseline)

The model separates present from absent phrases (`data.mark_absent`), and the two parts have rewards
of their own. The reward of the present part is paid at `<peos>`, that of the absent part at
`<eos>`, and the return of a token is the sum of the rewards paid at it or later: tokens of absent
phrases have no influence on the present part. With `parts = "together"` there is one reward, paid
at `<eos>`.

Random numbers follow from the seed of the run, the position in it and the document. The validation
loss is minus the mean reward of greedy decoding. docs/reinforcement.md explains the settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import torch
from torch import Tensor

from keywright import reward as rewards
from keywright.config import PACKAGE, Count, Fraction, Part, Positive
from keywright.data.batch import Batch
from keywright.decoding import phrases
from keywright.decoding.options import Options
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies.sample import uniform
from keywright.errors import ConfigError
from keywright.nn.loss import Loss
from keywright.nn.model import Model, evaluating
from keywright.reward import Reward
from keywright.training.collapse import collapsed, observe
from keywright.training.episodes import (
    MARK,
    Episode,
    EpisodeReader,
    Payments,
    mean_by_part,
    paid_at_ends,
    paid_by_phrase,
    unsplit_texts,
)
from keywright.training.objective import Context, Objective, Position
from keywright.training.randomness import derive
from keywright.training.sampling import Samples, most_likely, sample
from keywright.types import Document


@dataclass(frozen=True)
class Config:
    reward: Part = field(
        default_factory=lambda: Part("f1"), metadata={PACKAGE: "keywright.rewards"}
    )
    samples: Count = 1  # sequences sampled for each document
    # The policy is the model's distribution to the power 1 / temperature, normalised. Below 1 its
    # samples resemble what greedy decoding finds, and so does what is learnt from them.
    temperature: Positive = 1.0
    # What a sample is compared with: greedy decoding, or the mean of the document's other samples.
    baseline: Literal["greedy", "leave_one_out"] = "greedy"
    # separate: present and absent phrases have rewards of their own, which needs data.mark_absent.
    parts: Literal["separate", "together"] = "separate"
    by_phrase: bool = False  # pay each phrase what it adds to the reward, at its delimiter
    likelihood: Fraction = 0.0  # the share of the model's own loss in the loss
    # The release's regularisers, as a share of the reward of a part: the share of distinct phrases,
    # or the mean entropy of the distributions of its tokens, which is not differentiated.
    regulariser: Literal["none", "unique", "entropy"] = "none"
    regulariser_share: Fraction = 0.1
    max_length: Count = 60  # tokens of a sequence, special ones included
    # Phrases that contain <unk>: see `decode`. The release replaces it.
    unknown: Literal["drop", "replace", "keep"] = "replace"
    # What the loss of a batch is divided by: the number of sampled tokens, as in the release, or of
    # sampled sequences. The latter does not depend on the samples, so that the gradient is an
    # unbiased estimate of that of the expected reward.
    divide_by: Literal["tokens", "sequences"] = "tokens"
    # Sequences without <peos>. present: all phrases are present ones. release: none is, and all but
    # the first are absent ones.
    without_mark: Literal["present", "release"] = "present"
    # At which <peos> the present part is paid if there are several; it always ends at the first.
    # The release pays at the last, which biases the gradient: the tokens between them are rewarded
    # for what they have no influence on.
    several_marks: Literal["first", "last"] = "first"
    # Where a part is paid whose <peos> or <eos> is missing: at the last token, or as in the release
    # at the first, so that the other tokens are not rewarded.
    missing_end: Literal["last", "first"] = "last"
    # unsplit: as in the release, validation takes <peos> for a word, and for a gold phrase.
    validation: Literal["split", "unsplit"] = "split"

    def __post_init__(self) -> None:
        if self.baseline == "leave_one_out" and self.samples < 2:
            raise ValueError(
                "baseline 'leave_one_out' needs other samples; set samples to 2 or more"
            )
        if not self.by_phrase:
            return
        if self.regulariser == "entropy":
            raise ValueError("by_phrase cannot divide the regulariser 'entropy' among phrases")
        if self.without_mark == "release":
            raise ValueError(
                "by_phrase cannot be used with without_mark 'release': which phrases are absent "
                "would be known only after they were paid"
            )


def build(config: Config, context: Context) -> SelfCritical:
    if context.paradigm != "one2seq":
        raise ConfigError(
            f"{context.path}: needs a model that writes all phrases as one sequence, and this is a "
            f"{context.paradigm} model; choose a one2seq model or the objective 'nll'"
        )
    if context.targets.generated != "all":
        raise ConfigError(
            f"{context.path}: needs a model that writes all phrases as one sequence, and this "
            "model writes only absent ones; choose another model or the objective 'nll'"
        )
    if config.parts == "separate" and not context.targets.mark_absent:
        raise ConfigError(
            f"{context.path}.parts: rewards for present and absent phrases need a model that marks "
            "where the absent ones begin; set data.mark_absent (also in the run it starts from), "
            "or parts to 'together'"
        )
    reward = rewards.build(config.reward, context, f"{context.path}.reward")
    return SelfCritical(config, context, reward)


class SelfCritical(Objective):
    def __init__(self, config: Config, context: Context, reward: Reward):
        super().__init__()
        self._config = config
        self._context = context
        self._reward = reward
        self._options = Options(max_length=config.max_length, unknown=config.unknown)
        special = context.vocabulary.special
        self._special = special
        self._rules = DecodingRules(self._options, context.paradigm, special)
        self._read = EpisodeReader(
            peos=special.peos if config.parts == "separate" else None,
            eos=special.eos,
            without_mark=config.without_mark,
            several_marks=config.several_marks,
            missing_end=config.missing_end,
        )

    def loss(self, model: Model, batch: Batch, position: Position) -> Loss:
        samples = self.sample(model, batch, position)
        count = len(samples.sequences)
        sequences = self.episodes(batch, samples)
        entropies = mean_by_part(sequences, samples.entropies)
        if self._config.baseline == "greedy":
            decoded = self.decode(model, batch)
            others = self.episodes(batch, decoded)
            entropies = torch.cat([entropies, mean_by_part(others, decoded.entropies)])
            sequences += others
        found = self.pay(batch, sequences, entropies)
        advantage, baseline = self._compare(found.amounts, count)
        payments = Payments(advantage, found.paid_at[:count])
        weights = payments.returns(samples.log_probs.shape[1])
        total = -(samples.log_probs * weights.to(samples.log_probs)).sum()
        self._note(found.amounts[:count], baseline, advantage, samples)
        observe(self.tally, batch, sequences[:count], samples, self._config.max_length)
        return self._mixed(Loss(total, self._divisor(samples)), model, batch)

    @torch.no_grad()
    def validation_loss(self, model: Model, batch: Batch) -> Loss:
        decoded = most_likely(model, batch, self._rules)
        if self._config.validation == "unsplit":
            found = self._unsplit(batch, decoded)
        else:
            found = self._rewards(batch.documents, self.episodes(batch, decoded))
        return Loss(-found.sum(), torch.tensor(len(batch)))

    def sample(self, model: Model, batch: Batch, position: Position) -> Samples:
        """The sequences of one update, `samples` for each document."""
        seed = derive(self._context.seed, position.stage, position.update)
        rows, length = self._config.samples, self._config.max_length
        draws = uniform(seed, batch.documents, rows, length)
        return sample(model, batch, self._rules, draws, self._config.temperature)

    def decode(self, model: Model, batch: Batch) -> Samples:
        """The sequence that each document's samples are compared with."""
        with evaluating(model):
            return most_likely(model, batch, self._rules)

    def episodes(self, batch: Batch, samples: Samples) -> list[Episode]:
        """What the sequences say, the same number for each document of the batch."""
        each = len(samples.sequences) // len(batch)
        vocabulary = self._context.vocabulary
        return [
            self._read(
                sequence.tokens,
                phrases.spelled(batch, row // each, vocabulary, self._options, sequence),
            )
            for row, sequence in enumerate(samples.sequences)
        ]

    def pay(self, batch: Batch, episodes: Sequence[Episode], entropies: Tensor) -> Payments:
        """What samples, and after them the baseline if it is decoded, are paid.

        `entropies` [R, P] are the mean ones of their parts.
        """
        times = self._config.samples
        documents = [document for document in batch.documents for _ in range(times)]
        documents += batch.documents[: len(episodes) - len(documents)]
        if self._config.by_phrase:
            return self._pay_by_phrase(documents, episodes)
        found = self._rewards(documents, episodes)
        return paid_at_ends(episodes, self._regularised(found, episodes, entropies))

    def _pay_by_phrase(
        self, documents: Sequence[Document], episodes: Sequence[Episode]
    ) -> Payments:
        """All prefixes of all episodes are rewarded together."""
        owners, prefixes = zip(
            *(pair for row, episode in enumerate(episodes) for pair in _prefixes(row, episode)),
            strict=True,
        )
        found = self._rewards([documents[row] for row in owners], prefixes)
        found = self._regularised(found, prefixes, None)
        # Of each part, the prefixes from no phrases up to all of its own.
        split: list[list[list[float]]] = [[[] for _ in episode] for episode in episodes]
        for row, prefix, values in zip(owners, prefixes, found.tolist(), strict=True):
            for column, (part, value) in enumerate(zip(prefix, values, strict=True)):
                if len(split[row][column]) == len(part.phrases):
                    split[row][column].append(value)
        return paid_by_phrase(episodes, split, max(1, *map(_longest, episodes)))

    def _rewards(self, documents: Sequence[Document], episodes: Sequence[Episode]) -> Tensor:
        """The reward of every part of every episode [R, P]."""
        columns = [
            self._reward(documents, [part.texts for part in parts], parts[0].name)
            for parts in zip(*episodes, strict=True)
        ]
        return torch.tensor(columns, dtype=torch.float64).T

    def _regularised(
        self, found: Tensor, episodes: Sequence[Episode], entropies: Tensor | None
    ) -> Tensor:
        if self._config.regulariser == "none":
            return found
        if self._config.regulariser == "unique":
            shares = [[_distinct(part.texts) for part in episode] for episode in episodes]
            other = torch.tensor(shares, dtype=torch.float64)
        else:
            assert entropies is not None, "Config refuses entropy by phrase"
            other = entropies
        return torch.lerp(found, other, self._config.regulariser_share)

    def _compare(self, amounts: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """What `count` samples are paid beyond their baseline, and that baseline: [count, P, K].

        The k-th payment of a part is compared with the k-th of the baseline. Payments that a sample
        lacks are zero and due where its part ends, so that the sum over a part does not depend on
        the number of its phrases.
        """
        sampled, times = amounts[:count], self._config.samples
        if self._config.baseline == "greedy":
            baseline = amounts[count:].repeat_interleave(times, dim=0)
        else:
            grouped = sampled.reshape(-1, times, *sampled.shape[1:])
            others = grouped.sum(1, keepdim=True) - grouped
            baseline = (others / (times - 1)).flatten(0, 1)
        return sampled - baseline, baseline

    def _mixed(self, loss: Loss, model: Model, batch: Batch) -> Loss:
        """With the model's own loss of the same documents, one term for each sample."""
        share = self._config.likelihood
        if not share:
            return loss
        own = model.loss(batch).total * self._config.samples
        return replace(loss, total=(1 - share) * loss.total + share * own)

    def _unsplit(self, batch: Batch, decoded: Samples) -> Tensor:
        """The reward [B] of all phrases, where `<peos>` is a word and a gold phrase."""
        texts = [
            unsplit_texts(
                sequence.tokens,
                phrases.spelled(batch, row, self._context.vocabulary, self._options, sequence),
                self._special,
            )
            for row, sequence in enumerate(decoded.sequences)
        ]
        marked = [
            msgspec.structs.replace(document, keyphrases=(*(document.keyphrases or ()), MARK))
            for document in batch.documents
        ]
        return torch.tensor(self._reward(marked, texts, "all"), dtype=torch.float64)

    def _divisor(self, samples: Samples) -> Tensor:
        if self._config.divide_by == "sequences":
            return torch.tensor(len(samples.sequences))
        return torch.tensor(sum(len(sequence.tokens) for sequence in samples.sequences))

    def _note(self, reward: Tensor, baseline: Tensor, advantage: Tensor, samples: Samples) -> None:
        rows = len(reward)
        self.tally.add("reward", float(reward.sum()), rows)
        self.tally.add("baseline", float(baseline.sum()), rows)
        self.tally.add("advantage", float(advantage.sum((1, 2)).abs().sum()), rows)
        self.tally.add("entropy", float(samples.mean_entropies.sum()), rows)

    def warning(self, report: Mapping[str, float]) -> str | None:
        return collapsed(report)


def _prefixes(row: int, episode: Episode) -> Iterator[tuple[int, Episode]]:
    """The first phrases of all parts: of none, of one, ..., each with the number of its row."""
    for length in range(_longest(episode) + 1):
        yield row, tuple(replace(part, phrases=part.phrases[:length]) for part in episode)


def _longest(episode: Episode) -> int:
    return max(len(part.phrases) for part in episode)


def _distinct(texts: Sequence[str]) -> float:
    """The share of distinct phrases; 1 if there are none."""
    return len(set(texts)) / len(texts) if texts else 1.0
