"""All pairs of a small lab: gone on with after a stop, and without a host that died."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from netsonde.catalogue.point import AllPairs
from netsonde.cli.show import require_all_pairs_alike
from netsonde.errors import HostError, VerdictError
from netsonde.explain.data import Finding
from netsonde.explain.table import explain
from netsonde.figures.all_pairs import pair_values, pairs_of_round
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run, read_manifest
from netsonde.study.execute import resume_study, start_study
from netsonde.study.spec import StudySpec

HOSTS = 6


class StoppedError(Exception):
    pass


class AfterOne:
    """A progress that does something when the first point has been measured."""

    def __init__(self, act):
        self._act = act
        self._done = False
        self.directory = Path()

    def start(self, directory, points):
        del points
        self.directory = directory

    def point(self, point):
        pass

    def batch(self, point, records):
        pass

    def done(self, point, error):
        del point, error
        if not self._done:
            self._done = True
            self._act()

    def notice(self, text):
        pass


def small_study(**path) -> StudySpec:
    table = {"measures": "latency", "time": "10ms", "follow_ups": 0, "margin": 9.0}
    place = {"path": path or {"kind": "lab"}, "lab": {"hosts": HOSTS, "rate": "100M"}}
    return StudySpec.model_validate({"seed": 3, "tournament": table, **place})


def kill_worker(holder: int) -> None:
    """That in the namespaces of a lab's host."""
    network = Path(f"/proc/{holder}/ns/net").readlink()
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            name = (process / "comm").read_text().strip()
            if name == "sonde-worker" and (process / "ns" / "net").readlink() == network:
                os.kill(int(process.name), signal.SIGKILL)


def stop():
    raise StoppedError


@pytest.mark.timeout(60)
def test_what_was_stopped_goes_on_and_every_pair_meets_once(tmp_path):
    progress = AfterOne(stop)
    with pytest.raises(StoppedError):
        start_study(small_study(), tmp_path, ["test"], progress)
    assert len([p for p in open_run(progress.directory).points if p.batches]) == 1
    outcome = resume_study(small_study(), progress.directory, AfterOne(lambda: None))
    assert not outcome.failures
    run = open_run(outcome.directory)
    assert run.finished
    assert len(run.points) == HOSTS - 1
    met = [frozenset(pair) for p in run.points for pair in pairs_of_round(p.spec.of(AllPairs))]
    assert len(met) == len(set(met)) == HOSTS * (HOSTS - 1) // 2
    assert len(pair_values(run)["round_trip_ns"].value) == len(met)
    assert read_manifest(outcome.directory)["all_pairs"]["hosts"] == [
        f"h{number}" for number in range(1, HOSTS + 1)
    ]


@pytest.mark.timeout(60)
def test_a_host_that_dies_is_dropped_and_the_rest_is_measured(tmp_path, monkeypatch):
    from netsonde.lab import lab_up
    from netsonde.lab.spec import LabSpec
    from netsonde.study import testbed

    with lab_up(LabSpec(hosts=HOSTS, rate_bit_per_s=10**8, name="dying")) as lab:
        monkeypatch.setattr("netsonde.lab.registry.lab_of", lambda _: lab)
        monkeypatch.setattr(
            testbed,
            "parse_hosts",
            lambda texts, *_, **__: [h for h in lab.hosts if f"lab:{h.name}" in texts],
        )
        names = [f"lab:{host.name}" for host in lab.hosts]
        spec = small_study(kind="hosts", hosts=names)
        dying = lab.hosts[3]
        progress = AfterOne(lambda: kill_worker(dying.holder))
        outcome = start_study(spec, tmp_path, ["test"], progress)
    run = open_run(outcome.directory)
    assert all(point.status == "finished" for point in run.points)
    findings = explain(run, figures_of(run))
    assert [f.place for f in findings if f.kind == "dropped-host"] == ["h4"]
    met = pair_values(run)["round_trip_ns"]
    sound = [(a, b) for a, b in zip(met.origin, met.target, strict=True) if 3 not in (a, b)]
    assert len(sound) == (HOSTS - 1) * (HOSTS - 2) // 2
    with pytest.raises(HostError, match="1 host was dropped: h4"):
        require_all_pairs_alike(findings)


def test_the_exit_code_is_the_verdicts():
    named = Finding("bad", "x", "y", kind="lossy-uplink", place="leaf2")
    with pytest.raises(VerdictError, match="1 out of line: leaf2") as caught:
        require_all_pairs_alike([named, named])
    assert caught.value.exit_code == 1
    require_all_pairs_alike([Finding("good", "x", "y", kind="all-alike")])
