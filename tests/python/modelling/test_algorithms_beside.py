"""What models say of algorithms beside a made run of them, and where they say nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.errors import UsageError
from netsonde.model.foretold import round_trip
from netsonde.model.platform import Cost, FitQuality, Platform
from netsonde.model.predict import Options
from netsonde.model.views import hockney
from netsonde.modelling.algorithms import algorithms_beside, beside_document, beside_lines
from netsonde.modelling.played import played
from netsonde.modelling.score import score_run
from netsonde.platforms.simulated import simulation_plan
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.stats.quantiles import Interval

COSTS = {
    "send_overhead": Cost(2_000.0),
    "send_gap": Cost(4_000.0, 80.0),
    "latency": Cost(40_000.0, 80.0),
    "receive_gap": Cost(4_000.0, 80.0),
    "receive_overhead": Cost(3_000.0),
    "user_overhead": Cost(1_000.0),
}
PLATFORM = Platform("made", "", 1000, 1e8, COSTS)
SIZE = 500
REPETITIONS = 200
NONE = np.empty(0, np.int64)

pytestmark = pytest.mark.worker


def messages(number: int = 1) -> Point:
    time = round_trip(PLATFORM, SIZE).time_ns * (1 + np.linspace(-0.1, 0.1, REPETITIONS))
    ends = {0: EndData(0, "n1", {"round_trip_ns": time.astype(np.int64)}, {})}
    own = {"message_bytes": SIZE, "mpi": "any", "ranks": 2}
    return Point(f"p{number}", "mpi", "latency", own, "finished", batches=[Batch(0, ends)])


def operation(time_ns: float, algorithm: str | None = "broadcast/binomial", **own: Any) -> Point:
    """Eight ranks, each of which took so long in each repetition."""
    spread = time_ns * (1 + np.linspace(-0.05, 0.05, REPETITIONS))
    series = {"duration_ns": spread.astype(np.int64)}
    ends = {rank: EndData(rank, f"n{rank}", dict(series), {}) for rank in range(8)}
    asked: dict[str, Any] = {"message_bytes": SIZE, "operation": "bcast", "ranks": 8, "mpi": "any"}
    if algorithm is not None:
        asked["schedule"] = {"algorithm": algorithm}
    batches = [Batch(0, ends)]
    return Point("p2", "mpi", "collective", asked | own, "finished", batches=batches)


def run_of(folder: Path, *points: Point) -> Run:
    return Run(folder, {"origin": "real", "hosts": {}, "path": {}}, list(points), True)


def test_what_the_models_say_is_beside_what_was_measured(tmp_path: Path) -> None:
    """A binomial tree of eight is three messages behind each other, in every model."""
    truth = 1.5 * round_trip(PLATFORM, SIZE, 8).time_ns
    (one,) = algorithms_beside(PLATFORM, run_of(tmp_path, messages(), operation(truth)))
    assert one.error("packets") == pytest.approx(0.0, abs=0.01)
    hockneys = 3 * hockney(PLATFORM, 8).time_ns(SIZE)
    assert one.foretold["Hockney"].time_ns == pytest.approx(hockneys)
    assert one.foretold["simulator"].time_ns == pytest.approx(truth, rel=0.15)
    assert set(one.foretold) == {"Hockney", "LogGP", "packets", "simulator"}
    predicted, measured = one.quantiles[0.5]
    assert predicted == pytest.approx(measured, rel=0.1)
    lines = beside_lines(PLATFORM, [one])
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("packets    median error") for line in lines)
    (said,) = beside_document(PLATFORM, [one])["algorithms"]
    of_packets = next(p for p in said["predictions"] if p["model"] == "packets")
    assert sum(of_packets["terms_ns"].values()) == pytest.approx(of_packets["predicted_ns"])


def test_ranks_that_share_a_node_are_flagged(tmp_path: Path) -> None:
    run = run_of(tmp_path, operation(1e6, ppn=2))
    (one,) = algorithms_beside(PLATFORM, run)
    assert one.shares_node
    assert not one.foretold
    lines = beside_lines(PLATFORM, [one])
    assert "  shared: 2 ranks a node" in lines
    with pytest.raises(ValueError, match="2 ranks a node is not foretold"):
        score_run(PLATFORM, run)


def test_a_platform_that_lacks_a_parameter_says_so(tmp_path: Path) -> None:
    bare = Platform("bare", "", 1000, 1e8, {"send_gap": COSTS["send_gap"]})
    (one,) = algorithms_beside(bare, run_of(tmp_path, operation(1e6)), simulate=False)
    assert "send overhead" in one.missing["packets"]
    assert any("send overhead" in line for line in beside_lines(bare, [one]))


def test_a_score_goes_through_the_schedule(tmp_path: Path) -> None:
    """With the quantiles of the whole, convolved from single messages."""
    truth = 1.5 * round_trip(PLATFORM, SIZE, 8).time_ns
    score = score_run(PLATFORM, run_of(tmp_path, messages(), operation(1.2 * truth)))
    (found,) = (one for one in score.items if one.test == "broadcast/binomial")
    assert found.error == pytest.approx(0.2, abs=0.01)
    assert found.what == "packets"
    assert found.quantiles[0.5][0] == pytest.approx(truth, rel=0.1)
    assert found.quantiles[0.5][1] == pytest.approx(1.2 * truth, rel=0.01)


def test_a_run_without_algorithms_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no operation by an algorithm"):
        algorithms_beside(PLATFORM, run_of(tmp_path, messages(), operation(1e6, None)))


def over_frames(size: int, **frames: Any) -> Point:
    own = {"operation": "alltoall", "ranks": 2, "message_bytes": size}
    asked = {"algorithm": "alltoall/pairwise", "segment_bytes": 500}
    return operation(1e6, None, schedule=asked, frames={"reliable": True, **frames}, **own)


def over_lab(folder: Path, point: Point) -> Run:
    line = {"rate_bit_per_s": 10_000_000, "mtu_bytes": 1500}
    links = [
        {"name": f"n{i}", "lower": f"n{i}", "upper": "s1", "up": line, "down": line}
        for i in (2, 1, 0)
    ]
    switch = {"name": "s1", "architecture": "output", "cut_through": False, "latency_ns": 0}
    topology = {"hosts": ["n2", "n1", "n0"], "switches": [switch], "links": links}
    point.batches[0].ends = {rank: end for rank, end in point.batches[0].ends.items() if rank < 2}
    return replace(run_of(folder, point), manifest={"path": {"topology": topology}})


def test_a_schedule_over_frames_of_a_lab_is_played_as_it_was(tmp_path: Path) -> None:
    """The lab's lines, the hosts that have ranks in their order, and Go-Back-N with its answers."""
    run = over_lab(tmp_path, over_frames(1000, timeout_ns=5_000_000))
    plan = played(PLATFORM, run, run.points[0])
    assert [group["link"] for group in plan["hosts"]] == ["link-n0", "link-n1"]
    assert set(plan["link_kinds"]) == {"link-n0", "link-n1"}
    assert plan["link_kinds"]["link-n0"]["rate_bit_per_s"] == 10_000_000
    # What L has beyond its wire, half of it on each line.
    beyond_ns = 40_000 + 80 * 1000 - PLATFORM.wire_ns()
    assert plan["link_kinds"]["link-n0"]["propagation_ns"] == pytest.approx(beyond_ns / 2, abs=1)
    assert plan["transport"]["kind"] == "go_back_n"
    assert (plan["transport"]["window_packets"], plan["transport"]["timeout_ns"]) == (32, 5_000_000)
    assert plan["workload"]["segment_bytes"] == 500
    (one,) = algorithms_beside(PLATFORM, run)
    frame_ns = (500 + 8 + 38) * 800  # of a segment; the second one follows the first
    assert one.foretold["simulator"].time_ns == pytest.approx(3 * frame_ns + beyond_ns, rel=0.03)


def test_a_gap_that_is_the_lines_own_holds_no_short_packet_back() -> None:
    wire_ns = PLATFORM.wire_ns()
    of_card = replace(PLATFORM, costs=COSTS | {"receive_gap": Cost(1.1 * wire_ns)})
    of_line = replace(PLATFORM, costs=COSTS | {"receive_gap": Cost(wire_ns)})
    plans = [
        simulation_plan(one, "alltoall/pairwise", 4, 500, Options(), 1)
        for one in (of_card, of_line)
    ]
    assert ["receive_gap" in plan["host_kinds"]["host"] for plan in plans] == [True, False]


def test_a_fitted_part_that_may_be_nothing_is_none(tmp_path: Path) -> None:
    """What is given so, or certainly below 0, is refused as before."""
    flat = FitQuality(5, 9.0, 0.1, {"per_byte_ns": Interval(-2.0, 1.0, 0.95)})
    law = Cost(2_000.0, -0.5, fit=flat)
    run = over_lab(tmp_path, over_frames(1000))

    def told(cost: Cost) -> dict[str, Any]:
        platform = replace(PLATFORM, costs=COSTS | {"send_overhead": cost})
        host: dict[str, Any] = played(platform, run, run.points[0])["host_kinds"]["host"]
        return dict(host["send_overhead"])

    assert told(law) == {"base_ns": 1_750.0, "per_byte_ns": 0.0}
    from_nothing = FitQuality(5, 9.0, 0.1, {"start_ns": Interval(-60.0, 20.0, 0.95)})
    assert told(Cost(-40.0, 1.05, fit=from_nothing)) == {
        "base_ns": 0.0,
        "per_byte_ns": pytest.approx(1010 / 1008, rel=0.01),
    }
    certainly = FitQuality(5, 9.0, 0.1, {"start_ns": Interval(-900.0, -500.0, 0.95)})
    for certain in (Cost(2_000.0, -0.5), Cost(-700.0, 1.5, fit=certainly)):
        with pytest.raises(ValueError, match="takes none below 0"):
            told(certain)


def test_what_no_window_timed_is_left_out(tmp_path: Path) -> None:
    nothing = {rank: EndData(rank, f"n{rank}", {"duration_ns": NONE}, {}) for rank in (0, 1)}
    lost = replace(over_frames(1000), id="p3", batches=[Batch(0, nothing)])
    run = run_of(tmp_path, operation(1e6), lost)
    assert len(algorithms_beside(PLATFORM, run, simulate=False)) == 1
    with pytest.raises(UsageError, match="that was timed"):
        algorithms_beside(PLATFORM, run_of(tmp_path, lost), simulate=False)
