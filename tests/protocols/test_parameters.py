"""Protocols and their parameters, by name."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywright import parts, protocols
from keywright.errors import ConfigError, UnknownNameError
from keywright.metric import Metric
from keywright.protocol import Protocol
from tests.protocols.lines import quick

NAMES = protocols.names()


def values(kind: object) -> list[object]:
    """The values that a parameter may have."""
    if kind is bool:
        return [False, True]
    if kind is int:
        return [1, 7, 200]
    if kind is str:
        return ["", "runs/one", "runs/other"]
    return list(typing.get_args(kind))


def configs(name: str) -> st.SearchStrategy[Protocol]:
    module = parts.module("keywright.protocols", name)
    kinds = typing.get_type_hints(module.Config)
    options = {key: st.sampled_from(values(kind)) for key, kind in kinds.items()}
    return st.builds(module.Config, **options).map(module.build)


any_protocol = st.sampled_from(NAMES).flatmap(configs)


def test_all_protocols_are_found() -> None:
    assert set(NAMES) == {"chan19", "exhird", "fb", "fg", "kpdrop", "kpeval", "unikp", "yuan20"}
    assert str(protocols.load()) == "chan19"


@given(any_protocol)
@quick
def test_the_name_of_a_protocol_loads_it_again(protocol: Protocol) -> None:
    again = protocols.load(str(protocol))
    assert str(again) == str(protocol)
    assert again.config == protocol.config
    assert again.rules == protocol.rules
    assert again.signature() == protocol.signature()


@given(any_protocol, any_protocol)
@quick
def test_different_settings_have_different_signatures(a: Protocol, b: Protocol) -> None:
    same = type(a) is type(b) and a.config == b.config
    assert (a.signature() == b.signature()) == same
    assert (str(a) == str(b)) == same


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_changes_the_explanation(name: str) -> None:
    """The explanation of the numbers mentions every parameter that is changed."""
    plain = protocols.load(name)
    for key, kind in typing.get_type_hints(type(plain.config)).items():
        for value in values(kind):
            if value != getattr(plain.config, key):
                text = str(value).lower() if isinstance(value, bool) else value
                changed = protocols.load(name, [f"{key}={text}"])
                assert changed.explanation != plain.explanation, (name, key, value)


def test_parameters_by_colon_by_list_and_alone() -> None:
    inline = protocols.load("chan19:unk=valid,prediction_separated=true")
    assert str(protocols.load("chan19", ["unk=valid", "prediction_separated"])) == str(inline)
    assert str(protocols.load("chan19:unk=valid", ["prediction_separated"])) == str(inline)
    assert str(protocols.load("chan19:unk=invalid")) == "chan19", "defaults are left out"
    assert str(protocols.load("chan19:unk=invalid", ["unk=valid"])) == "chan19:unk=valid"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chan91", "unknown protocol 'chan91'; did you mean 'chan19'?"),
        ("yuan2020", "did you mean 'yuan20'?"),
        ("", "unknown protocol ''"),
        ("_base", "unknown protocol '_base'"),
    ],
)
def test_an_unknown_protocol_suggests_the_nearest(text: str, words: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        protocols.load(text)
    assert words in str(caught.value)
    assert "chan19, exhird, fb, fg, kpdrop, kpeval, unikp, yuan20" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chan19:precison=cutoff", "has no parameter 'precison'; did you mean 'precision'?"),
        ("kpdrop:unk=valid", "protocol kpdrop has no parameter 'unk'"),
        ("chan19:tokeniser=split", "protocol chan19 has no parameter 'tokeniser'"),
        ("yuan20:tokenizer=split", "did you mean 'tokeniser'?"),
        ("chan19:unk=maybe", "unk='maybe' is not allowed; unk must be 'invalid', 'valid'"),
        ("chan19:release", "release='true' is not allowed; release must be 'one2set', 'rl'"),
        ("chan19:variants=2", "variants='2' is not allowed; variants must be true or false"),
        ("chan19:most_predictions=many", "most_predictions='many' is not allowed"),
        ("chan19:most_predictions=0", "most_predictions=0 must be at least 1"),
        ("chan19:most_predictions=-3", "most_predictions=-3 must be at least 1"),
        ("exhird:f1=mean", "f1='mean' is not allowed; f1 must be 'of_means', 'mean_of_documents'"),
    ],
)
def test_a_wrong_parameter_gives_the_allowed_values(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        protocols.load(text)
    assert words in str(caught.value).replace('"', "'")
    assert "\n" not in str(caught.value)


def test_signatures_name_everything_a_number_depends_on() -> None:
    signature = protocols.load("chan19").signature(Metric.parse("present.F1@5"))
    assert signature == (
        "present.F1@5|protocol:chan19|stem:porter|precision:cutoff|f1:of_means|average_over:all|"
        "targets_stemmed:false|release:one2set|one_word_filter:false|unk:invalid|"
        "prediction_separated:false|target_separated:false|variants:false|presence:tokens|"
        "most_predictions:200|v1"
    )
    for name in NAMES:
        protocol = protocols.load(name)
        for field in dataclasses.fields(protocol.config):
            assert f"|{field.name}:" in protocol.signature()


def test_side_by_side_shows_published_variants_once_each() -> None:
    shown = [str(protocol) for protocol in protocols.side_by_side()]
    assert len(set(shown)) == len(shown)
    assert {"chan19", "kpdrop", "exhird", "yuan20"} <= set(shown)
    assert "chan19:release=rl,one_word_filter=true,unk=valid" in shown
