"""Everything that is written is read back unchanged, or refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keywright.data.documents import read_documents
from keywright.data.predictions import read_predictions
from keywright.data.writers import write_documents, write_predictions
from keywright.errors import DataError, UnknownNameError
from keywright.types import Document, Prediction, ScoredPhrase

# Any Unicode at all, half surrogates included, and often what formats give a meaning to.
TEXT = st.one_of(
    st.text(max_size=20),
    st.text(st.characters(categories=["Cs", "Cc", "Zl", "Zs", "Ll"]), max_size=10),
    st.lists(
        st.sampled_from(
            ["a", "b c", ";", "|", "<eos>", "<peos>", " ", "\n", "\r", "\t", "\u2028", "\x85", "\0",
             "\ufeff", '{"', "[sep]", "é", "\U0001f600", "\ud800", '"', "\\"]
        ),
        max_size=6,
    ).map("".join),
)  # fmt: skip
GOLD = st.lists(TEXT, max_size=4).map(tuple)
DOCUMENTS = st.lists(
    st.builds(
        Document,
        title=TEXT,
        body=TEXT,
        id=st.none() | TEXT,
        keyphrases=st.none() | GOLD,
        tokenised=st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
TOKENISED = st.lists(
    st.builds(Document, title=TEXT, body=TEXT, keyphrases=GOLD, tokenised=st.just(True)),
    min_size=1,
    max_size=3,
)
LOG_PROBS = st.floats(max_value=0.0, allow_nan=False)
PREDICTIONS = st.lists(
    st.builds(
        Prediction,
        document_id=st.none() | TEXT,
        phrases=st.lists(
            st.builds(
                ScoredPhrase,
                text=TEXT,
                token_log_probs=st.none() | st.lists(LOG_PROBS, max_size=4).map(tuple),
                words=st.none() | st.integers(0, 100),
                confidence=st.none() | st.floats(0, 1),
                score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
            ),
            max_size=4,
        ).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


def has_surrogate(value: object) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in str(value)) or "\\ud" in repr(
        value
    )


def written(write, values, folder, format, name="out_src.txt"):
    """The file, or None if it was refused, in which case no file remains."""
    file = folder / name
    try:
        count = write(values, file, format)
    except DataError as raised:
        error = raised
    else:
        assert count == len(values)
        return file
    assert "\n" not in str(error)
    assert not list(folder.iterdir())
    return None


@given(documents=DOCUMENTS)
def test_keywright_json_lines_preserve_documents(tmp_path_factory, documents):
    file = written(write_documents, documents, tmp_path_factory.mktemp("out"), "keywright")
    if file is None:
        assert has_surrogate(documents)
    else:
        assert list(read_documents(file)) == documents


@given(documents=DOCUMENTS)
def test_meng_json_lines_preserve_all_except_whether_a_text_is_tokenised(
    tmp_path_factory, documents
):
    file = written(write_documents, documents, tmp_path_factory.mktemp("out"), "meng")
    if file is None:
        assert has_surrogate(documents)
    else:
        back = [(d.title, d.body, d.id, d.keyphrases) for d in read_documents(file)]
        assert back == [(d.title, d.body, d.id, d.keyphrases) for d in documents]


@given(documents=TOKENISED)
@example(documents=[Document(title="a", body="b", keyphrases=("x;y",), tokenised=True)])
@example(documents=[Document(title="a", body="b", keyphrases=("",), tokenised=True)])
@example(documents=[Document(title="\ufeffa", body="b", keyphrases=(), tokenised=True)])
@example(documents=[Document(title='{"', body="b", keyphrases=(), tokenised=True)])
def test_chan_pairs_preserve_or_refuse_tokenised_documents(tmp_path_factory, documents):
    file = written(write_documents, documents, tmp_path_factory.mktemp("out"), "chan")
    if file is not None:
        back = [(d.title, d.body, d.keyphrases) for d in read_documents(file, format="chan")]
        assert back == [(d.title, d.body, d.keyphrases) for d in documents]


@given(predictions=PREDICTIONS)
@example(
    predictions=[
        Prediction(phrases=(ScoredPhrase(text="a", token_log_probs=(-math.inf, -0.0, -1e-300)),))
    ]
)
def test_keywright_json_lines_preserve_predictions(tmp_path_factory, predictions):
    file = written(write_predictions, predictions, tmp_path_factory.mktemp("out"), "keywright")
    if file is None:
        assert has_surrogate(predictions)
    else:
        assert list(read_predictions(file)) == predictions


@given(predictions=PREDICTIONS)
def test_chan_text_preserves_or_refuses_phrases(tmp_path_factory, predictions):
    file = written(write_predictions, predictions, tmp_path_factory.mktemp("out"), "chan")
    if file is not None:
        back = [prediction.texts for prediction in read_predictions(file, format="chan")]
        assert back == [prediction.texts for prediction in predictions]


ORDINARY = st.lists(st.text("abcxyz-", min_size=1, max_size=5), min_size=1, max_size=4).map(
    lambda words: " ".join(words)
)


@settings(deadline=None)
@given(texts=st.lists(st.tuples(ORDINARY, ORDINARY, st.lists(ORDINARY)), min_size=1, max_size=3))
def test_chan_text_refuses_nothing_ordinary(tmp_path_factory, texts):
    documents = [
        Document(title=title, body=body, keyphrases=tuple(gold), tokenised=True)
        for title, body, gold in texts
    ]
    file = written(write_documents, documents, tmp_path_factory.mktemp("out"), "chan")
    assert file is not None
    back = [(d.title, d.body, d.keyphrases) for d in read_documents(file, format="chan")]
    assert back == [(d.title, d.body, d.keyphrases) for d in documents]
    predictions = [
        Prediction(phrases=tuple(ScoredPhrase(text=text) for text in gold)) for _, _, gold in texts
    ]
    file = written(write_predictions, predictions, tmp_path_factory.mktemp("out"), "chan")
    assert file is not None
    back = [prediction.texts for prediction in read_predictions(file, format="chan")]
    assert back == [prediction.texts for prediction in predictions]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_compressed_output_is_read_back(tmp_path, suffix):
    documents = [Document(title="a", body="b", keyphrases=("c",), tokenised=True)]
    for format in ("keywright", "meng", "chan"):
        file = tmp_path / f"{format}_src.txt{suffix}"
        write_documents(documents, file, format)
        assert list(read_documents(file)) == documents


def test_raw_text_is_normalised_for_chan(tmp_path):
    document = Document(
        title="BERT-2 wins.", body="It won in 2019; we don't know why.", keyphrases=("R&D", "?!")
    )
    write_documents([document], tmp_path / "test_src.txt", "chan")
    (back,) = read_documents(tmp_path / "test_src.txt")
    assert back.title == "bert <digit> wins ."
    assert back.keyphrases == ("r&d",)


def test_a_phrase_that_chan_text_cannot_express_is_named(tmp_path):
    prediction = Prediction(phrases=(ScoredPhrase(text="a;b"),), document_id="d7")
    with pytest.raises(DataError, match=r"prediction 1 \('d7'\) has phrases that chan text cannot"):
        write_predictions([prediction], tmp_path / "p", "chan")
    assert not list(tmp_path.iterdir())


def test_documents_without_gold_have_no_target_file(tmp_path):
    document = Document(title="a", body="b", tokenised=True)
    write_documents([document], tmp_path / "test_src.txt", "chan")
    assert [file.name for file in tmp_path.iterdir()] == ["test_src.txt"]
    (tmp_path / "test_trg.txt").write_text("old\n")
    with pytest.raises(DataError, match=r"test_trg.txt: would be read as the keyphrases"):
        write_documents([document], tmp_path / "test_src.txt", "chan")


def test_all_documents_of_a_pair_need_gold_or_none(tmp_path):
    documents = [
        Document(title="a", body="b", keyphrases=(), tokenised=True),
        Document(title="a", body="b", tokenised=True),
    ]
    with pytest.raises(
        DataError, match="document 2: all documents of a pair need keyphrases, or none"
    ):
        write_documents(documents, tmp_path / "test_src.txt", "chan")
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_source_file_must_determine_its_target_file(tmp_path):
    document = Document(title="a", body="b", keyphrases=(), tokenised=True)
    with pytest.raises(DataError, match="is not the name of a source file"):
        write_documents([document], tmp_path / "out.txt", "chan")


@pytest.mark.parametrize(
    "phrase",
    [
        ScoredPhrase(text="a", token_log_probs=(math.nan,)),
        ScoredPhrase(text="a", token_log_probs=(math.inf,)),
        ScoredPhrase(text="a", token_log_probs=(0.5,)),
        ScoredPhrase(text="a", confidence=math.nan),
        ScoredPhrase(text="a", score=-math.inf),
    ],
)
def test_numbers_that_json_cannot_express_are_refused(tmp_path, phrase):
    with pytest.raises(DataError, match=r"prediction 1 has .* for 'a'"):
        write_predictions([Prediction(phrases=(phrase,))], tmp_path / "p")


def test_a_format_that_cannot_be_written_suggests_others(tmp_path):
    with pytest.raises(UnknownNameError, match=r"'menk'; did you mean 'meng'\?"):
        write_documents([], tmp_path / "d", "menk")
    with pytest.raises(UnknownNameError, match="known: chan, keywright"):
        write_predictions([], tmp_path / "p", "opennmt")


def test_an_error_while_reading_leaves_no_incomplete_output(tmp_path):
    (tmp_path / "in").write_text('{"title": "t", "abstract": "a"}\nrubbish\n')
    with pytest.raises(DataError, match="in:2: is not JSON"):
        write_documents(read_documents(tmp_path / "in"), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["in"]
