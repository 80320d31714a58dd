"""The gradient of the self-critical objective for every reward, baseline and option.

All sequences that a tiny model can sample are enumerated. The expected gradient must be that of the
expected reward, which is computed here from probabilities, by a reading of sequences of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from keywright import reward as rewards
from keywright.config import Part
from keywright.data.batch import Batches
from keywright.data.targets import Targets
from keywright.decoding.phrases import Hypothesis
from keywright.errors import ConfigError
from keywright.lexicon import EOS, PEOS, SEP, UNK
from keywright.lexicons.words import Vocabulary
from keywright.models import cat_seq
from keywright.nn.model import Model
from keywright.reward import Reward
from keywright.rewards import fb
from keywright.rewards._phrases import PhraseReader
from keywright.training import sampling
from keywright.training.objective import Context, Position
from keywright.training.objectives import self_critical
from keywright.training.objectives.self_critical import SelfCritical
from keywright.training.sampling import Samples
from keywright.types import Document
from tests.training.test_self_critical import arbitrary

VOCABULARY = Vocabulary(["a", "b"])
WORDS = {UNK: "<unk>", 7: "a", 8: "b"}
TOKENS = (EOS, UNK, SEP, PEOS, 7, 8)  # all that can be generated
DOCUMENT = Document(title="", body="a a", keyphrases=("a", "b"), tokenised=True)
CONTEXT = Context(VOCABULARY, Targets("one2seq", mark_absent=True), "chan19", 1, 400, "o")
BATCH = next(iter(Batches([DOCUMENT], VOCABULARY, CONTEXT.targets, size=1, max_source=9).epoch(0)))
START = Position(stage=0, update=0)
Reader = Callable[[Sequence[int]], tuple[list[str], list[str]]]


def policy() -> Model:
    torch.manual_seed(1)
    sizes = cat_seq.Config(embedding=3, encoder=2, decoder=3, dropout=0.0)
    return cat_seq.build(sizes, VOCABULARY).double().train()


def objective(reward: Reward = arbitrary, **settings: Any) -> SelfCritical:
    config = self_critical.Config(**{"max_length": 3, "unknown": "keep", **settings})
    return SelfCritical(config, CONTEXT, reward)


def gradients(total: Tensor, of: Model) -> list[Tensor]:
    return list(torch.autograd.grad(total, list(of.parameters()), materialize_grads=True))


def sequences(length: int, prefix: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Everything that can be sampled."""
    if len(prefix) == length or (prefix and prefix[-1] == EOS):
        yield prefix
        return
    for token in TOKENS:
        yield from sequences(length, (*prefix, token))


def walk(of: Model, tokens: Sequence[int], temperature: float = 1.0) -> tuple[Tensor, list[float]]:
    """The probability of a sequence, and the entropies on its way."""
    memory = of.encode(BATCH)
    inputs, state = of.start(memory)
    log_prob, entropies = torch.zeros((), dtype=torch.float64), []
    for token in tokens:
        step = of.step(inputs, state, memory)
        possible = (step.log_probs[0, list(TOKENS)] / temperature).log_softmax(0)
        log_prob = log_prob + possible[TOKENS.index(token)]
        entropies.append(-float((possible.exp() * possible).sum().detach()))
        inputs, state = torch.tensor([token]), step.state
    return log_prob.exp(), entropies


def parts_of(tokens: Sequence[int]) -> tuple[list[str], list[str]]:
    parts: list[list[str]] = [[]]
    words: list[str] = []
    for token in tokens:
        if token in WORDS:
            words.append(WORDS[token])
            continue
        if words:
            parts[-1].append(" ".join(words))
        words = []
        if token == PEOS and len(parts) == 1:
            parts.append([])
    return parts[0], parts[1] if len(parts) > 1 else []


def parts_of_release(tokens: Sequence[int]) -> tuple[list[str], list[str]]:
    present, absent = parts_of(tokens)
    return (present, absent) if PEOS in tokens else ([], present[1:])


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """What is sampled for each row, instead of random sequences."""
    script: list[tuple[int, ...]] = []

    def uniform(seed: int, documents: Sequence[Document], rows: int, length: int) -> Tensor:
        assert len(script) == len(documents) * rows
        return torch.tensor([[*tokens, *[EOS] * (length - len(tokens))] for tokens in script])

    monkeypatch.setattr(self_critical, "uniform", uniform)
    monkeypatch.setattr(sampling, "draw", lambda log_probs, tokens: tokens)
    return script


class Enumerated:
    """All sequences up to a length, their probabilities and entropies."""

    def __init__(self, length: int = 3, temperature: float = 1.0):
        self.policy = policy()
        self.sequences = list(sequences(length))
        walked = [walk(self.policy, tokens, temperature) for tokens in self.sequences]
        self.probabilities = torch.stack([probability for probability, _ in walked])
        self.entropies = [entropies for _, entropies in walked]
        assert float(self.probabilities.detach().sum()) == pytest.approx(1)

    def exact(self, values: Sequence[float]) -> list[Tensor]:
        """The gradient of minus the expected value."""
        expected = (self.probabilities * torch.tensor(values, dtype=torch.float64)).sum()
        return gradients(-expected, self.policy)

    def expected(
        self, criterion: SelfCritical, script: list[tuple[int, ...]], samples: int = 1
    ) -> list[Tensor]:
        """The expected gradient of the objective for one sample."""
        total = [torch.zeros_like(parameter) for parameter in self.policy.parameters()]
        numbered = list(enumerate(self.sequences))
        for chosen in product(numbered, repeat=samples):
            script[:] = [tokens for _, tokens in chosen]
            p = 1.0
            for number, _ in chosen:
                p *= float(self.probabilities[number].detach())
            loss = criterion.loss(self.policy, BATCH, START)
            for sum_, gradient in zip(total, gradients(loss.total, self.policy), strict=True):
                sum_ += p / samples * gradient
        return total


@pytest.fixture(scope="module")
def enumerated() -> Enumerated:
    with torch.enable_grad():
        return Enumerated()


@pytest.fixture(autouse=True)
def _graph_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probabilities are differentiated once for each test."""
    original = torch.autograd.grad
    monkeypatch.setattr(
        torch.autograd, "grad", lambda *a, **k: original(*a, **{"retain_graph": True, **k})
    )


def assert_equal(ours: list[Tensor], theirs: list[Tensor]) -> None:
    assert max(float(gradient.abs().max()) for gradient in theirs) > 1e-4
    for one, other in zip(ours, theirs, strict=True):
        assert torch.allclose(one, other, rtol=1e-6, atol=1e-9)


def values(of: Enumerated, reward: Reward, read: Reader = parts_of) -> list[float]:
    """The sum of both rewards for every sequence."""
    present, absent = zip(*map(read, of.sequences), strict=True)
    documents = [DOCUMENT] * len(of.sequences)
    pairs = zip(
        reward(documents, present, "present"), reward(documents, absent, "absent"), strict=True
    )
    return [sum(pair) for pair in pairs]


def similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [arbitrary([DOCUMENT], [list(pair)], "all")[0] for pair in pairs]


REWARDS: dict[str, Reward] = {
    name: rewards.build(Part(name.partition(" ")[0], settings), CONTEXT, "o.reward")
    for name, settings in {
        "f1": {},
        "f1 plain": {"adaptive": False},
        "recall": {},
        "fg": {},
        "fg without edit": {"edit": False},
        "fg without token": {"token": False},
        "fg without repetition": {"repetition": False},
        "fg without quantity": {"quantity": False},
    }.items()
}
for algorithm in ("paper", "release"):
    REWARDS[f"fb {algorithm}"] = fb.FBReward(
        fb.Config(scorer="", algorithm=algorithm), PhraseReader(CONTEXT.protocol), similarity
    )


@pytest.mark.parametrize("name", REWARDS)
def test_of_every_reward(
    name: str, enumerated: Enumerated, scripted: list[tuple[int, ...]]
) -> None:
    reward = REWARDS[name]
    ours = enumerated.expected(objective(reward), scripted)
    assert_equal(ours, enumerated.exact(values(enumerated, reward)))


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ({"by_phrase": True}, parts_of),
        ({"without_mark": "release"}, parts_of_release),
    ],
)
def test_of_payments_and_readings(
    settings: dict[str, Any],
    read: Reader,
    enumerated: Enumerated,
    scripted: list[tuple[int, ...]],
) -> None:
    ours = enumerated.expected(objective(**settings), scripted)
    assert_equal(ours, enumerated.exact(values(enumerated, arbitrary, read)))


@pytest.mark.parametrize("settings", [{"several_marks": "last"}, {"missing_end": "first"}])
def test_of_quirks_that_pay_too_early_or_too_late(
    settings: dict[str, Any], enumerated: Enumerated, scripted: list[tuple[int, ...]]
) -> None:
    """Where a part is paid must not depend on later tokens: these two settings have a bias."""
    ours = enumerated.expected(objective(**settings), scripted)
    exact = enumerated.exact(values(enumerated, arbitrary))
    pairs = zip(ours, exact, strict=True)
    assert max(float((one - other).abs().max()) for one, other in pairs) > 1e-4


def test_of_the_entropy_regulariser(
    enumerated: Enumerated, scripted: list[tuple[int, ...]]
) -> None:
    def of_parts(tokens: tuple[int, ...], entropies: list[float]) -> float:
        border = tokens.index(PEOS) + 1 if PEOS in tokens else len(tokens)
        present, absent = entropies[:border], entropies[border:]
        return sum(present) / len(present) + (sum(absent) / len(absent) if absent else 0.0)

    criterion = objective(regulariser="entropy", regulariser_share=0.3)
    entropies = map(of_parts, enumerated.sequences, enumerated.entropies)
    both = zip(values(enumerated, arbitrary), entropies, strict=True)
    regularised = [0.7 * value + 0.3 * entropy for value, entropy in both]
    assert_equal(enumerated.expected(criterion, scripted), enumerated.exact(regularised))


@pytest.mark.parametrize("by_phrase", [False, True])
def test_of_the_uniqueness_regulariser(
    by_phrase: bool, enumerated: Enumerated, scripted: list[tuple[int, ...]]
) -> None:
    def share(texts: list[str]) -> float:
        return len(set(texts)) / len(texts) if texts else 1.0

    criterion = objective(regulariser="unique", regulariser_share=0.3, by_phrase=by_phrase)
    unique = [share(p) + share(a) for p, a in map(parts_of, enumerated.sequences)]
    both = zip(values(enumerated, arbitrary), unique, strict=True)
    regularised = [0.7 * value + 0.3 * other for value, other in both]
    assert_equal(enumerated.expected(criterion, scripted), enumerated.exact(regularised))


def test_of_a_share_of_the_likelihood(
    enumerated: Enumerated, scripted: list[tuple[int, ...]]
) -> None:
    ours = enumerated.expected(objective(likelihood=0.3), scripted)
    own = gradients(enumerated.policy.loss(BATCH).total, enumerated.policy)
    exact = enumerated.exact(values(enumerated, arbitrary))
    assert_equal(ours, [0.7 * a + 0.3 * b for a, b in zip(exact, own, strict=True)])


def test_of_a_temperature(scripted: list[tuple[int, ...]]) -> None:
    cold = Enumerated(length=2, temperature=0.5)
    ours = cold.expected(objective(temperature=0.5, max_length=2), scripted)
    assert_equal(ours, cold.exact(values(cold, arbitrary)))


@pytest.mark.parametrize("by_phrase", [False, True])
def test_of_the_leave_one_out_baseline(by_phrase: bool, scripted: list[tuple[int, ...]]) -> None:
    short = Enumerated(length=2)
    criterion = objective(
        samples=2, baseline="leave_one_out", by_phrase=by_phrase, max_length=2, likelihood=0.0
    )
    ours = short.expected(criterion, scripted, samples=2)
    assert_equal(ours, short.exact(values(short, arbitrary)))


def test_leave_one_out_decodes_no_baseline_and_equal_samples_have_no_gradient(
    scripted: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    criterion, model = objective(samples=3, baseline="leave_one_out"), policy()
    monkeypatch.setattr(criterion, "decode", None)
    scripted[:] = [(7, PEOS, EOS)] * 3
    loss = criterion.loss(model, BATCH, START)
    assert loss.total.item() == pytest.approx(0, abs=1e-15)
    scripted[:] = [(7, PEOS, EOS), (8, EOS), (PEOS, 8, EOS)]
    before = criterion.report()
    criterion.loss(model, BATCH, START)
    report = criterion.report()
    assert report["reward"] == pytest.approx(report["baseline"])  # each is in others' baselines
    assert before["advantage"] == pytest.approx(0, abs=1e-15)
    assert report["advantage"] > 0


@pytest.mark.parametrize(
    "settings",
    [{"by_phrase": True}, {"regulariser": "entropy"}, {"regulariser": "unique"}],
)
def test_a_sample_equal_to_the_baseline_has_no_gradient(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "draw", lambda log_probs, uniform: log_probs.argmax(1))
    model = policy()
    loss = objective(samples=2, **settings).loss(model, BATCH, START)
    assert all((gradient == 0).all() for gradient in gradients(loss.total, model))


def test_validation_on_unsplit_output_takes_the_mark_for_a_word_and_for_gold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def reward(documents: Any, phrases: Any, part: str) -> list[float]:
        asked.append((documents[0].keyphrases, [list(texts) for texts in phrases], part))
        return [0.25] * len(documents)

    decoded = Hypothesis([7, PEOS, 8, EOS], [0.0] * 4, [0] * 4, 0.0)
    found = Samples([decoded], torch.zeros(1, 4), torch.zeros(1, 4))
    monkeypatch.setattr(self_critical, "most_likely", lambda *arguments: found)
    criterion = objective(reward, validation="unsplit", max_length=4, unknown="drop")
    loss = criterion.validation_loss(policy().eval(), BATCH)
    assert asked == [(("a", "b", "<peos>"), [["a <peos> b"]], "all")]
    assert loss.total.item() == -0.25


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"baseline": "leave_one_out"}, "set samples to 2 or more"),
        ({"by_phrase": True, "regulariser": "entropy"}, "cannot divide the regulariser"),
        ({"by_phrase": True, "without_mark": "release"}, "only after they were paid"),
    ],
)
def test_impossible_combinations_are_errors(settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        self_critical.Config(**settings)


def test_separate_rewards_need_the_mark() -> None:
    context = Context(VOCABULARY, Targets("one2seq"), "chan19", 1, 400, "train.stage[1].objective")
    with pytest.raises(ConfigError, match=r"stage\[1\]\.objective\.parts: .*set data\.mark_absent"):
        self_critical.build(self_critical.Config(), context)
    self_critical.build(self_critical.Config(parts="together"), context)
