"""What a study is estimated to send against what its interfaces counted; pairs of hosts that are
measured at the same time against the same pairs alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab_runs import Silent

from netsonde.figures.compute import figures_of
from netsonde.lab import permission_problem
from netsonde.records.data import Point
from netsonde.records.rundir import open_run
from netsonde.study.estimate import estimate_of
from netsonde.study.execute import start_study
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.slow,
]
RATE = "40M"


def sent_bytes(point: Point) -> int:
    """By the hosts' interfaces, over all batches."""
    ends = [end for batch in point.batches for end in batch.ends.values()]
    names = [f"interface.{point.opened[end.rank]['interface']}.tx_bytes" for end in ends]
    return sum(end.difference(name) or 0 for end, name in zip(ends, names, strict=True))


@pytest.mark.tolerant
def test_traffic_stays_below_its_estimate_and_near_it_where_the_link_is_full(tmp_path, attempts):
    common = {"cap": "600ms", "options": {"placement": "free"}}
    study = StudySpec.model_validate(
        {
            "seed": 1,
            "interval": 1e-6,  # so that no point ends before its time
            "path": {"kind": "lab"},
            "lab": {"rate": RATE},
            "measure": [
                {"transports": ["tcp", "udp"], "test": "stream", "sizes": 1400, **common},
                {"transports": "tcp", "test": "latency", "sizes": "64,16k", **common},
                {"transports": "udp", "test": "stream", "sizes": 1000, "rate": "10M", **common},
            ],
        }
    )
    estimates = {p.id: estimate_of(study, p).traffic_bytes for p in plan_points(study)}
    for attempt in attempts(2, of=3):
        folder = tmp_path / str(attempt.number)
        folder.mkdir()
        run = open_run(start_study(study, folder, ["netsonde"], Silent()).directory)
        assert all(point.status == "finished" for point in run.points)
        shares = {point.id: sent_bytes(point) / estimates[point.id] for point in run.points}
        attempt.found(**shares)
        # Acknowledgements are not in the estimate: up to 5 % of a stream of full segments.
        assert max(shares.values()) < 1.06
        with attempt:
            assert min(shares[p.id] for p in run.points if p.test == "stream") > 0.4


@pytest.mark.soak
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_pairs_without_a_common_host_do_not_disturb_each_other(tmp_path, transport):
    medians: dict[int, np.ndarray[Any, Any]] = {}
    for concurrent in (1, 2):
        study = StudySpec.model_validate(
            {
                "seed": 1,
                "interval": 1e-6,
                "launches": 2,
                "path": {
                    "kind": "lab",
                    "between": ["h1,h2", "h3,h4"],
                    "concurrent": concurrent,
                },
                "lab": {"rate": RATE, "hosts": 4},
                "measure": [
                    {"transports": transport, "test": "stream", "sizes": 1400, "cap": "400ms"}
                ],
            }
        )
        outcome = start_study(study, tmp_path / str(concurrent), ["netsonde"], Silent())
        run = open_run(outcome.directory)
        beside = [point.checks.get("beside", []) for point in run.points]
        assert [len(others) for others in beside] == [concurrent - 1] * 4
        found = [f.value for f in figures_of(run) if f.name == "throughput_bit_per_s"]
        assert len(found) == 4
        medians[concurrent] = np.array(found)
    ratio = np.median(medians[2]) / np.median(medians[1])
    assert 0.97 < ratio < 1.03, medians
