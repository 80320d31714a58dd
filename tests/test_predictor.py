"""Predictors: order, batches, resuming, and loading by name."""

from pathlib import Path

import pytest
import torch

from keywright.decoding.batched import BATCHES_PER_WINDOW, Batched
from keywright.errors import ConfigError, DataError
from keywright.models.transformer_one2seq import TransformerOne2Seq
from keywright.predictor import after, load
from keywright.types import Document, Prediction, ScoredPhrase
from tests.runs import untrained_run

DOCUMENTS = [
    Document(
        id=str(i),
        title="Deltas" if i >= 20 else "Rivers",
        body="The river carries sand . " * (1 + i * 7 % 5),
    )
    for i in range(23)
]


class Recorder:
    """Predicts a name for each batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, documents):
        self.batches.append([document.id for document in documents])
        ids = " ".join(self.batches[-1])
        return [
            Prediction(document_id=document.id, phrases=(ScoredPhrase(text=ids),))
            for document in documents
        ]


def test_predictions_are_in_the_order_of_documents():
    recorder = Recorder()
    predictions = list(Batched(recorder, batch=4).predict(iter(DOCUMENTS)))
    assert [p.document_id for p in predictions] == [d.id for d in DOCUMENTS]
    assert max(map(len, recorder.batches)) == 4


def test_batches_hold_documents_of_similar_length():
    recorder = Recorder()
    list(Batched(recorder, batch=4).predict(DOCUMENTS))
    lengths = {document.id: len(document.text) for document in DOCUMENTS}
    spreads = [max(map(lengths.get, b)) - min(map(lengths.get, b)) for b in recorder.batches]
    whole = max(lengths.values()) - min(lengths.values())
    assert sum(spreads) / len(spreads) < whole / 3


def test_predictions_are_streamed():
    taken = []

    def endless():
        for i in range(10**9):
            taken.append(i)
            yield DOCUMENTS[i % len(DOCUMENTS)]

    predictor = Batched(Recorder(), batch=2)
    next(predictor.predict(endless()))
    assert len(taken) == 2 * BATCHES_PER_WINDOW


@pytest.mark.parametrize("done", [0, 1, 15, 16, 17, 22, 23])
def test_resumed_documents_are_predicted_in_the_same_batches(done):
    predictor = Batched(Recorder(), batch=1)
    whole = list(predictor.predict(DOCUMENTS))
    assert list(after(predictor, iter(DOCUMENTS), done)) == whole[done:]


def test_models_that_need_all_documents_see_them_again():
    predictor = load("tfidf")
    whole = list(predictor.predict(DOCUMENTS))
    assert list(after(predictor, iter(DOCUMENTS), 20)) == whole[20:]
    assert list(predictor.predict(DOCUMENTS[20:])) != whole[20:]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return untrained_run(tmp_path_factory.mktemp("runs") / "run", DOCUMENTS)


def test_a_run_predicts_with_its_own_strategy_by_default(run):
    own, beam = load(run), load(run, decode="beam", settings=["width=3"])
    assert own.settings["decode"]["name"] == "sample"
    assert own.settings["decode"]["seed"] == 7
    assert beam.settings["decode"]["width"] == 3
    assert beam.settings["weights"] == own.settings["weights"]
    assert load(run, settings=["decode.seed=8"]).settings["decode"]["seed"] == 8


def test_the_phrases_of_a_run_have_token_log_probabilities(run):
    predictions = list(load(run, batch=4).predict(DOCUMENTS))
    phrases = [phrase for prediction in predictions for phrase in prediction.phrases]
    assert [p.document_id for p in predictions] == [d.id for d in DOCUMENTS]
    assert phrases
    for phrase in phrases:
        assert phrase.words == len(phrase.token_log_probs) == len(phrase.text.split())
        assert phrase.log_prob < 0


def test_resumed_predictions_are_bitwise_identical(run):
    predictor = load(run, batch=1)
    whole = list(predictor.predict(DOCUMENTS))
    assert list(after(predictor, DOCUMENTS, 18)) == whole[18:]


def test_more_beams_mean_smaller_batches(run):
    batches = [load(run, decode=name).settings["batch"] for name in ("greedy", "beam")]
    assert batches == [32, 32]
    wide = load(run, decode="exhaustive", settings=["width=100"])
    assert wide.settings["batch"] == 2
    assert load(run, decode="exhaustive", batch=7).settings["batch"] == 7


def test_more_of_a_document_is_read_than_in_training_by_default(run):
    assert load(run).settings["max_source"] == 512  # trained with 40
    short = [Document(title="", body="river " * 5), Document(title="", body="river " * 5 + "sea")]
    # One by one: the rows of a batch can differ in their last digits.
    few = {"decode": "exhaustive", "settings": ["width=5", "max_length=3"], "batch": 1}
    first, second = load(run, max_source=5, **few).predict(short)
    assert first.phrases == second.phrases != ()
    first, second = load(run, **few).predict(short)
    assert first.phrases != second.phrases


def test_a_model_may_bring_its_own_predictor(run, monkeypatch):
    def predictor(self, vocabulary, decode):
        assert "river" in vocabulary.words

        def predict(batch):
            assert not torch.is_grad_enabled()
            return [
                Prediction(
                    document_id=prediction.document_id,
                    phrases=(ScoredPhrase(text="mine"), *prediction.phrases),
                )
                for prediction in decode(batch)
            ]

        return predict

    decoded = [p.texts for p in load(run).predict(DOCUMENTS)]
    monkeypatch.setattr(TransformerOne2Seq, "predictor", predictor)
    assert [p.texts for p in load(run).predict(DOCUMENTS)] == [("mine", *d) for d in decoded]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"model": "textrnak"},
            DataError,
            "did you mean 'textrank'",
        ),
        ({"model": "tfidf", "decode": "beam"}, ConfigError, "tfidf is an extractor"),
        ({"model": "tfidf", "settings": ["longer=3"]}, ConfigError, "tfidf.longer: unknown"),
        ({"model": "tfidf", "settings": ["longest"]}, ConfigError, "--set longest"),
    ],
)
def test_load_errors_say_why(arguments, error, message):
    with pytest.raises(error) as raised:
        load(**arguments)
    assert message in str(raised.value)


def test_a_folder_that_is_not_a_run_is_reported(tmp_path):
    with pytest.raises(DataError, match="is not a run folder"):
        load(tmp_path)
