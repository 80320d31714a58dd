"""KEA and Maui: intervals and posteriors by hand, learning, files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from keywright import predictor
from keywright.cli import app
from keywright.errors import ConfigError, DataError
from keywright.extractors import _supervised, kea, maui
from keywright.extractors._discretise import entropy, mdl_cuts
from keywright.text.candidates import CandidateText
from keywright.types import Document

TOPICS = ("sparse matrices", "heat pumps", "neural networks", "steel bridges", "tidal turbines")
FILLER = "we study this in detail and show how results of earlier methods compare with others"


def corpus(count: int = 40) -> list[Document]:
    """The topic comes first and several times, and is one of few keyphrases that repeat."""
    rng = np.random.default_rng(3)
    documents = []
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        words = rng.permutation(FILLER.split()).tolist()
        body = f"{topic} : {' '.join(words)} . the {topic} again , after {words[3]} {words[5]} ."
        documents.append(
            Document(id=str(number), title=f"On {topic}", body=body, keyphrases=(topic, "unseen"))
        )
    return documents


def test_entropy() -> None:
    found = entropy(np.array([0.0, 1.0, 2.0]), np.array([2, 2, 8]))
    assert found.tolist() == pytest.approx(
        [0, 1, -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))]
    )


def test_a_clear_border_is_found_half_way() -> None:
    values = np.array([5.0, 1.0, 2.0, 6.0, 3.0, 8.0, 7.0, 2.5])
    assert mdl_cuts(values, values > 4) == [4.0]


def test_cuts_are_accepted_by_the_criterion_of_the_paper() -> None:
    """Four wrong, then four right: gain 1 bit; cost (log2 7 + log2 7 - 2) / 8 = 0.45 bits."""
    cost = (math.log2(7) + math.log2(3**2 - 2) - 2 * 1) / 8
    assert cost < 1
    values = np.arange(8.0)
    assert mdl_cuts(values, values >= 4) == [3.5]
    # Two values: gain 1 bit; cost (log2 1 + log2 7 - 2) / 2 = 0.40 bits. Alternating: no gain.
    assert mdl_cuts(np.array([0.0, 1.0]), np.array([False, True])) == [0.5]
    assert mdl_cuts(values, values % 2 == 1) == []


def test_equal_values_and_equal_labels_are_not_cut() -> None:
    assert mdl_cuts(np.ones(9), np.arange(9) > 4) == []
    assert mdl_cuts(np.arange(9.0), np.zeros(9, dtype=bool)) == []


def test_both_sides_of_a_cut_are_cut_again() -> None:
    values = np.arange(60.0)
    assert mdl_cuts(values, (values >= 20) & (values < 40)) == [19.5, 39.5]


def test_posterior_of_kea_by_hand() -> None:
    tfidf = kea.Intervals((0.5,), (7, 1), (0, 2))
    position = kea.Intervals((), (8,), (2,))
    learned = kea.Learned(5, {}, tfidf, position)
    # Above 0.5: P(i | no) = 2/10, P(i | yes) = 3/4; one interval of positions: 9/9 and 3/3.
    no, yes = 8 * (2 / 10), 2 * (3 / 4)
    assert learned.probability(0.7, 0.1) == pytest.approx(yes / (yes + no))
    no, yes = 8 * (8 / 10), 2 * (1 / 4)
    assert learned.probability(0.2, 0.1) == pytest.approx(yes / (yes + no))


def test_features_of_kea_by_hand() -> None:
    text = CandidateText.of(Document(id="", title="", body="pumps of heat pumps"))
    size = len(text.words)
    found = {
        " ".join(candidate.stems): candidate
        for candidate in kea._candidates(text, {"pump": 3}, 8, 1, kea.Config())
    }
    assert set(found) == {"pump", "heat", "heat pump", "pump of heat"}
    assert found["pump"].tfidf == pytest.approx(2 / size * -math.log2(4 / 8))
    assert found["heat pump"].tfidf == pytest.approx(1 / size * -math.log2(1 / 8))
    start = text.words.index("heat")
    assert found["heat pump"].position == pytest.approx(start / size)


def test_kea_learns_and_leaves_out_parts_of_better_phrases() -> None:
    learned = kea.fit(corpus(), kea.Config())
    assert learned.documents == 40
    model = kea.Kea(kea.Config(), learned)
    [prediction] = model.predict([corpus()[1]])
    assert prediction.texts[0] == "heat pumps"
    assert "pumps" not in prediction.texts
    assert 0.5 < (prediction.phrases[0].score or 0) <= 1


def test_features_of_maui_by_hand() -> None:
    text = CandidateText.of(Document(id="", title="", body="pumps heat , heat pumps"))
    places = maui.pseudo_phrases(text, 5)
    assert set(places) == {"heat", "pump", "heat pump"}  # also "pumps heat"
    counts = maui.Counts(9, {"heat pump": 4}, {"heat pump": 3}, own=False)
    values = dict(zip(places, maui.features(text, places, counts).tolist(), strict=True))
    size = len(text.words)
    first, last = places["heat pump"][0][0] / size, places["heat pump"][1][0] / size
    rarity = -math.log(5 / 10)
    expected = [2 / 6, rarity, 2 / 6 * rarity, first, last, last - first, 3, 2]
    assert values["heat pump"] == pytest.approx(expected)
    own = maui.features(text, places, maui.Counts(9, {"heat pump": 4}, {}, own=True))
    assert dict(zip(places, own.tolist(), strict=True))["heat pump"][1] == pytest.approx(
        -math.log(4 / 9)
    )


def test_a_tree_is_read_from_its_root() -> None:
    tree = maui.Tree((0, -2, -2), (1.5, 0, 0), (1, -1, -1), (2, -1, -1), (0.5, 0.25, 1.0))
    assert tree.predict(np.array([[1.5], [1.6]])).tolist() == [0.25, 1.0]


def test_trees_equal_those_of_scikit_learn() -> None:
    tree = pytest.importorskip("sklearn.tree")
    rng = np.random.default_rng(0)
    values, labels = rng.random((300, 3)), rng.random(300) < 0.3
    model = tree.DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(values, labels)
    new = rng.random((50, 3))
    assert maui._tree(model).predict(new) == pytest.approx(model.predict_proba(new)[:, 1])


def test_maui_learns_and_depends_on_its_seed_alone() -> None:
    pytest.importorskip("sklearn")
    config = maui.Config(bag=1.0)
    learned = maui.fit(corpus(), config)
    assert learned == maui.fit(corpus(), config)
    assert learned.trees != maui.fit(corpus(), maui.Config(bag=1.0, seed=2)).trees
    assert learned.keyphraseness["heat pump"] == 8
    [prediction] = maui.Maui(config, learned).predict([corpus()[1]])
    assert prediction.texts[0] == "heat pumps"


@pytest.mark.parametrize("name", ["kea", "maui"])
def test_what_was_learned_is_saved_and_used_by_name(name: str, tmp_path: Path) -> None:
    documents = tmp_path / "train.jsonl"
    documents.write_text(
        "".join(
            json.dumps({"title": d.title, "abstract": d.body, "keywords": list(d.keyphrases or ())})
            + "\n"
            for d in corpus()
        )
    )
    output = tmp_path / f"{name}.json"
    arguments = ["fit-extractor", name, "--documents", str(documents), "--output", str(output)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "learned from 40 documents" in result.output
    loaded = predictor.load(name, settings=[f"fitted={output}", "max_phrases=3"])
    [prediction] = loaded.predict([corpus()[2]])
    assert "neural networks" in prediction.texts
    assert len(prediction.phrases) == 3
    [nothing] = loaded.predict([Document(id="d", title="", body="")])
    assert nothing.phrases == ()
    other = {"kea": "maui", "maui": "kea"}[name]
    with pytest.raises(DataError, match=f"was fitted for {name}, not for {other}"):
        predictor.load(other, settings=[f"fitted={output}"])


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kea has to learn .* keywright fit-extractor kea"):
        predictor.load("kea")
    broken = tmp_path / "kea.json"
    broken.write_text('{"extractor": "kea", "learned": {"documents": "many"}}')
    with pytest.raises(DataError, match="is not a fitted extractor"):
        predictor.load("kea", settings=[f"fitted={broken}"])
    with pytest.raises(DataError, match="at least 10 documents with keyphrases"):
        kea.fit(corpus(9), kea.Config())
    with pytest.raises(ConfigError, match=r"textrank does not learn; those that do: kea, maui"):
        CliRunner().invoke(
            app,
            ["fit-extractor", "textrank", "--documents", "x", "--output", str(tmp_path / "t")],
            catch_exceptions=False,
        )
    assert _supervised.FEWEST_DOCUMENTS == 10
