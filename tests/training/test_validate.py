"""The score of a validation."""

from __future__ import annotations

import pytest

from keywright.data.batch import Batch
from keywright.data.targets import Targets
from keywright.lexicon import Lexicon
from keywright.models import cat_seq
from keywright.nn.model import BatchPredictor
from keywright.training import validate
from keywright.types import Prediction, ScoredPhrase
from tests.models.conftest import DOCUMENTS, Case, vocabulary

CASE = Case("cat_seq", cat_seq, vocabulary(), Targets("one2seq"))
JUDGE = validate.Judge("all.F1@M", "chan19", CASE.vocabulary, "one2seq", 100)


class GoldSeq(cat_seq.CatSeq):
    """A model that predicts without decoding."""

    def predictor(self, vocabulary: Lexicon, decode: BatchPredictor) -> BatchPredictor:
        def predict(batch: Batch) -> list[Prediction]:
            assert vocabulary is CASE.vocabulary
            return [
                Prediction(phrases=tuple(ScoredPhrase(text=text) for text in d.keyphrases or ()))
                for d in batch.documents
            ]

        return predict


@pytest.mark.parametrize("batch_size", [1, 2])
def test_a_model_may_bring_its_own_predictor(batch_size: int) -> None:
    model = GoldSeq(cat_seq.Config(), CASE.vocabulary).eval()
    assert validate.score(model, DOCUMENTS, JUDGE, batch_size) == 1


def test_other_models_are_decoded_greedily() -> None:
    model = CASE.build().eval()
    assert validate.score(model, DOCUMENTS, JUDGE, 2) < 1
