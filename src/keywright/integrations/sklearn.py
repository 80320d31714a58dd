"""Keyphrases as features for scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from keywright.errors import ConfigError, MissingExtraError
from keywright.generation.engine import Keywright
from keywright.generation.keyphrases import Keyphrase
from keywright.predictor import DEFAULT
from keywright.text.reading import literal_stems

try:
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("sklearn", "scipy"):
        raise
    raise MissingExtraError("KeyphraseTransformer", "scikit-learn", "sklearn") from None


class KeyphraseTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to a sparse matrix [texts, keyphrases] of probabilities.

    `model` is a name or folder that `Keywright` accepts, or a `Keywright`. `fit` learns the
    columns: keyphrases of at least `min_df` texts (a float is a share of the texts), limited to the
    `max_features` that occur in most texts. Phrases that differ only in inflection share a column,
    named after the most common spelling. A model without probabilities gives 1 for each phrase.

        make_pipeline(KeyphraseTransformer("textrank"), LogisticRegression()).fit(texts, labels)
    """

    def __init__(
        self,
        model: str | Path | Keywright = DEFAULT,
        *,
        min_df: int | float = 1,
        max_features: int | None = None,
    ) -> None:
        self.model = model
        self.min_df = min_df
        self.max_features = max_features

    def fit(self, X: Iterable[str], y: Any = None) -> KeyphraseTransformer:
        self._fit(X)
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> csr_matrix:
        """The same as `fit` and then `transform`, but runs the model once."""
        return self._matrix(self._fit(X))

    def transform(self, X: Iterable[str]) -> csr_matrix:
        check_is_fitted(self, "vocabulary_")
        return self._matrix(self._generate(X))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        check_is_fitted(self, "vocabulary_")
        return np.array(self.feature_names_, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _fit(self, texts: Iterable[str]) -> list[list[Keyphrase]]:
        self.engine_ = self.model if isinstance(self.model, Keywright) else Keywright(self.model)
        found = self._generate(texts)
        self._learn(found)
        return found

    def _generate(self, texts: Iterable[str]) -> list[list[Keyphrase]]:
        return list(self.engine_.generate(_checked(texts)))

    def _learn(self, found: list[list[Keyphrase]]) -> None:
        counts: Counter[tuple[str, ...]] = Counter()
        spellings: dict[tuple[str, ...], Counter[str]] = {}
        for phrases in found:
            counts.update({literal_stems(phrase.text) for phrase in phrases})
            for phrase in phrases:
                spellings.setdefault(literal_stems(phrase.text), Counter())[phrase.text] += 1
        minimum = self._min_count(len(found))
        kept = [key for key, count in counts.items() if count >= minimum]
        kept.sort(key=lambda key: (-counts[key], key))
        columns = sorted(kept[: self.max_features])
        self.vocabulary_ = {key: column for column, key in enumerate(columns)}
        self.feature_names_ = [_most_common(spellings[key]) for key in columns]

    def _min_count(self, texts: int) -> float:
        if self.min_df < 0 or (isinstance(self.min_df, float) and self.min_df > 1):
            raise ConfigError(
                f"min_df is {self.min_df}; it must be a count, or a share from 0.0 to 1.0"
            )
        if self.max_features is not None and self.max_features < 1:
            raise ConfigError(f"max_features is {self.max_features}; it must be at least 1")
        return self.min_df * texts if isinstance(self.min_df, float) else self.min_df

    def _matrix(self, found: list[list[Keyphrase]]) -> csr_matrix:
        values: dict[tuple[int, int], float] = {}
        for row, phrases in enumerate(found):
            for phrase in phrases:
                column = self.vocabulary_.get(literal_stems(phrase.text))
                if column is not None:
                    probability = 1.0 if phrase.probability is None else phrase.probability
                    values[row, column] = max(probability, values.get((row, column), 0.0))
        places = np.array(list(values), dtype=np.int64).reshape(-1, 2)
        shape = (len(found), len(self.vocabulary_))
        return csr_matrix((list(values.values()), (places[:, 0], places[:, 1])), shape, float)


def _checked(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ConfigError("expected a list of texts, not a single text")
    if getattr(texts, "ndim", 1) != 1:  # a table would be read as the names of its columns
        raise ConfigError("expected a list of texts, not a table; select one column")
    checked = list(texts)
    for number, text in enumerate(checked, 1):
        if not isinstance(text, str):
            raise ConfigError(f"text {number} of {len(checked)} is {text!r}, which is not a string")
    return checked


def _most_common(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda text: (-spellings[text], text))
