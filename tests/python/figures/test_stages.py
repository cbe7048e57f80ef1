"""Round trips whose division between hosts and network is known."""

from pathlib import Path

import numpy as np
import pytest

from netsonde.explain.data import Seen
from netsonde.explain.kernel_trace_rules import kernel_times
from netsonde.figures.compute import figures_of_point, find
from netsonde.figures.stages import PARTS, has_stages, stages_of
from netsonde.records.data import Batch, EndData, Point, Run

HOST_NS = {"send_to_queue": 2000, "queue_to_driver": 500, "driver_to_receive": 9000}


def _end(rank, index, extra_ns=0, **own):
    """An end with constant stages; extra_ns is added to what follows the arrival."""
    end = EndData(rank, f"h{rank + 1}")
    stages = {name: np.full(len(index), ns) for name, ns in HOST_NS.items()}
    stages["driver_to_receive"] = stages["driver_to_receive"] + extra_ns
    end.series = {
        "stamped_index": np.asarray(index),
        **{f"{name}_ns": values for name, values in stages.items()},
        **{name: np.asarray(values) for name, values in own.items()},
    }
    return end


def _point(origin_index, target_index, away_ns, target_extra_ns=0, answered=None, **parameters):
    """away_ns: from the origin's driver to the arrival there, of each of the origin's messages."""
    whole = np.asarray(away_ns) + sum(HOST_NS.values())
    origin = _end(
        0,
        origin_index,
        driver_to_driver_ns=away_ns,
        round_trip_ns=np.resize(whole, answered or len(whole)),
    )
    target = _end(
        1, target_index, target_extra_ns, receive_to_send_ns=np.full(len(target_index), 100)
    )
    return Point(
        "p001",
        "udp",
        "latency",
        {"message_bytes": 64, "options": {"kernel_times": True}, **parameters},
        batches=[Batch(0, {0: origin, 1: target})],
    )


def test_what_no_host_accounts_for_is_the_networks():
    """40 us away, of which the target's host has 11.6: 28.4 us."""
    index = np.arange(200)
    point = _point(index, index, np.full(200, 40_000))
    assert has_stages(point)
    figures = figures_of_point(point)

    def value(name):
        return find(figures, name, "p001").value

    assert value("network_median_ns") == value("typical_network_ns") == 28_400
    assert value("origin_host_median_ns") == 11_500
    assert value("target_host_median_ns") == 11_600
    assert value("target_receive_to_send_p99_ns") == 100
    assert value("stamped_ratio") == 1
    assert sum(value(f"typical_{part}_ns") for part in PARTS) == 51_500


def test_a_slow_target_is_not_the_network():
    index = np.arange(300)
    late = np.where(index % 100 == 7, 500_000, 0)
    point = _point(index, index, 40_000 + late, target_extra_ns=late)
    figures = figures_of_point(point)

    def value(name):
        return find(figures, name, "p001").value

    assert value("slow_network_ns") == value("typical_network_ns") == 28_400
    assert value("slow_target_driver_to_receive_ns") == 509_000
    assert value("typical_target_driver_to_receive_ns") == 9_000


def test_messages_are_matched_by_their_number_and_a_repeated_one_by_none():
    """Of 0 to 5 the origin lacks 1, the target 4, and 3 was answered twice."""
    origin = [0, 2, 3, 4, 5]
    target = [5, 0, 1, 2, 3, 3]
    away = np.array([10_000, 12_000, 13_000, 14_000, 15_000]) + 11_600
    point = _point(origin, target, away, answered=6)
    stages = stages_of(point)
    assert stages.parts["network"].tolist() == [10_000, 12_000, 15_000]
    assert stages.answered == 6
    assert find(figures_of_point(point), "stamped_ratio", "p001").value == 0.5


def test_no_stamps_at_all_are_said_once():
    point = _point([], [], np.empty(0), answered=50)
    point.batches[0].ends[0].series["round_trip_ns"] = np.full(50, 30_000)
    for rank in (0, 1):
        point.batches[0].ends[rank].counters = {"unstamped_driver": 50, "unstamped_queue": 0}
    figures = figures_of_point(point)
    assert find(figures, "stamped_ratio", "p001").value == 0
    assert find(figures, "network_median_ns", "p001") is None
    assert find(figures, "round_trip_median_ns", "p001").value == 30_000
    run = Run(Path(), {"path": {}, "origin": "real"}, [point], True)
    (finding,) = kernel_times(Seen(run, figures))
    assert finding.level == "warning"
    assert "stamps the driver" in finding.evidence


@pytest.mark.parametrize("ends", [(0,), (1,), ()])
def test_one_end_alone_says_nothing_of_the_network(ends):
    point = _point(np.arange(5), np.arange(5), np.full(5, 40_000))
    for rank in {0, 1} - set(ends):
        del point.batches[0].ends[rank].series["stamped_index"]
    assert not has_stages(point)
    assert find(figures_of_point(point), "network_median_ns", "p001") is None
