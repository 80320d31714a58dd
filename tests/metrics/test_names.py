"""Metric names, and what measures say about themselves."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright import metric as metric_module
from keywright import metrics, protocols
from keywright.errors import KeywrightError
from keywright.metric import Cutoff, Metric, listing, measures

EVERY_PROTOCOL = [*protocols.names(), "kpeval:index=documents.jsonl"]


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


def test_macro_may_be_written() -> None:
    assert Metric.parse("present.macro.F1@5") == Metric.parse("present.F1@5")
    assert Metric.parse(" present.F1@5 ") == Metric.parse("present.F1@5")


@pytest.mark.parametrize("protocol", EVERY_PROTOCOL)
def test_every_metric_of_every_protocol_parses_and_prints_back(protocol: str) -> None:
    judge = protocols.load(protocol)
    for metric in judge.metrics():
        assert Metric.parse(str(metric)) == metric
    assert {Metric.parse(name) for name in judge.standard} <= set(judge.metrics())
    assert len(set(judge.metrics())) == len(judge.metrics())


def test_every_measure_is_listed_under_some_protocol_and_says_what_it_is() -> None:
    listed = {
        metric.measure for name in EVERY_PROTOCOL for metric in protocols.load(name).metrics()
    }
    assert listed == set(measures())
    for measure in measures().values():
        assert measure.description
        assert not measure.has_micro or measure.needs_cutoff, "only these have micro averages"


def test_measures_of_one_order_are_listed_side_by_side() -> None:
    listed = [str(metric) for metric in protocols.load("chan19").metrics()]
    assert listed[:4] == ["present.P@5", "present.R@5", "present.F1@5", "present.P@10"]
    assert listed[15:17] == ["present.micro.P@5", "present.micro.R@5"]
    assert listed[30:32] == ["present.MAP@5", "present.MAP@10"]
    assert listed[-5:] == ["all.MAE", "all.Dup", "all.Unique", "all.Predicted", "all.Gold"]


def test_a_measure_may_have_its_own_cut_offs_and_be_listed_under_some_protocols_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = replace(measures()["MAP"], name="Own", cutoffs=("1", "O"), protocols=("kpdrop",))
    monkeypatch.setattr(metric_module, "measures", lambda: {"Own": own})
    assert list(map(str, listing("kpdrop", ["5"])))[:2] == ["present.Own@1", "present.Own@O"]
    assert list(listing("chan19", ["5"])) == []


def test_two_files_cannot_define_the_same_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "twice.py").write_text("from keywright.metrics.f1 import MEASURES\n")
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "keywright.metrics.twice", raising=False)
    with pytest.raises(ValueError, match=r"metrics/twice\.py: there is already a measure P"):
        measures.__wrapped__()


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("present.F1@5", 0.12345, "12.35"), ("all.MAE", 1.5, "1.500"), ("all.Dup", 0.5, "50.00")],
)
def test_values_are_written_in_the_unit_of_their_measure(
    name: str, value: float, text: str
) -> None:
    assert Metric.parse(name).show(value) == text


cutoffs = st.builds(Cutoff, st.integers(1, 999_999) | st.just("O"), st.booleans()) | st.just(
    Cutoff("M")
)


@given(st.data())
def test_any_metric_parses_back(data: st.DataObject) -> None:
    measure = data.draw(
        st.sampled_from(sorted(measures().values(), key=lambda measure: measure.name))
    )
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
def test_a_wrong_name_suggests_the_right_one(name: str, words: str) -> None:
    with pytest.raises(KeywrightError) as caught:
        Metric.parse(name)
    assert words in str(caught.value)
    assert repr(name) in str(caught.value), "the message repeats what was asked for"
