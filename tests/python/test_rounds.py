"""Rounds that many flows begin together, and flows that are opened together."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from planned_points import planned_point

from netsonde.errors import HostError
from netsonde.figures.global_time import round_ends_ns, round_starts_ns
from netsonde.figures.patterns import round_times_ns, time_outs
from netsonde.launch.flows import open_flows
from netsonde.launch.local import LocalHost
from netsonde.records.decode import decode_batch
from netsonde.study.measure import measure_point

MS = 1_000_000
S = 1_000_000_000
FLOWS = 3
FIELDS = {"test": "stream", "message_bytes": 1000, "count": 4, "timeout_ns": 10 * S}
OPTIONS = {"receive_buffer_bytes": 1 << 20}


def rounds(number, most_ns=5 * S):
    return {**FIELDS, "rounds": number, "rounds_ns": most_ns, "round_lead_ns": 2 * MS}


@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_nobody_begins_a_round_before_all_have_ended_the_one_before(transport):
    host = LocalHost()
    with open_flows([(host, host)] * FLOWS, transport, options=OPTIONS) as session:
        batches = [decode_batch(n, session.run(rounds(20), 12)) for n in range(2)]
    for batch in batches:
        begun = np.stack(list(round_starts_ns(batch).values()))
        ended = np.stack(list(round_ends_ns(batch).values()))
        assert begun.shape == ended.shape == (FLOWS, 20)
        assert (begun.min(axis=0)[1:] > ended.max(axis=0)[:-1]).all()
        assert (round_times_ns([batch]) > 0).all()
        for rank, end in batch.ends.items():
            assert end.counters["rounds"] == 20
            sent = rank % 2 == 0
            messages = end.counters["messages_sent" if sent else "messages_received"]
            assert messages + end.counters.get("lost", 0) == 20 * FIELDS["count"]
    counted = time_outs(batches)
    assert counted is not None
    assert len(counted) == 40


@pytest.mark.usefixtures("sonde_worker")
def test_rounds_end_with_their_time_at_all_flows():
    host = LocalHost()
    with open_flows([(host, host)] * FLOWS, "tcp") as session:
        batch = decode_batch(0, session.run(rounds(60_000, 30 * MS), 12))
    (number,) = {end.counters["rounds"] for end in batch.ends.values()}
    assert 1 <= number <= 16, "2 ms at least lie between two rounds"


@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_worker_that_dies_between_rounds_ends_all(rank):
    host = LocalHost()
    with open_flows([(host, host)] * FLOWS, "tcp") as session:
        worker = session._flows[rank // 2].workers[rank % 2]
        killer = threading.Timer(0.5, os.kill, (worker.hello["pid"], signal.SIGKILL))
        killer.start()
        with pytest.raises(HostError):
            session.run(rounds(60_000, 600 * S), 610)
        killer.join()


@pytest.mark.usefixtures("sonde_worker")
def test_rounds_are_for_targets_on_one_host():
    host = LocalHost()
    ends = [(host, host), (host, LocalHost("other"))]
    with (
        open_flows(ends, "tcp") as session,
        pytest.raises(ValueError, match="on one host"),
    ):
        session.run(rounds(3), 12)


@pytest.mark.usefixtures("sonde_worker")
def test_incast_goes_on_until_its_time_is_up():
    host = LocalHost()
    parameters = {"message_bytes": 4096, "interval": 1e-9, "cap_ns": 600 * MS}
    kept = []
    with open_flows([(host, host)] * FLOWS, "tcp") as session:
        point = planned_point("tcp", "incast", parameters)
        ending = measure_point(session, point, lambda number, _: kept.append(number))
    assert ending.ended_by == "time"
    assert kept == list(range(len(ending.batches)))
    times = round_times_ns(ending.batches)
    assert len(times) == sum(batch.ends[0].counters["rounds"] for batch in ending.batches)
    assert len(times) > 2 * len(ending.batches), "a batch has many rounds"
    moved = sum(
        end.counters.get("bytes_received", 0) for b in ending.batches for end in b.ends.values()
    )
    assert moved == 4096 * FLOWS * len(times)


class Watched(LocalHost):
    """Remembers its processes; calls ``meanwhile`` before each start."""

    def __init__(self, name, meanwhile):
        super().__init__(name)
        self.meanwhile = meanwhile
        self.processes = []

    def start(self, argv, *, env=None):
        self.meanwhile()
        self.processes.append(super().start(argv, env=env))
        return self.processes[-1]


@pytest.mark.usefixtures("sonde_worker")
def test_flows_are_opened_at_the_same_time():
    both_here = threading.Barrier(2, timeout=20)  # breaks where one is started after the other
    host = Watched("a", both_here.wait)
    with open_flows([(host, host)] * 2, "tcp") as session:
        assert session.ranks == 4
    assert len(host.processes) == 4


@pytest.mark.usefixtures("sonde_worker")
def test_a_flow_that_cannot_be_opened_is_named_and_ends_all():
    def fail():
        raise HostError("cannot start sonde-worker: Permission denied")

    good = Watched("good", lambda: None)
    ends = [(good, good)] * 3 + [(good, Watched("closed", fail))] + [(good, good)] * 20
    with pytest.raises(HostError, match="from good to closed: cannot start sonde-worker"):
        open_flows(ends, "tcp")
    assert all(process.poll() is not None for process in good.processes)
    assert len(good.processes) < 2 * len(ends), "what had not begun was left"
