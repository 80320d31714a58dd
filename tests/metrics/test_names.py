"""The grammar of metric names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright import protocols
from keywright.errors import KeywrightError
from keywright.metrics._base import Cutoff, Metric, measures

EVERY_PROTOCOL = protocols.names()


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("present.F1@5", Metric("present", "F1", Cutoff(5))),
        ("present.micro.F1@M", Metric("present", "F1", Cutoff("M"), "micro")),
        ("all.P@10", Metric("all", "P", Cutoff(10))),
        ("absent.R@50", Metric("absent", "R", Cutoff(50))),
        ("present.F1@O", Metric("present", "F1", Cutoff("O"))),
        ("present.F1@5R", Metric("present", "F1", Cutoff(5, padded=True))),
        ("present.P@OR", Metric("present", "P", Cutoff("O", padded=True))),
        ("present.FG", Metric("present", "FG")),
        ("present.FG-repetition", Metric("present", "FG-repetition")),
        ("present.MAP@10", Metric("present", "MAP", Cutoff(10))),
        ("all.Dup", Metric("all", "Dup")),
    ],
)
def test_names_parse_and_print_back(name: str, metric: Metric) -> None:
    assert Metric.parse(name) == metric
    assert str(metric) == name


def test_macro_may_be_said() -> None:
    assert Metric.parse("present.macro.F1@5") == Metric.parse("present.F1@5")
    assert Metric.parse(" present.F1@5 ") == Metric.parse("present.F1@5")


@pytest.mark.parametrize("protocol", EVERY_PROTOCOL)
def test_every_metric_of_every_protocol_parses_and_prints_back(protocol: str) -> None:
    judge = protocols.load(protocol)
    for metric in judge.metrics():
        assert Metric.parse(str(metric)) == metric
    assert {Metric.parse(name) for name in judge.standard} <= set(judge.metrics())
    assert len(set(judge.metrics())) == len(judge.metrics())


cutoffs = st.builds(Cutoff, st.integers(1, 999_999) | st.just("O"), st.booleans()) | st.just(
    Cutoff("M")
)


@given(st.data())
def test_any_metric_parses_back(data: st.DataObject) -> None:
    measure = data.draw(st.sampled_from(sorted(measures().values(), key=lambda one: one.name)))
    metric = Metric(
        data.draw(st.sampled_from(["present", "absent", "all"])),
        measure.name,
        data.draw(cutoffs) if measure.needs_cutoff else None,
        data.draw(st.sampled_from(["macro", "micro"])) if measure.has_micro else "macro",
    )
    assert Metric.parse(str(metric)) == metric


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("presnt.F1@5", "did you mean 'present'?"),
        ("present.f1@5", "did you mean 'F1'?"),
        ("present.NDGC@5", "did you mean 'NDCG'?"),
        ("present.AlphaNCDG@5", "did you mean 'AlphaNDCG'?"),
        ("present.FG-edits", "did you mean 'FG-edit'?"),
        ("F1@5", "PART.[micro.]NAME[@CUTOFF]"),
        ("present.micro.extra.F1@5", "PART.[micro.]NAME[@CUTOFF]"),
        ("present.F1", "F1 needs a cut-off; write present.F1@5"),
        ("present.FG@5", "FG takes no cut-off; write present.FG"),
        ("present.F1@0", "the cut-off '0' is not a number, M (all predicted) or O"),
        ("present.F1@k", "the cut-off 'k' is not a number"),
        ("present.F1@MR", "the cut-off 'MR' is not a number"),
        ("present.F1@", "the cut-off '' is not a number"),
        ("present.micro.MAP@5", "MAP has no micro average"),
        ("", "PART.[micro.]NAME[@CUTOFF]"),
    ],
)
def test_a_wrong_name_says_what_would_be_right(name: str, words: str) -> None:
    with pytest.raises(KeywrightError) as caught:
        Metric.parse(name)
    assert words in str(caught.value)
    assert repr(name) in str(caught.value), "the message repeats what was asked for"
