"""``netsonde tune sockets`` finds a planted fault's known remedy over emulated links, finds nothing
where nothing is to be gained, and leaves hosts as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from tuned_labs import asked_of, at_both, kept, lab_of, states_of, target_of, tuned

from netsonde.errors import HostError
from netsonde.lab import permission_problem
from netsonde.tuning.sockets.bench import Bounds, Launches
from netsonde.tuning.sockets.data import Change, Setup
from netsonde.tuning.sockets.ends import Ends
from netsonde.tuning.sockets.files import read_former
from netsonde.tuning.sockets.knobs import KNOBS
from netsonde.tuning.sockets.run import undo

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

LINE = 100e6
ROUND_TRIP_S = 0.02
PRODUCT_BYTES = LINE * ROUND_TRIP_S / 8
LONG_FAT = """
hosts = 2
links = "switch"
[link]
rate = "100M"
delay = "5ms"
"""
SHORT = """
hosts = 2
links = "bridge"
[link]
rate = "100M"
"""
LOSSY = LONG_FAT + 'loss = "1%"\n'
GOODPUT = 0.85
"""Of the line after slow start in a short launch; headers take 6 %."""
SMALL = ("net.ipv4.tcp_rmem=4096 32768 65536", "net.ipv4.tcp_wmem=4096 16384 65536")
UNTOUCHED_RUNS = 5
MOST_FALSE = 1
"""Of so many searches where nothing is to be gained; 5 % each make two of five once in forty."""
PUT_BACK_LIMIT_S = 20.0
KILLED = """
import sys, time
from netsonde.hosts import parse_hosts
from netsonde.tuning.sockets.ends import Ends
from pathlib import Path
ends = Ends(parse_hosts([sys.argv[1]]), Path(sys.argv[2]))
ends.apply({"mtu": "1400", "net.ipv4.tcp_sack": "0", "route.rto_min": "5ms",
            "offloads": "tso=on gso=on gro=on"})
print("changed", flush=True)
time.sleep(60)
"""
CHANGED = {"mtu", "net.ipv4.tcp_sack", "route.rto_min", "offloads"}


@pytest.mark.tolerant
@pytest.mark.timeout(120)
def test_hosts_are_changed_and_put_back_even_after_a_kill(tmp_path):
    """And Nagle's algorithm, which holds messages of two calls back, is seen by one pair."""
    with lab_of(SHORT) as lab:
        before = states_of(lab, tmp_path)
        assert before["h1"].keys() >= CHANGED
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, target_of(lab), str(tmp_path / "undo")],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "changed\n"
            now = states_of(lab, tmp_path)
            assert {n for n in before["h1"] if now["h1"][n] != before["h1"][n]} >= CHANGED
            assert "tcp_sack=1" in (tmp_path / "undo/undo-h1.sh").read_text()
            process.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + PUT_BACK_LIMIT_S
        while states_of(lab, tmp_path) != before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert states_of(lab, tmp_path) == before
        with Ends([lab.host("h1"), lab.host("h2")], tmp_path) as ends:
            sizes = {"latency": "2000"}
            asked = asked_of(lab, ["latency"], "50ms", sizes, "1000")
            bench = Launches(
                asked, ends, Bounds(["socket"], other_hosts=False), tmp_path, 60, print
            )
            held = Setup({"no_delay": False})
            at_once = held.with_change(Change("", {"no_delay": True}))
            ((slow, fast),) = bench.pairs(held, at_once, 1)["latency"]
            check_what_is_the_machines(lab, ends, tmp_path)
        assert slow > 35e6
        assert fast < 20e6


def check_what_is_the_machines(lab, ends, folder):
    """A lab sees caps of buffers that belong to the machine, and leaves them alone."""
    name, host = "net.core.rmem_max", ends.ends[0]
    asked = asked_of(lab, ["rate"], "50ms")
    bench = Launches(asked, ends, Bounds(["host"], other_hosts=False), folder, 60, print)
    assert host.may_change("net.ipv4.tcp_rmem")
    assert bench.refused(KNOBS["system-buffers"]) == ""
    if not host.may_change(name):
        assert bench.refused(KNOBS["buffer-caps"]).startswith(f"h1 and h2 may not change {name}")
        with pytest.raises(HostError, match=f"h1 does not take {name} 4096"):
            ends.apply({name: "4096"})


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_small_buffers_of_a_system_on_a_long_fat_link(tmp_path):
    with lab_of(LONG_FAT) as lab:
        at_both(lab, "sysctl", "-q", "-w", *SMALL)
        outcome = tuned(lab, tmp_path)
        assert outcome.tuning.proven
        assert kept(outcome)[0] == "system-buffers"
        for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
            assert int(outcome.tuning.tuned.host[name].split()[2]) >= PRODUCT_BYTES
        assert outcome.tuning.proof["rate"].after >= GOODPUT * LINE
        files = {path.name for path in outcome.files}
        assert {"90-netsonde-h1.conf", "undo-h1.sh", "report.html"} <= files
        check_apply_and_undo(lab, tmp_path)


def check_apply_and_undo(lab, tmp_path):
    """What was proven is proven again, left in effect, and taken back exactly."""
    (folder,) = tmp_path.glob("*-tune-sockets")
    before = states_of(lab, tmp_path / "states")
    again = tuned(lab, tmp_path / "again", former=read_former(folder), apply=True)
    assert again.tuning.proven
    assert states_of(lab, tmp_path / "states")["h1"]["net.ipv4.tcp_rmem"] != "4096 32768 65536"
    path = {"kind": "hosts", "target": target_of(lab)}
    assert len(undo(path, read_former(again.folder), again.folder)) == 4
    assert states_of(lab, tmp_path / "states") == before


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_small_buffer_of_a_program_on_a_long_fat_link(tmp_path):
    with lab_of(LONG_FAT) as lab:
        outcome = tuned(lab, tmp_path, options={"buffer": 32768}, levels=("socket",))
        assert outcome.tuning.proven
        assert kept(outcome) == ["program-buffers"]
        buffer = outcome.tuning.tuned.options.get("buffer")
        assert buffer is None or buffer >= PRODUCT_BYTES
        assert outcome.tuning.proof["rate"].after >= GOODPUT * LINE


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_congestion_control_that_random_losses_stop(tmp_path):
    """Of reno, cubic and bbr only the last does not take each loss for a full queue."""
    with lab_of(LOSSY) as lab:
        available = lab.in_host(
            lab.host("h1"), ["sysctl", "-n", "net.ipv4.tcp_available_congestion_control"]
        )
        assert "bbr" in available.split(), "this kernel has no bbr: load tcp_bbr"
        at_both(lab, "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=reno")
        outcome = tuned(lab, tmp_path, cap="1500ms")
        assert outcome.tuning.proven
        assert outcome.tuning.tuned.options["congestion_control"] == "bbr"
        assert outcome.tuning.proof["rate"].low > 2


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_an_mtu_below_what_the_path_takes(tmp_path):
    with lab_of(SHORT) as lab:
        for number, name in enumerate(("h1", "h2"), 1):
            route = f"10.77.0.0/24 dev v0 proto kernel scope link src 10.77.0.{number} mtu 576"
            lab.in_host(lab.host(name), ["ip", "route", "replace", *route.split()])
        outcome = tuned(lab, tmp_path)
        assert outcome.tuning.proven
        assert kept(outcome) == ["mtu"]
        assert outcome.tuning.tuned.host == {"mtu": "1500", "route.mtu": ""}
        wanted = (1448 / 1514) / (524 / 590)
        assert outcome.tuning.proof["rate"].ratio == pytest.approx(wanted, abs=0.02)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_offloads_that_are_off(tmp_path):
    """Links of a lab are without them, and here nothing else limits."""
    with lab_of() as lab:
        outcome = tuned(lab, tmp_path)
        assert outcome.tuning.proven
        assert "offloads" in kept(outcome)
        assert outcome.tuning.proof["rate"].low > 1.3


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_small_messages_that_nagle_holds_back(tmp_path):
    with lab_of(SHORT) as lab:
        outcome = tuned(
            lab,
            tmp_path,
            ("latency",),
            {"no_delay": False},
            sizes={"rate": "128k", "latency": "2000"},
            call="1000",
            levels=("socket",),
        )
        assert outcome.tuning.proven
        assert kept(outcome)[0] == "nagle"
        assert outcome.tuning.steps[0].cause == "nagle-delayed-ack"
        assert outcome.tuning.proof["latency"].low > 10


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_nothing_is_proposed_where_nothing_is_to_be_gained(tmp_path):
    false = []
    with lab_of(SHORT) as lab:
        for number in range(UNTOUCHED_RUNS):
            out = tmp_path / str(number)
            outcome = tuned(lab, out, ("rate", "latency"), levels=("socket", "host"))
            if outcome.tuning.proven:
                false.append(outcome.tuning.tuned)
            else:
                assert "Nothing is proposed" in outcome.tuning.verdict
                assert not list(outcome.folder.glob("undo-*"))
    assert len(false) <= MOST_FALSE, false
