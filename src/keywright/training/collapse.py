"""Signs of a policy that has collapsed: it predicts nothing, the same for all, or repeats itself.

A reward can fall into such a state and stay there, because samples that are all alike have no
advantage over each other, so that nothing is learnt any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from keywright.data.batch import Batch
from keywright.training.episodes import Episode
from keywright.training.objective import Tally
from keywright.training.sampling import Samples

PHRASES = "phrases"
REPETITION = "repetition"
CUT = "cut"
SAME = "same_phrase"
GOLD = "gold_phrases"

_FEW = 0.5
_ONE = 1.1
_MANY_GOLD = 2.0
_MOST = 0.5
_ENOUGH = 8  # documents of a batch


def observe(
    tally: Tally, batch: Batch, episodes: Sequence[Episode], samples: Samples, max_length: int
) -> None:
    """Add to the tally what `collapsed` looks at.

    `phrases` and `gold_phrases` are numbers per sequence, `repetition` is the share of phrases that
    repeat an earlier one of their sequence, `cut` the share of sequences that did not end, and
    `same_phrase` the share of sequences that contain the most frequent phrase of the batch, if the
    batch has enough documents for that to mean anything.
    """
    texts = [[text for part in episode for text in part.texts] for episode in episodes]
    count = sum(map(len, texts))
    distinct = sum(len(set(phrases)) for phrases in texts)
    lengths = [len(sequence.tokens) for sequence in samples.sequences]
    tally.add(PHRASES, count, len(texts))
    tally.add(GOLD, sum(len(d.keyphrases or ()) for d in batch.documents), len(batch))
    tally.add(REPETITION, count - distinct, count)
    tally.add(CUT, sum(length == max_length for length in lengths), len(texts))
    if len(batch) >= _ENOUGH:
        frequencies = Counter(text for phrases in texts for text in set(phrases))
        tally.add(SAME, max(frequencies.values(), default=0), len(texts))


def collapsed(report: Mapping[str, float]) -> str | None:
    """What is wrong with the means since the last report; None if nothing is."""
    phrases = report.get(PHRASES, _MANY_GOLD)
    if phrases < _FEW:
        return f"the policy predicts almost nothing: {phrases:.2f} phrases per sequence"
    if phrases < _ONE and report.get(GOLD, 0.0) > _MANY_GOLD:
        return f"the policy predicts one phrase: {phrases:.2f} phrases per sequence"
    if report.get(REPETITION, 0.0) > _MOST:
        return f"the policy repeats itself: {report[REPETITION]:.0%} of its phrases are repeats"
    if report.get(CUT, 0.0) > _MOST:
        return f"the policy does not end: {report[CUT]:.0%} of its sequences reach max_length"
    if report.get(SAME, 0.0) > _MOST:
        return (
            "the policy predicts the same phrase everywhere: it is in "
            f"{report[SAME]:.0%} of the sequences of a batch"
        )
    return None
