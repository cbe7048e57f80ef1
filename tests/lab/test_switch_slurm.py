"""Slurm's own daemons, one slurmd in each host, over the lab's switch."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netsonde.lab import Lab, lab_up
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of
from netsonde.launch.host import ChildProcess

SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin"
DAEMONS = ("munged", "slurmctld", "slurmd", "srun")
MISSING = [name for name in DAEMONS if shutil.which(name, path=SEARCH) is None]
pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(120),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="slurmd needs root"),
]
START_TIMEOUT_S = 20
RUN_TIMEOUT_S = 20


def configuration(folder: Path, lab: Lab) -> str:
    """What slurm.conf must hold so that several nodes can be on one machine."""
    nodes = "\n".join(
        f"NodeName={host.name} NodeAddr={host.address('ipv4')} CPUs=2 Boards=1 SocketsPerBoard=1 "
        "CoresPerSocket=2 ThreadsPerCore=1 RealMemory=500 State=UNKNOWN"
        for host in lab.hosts
    )
    return f"""
ClusterName=lab
SlurmctldHost=h1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def tool(name: str) -> str:
    found = shutil.which(name, path=SEARCH)
    assert found
    return found


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[tuple[Lab, Path]]:
    """A lab of three hosts with Slurm's daemons; the folder has slurm.conf."""
    munge = tmp_path / "munge"
    munge.mkdir(mode=0o755)
    key = tmp_path / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    with lab_up(lab_spec(scenario_of({"hosts": 3, "links": "switch"}))) as lab:
        (tmp_path / "slurm.conf").write_text(configuration(tmp_path, lab))
        (tmp_path / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        (tmp_path / "state").mkdir()
        argv = [tool("munged"), "--force", "--foreground", f"--key-file={key}", "--num-threads=2"]
        argv += [f"--{kind}-file={munge}/{kind}" for kind in ("pid", "log", "seed")]
        daemons: list[ChildProcess] = [lab.hosts[0].start([*argv, f"--socket={munge}/socket"])]
        settings = ["env", f"SLURM_CONF={tmp_path}/slurm.conf"]
        try:
            wait_for(lambda: (munge / "socket").exists())
            daemons.append(lab.hosts[0].start([*settings, tool("slurmctld"), "-D"]))
            for host in lab.hosts:
                daemons.append(host.start([*settings, tool("slurmd"), "-D", "-N", host.name]))
            yield lab, tmp_path
        finally:
            for daemon in reversed(daemons):
                daemon.stop(1)
                daemon.release()


def wait_for(condition) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "a daemon did not start"
        time.sleep(0.05)


def srun(lab: Lab, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        lab.hosts[0].command(["env", f"SLURM_CONF={folder}/slurm.conf", tool("srun"), *argv]),
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )


@pytest.mark.usefixtures("mark")
def test_srun_runs_on_every_host(slurm: tuple[Lab, Path]) -> None:
    lab, folder = slurm
    before = {link["name"]: link["down"]["bytes"] for link in switch_stats(lab)["links"]}
    done = None
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        done = srun(lab, folder, "--immediate=5", "-N3", "-n3", "hostname")
        if done.returncode == 0:
            break
        time.sleep(0.5)
    assert done is not None
    assert sorted(done.stdout.split()) == ["h1", "h2", "h3"], done.stderr
    after = {link["name"]: link["down"]["bytes"] for link in switch_stats(lab)["links"]}
    assert all(after[name] > before[name] + 1000 for name in ("h2", "h3"))
