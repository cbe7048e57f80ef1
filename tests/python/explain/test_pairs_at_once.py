"""Where the sum of pairs stops growing is said of runs that have several numbers of hosts."""

from __future__ import annotations

from pathlib import Path

from netsonde.explain.data import Seen
from netsonde.explain.patterns import sum_of_pairs
from netsonde.figures.data import Figure
from netsonde.records.data import Batch, Point, Run


def seen(sums_mbit: dict[int, float]) -> Seen:
    points, figures = [], []
    for number, (hosts, value) in enumerate(sums_mbit.items()):
        asked = {"message_bytes": 16384, "cap_ns": 10**9, "interval": 0.01, "options": {}}
        told = {"hosts": hosts, "label": f"{hosts} hosts"} if hosts else {}
        point = Point(f"p{number}", "tcp", "pairs", asked | told)
        point.status, point.ended_by, point.batches = "finished", "cap", [Batch(0, {})]
        points.append(point)
        figures.append(
            Figure(
                *(point.id, "tcp", "pairs", None, 16384, "throughput_bit_per_s"),
                *(value * 1e6, None, None, 1, 1.0, "patterns#throughput"),
            )
        )
    return Seen(Run(Path("run"), {"path": {"kind": "lab"}}, points, True), figures)


def test_the_end_of_growth_and_its_rate_are_said() -> None:
    [found] = sum_of_pairs(seen({2: 10.0, 4: 20.0, 6: 24.0, 8: 24.4}))
    assert found.claim.startswith("From 3 pairs at once on the sum does not grow")
    assert "24.20 Mbit/s" in found.claim
    assert "40.00 Mbit/s" in found.evidence
    assert len(found.points) == 4


def test_what_grows_and_what_all_hosts_did_is_no_end() -> None:
    assert list(sum_of_pairs(seen({2: 10.0, 4: 20.0, 6: 30.0, 8: 40.0}))) == []
    assert list(sum_of_pairs(seen({0: 10.0}))) == []
