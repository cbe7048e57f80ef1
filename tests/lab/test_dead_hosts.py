"""Patterns and MPI programs of a lab of which a host dies: marked, or gone on with fewer hosts."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from netsonde.errors import HostError
from netsonde.lab import lab_up
from netsonde.lab.spec import LabSpec
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

HOSTS = 4
INCAST = {"transports": "tcp", "test": "incast", "sizes": "1k, 4k, 16k"}
EACH_WITH_EACH = {"transports": ["tcp"], "test": "all-pairs", "sizes": "1k,2k,4k", "count": 3}
ALLREDUCE = {
    "transports": "mpi",
    "test": "collective",
    "operations": "allreduce",
    "sizes": "64, 1k, 4k",
}


class DieAfterOne:
    """A progress that lets a host die when the first point has been measured: its workers and ranks
    end, and nothing can be started on it. A lab's host cannot end without the others."""

    def __init__(self, host, monkeypatch) -> None:
        self._host = host
        self._monkeypatch = monkeypatch
        self._is_done = False
        self.said: list[str] = []

    def start(self, directory, points):
        pass

    def point(self, point):
        pass

    def batch(self, point, records):
        pass

    def done(self, point, error):
        del point, error
        if not self._is_done:
            self._is_done = True
            self._die()

    def notice(self, text):
        self.said.append(text)

    def _die(self):
        host, start = self._host, type(self._host).start

        def start_unless_dead(self, *args, **kwargs):
            if self.name == host.name:
                raise HostError(f"{host.name} does not answer")
            return start(self, *args, **kwargs)

        self._monkeypatch.setattr(type(host), "start", start_unless_dead)
        network = Path(f"/proc/{host.holder}/ns/net").readlink()
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                name = (process / "comm").read_text().strip()
                is_worker = name in ("sonde-worker", "sonde-mpi")
                if is_worker and (process / "ns" / "net").readlink() == network:
                    os.kill(int(process.name), signal.SIGKILL)


def run_with_a_death(folder: Path, monkeypatch, measure, dying: str, **path):
    """The run of a study in which a host dies after the first point."""
    with lab_up(LabSpec(hosts=HOSTS, rate_bit_per_s=10**8, name="dying")) as lab:

        @contextlib.contextmanager
        def the_lab(_):
            yield lab

        monkeypatch.setattr("netsonde.lab.lab_up", the_lab)
        progress = DieAfterOne(lab.host(dying), monkeypatch)
        spec = StudySpec.model_validate(
            {
                "seed": 3,
                "cap": "60ms",
                "path": {"kind": "lab", **path},
                "lab": {"hosts": HOSTS, "rate": "100M"},
                "mpi": {"ranks": HOSTS},
                "measure": [measure],
            }
        )
        outcome = start_study(spec, folder, ["test"], progress)
    return open_run(outcome.directory), outcome, progress.said


@pytest.mark.timeout(60)
def test_a_pattern_that_lost_a_host_is_marked_and_not_made_up(tmp_path, monkeypatch):
    run, outcome, said = run_with_a_death(tmp_path, monkeypatch, INCAST, "h2")
    assert [point.status for point in run.points].count("finished") == 1
    assert len(run.points) == 3
    assert len(outcome.failures) == 2
    reasons = [point.error or "" for point in run.points if point.status == "failed"]
    assert "h2 was dropped: h2 does not answer" in reasons
    assert said == ["h2 is dropped, its points are left out: h2 does not answer"]


@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    "measure", [INCAST, ALLREDUCE, EACH_WITH_EACH], ids=["incast", "allreduce", "all-pairs"]
)
def test_the_hosts_that_are_left_are_another_point(tmp_path, monkeypatch, measure):
    run, outcome, _ = run_with_a_death(tmp_path, monkeypatch, measure, "h2", on_dead_host="shrink")
    assert len(run.points) == 5
    planned, added = run.points[:3], run.points[3:]
    lost = [point for point in planned if point.status == "failed"]
    assert len(lost) == len(outcome.failures) == 2
    assert [point.status for point in added] == ["finished"] * 2
    assert {p.message_bytes for p in added} == {p.message_bytes for p in lost}
    for point in added:
        assert point.label == "on h1, h3, h4"
        assert point.parameters["without"] == ["h2"]
        took_part = {end.host for batch in point.batches for end in batch.ends.values()}
        assert took_part == {"h1", "h3", "h4"}
