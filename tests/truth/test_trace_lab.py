"""A trace beside traffic that is known: what it counted is what was sent, packet by packet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from netsonde.lab import Lab, LabSpec, lab_up, permission_problem
from netsonde.trace.series import load_trace

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.timeout(90),
    pytest.mark.counts,
]

DATAGRAMS, PAYLOAD_BYTES = 500, 1000
FRAME_BYTES = PAYLOAD_BYTES + 8 + 20 + 14
TIMEOUT_S = 60
RECEIVE = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
    receiver.bind(("", 7001))
    receiver.settimeout(30)
    print("ready", flush=True)
    for _ in range(int(sys.argv[1])):
        receiver.recv(65536)
"""
SEND = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for _ in range(int(sys.argv[2])):
        sender.sendto(bytes(int(sys.argv[3])), (sys.argv[1], 7001))
        time.sleep(0.001)
"""


def traced(lab: Lab, number: int, folder: Path, *words: str) -> list[str]:
    """A command in a host of the lab, traced into a folder."""
    netsonde = [sys.executable, "-m", "netsonde", "trace", "-i", "v0", "--every", "50ms"]
    argv = [*netsonde, "-o", str(folder), "--", sys.executable, "-c", *words]
    return lab.hosts[number].command(argv)


def test_every_packet_and_byte_is_in_the_trace(tmp_path: Path) -> None:
    """Of both ends: the samples add up to what was sent, and to nothing more."""
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=100_000_000)) as lab:
        count, size = str(DATAGRAMS), str(PAYLOAD_BYTES)
        with subprocess.Popen(
            traced(lab, 1, tmp_path / "there", RECEIVE, count),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as receiver:
            assert receiver.stdout.readline() == "ready\n", receiver.stderr.read()
            address = lab.hosts[1].address("ipv4")
            sent = subprocess.run(
                traced(lab, 0, tmp_path / "here", SEND, address, count, size),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            assert sent.returncode == 0, sent.stderr
            _, said = receiver.communicate(timeout=TIMEOUT_S)
            assert receiver.returncode == 0, said
    for folder, way, other in (("here", "tx", "rx"), ("there", "rx", "tx")):
        trace = load_trace(tmp_path / folder)
        assert trace.problems == []
        assert len(trace.windows_s) > 5
        for what, amount in (("packets", DATAGRAMS), ("bytes", DATAGRAMS * FRAME_BYTES)):
            moved = trace.increments(f"interface.v0.{way}_{what}")
            assert moved is not None
            assert moved.amounts.sum() == amount
            assert np.count_nonzero(moved.amounts) > 5
            back = trace.increments(f"interface.v0.{other}_{what}")
            assert back is not None
            assert back.amounts.sum() == 0
    assert f"{DATAGRAMS * FRAME_BYTES}" in sent.stderr
    datagrams = load_trace(tmp_path / "here").increments("snmp.Udp.OutDatagrams")
    assert datagrams is not None
    assert datagrams.amounts.sum() == DATAGRAMS


def test_what_the_senders_queue_drops_is_in_the_trace(tmp_path: Path) -> None:
    """Of what was handed to a slow line, each datagram was sent, waits or was dropped."""
    program = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    for _ in range(int(sys.argv[2])):
        try:
            sender.sendto(bytes(int(sys.argv[3])), (sys.argv[1], 9))
        except OSError:
            pass  # the queue is full: the kernel says so
"""
    sent = 4 * DATAGRAMS
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=10_000_000)) as lab:
        address = lab.hosts[1].address("ipv4")
        words = (program, address, str(sent), str(PAYLOAD_BYTES))
        done = subprocess.run(
            traced(lab, 0, tmp_path / "t", *words),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    trace = load_trace(tmp_path / "t")
    counted = {}
    for what in ("packets", "drops"):
        moved = trace.increments(f"qdisc.v0.tbf@root.{what}")
        assert moved is not None
        counted[what] = moved.amounts.sum()
    waiting = trace.columns["qdisc.v0.tbf@root.queue_packets"].values[-1]
    assert counted["drops"] > 0
    assert counted["packets"] + counted["drops"] + waiting == sent
    assert "qdisc.v0.tbf@root.drops" in done.stderr


def test_an_interface_that_is_removed_and_comes_back(tmp_path: Path) -> None:
    """Its counters begin at 0 again, under a new number: no traffic is made up of that."""
    program = """
import socket, subprocess, time
def ip(*words):
    subprocess.run(["ip", *words], check=True)
for _ in range(2):
    ip("link", "add", "d0", "type", "veth", "peer", "name", "d1")
    ip("link", "set", "d1", "up")
    ip("link", "set", "d0", "up")
    ip("addr", "add", "192.0.2.1/24", "dev", "d0")
    ip("neigh", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:01", "dev", "d0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(3):
            sender.sendto(b"x", ("192.0.2.2", 9))
    time.sleep(0.5)
    ip("link", "del", "d0")
    time.sleep(0.3)
"""
    with lab_up(LabSpec(hosts=2)) as lab:
        netsonde = [sys.executable, "-m", "netsonde", "trace", "--every", "50ms"]
        argv = [*netsonde, "-o", str(tmp_path / "t"), "--", sys.executable, "-c", program]
        done = subprocess.run(
            lab.hosts[0].command(argv),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    trace = load_trace(tmp_path / "t")
    index = trace.columns["interface.d0.index"]
    assert len(set(index.values[index.present])) == 2
    assert not index.present[0]
    assert not index.present[-1]
    moved = trace.increments("interface.d0.tx_packets")
    assert moved is not None
    known = moved.amounts[~np.isnan(moved.amounts)]
    assert (known >= 0).all()
