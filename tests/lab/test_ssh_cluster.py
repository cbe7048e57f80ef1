"""Two hosts with their own ssh servers, as on a cluster: netsonde on one measures to the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netsonde.lab import Lab, LabSpec, lab_up, permission_problem

PROBLEM = permission_problem()
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"

pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="an ssh server needs root to log users in"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="no ssh server is installed"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh is installed"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[Lab, Path]]:
    """A lab whose hosts h1 and h2 let each other in by ssh, with a throw-away key; and a folder
    with an `ssh` that knows about it."""
    for name in ("id", "host_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name],
            check=True,
            timeout=30,
        )
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists on it
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host_key\nAuthorizedKeysFile {tmp_path}/id.pub\nStrictModes no\n"
        "PasswordAuthentication no\nUsePAM no\nUseDNS no\nPermitRootLogin prohibit-password\n"
    )
    (tmp_path / "ssh_config").write_text(
        f"Host *\n  IdentityFile {tmp_path}/id\n  UserKnownHostsFile {tmp_path}/known\n"
        "  StrictHostKeyChecking yes\n  BatchMode yes\n"
    )
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(
        f'#!/bin/sh\nexec {shutil.which("ssh")} -F {tmp_path}/ssh_config "$@"\n'
    )
    (tools / "ssh").chmod(0o755)
    with lab_up(LabSpec(name="ssh")) as lab:
        key = (tmp_path / "host_key.pub").read_text()
        names = [f"{host.name},{host.address('ipv4')},{host.address('ipv6')}" for host in lab.hosts]
        (tmp_path / "known").write_text("".join(f"{name} {key}" for name in names))
        servers = [
            host.start([SSHD, "-D", "-f", str(tmp_path / "sshd_config")]) for host in lab.hosts
        ]
        time.sleep(0.3)
        try:
            yield lab, tmp_path
        finally:
            for server in servers:
                server.stop(1)


def netsonde(cluster: tuple[Lab, Path], *arguments: str) -> dict[str, Any]:
    """Runs the command on h1; its JSON document."""
    lab, folder = cluster
    command = lab.hosts[0].command(
        [
            "env",
            f"PATH={folder}/tools:{os.environ['PATH']}",
            sys.executable,
            "-m",
            "netsonde",
            *arguments,
            "--json",
            "--out",
            str(folder / "runs"),
        ]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def check(document: dict[str, Any], transports: set[str]) -> None:
    assert document["origin"] == "real"
    assert {point["transport"] for point in document["points"]} == transports
    for point in document["points"]:
        assert point["status"] == "finished"
        assert point["checks"]["samples"]["equal"]
        assert point["checks"]["transport"]["verified"]
        assert point["checks"]["transport"]["interface"] == "v0"


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_sockets_to_a_host_by_ssh(cluster: tuple[Lab, Path], transport: str) -> None:
    check(netsonde(cluster, transport, "h2", "latency", "--count", "200"), {transport})


def test_mpi_between_two_hosts_by_ssh(cluster: tuple[Lab, Path]) -> None:
    if shutil.which("mpiexec", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("no MPI is installed beside this Python")
    arguments = ["mpi", "latency", "bcast", "-n", "2", "--hosts", "h1,h2", "--sizes", "1k"]
    check(netsonde(cluster, *arguments, "--count", "50"), {"mpi"})
