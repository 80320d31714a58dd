"""The options all strategies share, each against brute force under the same rule."""

import pytest

from keywright.config import Part
from keywright.data.targets import DELIMITERS
from keywright.decoding import Decoder, exhaustive, greedy
from keywright.decoding._rules import Rules
from keywright.errors import ConfigError
from tests.decoding.fake import (
    EOS,
    PEOS,
    SEP,
    VOCABULARY,
    A,
    B,
    FakeGenerator,
    batch,
    fixed,
    random,
    sequences,
)

LENGTH = 5


def phrases(prefix: tuple[int, ...]) -> list[list[int]]:
    """The phrases of a prefix; the last one is under way and may be empty."""
    parts: list[list[int]] = [[]]
    for token in prefix:
        if token in DELIMITERS:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def complete(prefix: tuple[int, ...]) -> int:
    return sum(bool(phrase) for phrase in phrases(prefix)[:-1])


def unique_tokens(prefix, token):
    return token not in phrases(prefix)[-1]


def unique_starts(prefix, token):
    *before, current = phrases(prefix)
    return bool(current) or token not in [phrase[0] for phrase in before if phrase]


def unique_starts_in_a_row(prefix, token):
    *before, current = phrases(prefix)
    starts = [phrase[0] for phrase in before if phrase]
    return bool(current) or token not in starts[-1:]


def max_phrase(prefix, token):
    return len(phrases(prefix)[-1]) < 2 or token in DELIMITERS


def max_phrases(prefix, token):
    return complete(prefix) + 1 < 2 or token not in (SEP, PEOS)


def min_phrases(prefix, token):
    current = phrases(prefix)[-1]
    too_few = complete(prefix) + bool(current) < 2
    return not too_few or not (token == EOS or (token == SEP and not current))


RULES = [
    ({"unique_tokens": True}, [unique_tokens]),
    ({"unique_starts": True}, [unique_starts]),
    ({"unique_starts": True, "starts_window": 1}, [unique_starts_in_a_row]),
    ({"max_phrase": 2}, [max_phrase]),
    ({"max_phrases": 2}, [max_phrases]),
    ({"min_phrases": 2}, [min_phrases]),
    (
        {"unique_tokens": True, "unique_starts": True, "max_phrase": 2, "max_phrases": 2},
        [unique_tokens, unique_starts, max_phrase, max_phrases],
    ),
]


@pytest.mark.parametrize(("options", "predicates"), RULES, ids=[str(list(o)) for o, _ in RULES])
def test_exactly_the_sequences_that_keep_the_rule_are_generated(options, predicates):
    table = random([A, B, SEP, PEOS, EOS], seed=2)

    def permitted(prefix, token):
        return all(predicate(prefix, token) for predicate in predicates)

    oracle = sequences(table, "x", 0, LENGTH, permitted=permitted)
    assert len(oracle) < len(sequences(table, "x", 0, LENGTH))
    config = exhaustive.Config(width=3000, max_length=LENGTH, **options)
    [found] = exhaustive.search(config, FakeGenerator(table), batch("x"), Rules(config, "one2seq"))
    expected = dict(oracle)
    assert {tuple(h.tokens) for h in found} == expected.keys()
    for hypothesis in found:  # a rule does not change what the model says of what is allowed
        assert sum(hypothesis.log_probs) == pytest.approx(expected[tuple(hypothesis.tokens)])


def test_where_the_rules_leave_nothing_to_say_the_sequence_ends():
    table = fixed({(): {A: 1.0}, (A,): {A: 0.9, EOS: 0.1}})
    [[found]] = _greedy(table, unique_tokens=True)
    assert found.tokens == [A, EOS]
    # `min_phrases` forbids <eos> and only the repeated A would be left.
    table = fixed({(): {A: 1.0}, (A,): {SEP: 1.0}, (A, SEP): {A: 0.7, EOS: 0.3}})
    [[found]] = _greedy(table, unique_starts=True, min_phrases=2)
    assert found.tokens == [A, SEP, EOS]


def test_pads_and_start_marks_are_never_said():
    pad, bos, null = 0, 1, 6
    [[found]] = _greedy(fixed({(): {pad: 0.3, bos: 0.3, null: 0.3, A: 0.1}}))
    assert found.tokens == [A, EOS]


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
def test_lengths_are_bounded_by_paradigm_unless_said_otherwise(paradigm, strategy, length):
    model = FakeGenerator(lambda *_: {A: 1.0})
    Decoder(Part(strategy), VOCABULARY, paradigm)(model, batch("x"))
    assert len(model.steps) == length


def test_a_minimum_of_phrases_is_refused_where_it_cannot_be_kept():
    with pytest.raises(ConfigError, match=r"decode.min_phrases.*one2set"):
        Decoder(Part("greedy", {"min_phrases": 3}), VOCABULARY, "one2set")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part("beem"), "decode.name: unknown decoding 'beem'; did you mean 'beam'"),
        (Part("beam", {"widht": 3}), "decode.widht: unknown setting; did you mean 'width'"),
        (Part("beam", {"width": 0}), "decode.width"),
        (Part("sample", {"top_p": 0.0}), "decode.top_p"),
        (Part("greedy", {"unknown": "ban"}), "decode.unknown: 'ban' is no choice"),
        (Part("greedy", {"max_phrases": 2, "min_phrases": 3}), "max_phrases"),
    ],
)
def test_wrong_settings_are_named(part, message):
    with pytest.raises(ConfigError) as error:
        Decoder(part, VOCABULARY, "one2seq")
    assert message in str(error.value)


def _greedy(table, **options):
    config = greedy.Config(**options)
    return greedy.search(config, FakeGenerator(table), batch("x"), Rules(config, "one2seq"))
