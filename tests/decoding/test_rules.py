"""The rules that all strategies share: every backend against plain Python and brute force."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from keywright.config import Part
from keywright.decoding import numpy_rules, torch_rules
from keywright.decoding.decoder import Decoder
from keywright.decoding.options import Options
from keywright.decoding.rules import DecodingRules
from keywright.decoding.strategies import exhaustive
from keywright.errors import ConfigError
from keywright.lexicon import SpecialIds
from tests.decoding.fake import (
    EOS,
    NULL,
    PEOS,
    SEARCHES,
    SEP,
    SPECIAL,
    VOCABULARY,
    A,
    B,
    FakeGenerator,
    Search,
    Table,
    batch,
    fixed,
    random,
    sequences,
)

LENGTH = 5
Allowed = Callable[[DecodingRules, np.ndarray, np.ndarray], np.ndarray]


def allowed_by_torch(rules: DecodingRules, log_probs: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    masked = torch_rules.allowed(rules, torch.from_numpy(log_probs), torch.from_numpy(tokens))
    return masked.numpy()


def allowed_by_numpy(rules: DecodingRules, log_probs: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    masked = log_probs.copy()
    numpy_rules.forbid(rules, masked, tokens)
    return masked


BACKENDS = {"torch": allowed_by_torch, "numpy": allowed_by_numpy}


@pytest.fixture(params=BACKENDS)
def allowed(request: pytest.FixtureRequest) -> Allowed:
    return BACKENDS[request.param]


@pytest.fixture(params=SEARCHES)
def search(request: pytest.FixtureRequest) -> Search:
    return SEARCHES[request.param]


# What each option permits, in plain Python.


def phrases(prefix: tuple[int, ...], special: SpecialIds) -> list[list[int]]:
    """The phrases of a prefix; the last one is under way and may be empty."""
    parts: list[list[int]] = [[]]
    for token in prefix:
        if token in special.delimiters:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def complete(prefix: tuple[int, ...], special: SpecialIds) -> int:
    return sum(bool(phrase) for phrase in phrases(prefix, special)[:-1])


def unique_tokens(prefix, token, special):
    return token not in phrases(prefix, special)[-1]


def unique_starts(prefix, token, special):
    *before, current = phrases(prefix, special)
    return bool(current) or token not in [phrase[0] for phrase in before if phrase]


def unlike_the_previous_start(prefix, token, special):
    *before, current = phrases(prefix, special)
    starts = [phrase[0] for phrase in before if phrase]
    return bool(current) or token not in starts[-1:]


def max_phrase(prefix, token, special):
    return len(phrases(prefix, special)[-1]) < 2 or token in special.delimiters


def max_phrases(prefix, token, special):
    return complete(prefix, special) + 1 < 2 or token not in (special.sep, special.peos)


def min_phrases(prefix, token, special):
    current = phrases(prefix, special)[-1]
    too_few = complete(prefix, special) + bool(current) < 2
    return not too_few or not (token == special.eos or (token == special.sep and not current))


RULES = [
    ({}, []),
    ({"unique_tokens": True}, [unique_tokens]),
    ({"unique_starts": True}, [unique_starts]),
    ({"unique_starts": True, "starts_window": 1}, [unlike_the_previous_start]),
    ({"max_phrase": 2}, [max_phrase]),
    ({"max_phrases": 2}, [max_phrases]),
    ({"min_phrases": 2}, [min_phrases]),
    (
        {"unique_tokens": True, "unique_starts": True, "max_phrase": 2, "max_phrases": 2},
        [unique_tokens, unique_starts, max_phrase, max_phrases],
    ),
]
each_rule = pytest.mark.parametrize(
    ("options", "predicates"), RULES, ids=[str(list(options)) for options, _ in RULES]
)
# Ids as keywright assigns them, as T5's tokenizer does, and as BART's does.
TOKENIZERS = {
    "own": SpecialIds(),
    "t5": SpecialIds(pad=0, bos=0, eos=1, unk=2, sep=13, peos=None, null=None),
    "bart": SpecialIds(pad=1, bos=2, eos=2, unk=3, sep=12, peos=13, null=11),
}


@pytest.mark.parametrize("special", TOKENIZERS.values(), ids=list(TOKENIZERS))
@pytest.mark.parametrize("length", [0, 1, 2, 7])
@each_rule
def test_exactly_the_tokens_that_break_a_rule_are_forbidden(
    allowed, options, predicates, length, special
):
    rng = np.random.default_rng(length)
    log_probs = np.log(rng.dirichlet(np.ones(14), 50)).astype(np.float32)
    tokens = rng.choice([special.sep, special.sep, 5, 7, 8, 9, 10], (50, length))
    found = allowed(DecodingRules(Options(**options), "one2seq", special), log_probs, tokens)
    never = {special.pad, special.null} | ({special.bos} - {special.eos})
    for row, prefix in enumerate(map(tuple, tokens.tolist())):
        permitted = [
            token not in never and all(rule(prefix, token, special) for rule in predicates)
            for token in range(14)
        ]
        assert (found[row] > -np.inf).tolist() == permitted
        assert (found[row][permitted] == log_probs[row][permitted]).all()


def generated(rules: DecodingRules, allowed: Allowed, table: Table) -> Iterator[tuple]:
    """Every sequence that can be generated under the rules, with its log-probability."""

    def extend(prefix: tuple[int, ...], score: float) -> Iterator[tuple]:
        if (prefix and prefix[-1] in rules.ends) or len(prefix) == LENGTH:
            yield prefix, score
            return
        log_probs = np.full((1, VOCABULARY.size), -np.inf, dtype=np.float32)
        for token, probability in table("x", 0, prefix).items():
            log_probs[0, token] = math.log(probability)
        [row] = allowed(rules, log_probs, np.array([prefix], dtype=np.int64))
        for token in (row > -np.inf).nonzero()[0].tolist():
            yield from extend((*prefix, token), score + float(row[token]))

    return extend((), 0.0)


@each_rule
def test_exactly_the_sequences_that_keep_the_rules_are_generated(allowed, options, predicates):
    table = random([A, B, SEP, PEOS, EOS], seed=2)

    def permitted(prefix, token):
        return all(predicate(prefix, token, SPECIAL) for predicate in predicates)

    oracle = dict(sequences(table, "x", 0, LENGTH, permitted=permitted))
    assert (len(oracle) < len(sequences(table, "x", 0, LENGTH))) == bool(predicates)
    rules = DecodingRules(Options(**options), "one2seq", SPECIAL)
    assert dict(generated(rules, allowed, table)) == pytest.approx(oracle, abs=1e-5)


@each_rule
def test_exhaustive_decoding_keeps_the_rules(options, predicates):
    table = random([A, B, SEP, PEOS, EOS], seed=2)
    config = exhaustive.Config(width=3000, max_length=LENGTH, **options)
    rules = DecodingRules(config, "one2seq", SPECIAL)
    [found] = exhaustive.search(config, FakeGenerator(table), batch("x"), rules)
    expected = dict(generated(rules, allowed_by_torch, table))
    assert {tuple(h.tokens) for h in found} == expected.keys()
    for hypothesis in found:  # the rules do not change the probability of what they allow
        assert sum(hypothesis.log_probs) == pytest.approx(expected[tuple(hypothesis.tokens)])


def test_a_sequence_ends_where_the_rules_allow_nothing_else(search):
    table = fixed({(): {A: 1.0}, (A,): {A: 0.9, EOS: 0.1}})
    [[found]] = search(table, "x", unique_tokens=True)
    assert found.tokens == [A, EOS]
    # `min_phrases` forbids <eos>, and only the repeated A would be left.
    table = fixed({(): {A: 1.0}, (A,): {SEP: 1.0}, (A, SEP): {A: 0.7, EOS: 0.3}})
    [[found]] = search(table, "x", unique_starts=True, min_phrases=2)
    assert found.tokens == [A, SEP, EOS]


def test_padding_and_start_tokens_are_never_generated(search):
    table = fixed({(): {SPECIAL.pad: 0.3, SPECIAL.bos: 0.3, NULL: 0.3, A: 0.1}})
    [[found]] = search(table, "x")
    assert found.tokens == [A, EOS]


@pytest.mark.parametrize(
    ("paradigm", "ends"), [("one2seq", [EOS]), ("one2one", [EOS]), ("one2set", [EOS, NULL])]
)
def test_a_slot_without_a_phrase_ends_with_null(paradigm, ends):
    rules = DecodingRules(Options(), paradigm, SPECIAL)
    tokens = np.arange(VOCABULARY.size)
    assert tokens[rules.ended(tokens)].tolist() == ends
    assert tokens[torch_rules.ended(rules, torch.from_numpy(tokens)).numpy()].tolist() == ends


@pytest.mark.parametrize(
    ("paradigm", "strategy", "length"),
    [
        ("one2seq", "greedy", 60),
        ("one2one", "greedy", 10),
        ("one2set", "beam", 10),
        ("one2seq", "exhaustive", 40),
        ("one2one", "exhaustive", 10),
    ],
)
def test_the_paradigm_limits_the_length_by_default(paradigm, strategy, length):
    model = FakeGenerator(lambda *_: {A: 1.0})
    Decoder(Part(strategy), VOCABULARY, paradigm)(model, batch("x"))
    assert len(model.steps) == length


def test_a_minimum_number_of_phrases_is_refused_for_set_models():
    with pytest.raises(ConfigError, match=r"decode.min_phrases.*one2set"):
        Decoder(Part("greedy", {"min_phrases": 3}), VOCABULARY, "one2set")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part("beem"), "decode.name: unknown decoding strategy 'beem'; did you mean 'beam'"),
        (Part("beam", {"widht": 3}), "decode.widht: unknown setting; did you mean 'width'"),
        (Part("beam", {"width": 0}), "decode.width"),
        (Part("sample", {"top_p": 0.0}), "decode.top_p"),
        (Part("greedy", {"unknown": "ban"}), "decode.unknown: 'ban' is not one of the choices"),
        (Part("greedy", {"max_phrases": 2, "min_phrases": 3}), "max_phrases"),
    ],
)
def test_wrong_settings_are_named(part, message):
    with pytest.raises(ConfigError) as error:
        Decoder(part, VOCABULARY, "one2seq")
    assert message in str(error.value)
