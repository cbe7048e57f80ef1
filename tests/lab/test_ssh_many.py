"""Nine hosts with ssh servers of their own: one login each, and what does not answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_marks import marked_processes

from netsonde.lab import Lab, LabSpec, lab_up, permission_problem
from netsonde.lab.ssh import start_ssh_servers
from netsonde.launch.binaries import find_worker

PROBLEM = permission_problem()
SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
HOSTS = 9

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="an ssh server needs root to log users in"),
    pytest.mark.skipif(SSHD is None, reason="no ssh server is installed"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh is installed"),
]

BEGIN = """
import json, os, subprocess, sys, time
from pathlib import Path
from netsonde.errors import HostError
from netsonde.launch import ssh
from netsonde.launch.contact import connect_all, failure_in_words
from netsonde.launch.worker import start_worker
ssh.CONNECT_TIMEOUT_S = 3
config = sys.argv[1]
hosts = [ssh.SshHost(f"h{i}", ("-F", config)) for i in range(1, 10)]

def logins():
    "Connections to ssh servers that this host has."
    texts = [Path("/proc/net", name).read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for text in texts for line in text.splitlines()[1:]]
    return sum(row[2].endswith(":0016") and row[3] == "01" for row in rows)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Path]]:
    """The lab and a configuration of ssh with which each host knows every other."""
    with lab_up(LabSpec(hosts=HOSTS, name="ssh-many")) as lab:
        yield lab, start_ssh_servers(lab, tmp_path_factory.mktemp("keys") / "ssh")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """In which the hosts have no sonde-worker, and files for a time are ours."""
    workers = str(find_worker("sonde-worker").parent)
    folder = tmp_path / "t"
    folder.mkdir()
    return {**os.environ, "PATH": "/usr/bin:/bin", "NETSONDE_WORKERS": workers}


def on_h1(cluster: tuple[Lab, Path], script: str, environment: dict[str, str]) -> str:
    lab, config = cluster
    done = subprocess.run(
        lab.hosts[0].command([sys.executable, "-c", BEGIN + script, str(config)]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SHARED = """
assert connect_all(hosts) == {}
found = {"connected": logins()}
first = hosts[1]
workers = [start_worker(host) for host in hosts]
found["with workers"] = logins()
# A server allows ten sessions on a connection; whoever comes later logs in.
workers += [start_worker(first) for _ in range(11)]
found["sockets"] = sorted(p.name for h in hosts for p in Path(h._folder).iterdir())
found["answers"] = sum(bool(w.request("facts", 20)) for w in workers)
for worker in workers:
    worker.close()
folders = [h._folder for h in hosts]
for host in hosts:
    host.close()
found["after"] = logins()
found["folders"] = [f for f in folders if Path(f).exists()]
print(json.dumps(found))
"""


def test_one_login_for_each_host(cluster: tuple[Lab, Path], environment: dict[str, str]) -> None:
    found = json.loads(on_h1(cluster, SHARED, environment))
    # Both ends of the connection of h1 to itself are on h1; one of them has that port.
    assert found["connected"] == found["with workers"] == HOSTS
    assert found["sockets"] == ["s"] * HOSTS
    assert found["answers"] == HOSTS + 11
    assert found["after"] == 0
    assert found["folders"] == []


KILLED = """
hosts = hosts[:3]
assert connect_all(hosts) == {}
worker = start_worker(hosts[1])
print(json.dumps([h._folder for h in hosts]), flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_killed_netsonde_leaves_no_connection_and_no_file(
    cluster: tuple[Lab, Path], environment: dict[str, str], mark: str
) -> None:
    lab, config = cluster
    done = subprocess.run(
        lab.hosts[0].command([sys.executable, "-c", BEGIN + KILLED, str(config)]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**environment, "NETSONDE_TEST_MARK": mark},
    )
    folders = json.loads(done.stdout)
    assert len(folders) == 3
    deadline = time.monotonic() + 20
    while any(Path(folder).exists() for folder in folders) or marked_processes(mark):
        assert time.monotonic() < deadline, (folders, marked_processes(mark))
        time.sleep(0.1)


SILENT = """
begin = time.monotonic()
failed = connect_all(hosts, at_once=4)
print(json.dumps([failure_in_words(failed), time.monotonic() - begin, logins()]))
"""


def test_hosts_that_do_not_answer_are_one_sentence_in_time(
    cluster: tuple[Lab, Path], environment: dict[str, str]
) -> None:
    lab, _ = cluster
    for name in ("h4", "h9"):
        lab.set_link(name, up=False)
    try:
        sentence, took_s, connected = json.loads(on_h1(cluster, SILENT, environment))
    finally:
        for name in ("h4", "h9"):
            lab.set_link(name, up=True)
    assert sentence == (
        "h4: it could not be reached by ssh: no answer in time; check the address and any firewall"
        " (and 1 more of the hosts failed: h9)"
    )
    assert connected == HOSTS - 2
    assert took_s < 60


def test_a_study_with_a_dead_host_ends_at_once(
    cluster: tuple[Lab, Path], environment: dict[str, str], tmp_path: Path
) -> None:
    """One sentence and status 3; its server refuses."""
    lab, config = cluster
    (tmp_path / "tools").mkdir()
    tool = tmp_path / "tools" / "ssh"
    tool.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} -o Port=23 "$@"\n')
    tool.chmod(0o755)
    (tmp_path / "study.toml").write_text(
        '[[measure]]\ntransports = "tcp"\ntest = "latency"\nsizes = "1..4k:2"\n'
    )
    words = ["study", "run", f"{tmp_path}/study.toml", "--hosts", "h[2-3]"]
    done = subprocess.run(
        lab.hosts[0].command(
            [sys.executable, "-m", "netsonde", *words, "--out", str(tmp_path / "runs")]
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**environment, "PATH": f"{tmp_path}/tools:/usr/bin:/bin"},
    )
    assert done.returncode == 3
    (sentence,) = done.stderr.splitlines()
    assert sentence == (
        "netsonde: h2: it could not be reached by ssh: connection refused; is an ssh server "
        "running there? (and 1 more of the hosts failed: h3)"
    )
