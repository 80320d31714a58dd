"""Keyphrases as features: what pipelines, searches and clones expect of a transformer."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from keywright.errors import ConfigError
from keywright.generation.engine import Keywright
from keywright.predictor import LoadedModel
from keywright.types import Document, Prediction, ScoredPhrase

pytest.importorskip("sklearn", reason="the extra [sklearn] is not installed")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_checks as checks

from keywright.integrations.sklearn import KeyphraseTransformer

TEXTS = [
    "Heat pumps warm old houses.",
    "A heat pump needs electricity.",
    "Drag sails remove space debris.",
    "Space debris threatens satellites.",
]


def test_inflections_share_a_column_named_by_the_most_common_spelling() -> None:
    transformer = KeyphraseTransformer("textrank", min_df=2)
    matrix = transformer.fit_transform(TEXTS)
    names = list(transformer.get_feature_names_out())
    assert any(name.lower() == "space debris" for name in names)
    assert matrix.shape == (4, len(names))
    assert (matrix != transformer.transform(TEXTS)).nnz == 0


def test_columns_are_limited_and_new_phrases_have_none() -> None:
    transformer = KeyphraseTransformer("textrank", max_features=1).fit(TEXTS)
    assert transformer.get_feature_names_out().shape == (1,)
    assert transformer.transform(["Bees dance.", ""]).toarray().tolist() == [[0.0], [0.0]]


class _Sure:
    """A predictor with probabilities."""

    window = 1

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        for document in documents:
            words = document.body.split()
            scored = (ScoredPhrase(text=word, confidence=1 / len(words)) for word in words)
            yield Prediction(phrases=tuple(scored))


def test_values_are_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Keywright("textrank")
    monkeypatch.setattr(engine, "_loaded", LoadedModel(_Sure(), {}))
    transformer = KeyphraseTransformer(engine)
    matrix = transformer.fit_transform(["bees dance", "bees"])
    assert list(transformer.get_feature_names_out()) == ["bees", "dance"]
    assert matrix.toarray().tolist() == [[0.5, 0.5], [1.0, 0.0]]


def test_pipelines_searches_clones_and_pickles() -> None:
    steps: list[tuple[str, Any]] = [
        ("keyphrases", KeyphraseTransformer("textrank")),
        ("classify", LogisticRegression()),
    ]
    search = GridSearchCV(Pipeline(steps), {"keyphrases__max_features": [2, None]}, cv=2)
    search.fit(TEXTS, [0, 0, 1, 1])
    assert pickle.loads(pickle.dumps(search)).predict(TEXTS[:1]) == search.predict(TEXTS[:1])
    copy = clone(KeyphraseTransformer("textrank", min_df=0.5))
    assert copy.get_params() == {"model": "textrank", "min_df": 0.5, "max_features": None}


@pytest.mark.parametrize(
    "check",
    [
        checks.check_do_not_raise_errors_in_init_or_set_params,
        checks.check_estimator_cloneable,
        checks.check_estimator_repr,
        checks.check_get_params_invariance,
        checks.check_mixin_order,
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_set_params,
    ],
)
def test_scikit_learns_own_checks_pass(check: Callable[[str, Any], None]) -> None:
    """Its checks of estimators that do not need numeric input."""
    check("KeyphraseTransformer", KeyphraseTransformer())


def test_a_search_with_the_default_model() -> None:
    texts = [
        "Heat pumps warm old houses, and a heat pump saves gas.",
        "The heat pump of a house needs electricity.",
        "Efficiency of heat pumps in cold winters.",
        "Neural networks recognise images of animals.",
        "Training a neural network needs many images.",
        "Regularisation of deep neural networks.",
    ]
    pipeline = Pipeline(
        [("keyphrases", KeyphraseTransformer()), ("classify", LogisticRegression())]
    )
    search = GridSearchCV(pipeline, {"keyphrases__min_df": [1, 2]}, cv=2)
    search.fit(texts, [0, 0, 0, 1, 1, 1])
    restored = pickle.loads(pickle.dumps(search))
    new = ["A heat pump in the cellar.", "What neural networks learn."]
    assert restored.predict(new).tolist() == search.predict(new).tolist() == [0, 1]


def test_misuse_is_refused() -> None:
    with pytest.raises(NotFittedError):
        KeyphraseTransformer("textrank").transform(TEXTS)
    with pytest.raises(ConfigError, match="list of texts"):
        KeyphraseTransformer("textrank").fit(TEXTS[0])
    with pytest.raises(ConfigError, match="min_df"):
        KeyphraseTransformer("textrank", min_df=1.5).fit(TEXTS)
    with pytest.raises(ConfigError, match="max_features"):
        KeyphraseTransformer("textrank", max_features=0).fit(TEXTS)
    with pytest.raises(ConfigError, match="text 2 of 2 is nan"):
        KeyphraseTransformer("textrank").fit([TEXTS[0], float("nan")])
    with pytest.raises(ConfigError, match="a table"):
        KeyphraseTransformer("textrank").fit(np.array([TEXTS]))
