"""From tokens to predictions: the content of phrases, which ones are left out, and their order."""

import math

import pytest

from keywright.config import Part
from keywright.data.batch import make_batch
from keywright.decoding.decoder import Decoder
from keywright.errors import ConfigError
from keywright.lexicons.words import Vocabulary
from keywright.types import Document
from tests.decoding.fake import (
    EOS,
    NULL,
    PEOS,
    SEP,
    UNK,
    VOCABULARY,
    A,
    B,
    C,
    FakeGenerator,
    Table,
    batch,
    fixed,
)

X = VOCABULARY.size  # the first word of the document that is not in the vocabulary


def decode(table: Table, strategy="greedy", paradigm="one2seq", slots=1, attention=None, **options):
    model = FakeGenerator(table, slots, attention)
    document = Document(id="d", title="", body="a graph b neural", tokenised=True)
    decoder = Decoder(Part(strategy, options), VOCABULARY, paradigm)
    [prediction] = decoder(model, make_batch([document], VOCABULARY))
    return prediction


def generating(*tokens: int, probability: float = 0.9) -> Table:
    """A table that generates exactly these tokens, and then continues for ever."""
    rows = {tokens[:i]: {token: probability} for i, token in enumerate(tokens)}
    return lambda body, slot, prefix: rows.get(prefix, {A: 1.0})


def test_a_phrase_has_its_words_and_log_probabilities_without_special_tokens():
    rows = {
        (): {A: 0.5},
        (A,): {B: 0.25},
        (A, B): {SEP: 0.125},
        (A, B, SEP): {X: 0.75},
        (A, B, SEP, X): {EOS: 0.1},
    }
    prediction = decode(fixed(rows))
    assert prediction.document_id == "d"
    assert prediction.texts == ("a b", "graph")  # the second was copied from the source
    first, second = prediction.phrases
    assert first.token_log_probs == pytest.approx((math.log(0.5), math.log(0.25)))
    assert second.token_log_probs == pytest.approx((math.log(0.75),))
    assert (first.words, second.words) == (2, 1)
    assert first.score is None  # phrases of a sequence are not ranked


def test_empty_phrases_and_present_absent_marks_are_left_out():
    assert decode(generating(SEP, A, PEOS, SEP, B, EOS)).texts == ("a", "b")
    assert decode(generating(EOS)).texts == ()


def test_a_phrase_of_blanks_is_left_out():
    class Blanks(Vocabulary):
        """Its token "b" is a blank, as tokens of byte-level tokenizers can be."""

        def decode(self, ids, extension):
            return " ".join(super().decode(ids, extension)).replace("b", " ").split()

    decoder = Decoder(Part("greedy"), Blanks(["a", "b", "c"]), "one2seq")
    [prediction] = decoder(FakeGenerator(generating(B, SEP, A, B, EOS)), batch("x"))
    assert prediction.texts == ("a",)


def test_a_phrase_cut_by_the_length_limit_is_left_out():
    assert decode(generating(A, SEP, B, C, EOS), max_length=4).texts == ("a",)
    assert decode(generating(A, SEP, B, C, EOS), max_length=5).texts == ("a", "b c")


def test_repeated_phrases_are_kept_by_default():
    table = generating(A, SEP, B, SEP, A, EOS)
    assert decode(table).texts == ("a", "b", "a")
    assert decode(table, unique_phrases=True).texts == ("a", "b")


def test_phrases_with_unknown_words_are_dropped_kept_or_completed():
    table = generating(A, UNK, SEP, B, EOS)
    assert decode(table).texts == ("b",)
    assert decode(table, unknown="keep").texts == ("a <unk>", "b")
    # The position attended to at the second token is 3: "neural".
    completed = decode(table, unknown="replace", attention=lambda prefix: 3 if prefix else 0)
    assert completed.texts == ("a neural", "b")


@pytest.mark.parametrize("body", ["", "<unk>", "<pad>"])
def test_an_unknown_word_without_replacement_is_dropped(body):
    model = FakeGenerator(generating(UNK, SEP, B, EOS), attention=lambda prefix: 0)
    decoder = Decoder(Part("greedy", {"unknown": "replace"}), VOCABULARY, "one2seq")
    document = Document(title="", body=body, tokenised=True)
    [prediction] = decoder(model, make_batch([document], VOCABULARY))
    assert prediction.texts == ("b",)


def test_completing_unknown_words_needs_attention():
    with pytest.raises(ConfigError, match=r"decode.unknown.*attention"):
        decode(generating(UNK, EOS), unknown="replace")


def test_slots_are_sorted_by_confidence_and_null_gives_no_phrase():
    def table(body: str, slot: int, prefix: tuple[int, ...]) -> dict[int, float]:
        slots = [{(): {A: 0.6}}, {(): {NULL: 0.9}}, {(): {B: 0.9}, (B,): {C: 0.8}}, {(): {A: 0.7}}]
        return slots[slot].get(prefix, {EOS: 1.0})

    prediction = decode(table, paradigm="one2set", slots=4)
    assert prediction.texts == ("b c", "a", "a")
    means = [math.log(0.9 * 0.8) / 2, math.log(0.7), math.log(0.6)]
    assert [phrase.score for phrase in prediction.phrases] == pytest.approx(means)
    unique = decode(table, paradigm="one2set", slots=4, unique_phrases=True)
    assert unique.texts == ("b c", "a")
    assert unique.phrases[1].log_prob == pytest.approx(math.log(0.7))  # the better one is kept
    assert decode(table, paradigm="one2set", slots=4, max_phrases=1).texts == ("b c",)


def test_slots_can_be_required_to_begin_differently():
    def table(body: str, slot: int, prefix: tuple[int, ...]) -> dict[int, float]:
        slots = [{(): {A: 0.6}}, {(): {A: 0.9}, (A,): {B: 0.9}}, {(): {B: 0.5}}]
        return slots[slot].get(prefix, {EOS: 1.0})

    plain = decode(table, paradigm="one2set", slots=3)
    assert plain.texts == ("a b", "a", "b")
    assert decode(table, paradigm="one2set", slots=3, unique_starts=True).texts == ("a b", "b")


EXHAUSTIVE = fixed(
    {
        (): {A: 0.5, B: 0.4, C: 0.1},
        (A,): {EOS: 0.5, SEP: 0.5},
        (A, SEP): {C: 1.0},
        (B,): {SEP: 1.0},
        (B, SEP): {C: 1.0},
    }
)
# Its sequences: "b ; c" 0.4, "a" 0.25, "a ; c" 0.25, "c" 0.1.


@pytest.mark.parametrize(
    ("rank", "texts", "scores"),
    [
        ("votes", ("c", "a", "b"), (math.log(0.75), math.log(0.5), math.log(0.4))),
        ("sequence", ("b", "c", "a"), (math.log(0.4), math.log(0.4), math.log(0.25))),
        ("phrase", ("c", "a", "b"), (0.0, math.log(0.5), math.log(0.4))),
    ],
)
def test_exhaustive_decoding_ranks_the_phrases_of_all_beams(rank, texts, scores):
    prediction = decode(EXHAUSTIVE, "exhaustive", rank=rank, width=10)
    assert prediction.texts == texts
    assert [phrase.score for phrase in prediction.phrases] == pytest.approx(list(scores))


def test_exhaustive_decoding_of_single_phrases_sorts_them_by_probability():
    rows = {(): {A: 0.6, B: 0.4}, (A,): {EOS: 0.5, B: 0.5}, (A, B): {EOS: 1.0}, (B,): {EOS: 1.0}}
    prediction = decode(fixed(rows), "exhaustive", "one2one", width=10)
    assert prediction.texts == ("b", "a", "a b")
    assert [p.score for p in prediction.phrases] == pytest.approx(
        [math.log(0.4), math.log(0.3), math.log(0.3)]
    )


def test_phrases_with_the_same_stems_are_merged_and_share_their_votes():
    words = Vocabulary(["networks", "network", "graph"])
    table = fixed({(): {A: 0.3, B: 0.25, C: 0.45}})  # the ids of the three words
    decoder = Decoder(Part("exhaustive", {"width": 5, "rank": "votes"}), words, "one2one")
    [prediction] = decoder(FakeGenerator(table), batch("x"))
    assert prediction.texts == ("networks", "graph")
    assert prediction.phrases[0].score == pytest.approx(math.log(0.55))
    assert prediction.phrases[0].log_prob == pytest.approx(math.log(0.3))


def test_the_best_beam_gives_the_phrases_of_one_sequence():
    assert decode(EXHAUSTIVE, "beam", width=10, length_normalisation=0.0).texts == ("b", "c")


@pytest.mark.parametrize("strategy", ["greedy", "sample", "beam", "exhaustive", "expected_f1"])
def test_an_empty_batch_has_no_predictions(strategy):
    decoder = Decoder(Part(strategy), VOCABULARY, "one2seq")
    assert decoder(FakeGenerator(EXHAUSTIVE), batch()) == []
