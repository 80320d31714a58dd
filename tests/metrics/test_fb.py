"""FB, by hand, over a scorer that looks similarities up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from keywright import evaluate, protocols
from keywright.errors import DataError, KeywrightError
from keywright.metrics import fb
from keywright.types import Document
from tests.metrics.made import EMPTY, part, score

SIMILARITIES = {
    ("a b", "a b"): 1.0,
    ("c", "c"): 1.0,
    ("a c", "a b"): 0.6,
    ("a c", "c"): 0.7,
    ("c x y", "c"): 0.4,
    ("z", "c"): 0.3,  # a synonym: it shares no word with the target
}


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs each call of the scorer was given."""
    calls: list[int] = []

    def similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
        calls.append(len(pairs))
        return [SIMILARITIES.get(pair, 0.1) for pair in pairs]

    monkeypatch.setattr(fb, "load_scorer", lambda folder: similarities)
    return calls


def test_a_prediction_scores_its_best_target(scorer: list[int]) -> None:
    assert score("present.FB", part("z", "c"), scorer="s") == pytest.approx(0.3)
    assert score("present.FB", part("a c;z", "a b;c"), scorer="s") == pytest.approx((0.7 + 0.3) / 2)


def test_algorithm_1_as_printed(scorer: list[int]) -> None:
    # 1, .7 and .4; the a of "a c" is used up, and with its c it also uses up that of "c x y".
    found = score("present.FB", part("a b;a c;c x y", "a b;c"), scorer="s")
    assert found == pytest.approx(1 / 3 * 8 / 9)


def test_the_mean_is_over_all_documents(scorer: list[int]) -> None:
    documents = part("z", "c"), EMPTY, part("z", ""), part("", "c")
    assert score("present.FB", *documents, scorer="s") == pytest.approx((0.3 + 1 + 0 + 0) / 4)
    assert scorer == [1], "all documents in one call"


def test_without_a_scorer_it_says_how_to_choose_one() -> None:
    with pytest.raises(KeywrightError, match=r"present\.FB needs a scorer; .*fb:scorer="):
        score("present.FB", part("a", "a"))


def test_a_protocol_names_the_scorer(scorer: list[int]) -> None:
    document = Document(title="", body="c d", keyphrases=("c",), tokenised=True)
    found = evaluate([document], [["c"]], protocol="fb:scorer=runs/mine", metrics=["standard"])
    assert found["present.FB"] == found["present.FG"] == 1
    assert "scorer:runs/mine" in found.signature
    assert found.protocol == "fb:scorer=runs/mine"


def test_only_the_protocol_with_a_scorer_lists_it() -> None:
    listed = {
        name
        for name in protocols.names()
        if any(metric.measure == "FB" for metric in protocols.load(name).metrics())
    }
    assert listed == {"fb"}


def test_a_missing_scorer_is_an_error(tmp_path: Path) -> None:
    document = Document(title="", body="c d", keyphrases=("c",), tokenised=True)
    with pytest.raises(DataError, match="is not the run folder of a scorer"):
        evaluate([document], [["c"]], protocol=f"fb:scorer={tmp_path}", metrics=["present.FB"])
