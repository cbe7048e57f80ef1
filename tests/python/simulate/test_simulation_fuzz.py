"""Whatever stands in a scenario or a sweep, the answer is a plan or one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from simulation_fakes import SMALL

from netsonde.errors import UsageError
from netsonde.simulate.plan import plan_sweep
from netsonde.simulate.scenario import SimulationScenario, simulation_presets
from netsonde.simulate.study import SimulationStudy, parse_simulation_study
from netsonde.simulate.sweep import NAMES, Sweep, combinations, parse_sweep
from netsonde.tables import load_toml

TEXTS = [SMALL, *simulation_presets().values()]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["1G", "5us", "95 packets", "h[1-4]", "h1", "100%", "-1ms", "go-back-n", "tcp"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def problem(call: Callable[[], object]) -> str:
    """The sentence that a call is refused with; empty where it is not."""
    try:
        call()
    except UsageError as error:
        return str(error)
    return ""


def answered(tables: dict[str, Any]) -> None:
    """Plans, or refuses with one line."""

    def plan() -> None:
        points = plan_sweep(SimulationScenario("file", "", tables), [], None)
        json.dumps(points[0].plan, allow_nan=False)

    said = problem(plan)
    assert "\n" not in said
    assert not said or said.startswith("file")


@settings(max_examples=60)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin-1")))
def test_any_text(text: str) -> None:
    said = problem(lambda: answered(load_toml(text, "file")))
    assert not said or said.startswith("file is not TOML")


def places(tables: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key of nested tables and lists."""
    if isinstance(tables, dict):
        return [p for k, v in tables.items() for p in [(*way, k), *places(v, (*way, k))]]
    if isinstance(tables, list):
        return [p for k, v in enumerate(tables) for p in [(*way, k), *places(v, (*way, k))]]
    return []


@settings(max_examples=250)
@given(st.data())
def test_a_scenario_with_one_thing_wrong(data: st.DataObject) -> None:
    tables: Any = load_toml(data.draw(st.sampled_from(TEXTS)), "file")
    *way, last = data.draw(st.sampled_from(places(tables)))
    place = tables
    for step in way:
        place = place[step]
    match data.draw(st.sampled_from(["value", "gone", "new"])):
        case "value":
            place[last] = data.draw(values)
        case "gone":
            del place[last]
        case "new" if isinstance(place, dict):
            place[data.draw(st.text(max_size=8))] = data.draw(values)
    answered(tables)


@settings(max_examples=150)
@given(
    st.text(max_size=30)
    | st.builds(
        "{}={}".format, st.sampled_from([*NAMES, "a.b", "switch.9.buffer"]), st.text(max_size=20)
    )
    | st.builds(
        "{}={}..{}:{}".format,
        st.sampled_from([*NAMES]),
        st.integers(-5, 10**12),
        st.integers(-5, 10**12),
        st.sampled_from(["", "1", "x2", "0", "x1", "8", "-3"]),
    )
)
def test_any_sweep(text: str) -> None:
    read = SimulationScenario("file", SMALL, load_toml(SMALL, "file"))

    def plan() -> None:
        sweep = parse_sweep(text)
        assert 1 <= len(sweep.rows) <= 1000
        assert combinations([sweep])
        plan_sweep(read, [Sweep(sweep.names, sweep.rows[:2])], None)

    assert "\n" not in problem(plan)


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(
        {
            "simulate": st.lists(
                st.dictionaries(
                    st.sampled_from(
                        ["scenario", "figure", "columns", "rows", "set", "sweep", "scale", "x"]
                    ),
                    values,
                    max_size=5,
                ),
                max_size=2,
            )
        }
    )
)
def test_any_study(tables: dict[str, Any]) -> None:
    with suppress(ValidationError):
        SimulationStudy.model_validate(tables)


def test_a_study_that_is_none() -> None:
    assert "simulate" in problem(lambda: parse_simulation_study("simulate = 3", "file"))
