"""What models say of algorithms beside a made run of them, and where they say nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.errors import UsageError
from netsonde.model.foretold import round_trip
from netsonde.model.platform import Cost, Platform
from netsonde.model.views import hockney
from netsonde.modelling.algorithms import algorithms_beside, beside_document, beside_lines
from netsonde.modelling.score import score_run
from netsonde.records.data import Batch, EndData, Point, Run

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
