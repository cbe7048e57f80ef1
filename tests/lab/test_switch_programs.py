"""Programs that nobody wrote for it run over the lab's switch unchanged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import lab_checks
import pytest

from attempts import Attempts
from netsonde.lab import Lab, lab_up
from netsonde.lab.observe import capture_to_file, switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of
from netsonde.lab.ssh import start_ssh_servers
from netsonde.launch.mpi import open_mpi

pytestmark = [pytest.mark.lab, pytest.mark.worker]  # the switch with sanitizers as well
TIMEOUT_S = 30
NETSONDE = [sys.executable, "-m", "netsonde"]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    tables = {"hosts": 2, "links": "switch", "link": {"rate": "100M"}, "arp": True}
    with lab_up(lab_spec(scenario_of(tables))) as lab:
        yield lab


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What whoever runs the tests has set must not choose MPI's path."""
    for name in [*os.environ]:
        if name.startswith(("UCX_", "FI_", "MPIR_CVAR_", "I_MPI_")):
            monkeypatch.delenv(name)


def needs(command: str) -> str:
    found = shutil.which(command, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{command} is not installed")
    return found


def test_arp_and_neighbour_discovery(lab: Lab) -> None:
    """The scenario has asked for them: nobody knows anybody before."""
    lab_checks.check_every_host_reaches_every_other(lab)
    shown = lab.in_host(lab.hosts[0], ["ip", "neighbour", "show"])
    assert "PERMANENT" not in shown
    assert "10.77.0.2" in shown
    assert "fd77::2" in shown


def test_iperf3(lab: Lab, attempts: Attempts) -> None:
    for attempt in attempts(2, of=3):
        rate = rate_by_iperf3(lab)
        attempt.found(bit_per_s=rate)
        assert rate < 95e6
        with attempt:
            assert rate > 85e6


def rate_by_iperf3(lab: Lab) -> float:
    iperf3 = needs("iperf3")
    server = lab.hosts[1].start([iperf3, "-s", "-1"])
    try:
        time.sleep(0.5)
        shown = lab_checks.run_in(lab.hosts[0], iperf3, "-c", "h2", "-J", "-t", "1", "-C", "cubic")
    finally:
        server.stop(1)
        server.release()
    return float(json.loads(shown)["end"]["sum_received"]["bits_per_second"])


def test_sockperf(lab: Lab) -> None:
    sockperf = needs("sockperf")
    address = lab.hosts[1].address("ipv4")
    server = lab.hosts[1].start([sockperf, "server", "-i", address])
    try:
        time.sleep(0.5)
        shown = lab_checks.run_in(lab.hosts[0], sockperf, "ping-pong", "-i", address, "-t", "1")
    finally:
        server.stop(1)
        server.release()
    assert "Summary: Latency is" in shown


def test_a_capture_opens_in_other_programs(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "out.pcapng"
    address = lab.hosts[1].address("ipv4")
    sender = lab.hosts[0].start(
        [
            *(sys.executable, "-c"),
            "import socket, sys, time\n"
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for _ in range(20):\n"
            "    time.sleep(0.05)\n"
            "    s.sendto(bytes(100), (sys.argv[1], 7009))\n",
            address,
        ]
    )
    capture_to_file(lab, "h2", path, 1.5, 1 << 20)
    sender.wait(TIMEOUT_S)
    sender.release()
    content = path.read_bytes()
    assert content[:4] == bytes.fromhex("0a0d0d0a")
    for command in ("tcpdump", "tshark"):
        if shutil.which(command):
            done = subprocess.run(
                [command, "-n", "-r", str(path)], capture_output=True, text=True, check=True
            )
            assert done.stdout.count("7009") >= 10


@pytest.mark.timeout(120)
def test_mpi_crosses_the_switch(lab: Lab) -> None:
    """Whatever shared memory there is: the link's counters tell where the bytes went."""
    before = {link["name"]: link for link in switch_stats(lab)["links"]}
    with open_mpi(lab.hosts, 2) as session:
        session.run({"test": "latency", "message_bytes": 10_000, "count": 50}, 60)
    after = {link["name"]: link for link in switch_stats(lab)["links"]}
    for name in ("h1", "h2"):
        assert after[name]["up"]["bytes"] - before[name]["up"]["bytes"] > 50 * 10_000


@pytest.mark.skipif(os.geteuid() != 0, reason="an ssh server needs root to log users in")
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("mark")
def test_ssh_into_the_hosts_and_between_them(state_folder: Path) -> None:
    needs("sshd")
    ssh = needs("ssh")

    def netsonde(*arguments: str) -> str:
        done = subprocess.run(
            [*NETSONDE, "lab", *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    netsonde("up", "--links", "switch")
    try:
        config = netsonde("ssh-config")
        assert netsonde("ssh-config") == config  # the servers are there already
        assert Path(config).parent.stat().st_mode & 0o777 == 0o700
        outer = [ssh, "-F", config, "h1"]
        inner = f"ssh -F {config} h2 cat /sys/class/net/v0/address"
        for command, wanted in ((["hostname"], "h1"), ([inner], "02:77:00:00:00:02")):
            done = subprocess.run(
                [*outer, *command], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
            assert done.stdout.strip() == wanted, done.stderr
    finally:
        netsonde("down")
    assert list(state_folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="an ssh server needs root to log users in")
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("mark")
def test_open_mpi_starts_by_ssh_and_crosses_the_switch(lab: Lab, tmp_path: Path) -> None:
    """NetPIPE on Open MPI, as on a cluster; it moves each size there and back."""
    needs("sshd")
    netpipe, launcher = needs("NPopenmpi"), needs("mpirun.openmpi")
    config = start_ssh_servers(lab, tmp_path / "ssh")
    before = {link["name"]: link for link in switch_stats(lab)["links"]}
    done = subprocess.run(
        lab.hosts[0].command(
            [
                *("env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"),
                *(launcher, "-H", "h1,h2", "-n", "2", "--bind-to", "none"),
                *("--mca", "plm_rsh_agent", f"ssh -F {config}"),
                *("--mca", "btl_tcp_if_include", "v0", "--mca", "oob_tcp_if_include", "v0"),
                *("--mca", "mpi_yield_when_idle", "1"),
                *(netpipe, "-l", "20000", "-u", "20000", "-p", "0", "-n", "50", "-o", "/dev/null"),
            ]
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    after = {link["name"]: link for link in switch_stats(lab)["links"]}
    for name in ("h1", "h2"):
        assert after[name]["up"]["bytes"] - before[name]["up"]["bytes"] > 3 * 50 * 20_000
