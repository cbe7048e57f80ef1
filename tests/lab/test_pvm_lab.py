"""PVM between the hosts of a lab: routes, encodings, content, and what is left on bad days."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pvm_processes import daemon_of, daemons, pid_outside
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError
from netsonde.lab import Lab, LabSpec, lab_up
from netsonde.launch import tasks
from netsonde.launch.pair import PairSession
from netsonde.launch.tasks import Place, open_task_flows, open_tasks, start_machine
from netsonde.launch.worker import start_worker, wait_all
from netsonde.records.decode import decode_batch
from pvm_needed import require_pvm

pytestmark = [pytest.mark.lab, pytest.mark.worker, pytest.mark.timeout(120)]
ENDING_S = 3.0
ENCODINGS = ("default", "raw", "in-place")
WORDS_BYTES, ODD_BYTES = 4000, 4099
"""PVM packs words; what is left of a message goes as bytes."""
HEADERS_BYTES = 66
"""Of a segment: Ethernet, IPv4, TCP with time stamps."""

EACH_WITH_EACH = """
name = "each"
seed = 1
[path]
kind = "lab"
[lab]
hosts = 2
[[measure]]
transports = "pvm"
test = "all-pairs"
sizes = "0,4000"
count = 3
check_data = true
vary = { route = ["normal", "direct"] }
options = { encoding = "raw" }
"""


def said(*words: str | Path) -> str:
    """What a command prints; it must end well."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exception is None, (found.exception, found.output)
    return found.output


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    require_pvm()
    with lab_up(LabSpec(hosts=3, name="pvm")) as lab:
        yield lab


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Whatever a test does, it leaves no file and no daemon."""
    with tempfile.TemporaryDirectory(prefix="pvm-") as name:  # short: PVM takes no long names
        folder = Path(name)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield folder
        expect_empty(folder)


def expect_empty(folder: Path) -> None:
    end = time.monotonic() + ENDING_S
    while (list(folder.iterdir()) or daemons(folder)) and time.monotonic() < end:
        time.sleep(0.02)
    assert list(folder.iterdir()) == []
    assert daemons(folder) == set()


def test_a_folder_with_a_long_name_is_not_pvms(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with between(lab, route="normal") as session:
        assert run(session, "latency", 8, count=3).ends[0].series["round_trip_ns"].size == 3


def between(lab: Lab, **options: object) -> PairSession:
    return open_tasks(lab.hosts[0], lab.hosts[1], "pvm", options=options)


def run(session: PairSession, test: str, size: int, **more: object) -> Any:
    fields = {"test": test, "message_bytes": size, "check_data": True, "seed": 7, **more}
    return decode_batch(0, session.run(fields, 20.0))


@pytest.mark.parametrize("route", ["normal", "direct"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_content_arrives_in_every_encoding_by_either_route(
    lab: Lab, encoding: str, route: str
) -> None:
    with between(lab, encoding=encoding, route=route) as session:
        opened = session.opened[0]
        assert (opened["encoding"], opened["route_asked"], opened["route"]) == (
            encoding,
            route,
            route,
        )
        assert opened["packing_timed"] is True
        for size in (0, 3, WORDS_BYTES, ODD_BYTES):
            batch = run(session, "latency", size, count=5)
            assert [end.counters["corrupt"] for end in batch.ends.values()] == [0, 0]
            assert len(batch.ends[0].series["round_trip_ns"]) == 5
        batch = run(session, "stream", ODD_BYTES, count=20)
        assert batch.ends[1].counters["bytes_received"] == 20 * ODD_BYTES
        assert batch.ends[1].counters["corrupt"] == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_packing_can_be_left_out_of_what_is_timed(lab: Lab, encoding: str) -> None:
    with between(lab, encoding=encoding, timed="send") as session:
        assert session.opened[1]["packing_timed"] is False
        for size in (0, WORDS_BYTES, ODD_BYTES):
            batch = run(session, "latency", size, count=5)
            assert [end.counters["corrupt"] for end in batch.ends.values()] == [0, 0]
        with pytest.raises(HostError, match="timed = send is for latency and pingpong"):
            run(session, "stream", WORDS_BYTES, count=5)


def difference(end: Any, name: str) -> int:
    """What a counter of an end's snapshots grew by."""
    return int(end.after.values[name] - end.before.values[name])


def test_direct_messages_go_over_the_tasks_own_connection(lab: Lab) -> None:
    size, count = 100_000, 10
    carried = {}
    for route in ("normal", "direct"):
        with between(lab, route=route) as session:
            batch = run(session, "latency", size, count=count)
            carried[route] = batch.ends[0]
    payload = size * count
    own = carried["direct"]
    sent = difference(own, "pvm.direct_acknowledged_bytes")
    assert payload <= sent <= payload * 1.02
    assert "pvm.direct_acknowledged_bytes" not in carried["normal"].after.values
    assert carried["normal"].after.values["pvm.daemon_cpu_ns"] > 0


def test_a_stream_over_the_daemons_has_a_window(lab: Lab) -> None:
    """Daemons queue without limit: without credits, the first one would have all of it."""
    size, count = 1_000_000, 64
    with between(lab, encoding="raw") as session:
        batch = run(session, "stream", size, count=count, check_data=False)
        end = batch.ends[0]
        grown = difference(end, "pvm.daemon_resident_bytes")
        assert batch.ends[1].counters["bytes_received"] == size * count
        assert grown < 32e6 < size * count


def test_both_tasks_on_one_host_share_its_daemon(lab: Lab) -> None:
    host = lab.hosts[2]
    for route, over in (("normal", None), ("direct", "a socket within the host")):
        with open_tasks(host, host, "pvm", options={"route": route}) as session:
            assert session.opened[0]["route"] == route
            assert session.opened[0].get("route_over") == over
            assert run(session, "latency", ODD_BYTES, count=5).ends[0].counters["corrupt"] == 0


def test_many_hosts_are_one_machine(lab: Lab) -> None:
    """A daemon on each, however many tasks it has; all flows at once."""
    ends = [(a, b) for a in lab.hosts for b in lab.hosts]
    with open_task_flows(ends, "pvm", options={"encoding": "raw"}) as session:
        assert session.ranks == 2 * len(ends)
        hosts = {str(values["task"])[:-1] for values in session.opened.values()}
        assert len(hosts) == len(lab.hosts)  # a number of a task begins with its daemon's
        fields = {"test": "stream", "message_bytes": ODD_BYTES, "count": 10, "check_data": True}
        batch = decode_batch(0, session.run(fields, 20.0))
        for rank, end in batch.ends.items():
            if rank % 2:
                assert end.counters["bytes_received"] == 10 * ODD_BYTES
                assert end.counters["corrupt"] == 0


def test_each_asks_each_with_its_encoding_and_route(tmp_path: Path) -> None:
    """All pairs of hosts, alone and at once, a host with itself; each row says what it was."""
    (tmp_path / "study.toml").write_text(EACH_WITH_EACH)
    said("study", "run", tmp_path / "study.toml", "--out", tmp_path)
    (run_made,) = tmp_path.glob("*-each")
    rows = list(csv.DictReader(io.StringIO(said("export", run_made, "--format", "pair-rows"))))
    assert len(rows) == 2 * 2 * (4 + 4)
    for route in ("normal", "direct"):
        chosen = [row for row in rows if f"options.route {route}" in row["options"]]
        assert len(chosen) == len(rows) / 2
        assert all("options.encoding raw" in row["options"] for row in chosen)
        assert {row["message_bytes"] for row in chosen} == {"0", "4000"}
        assert {row["count"] for row in chosen} == {"3"}


def test_two_machines_on_the_same_hosts_do_not_meet(lab: Lab) -> None:
    with between(lab) as one, between(lab, route="direct") as other:
        assert one.opened[0]["task"] == other.opened[0]["task"]  # each counts its own
        for session in (one, other):
            assert run(session, "latency", 4, count=5).ends[0].counters["corrupt"] == 0


def test_the_files_are_gone_while_it_measures(lab: Lab, nothing_left: Path) -> None:
    with between(lab):
        assert list(nothing_left.iterdir()) == []


@pytest.mark.parametrize("whose", [0, 1], ids=["origin", "target"])
def test_a_worker_that_is_killed_takes_its_daemon_along(lab: Lab, whose: int) -> None:
    with between(lab) as session:
        worker = session.workers[whose]
        inside = pid_outside(int(worker.hello["pid"]), lab.hosts[whose])
        os.kill(inside, signal.SIGKILL)
        with pytest.raises(HostError):
            run(session, "latency", 4, count=5)


@pytest.mark.parametrize("whose", [0, 1], ids=["origin", "target"])
def test_a_worker_that_is_killed_before_all_are_in_leaves_no_file(
    lab: Lab, nothing_left: Path, whose: int
) -> None:
    wakeup = threading.Condition()
    with contextlib.ExitStack() as stack:
        hosts = lab.hosts[:2]
        places = [
            Place(
                stack.enter_context(start_worker(host, wakeup=wakeup, program="sonde-pvm")),
                host.address("ipv4"),
            )
            for host in hosts
        ]
        start_machine(places)
        assert len(list(nothing_left.iterdir())) == 2
        os.kill(pid_outside(int(places[whose].worker.hello["pid"]), hosts[whose]), signal.SIGKILL)


def test_what_nobody_could_remove_goes_at_the_next_start(lab: Lab, nothing_left: Path) -> None:
    """A folder whose worker and cleaner ended in one go; not one that is held, or is young."""
    old, held, young = (nothing_left / f"netsonde-pvm-{name}" for name in ("old", "held", "young"))
    for folder in (old, held, young):
        folder.mkdir()
        (folder / "pvmd.0").touch()
        if folder is not young:
            os.utime(folder, (1e9, 1e9))
    holding = os.open(held, os.O_RDONLY)
    try:
        fcntl.flock(holding, fcntl.LOCK_SH)
        with between(lab):
            assert set(nothing_left.iterdir()) == {held, young}
    finally:
        os.close(holding)
        for folder in (held, young):
            (folder / "pvmd.0").unlink()
            folder.rmdir()


@pytest.mark.parametrize("signal_sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_daemon_that_is_killed_in_mid_run_is_named(lab: Lab, signal_sent: int) -> None:
    with between(lab) as session:
        asked = session.submit({"test": "latency", "message_bytes": 4, "count": 1 << 24}, 20.0)
        time.sleep(0.1)
        os.kill(daemon_of(lab.hosts[1]), signal_sent)
        with pytest.raises(HostError, match=r"^h2: the daemon of PVM (was killed|ended) "):
            wait_all(asked, 10.0)


def test_a_host_without_pvm_is_one_sentence(lab: Lab) -> None:
    lab.in_host(lab.hosts[1], ["mount", "-t", "tmpfs", "none", "/usr/lib/pvm3"])
    try:
        with pytest.raises(HostError, match=r"^h2: there is no PVM on this host: its daemon, "):
            between(lab)
    finally:
        lab.in_host(lab.hosts[1], ["umount", "/usr/lib/pvm3"])


@pytest.fixture
def firewall(lab: Lab) -> Iterator[Any]:
    """Drops what comes to h2 by a protocol, without a word."""
    host = lab.hosts[1]

    def ip(*words: str) -> None:
        lab.in_host(host, ["ip", "rule", *words])

    ip("add", "pref", "10", "lookup", "local")
    ip("del", "pref", "0")
    yield lambda protocol: ip("add", "pref", "5", "iif", "v0", "ipproto", protocol, "blackhole")
    ip("del", "pref", "5")
    ip("add", "pref", "0", "lookup", "local")
    ip("del", "pref", "10")


@pytest.mark.parametrize(
    ("protocol", "route", "said"),
    [
        (
            "udp",
            "normal",
            r"^h2: the daemon of PVM let no task enrol: .* over UDP, which a firewall",
        ),
        ("tcp", "direct", r"^h1: the tasks did not meet in time: .* over TCP, which a firewall"),
    ],
)
def test_a_firewall_is_named(
    lab: Lab,
    firewall: Any,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    route: str,
    said: str,
) -> None:
    monkeypatch.setattr(tasks, "JOIN_TIMEOUT_S", 1.0)
    firewall(protocol)
    with pytest.raises(HostError, match=said):
        open_tasks(lab.hosts[0], lab.hosts[1], "pvm", options={"route": route})


def test_a_direct_route_that_is_refused_is_told(lab: Lab) -> None:
    rule = ["pref", "5", "ipproto", "tcp", "prohibit"]
    lab.in_host(lab.hosts[0], ["ip", "rule", "add", *rule])
    try:
        with between(lab, route="direct") as session:
            opened = session.opened[0]
            assert (opened["route_asked"], opened["route"]) == ("direct", "normal")
            assert run(session, "latency", 4, count=5).ends[0].counters["corrupt"] == 0
    finally:
        lab.in_host(lab.hosts[0], ["ip", "rule", "del", *rule])


def test_a_machine_of_the_users_own_is_not_touched(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its variables would lead tasks to it."""
    monkeypatch.setenv("PVM_TMP", "/nowhere")
    monkeypatch.setenv("PVMSOCK", "/nowhere/socket")
    monkeypatch.setenv("PVM_VMID", "mine")
    with between(lab) as session:
        assert run(session, "latency", 4, count=5).ends[0].counters["corrupt"] == 0
