"""What is said of studies by formulas that know the answer: an input-buffered uplink beside the
three-state model, periods of loss cycles, and what store-and-forward adds to an exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netsonde.errors import HostError
from netsonde.figures.attributed import effects_of
from netsonde.figures.compute import figures_of_point
from netsonde.launch.binaries import find_worker
from netsonde.model.congestion import input_good_packets
from netsonde.model.platform import wire_time_ns
from netsonde.records.data import Point, Run
from netsonde.records.decode import decode_batch
from netsonde.simulate.plan import Reference, SimulatedPoint, plan_point
from netsonde.simulate.process import Job, Simulators, processors
from netsonde.simulate.scenario import read_simulation
from netsonde.simulate.sweep import Change

STUDIES = Path(__file__).resolve().parents[3] / "studies"
SENDERS = "h[1-8,11-17]"
UPLINK_PACKETS = 45


@pytest.fixture(scope="module")
def sonde_sim() -> Path:
    """Skips where it is not built."""
    try:
        return find_worker("sonde-sim")
    except HostError as error:
        pytest.skip(str(error))


def simulated(program: Path, plans: list[SimulatedPoint]) -> list[Point]:
    """The points with a batch each, in order."""
    found: dict[int, Any] = {}
    with Simulators(program, processors()) as simulators:
        jobs = [Job(number, {**one.plan, "seed": 1}, 60.0) for number, one in enumerate(plans)]
        for result in simulators.results(jobs):
            assert result.error is None
            found[result.key] = decode_batch(0, result.records)
    return [
        Point(
            one.id, one.transport, "simulation", one.spec.to_json(), "finished", batches=[found[n]]
        )
        for n, one in enumerate(plans)
    ]


def planned(scenario: str, formula: str | None = None, **changes: Change) -> SimulatedPoint:
    file = STUDIES / "scenarios" / f"{scenario}.toml"
    read = read_simulation(str(file) if file.exists() else scenario)
    return plan_point("p", read, changes, None, Reference("line_use_ratio", formula=formula))


def figures(point: Point) -> dict[str, float]:
    return {one.name: one.value for one in figures_of_point(point)}


def test_an_uplink_of_inputs_follows_the_three_states(sonde_sim: Path) -> None:
    """Eq. (4.10) with the chances of the simulated senders and the uplink's 45 packets, which are
    not those of a host's port."""
    asked: dict[str, Change] = {
        "senders": SENDERS,
        "packets": 4000,
        "simulation.output.events": True,
    }
    plans = [
        planned("gather-uplink", "three-states", window=12, timeout_slots=slots, **asked)
        for slots in (400, 800)
    ]
    assert [one.spec.buffer_packets for one in plans] == [UPLINK_PACKETS] * 2
    for point in simulated(sonde_sim, plans):
        found = figures(point)
        assert found["formula_line_use_ratio"] == pytest.approx(found["line_use_ratio"], abs=0.1)


def test_periods_of_a_loss_cycle_are_in_the_queue(sonde_sim: Path) -> None:
    """Within two packets of B_L, (W-1)/P + 2 and G."""
    loads = [(7, 48), (7, 60)]
    plans = [
        planned("one-queue", "input-buffered", senders=p, window=w, packets=600) for p, w in loads
    ]
    for (senders, window), point in zip(loads, simulated(sonde_sim, plans), strict=True):
        found = figures(point)
        assert found["loss_cycle_a_packets"] == pytest.approx(43, abs=2)
        assert found["loss_cycle_b_packets"] == pytest.approx((window - 1) / senders + 2, abs=2)
        good = input_good_packets(window, senders, 43)
        assert found["loss_cycle_c_packets"] == pytest.approx(good, abs=2)


def test_store_and_forward_costs_a_packet_in_each_round(sonde_sim: Path) -> None:
    """Short exchanges take a packet's time more for each round; of long ones, whose pipe is full,
    it is a small part."""
    packet_ns = wire_time_ns(1500, 1e8)
    rounds = {"alltoall/group-shuffle": 3, "alltoall/pairwise": 15}
    plans = [
        planned(
            "fedp-326",
            algorithm=name,
            block_packets=packets,
            **{"switch.0.forwarding": forwarding},
        )
        for name in rounds
        for packets in (1, 64)
        for forwarding in ("cut-through", "store-and-forward")
    ]
    times = [point.batches[0].ends[0].done["elapsed_ns"] for point in simulated(sonde_sim, plans)]
    for number, (name, count) in enumerate(rounds.items()):
        short, short_stored, long, long_stored = times[4 * number : 4 * number + 4]
        added = short_stored - short
        assert added == pytest.approx(count * packet_ns, rel=0.05), name
        assert (long_stored - long) / long < 0.5 * added / short


def test_a_global_window_keeps_an_oversubscribed_exchange_at_its_bound(sonde_sim: Path) -> None:
    """Nothing is lost, and uplinks carry nine tenths of what they can; TCP, which everybody begins
    at once or in rounds, takes more than 1.5 times as long."""
    rival: dict[str, Change] = {"permutation": None, "remap": None}
    for key in ("window", "timeout_slots", "global_window", "global_window_counts"):
        rival[f"simulation.transport.{key}"] = None
    rival["simulation.transport.kind"] = "tcp"
    ways = [f"alltoall/{name}" for name in ("pairwise", "shift", "staggered")]
    plans = [
        planned("eight-eights", None, block="16k"),
        *(planned("eight-eights", None, block="16k", algorithm=name, **rival) for name in ways),
    ]
    windowed, *others = simulated(sonde_sim, plans)
    block_bytes, packets = 16 * 1024, 12
    on_the_line = block_bytes + packets * (38 + 8)  # Ethernet's and the transport's part of each
    bound_ns = 8 * (64 - 8) * on_the_line * 8 / 200e6 * 1e9
    done = windowed.batches[0].ends[0].done
    assert done["lost_overflow"] == 0
    assert 0.9 < bound_ns / done["elapsed_ns"] <= 1.0
    for other in others:
        assert other.batches[0].ends[0].done["elapsed_ns"] > 1.5 * done["elapsed_ns"]


def test_effects_of_a_full_design_are_ranked(sonde_sim: Path, tmp_path: Path) -> None:
    """On input buffers the window decides, and the timeout does nothing."""
    plans = [
        planned("gather-326", senders=7, packets=300, window=window, timeout_slots=slots)
        for window in (48, 96)
        for slots in (1600, 3200)
    ]
    points = simulated(sonde_sim, plans)
    run = Run(tmp_path, {"origin": "simulated", "hosts": {}}, points, True)
    (effects,) = effects_of(run)
    assert (effects.where, effects.points) == ("gather-326", 4)
    assert effects.found.factors[0][0] == "window"
    assert dict(effects.found.factors)["timeout_slots"] < 0.05
    # One point less is no full design.
    assert effects_of(Run(tmp_path, {"origin": "simulated", "hosts": {}}, points[:3], True)) == []
