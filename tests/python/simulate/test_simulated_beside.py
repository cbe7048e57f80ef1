"""Predictions with the simulation beside them: what is asked of sonde-sim, what is made of its
answer, and that both agree where nothing conflicts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import simulation_fakes
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.model.platform import Platform
from netsonde.model.predict import Options, predict
from netsonde.platforms.read import preset
from netsonde.platforms.simulated import simulated, simulation_plan

SIZE = 44 * 1492
ASKED = ("model", "predict", "alltoall/shift", "--platform", "fe-326", "-p", "16", "--simulate")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A sonde-sim that answers at once; 15 packets of 123,040 ns and the seed."""
    monkeypatch.setenv("NETSONDE_WORKERS", str(simulation_fakes.install(tmp_path)))
    return monkeypatch


@pytest.fixture
def real() -> None:
    """Skips where sonde-sim is not built."""
    try:
        find_worker("sonde-sim")
    except HostError as error:
        pytest.skip(str(error))


def plan(
    platform: Platform,
    algorithm: str = "alltoall/shift",
    ranks: int = 16,
    shape: tuple[int, ...] | None = None,
) -> dict[str, Any]:
    return simulation_plan(platform, algorithm, ranks, SIZE, Options(shape=shape), seed=3)


def test_a_platform_as_it_stands() -> None:
    found = plan(preset("fe-326"), "alltoall/group-shuffle")
    assert found["seed"] == 3
    assert found["workload"] == {
        "kind": "schedule",
        "algorithm": "alltoall/group-shuffle",
        "block_bytes": SIZE,
        "payload_bytes": 1492,
        "segment_bytes": 1492,
        "fan_out": 5,
    }
    chain = plan(preset("fe-326"), "broadcast/chain")["workload"]
    assert chain["segment_bytes"] == 1492  # the best one, in packets
    assert found["hosts"][0]["count"] == 16
    kind = found["host_kinds"]["host"]
    assert kind["send_gap"] == {"base_ns": 122_000.0, "per_byte_ns": 0.0}
    switch = found["switch_kinds"]["switch"]
    # L less one time on the wire: 149 + 0.3387 * 16 - 123.04 us.
    assert switch["latency_ns"] == round(149_000 + 338.7 * 16 - 123_040)
    assert (switch["architecture"], switch["buffer_packets"]) == ("input", 43)
    assert switch["cut_through"]
    assert not plan(preset("fe-416"))["switch_kinds"]["switch"]["cut_through"]


def test_a_cost_over_the_payload_is_one_over_the_frame() -> None:
    platform = preset("fe-326")
    gap = replace(platform.costs["send_gap"], start_ns=4000.0, per_byte_ns=80.0)
    platform = replace(platform, costs={**platform.costs, "send_gap": gap})
    cost = plan(platform)["host_kinds"]["host"]["send_gap"]
    assert cost["base_ns"] + cost["per_byte_ns"] * (1492 + 8) == pytest.approx(gap.at(1492))


def test_messages_between_two() -> None:
    one = plan(preset("fe-416"), "message/one-way", 2)["workload"]
    assert one["messages"] == [[0, 0, 1, SIZE]]
    both = plan(preset("fe-416"), "message/exchange", 2)["workload"]
    assert both["messages"] == [[0, 0, 1, SIZE], [0, 1, 0, SIZE]]


def test_what_cannot_be_simulated() -> None:
    bare = preset("gedp-up")  # its L is of one byte and no switch
    with pytest.raises(ValueError, match="not measured over a switch"):
        plan(bare, ranks=4)
    with pytest.raises(ValueError, match="O_s"):
        plan(preset("hydra-myrinet"))
    with pytest.raises(ValueError, match="one switch"):
        plan(preset("fe-326"), "alltoall/modified-shuffle", shape=(8, 2))
    with pytest.raises(ValueError, match="too many"):
        plan(preset("fe-326"), ranks=100_000)
    falling = preset("fe-326")
    gap = replace(falling.costs["send_gap"], start_ns=300_000.0, per_byte_ns=-1.0)
    with pytest.raises(ValueError, match="none below 0"):
        plan(replace(falling, costs={**falling.costs, "send_gap": gap}))


def test_the_simulated_time_stands_beside(fake: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, [*ASKED, "--json"], catch_exceptions=False)
    document = json.loads(result.stdout)
    time = 15 * 123_040 + 1
    assert document["simulated"]["time_ns"] == time
    assert document["simulated"]["deviation"] == pytest.approx(time / document["time_ns"] - 1)
    text = CliRunner().invoke(app, ASKED, catch_exceptions=False).stdout
    assert "1.846 ms" in text
    assert "100 packets lost" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    fake.setenv("FAKE_SIM", "idle")
    text = CliRunner().invoke(app, ASKED, catch_exceptions=False).stdout
    assert "it does not end" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    document = json.loads(CliRunner().invoke(app, [*ASKED, "--json"]).stdout)
    assert document["simulated"]["time_ns"] is None
    assert document["simulated"]["deviation"] is None


def test_a_simulation_that_fails(fake: pytest.MonkeyPatch) -> None:
    fake.setenv("FAKE_SIM", "crash")
    assert isinstance(CliRunner().invoke(app, ASKED).exception, HostError)
    fake.setenv("NETSONDE_WORKERS", "none")
    assert isinstance(CliRunner().invoke(app, ASKED).exception, HostError)
    family = [word.replace("alltoall/shift", "alltoall") for word in ASKED]
    assert isinstance(CliRunner().invoke(app, family).exception, UsageError)


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", ["fe-326", "fe-416"])
@pytest.mark.parametrize(
    "algorithm",
    [
        *(f"alltoall/{n}" for n in ("shift", "pairwise", "synchronous-shuffle", "group-shuffle")),
        *("message/one-way", "message/exchange", "broadcast/tree", "broadcast/binomial"),
        *("allgather/ring", "scatter/binomial", "allgather/bruck"),
    ],
)
def test_formulas_and_simulations_agree_where_nothing_conflicts(name: str, algorithm: str) -> None:
    """Steady, equal hosts in step meet no conflict: what is left is rounding and headers."""
    platform = preset(name)
    ranks = 2 if algorithm.startswith("message/") else 16
    formula = predict(platform, algorithm, ranks, SIZE).time_ns
    beside = simulated(platform, algorithm, ranks, SIZE, Options())
    assert beside.lost_packets == 0
    assert beside.time_ns == pytest.approx(formula, rel=0.005)


@pytest.mark.usefixtures("real")
def test_a_simulation_sees_the_loss_that_a_formula_does_not() -> None:
    """15 senders of 44 packets each to one port that holds 95, and nobody sends again."""
    beside = simulated(preset("fe-416"), "gather/linear", 16, SIZE, Options())
    assert beside.time_ns is None
    assert beside.lost_packets > 0
    few = simulated(preset("fe-416"), "gather/linear", 16, 6 * 1492, Options())
    assert few.lost_packets == 0  # 15 * 6 packets fit
    assert few.time_ns is not None
