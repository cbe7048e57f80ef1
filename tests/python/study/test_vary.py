"""Factors of a study: which combinations a design has, which are left out, how launches are put in
order."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsonde.errors import UsageError
from netsonde.study.measure_table import MeasureTable
from netsonde.study.options_table import OptionsTable
from netsonde.study.plan import in_order, plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml


def spec(block: dict[str, Any], **top: Any) -> StudySpec:
    measure = {"transports": "tcp", "test": "stream", "sizes": "64k", **block}
    return StudySpec.model_validate({"measure": [measure], "seed": 5, **top})


def test_a_factorial_design_has_every_combination_once() -> None:
    study = spec({"vary": {"buffer": ["64k", "1M"], "no_delay": [True, False], "streams": [1, 4]}})
    found = [(b.options.buffer, b.options.no_delay, b.streams) for b in study.measure]
    assert found == list(product([65536, 1 << 20], [True, False], [1, 4]))
    assert study.measure[1].label == "buffer 64k, no_delay true, streams 4"
    assert len(plan_points(study)) == 8


VALUES = {"buffer": [1 << k for k in range(12, 18)], "max_segment": list(range(500, 506)),
          "busy_poll_us": list(range(6)), "streams": list(range(1, 7))}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(VALUES)), st.integers(1, 6), min_size=1, max_size=4
    ).filter(lambda counts: max(counts.values()) > 1)
)
def test_one_at_a_time_has_the_baseline_and_each_other_value(counts: dict[str, int]) -> None:
    vary = {name: VALUES[name][:number] for name, number in counts.items()}
    baseline = {name: values[-1] for name, values in vary.items()}
    study = spec({"vary": vary, "design": "one-at-a-time", "baseline": baseline})
    found = [
        {name: getattr(b.options, name, None) or getattr(b, name, 0) or 0 for name in vary}
        for b in study.measure
    ]
    assert len(found) == 1 + sum(number - 1 for number in counts.values())
    assert found[0] == baseline
    for one in found[1:]:
        assert sum(one[name] != baseline[name] for name in vary) == 1
    assert len({str(one) for one in found}) == len(found)
    assert study.measure[0].label == "baseline"


def test_combinations_and_points_are_left_out() -> None:
    block = {
        "transports": ["tcp", "udp"],
        "sizes": "1k,32k",
        "vary": {"buffer": ["64k", "1M"], "wait": ["block", "spin"]},
        "exclude": [
            {"buffer": "64k", "wait": "spin"},
            {"transport": "udp", "size": "32k", "buffer": "1M"},
        ],
    }
    found = {
        (p.transport, p.parameters["message_bytes"], p.parameters["label"])
        for p in plan_points(spec(block))
    }
    labels = ["buffer 64k, wait block", "buffer 1M, wait block", "buffer 1M, wait spin"]
    every = set(product(["tcp", "udp"], [1024, 32768], labels))
    assert found == {
        (t, s, name) for t, s, name in every if not (t == "udp" and s == 32768 and "1M" in name)
    }


def test_a_study_with_factors_reads_back() -> None:
    rules = [{"transport": "tcp", "size": "1k"}, {"buffer": "64k", "size": ["64k"]}]
    study = spec(
        {"sizes": "1k,64k", "vary": {"buffer": ["64k", "1M"]}, "exclude": rules}, launches=3
    )
    again = parse_study(to_toml(study), "x")
    assert again == study
    assert plan_points(again) == plan_points(study)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"vary": {"buffr": ["1M"]}}, "vary: buffr is neither a key of the block nor an option"),
        ({"vary": {"buffer": "1M"}}, "vary: buffer needs a list of values"),
        ({"vary": {"buffer": ["1M", "1M"]}}, "vary: buffer has a value twice"),
        ({"vary": {"sizes": ["1M"]}}, "vary: sizes has a value of its own in the block"),
        ({"vary": {"buffer": ["1M", "huge"]}}, "buffer huge: options.buffer: size 'huge'"),
        (
            {"vary": {"cork": [True], "no_delay": [True]}},
            "cork true, no_delay true: options: cork holds back what no_delay sends at once; ask "
            "for one of them; leave the combination out with exclude",
        ),
        ({"vary": {"buffer": ["1M"]}, "design": "latin"}, "design 'latin' is neither"),
        ({"vary": {"buffer": ["1M"]}, "baseline": {"buffer": "1M"}}, "baseline goes with"),
        (
            {"vary": {"buffer": ["1M"]}, "design": "one-at-a-time", "baseline": {"cork": True}},
            "baseline: cork is not varied",
        ),
        ({"design": "factorial"}, "design and baseline go with vary"),
        ({"exclude": [{"buffer": "1M"}]}, "exclude: buffer is not varied; what can be named is"),
        ({"exclude": "buffer > 1M"}, "exclude is a list of tables"),
        (
            {"vary": {"buffer": ["1M"]}, "exclude": [{"buffer": "1M"}]},
            "exclude leaves nothing of the block",
        ),
        ({"vary": {"busy_poll_us": list(range(2001))}}, "2001 combinations; 2000 are the most"),
    ],
)
def test_what_is_refused_and_how(block: dict[str, Any], words: str) -> None:
    text = to_inline({"transports": "tcp", "test": "stream", "sizes": "64k", **block})
    with pytest.raises(UsageError) as error:
        parse_study(f"measure = [{text}]", "x.toml")
    assert words in str(error.value)


def to_inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {to_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_inline, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def test_names_of_keys_and_options_are_not_the_same() -> None:
    assert not set(MeasureTable.model_fields) & set(OptionsTable.model_fields)


def test_each_launch_has_every_point_in_an_order_of_its_own() -> None:
    study = spec({"transports": ["tcp", "udp"], "sizes": "1..32k"}, launches=5)
    points = plan_points(study)
    assert len(points) == 5 * 2 * 16
    order = in_order(points, 9)
    assert [p.parameters["launch"] for p in order] == [n for n in range(1, 6) for _ in range(32)]
    orders = [
        [(p.transport, p.parameters["message_bytes"]) for p in order[i * 32 : (i + 1) * 32]]
        for i in range(5)
    ]
    assert all(set(one) == set(orders[0]) for one in orders)
    assert len({str(one) for one in orders}) == 5


def test_launches_of_sockets_go_with_those_of_mpi() -> None:
    mpi = {"transports": "mpi", "test": "latency", "sizes": "8"}
    content = {"launches": 3, "measure": [mpi, {**mpi, "transports": "tcp"}], "seed": 1}
    study = StudySpec.model_validate(content)
    assert study.mpi.launch_count == 3
    order = in_order(plan_points(study), 1)
    assert [p.parameters["launch"] for p in order] == [1, 1, 2, 2, 3, 3]
    assert content["launches"] == 3
    assert "mpi" not in content
