"""Segments of MPI's connections that the lab's switch loses are found as timeouts; else none are.

A message of one segment has nothing behind it that would tell of its loss, so each loss costs a
timer; a second loss in the same repetition costs another one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_truth import links_of, scenario_lab

from netsonde.errors import HostError
from netsonde.explain.data import Seen
from netsonde.explain.timer_rules import waits_for_timers
from netsonde.figures.compute import figures_of
from netsonde.figures.time_outs import waits_of
from netsonde.lab import permission_problem
from netsonde.lab.observe import switch_stats
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_launchers import CROWDED_SETTINGS
from netsonde.model.time_outs import LEAST_TIME_OUT_NS
from netsonde.records.data import Batch, Point, Run
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
]

LOST = 0.1
BATCHES = 4
MOST_BATCHES = 96
"""Two timeouts in a row are one repetition in a hundred: so many miss them once in 10,000."""
REPETITIONS = 10
ROUND_TRIP = {"test": "collective", "operation": "send", "message_bytes": 64, "count": REPETITIONS}


def run_of(batches, session):
    parameters = {"message_bytes": 64, "operation": "send", "interval": 0.01}
    point = Point("p001", "mpi", "collective", parameters, "finished", batches=batches)
    manifest = {"origin": "emulated", "path": {"kind": "lab"}, "hosts": session.facts()}
    return Run(Path("runs/x"), manifest, [point], finished=True)


def measure(session, batches):
    """Some more batches of round trips, of one segment each way, between two hosts."""
    for _ in range(BATCHES):
        batches.append(decode_batch(len(batches), session.run(ROUND_TRIP, 60)))


def lost_frames(lab):
    links = links_of(switch_stats(lab)).values()
    return sum(link[way]["lost_random"] for link in links for way in ("up", "down"))


def set_loss(lab, share):
    for host in lab.hosts:
        lab.set_line(host.name, "up", {"loss_ratio": share})


@pytest.mark.timeout(120)
def test_lost_segments_are_one_or_two_time_outs_and_without_loss_there_are_none():
    try:
        with (
            scenario_lab(hosts=2, link={"rate": "1G", "delay": "50us"}) as lab,
            open_mpi(lab.hosts, 2, environment=CROWDED_SETTINGS) as session,
        ):
            batches: list[Batch] = []
            measure(session, batches)
            assert lost_frames(lab) == 0
            quiet = run_of(batches, session)
            batches = []
            set_loss(lab, LOST)
            while len(batches) < MOST_BATCHES and not has_both(run_of(batches, session)):
                measure(session, batches)
            set_loss(lab, 0.0)
            lossy, lost = run_of(batches, session), lost_frames(lab)
    except HostError as error:
        if "mpiexec" in str(error) or "sonde-mpi" in str(error):
            pytest.skip(str(error))
        raise
    check_quiet(quiet)
    check_lossy(lossy, lost)


def has_both(run):
    """Whether repetitions with one and with two timeouts were found. Timers grow where what
    acknowledges a segment is lost, so some waits stand between the bands, and of few waits too many
    may."""
    waits = waits_of(run, run.points[0])
    if waits is None or waits.judgement.verdict != "found":
        return False
    _, one, two, _ = waits.judgement.shares()
    return one > 0 and two > 0


def check_quiet(run):
    waits = waits_of(run, run.points[0])
    seen = waits.judgement.bands.waits.tolist(), waits.time_outs, waits.times_ns.tolist()
    assert (waits.judgement.verdict, waits.time_outs) == ("none", 0), seen
    assert waits_for_timers(Seen(run, [])) == []


def check_lossy(run, lost):
    waits = waits_of(run, run.points[0])
    shares = waits.judgement.shares()
    seen = f"{waits.judgement.verdict} {shares}, {waits.time_outs} {waits.probes}, {lost} lost"
    assert waits.judgement.verdict == "found", seen
    assert shares[1] > 0, seen
    assert shares[2] > 0, seen
    # Nobody waits for a timer without a loss, of a segment or of what acknowledges it.
    found = int(waits.judgement.bands.waits.clip(min=0).sum())
    assert found <= lost, seen
    values = {f.name: f.value for f in figures_of(run)}
    assert values["completion_max_ns"] >= 2 * LEAST_TIME_OUT_NS
    assert values["without_time_outs_mean_ns"] < LEAST_TIME_OUT_NS / 4
    (finding,) = waits_for_timers(Seen(run, figures_of(run)))
    assert "waited for TCP's retransmission timer" in finding.claim
