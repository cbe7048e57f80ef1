"""Slurm's own daemons in a lab: munge, a controller, and one slurmd in each host."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from netsonde.lab import Lab
from netsonde.launch.host import ChildProcess

SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin"
DAEMONS = ("munged", "slurmctld", "slurmd", "srun")
MISSING = [name for name in DAEMONS if shutil.which(name, path=SEARCH) is None]
PROBLEM = (
    f"not installed: {', '.join(MISSING)}"
    if MISSING
    else None
    if os.geteuid() == 0
    else "slurmd needs root"
)
"""Why there can be no Slurm here; None where there can."""
START_TIMEOUT_S = 20
COMMAND_TIMEOUT_S = 60
END_TIMEOUT_S = 60


@dataclass
class SlurmCluster:
    """A running one. ``folder`` has slurm.conf; the controller is on the first host."""

    lab: Lab
    folder: Path
    slurmd: dict[str, ChildProcess] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": f"{self.folder}/slurm.conf"}

    def command(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None, host: int = 0
    ) -> list[str]:
        """argv as a command of this machine that runs it in a host, as a user of the cluster."""
        words = [f"{k}={v}" for k, v in {**self.environment(), **(env or {})}.items()]
        return self.lab.hosts[host].command(["env", *words, *argv])

    def run(
        self,
        *argv: str,
        env: Mapping[str, str] | None = None,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(argv, env),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def wait_for_idle(self) -> None:
        """Returns when there is no job, and every node can take one."""
        names = len(self.lab.hosts)
        wait_for(lambda: not self._queue(), "the end of all jobs", END_TIMEOUT_S)
        wait_for(lambda: self._states() == ["idle"] * names, "the nodes")

    def logs(self) -> str:
        """The last words of every daemon, for whoever looks at a test that failed."""
        texts = [f"{p.name}: {p.read_text()[-600:]}" for p in sorted(self.folder.glob("*.log"))]
        return "\n".join(texts)

    def _queue(self) -> str:
        return self.run("squeue", "--noheader", timeout_s=10).stdout

    def _states(self) -> list[str]:
        return self.run("sinfo", "--noheader", "--Node", "--format=%t", timeout_s=10).stdout.split()


@contextmanager
def slurm_cluster(lab: Lab, folder: Path) -> Iterator[SlurmCluster]:
    """Slurm in all hosts of a lab, ready for jobs. Every daemon ends with the block, and with the
    lab however that ends."""
    munge = folder / "munge"
    munge.mkdir(mode=0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "state").mkdir()
    for host in lab.hosts:  # all have one /tmp, where PMIx makes a folder of one name on each
        (folder / f"tmp-{host.name}").mkdir()
    (folder / "slurm.conf").write_text(_configuration(folder, lab))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
    argv = [_tool("munged"), "--force", "--foreground", f"--key-file={key}", "--num-threads=2"]
    argv += [f"--{kind}-file={munge}/{kind}" for kind in ("pid", "log", "seed")]
    cluster = SlurmCluster(lab, folder)
    settings = ["env", *(f"{k}={v}" for k, v in cluster.environment().items())]
    with ExitStack() as stack:
        # One munged serves all hosts: its socket is a file, no port.
        stack.enter_context(lab.hosts[0].start([*argv, f"--socket={munge}/socket"]))
        wait_for((munge / "socket").exists, "munged")
        controller = lab.hosts[0].start([*settings, _tool("slurmctld"), "-D"])
        stack.enter_context(controller)
        for host in lab.hosts:
            daemon = host.start([*settings, _tool("slurmd"), "-D", "-N", host.name])
            cluster.slurmd[host.name] = stack.enter_context(daemon)
        for process in (controller, *cluster.slurmd.values()):
            stack.callback(process.kill)  # nothing of them is kept
        try:
            cluster.wait_for_idle()
        except AssertionError as error:
            raise AssertionError(f"{error}\n{cluster.logs()}") from error
        yield cluster


def wait_for(condition: Callable[[], bool], what: str, timeout_s: float = START_TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not get ready in {timeout_s} s"
        time.sleep(0.1)


def _configuration(folder: Path, lab: Lab) -> str:
    """What slurm.conf must hold so that several nodes can be on one machine."""
    nodes = "\n".join(
        f"NodeName={host.name} NodeAddr={host.address('ipv4')} CPUs=2 Boards=1 SocketsPerBoard=1 "
        "CoresPerSocket=2 ThreadsPerCore=1 RealMemory=500 State=UNKNOWN"
        for host in lab.hosts
    )
    return f"""
ClusterName=lab
SlurmctldHost={lab.hosts[0].name}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
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
KillWait=2
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _tool(name: str) -> str:
    found = shutil.which(name, path=SEARCH)
    assert found
    return found
