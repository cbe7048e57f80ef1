"""A host of an emulated cluster: processes enter the namespaces that its holder keeps."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netsonde.errors import HostError
from netsonde.lab.kernel import start_time_ticks
from netsonde.lab.links import find_tool
from netsonde.launch.host import ChildProcess
from netsonde.launch.local import address_family

HOSTS_VARIABLE = "NETSONDE_LAB_HOSTS"
CLOCKS_VARIABLE = "NETSONDE_LAB_CLOCKS"

# Entering a mount namespace loses the working directory; this finds it again by its name.
_RETURN_TO_DIRECTORY = 'cd -- "$0" 2>/dev/null || cd /; exec "$@"'


@dataclass(frozen=True)
class LabHost:
    """One host of a lab.

    holder is a process in its namespaces; neighbours is every host of the lab and its holder's pid
    as processes inside the lab see it, ``h1=2 h2=3``, which they get as NETSONDE_LAB_HOSTS so that
    a launcher in one host can enter another. path is what the lab's links are made of. clocks is
    ``h1=OFFSET_NS,DRIFT_PPB ...`` of the hosts whose clocks are to be wrong, for the workers.
    slowed says that the host's holder stops its processes for a part of the time.
    """

    name: str
    addresses: Mapping[str, str]
    holder: int
    start_ticks: int
    neighbours: str
    rootless: bool
    path: Mapping[str, object]
    clocks: str = ""
    slowed: bool = False

    @property
    def kind(self) -> str:
        return "lab"

    def address(self, family: str) -> str:
        address = self.addresses.get(address_family(family))
        if address is None:
            raise HostError(f"host {self.name} of the lab has no {family} address")
        return address

    def path_facts(self) -> dict[str, object]:
        """What the path to the lab's other hosts is made of, for a run's manifest."""
        return dict(self.path)

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> ChildProcess:
        return LabProcess(self.command(argv), env={**(env or {}), **self.environment()})

    def environment(self) -> dict[str, str]:
        """What a process in this host finds in its environment on top of ours."""
        clocks = {CLOCKS_VARIABLE: self.clocks} if self.clocks else {}
        return {HOSTS_VARIABLE: self.neighbours, **clocks}

    def command(self, argv: Sequence[str]) -> list[str]:
        """argv as a command of this machine that runs it in this host, where we are now.

        It ends when the process does and with its exit status; when it is killed, the process is.
        Raises HostError where the host has gone.
        """
        if start_time_ticks(self.holder) != self.start_ticks:
            raise HostError(f"host {self.name} is gone: its lab has ended; bring it up again")
        return [
            *enter_command(self.holder, rootless=self.rootless),
            *(find_tool("setpriv"), "--pdeathsig", "KILL", "--"),
            *("/bin/sh", "-c", _RETURN_TO_DIRECTORY, str(Path.cwd())),
            *(self._in_between() if self.slowed else ()),
            *argv,
        ]

    def _in_between(self) -> list[str]:
        """A shell that is never stopped, so that the process waiting outside sees no stop."""
        tied = (find_tool("setpriv"), "--pdeathsig", "KILL", "--")
        return ["/bin/sh", "-c", '"$@"; exit $?', "sh", *tied]


class LabProcess(ChildProcess):
    """A process inside a lab; the process that we hold waits outside for it."""

    def terminate(self) -> None:
        """SIGTERM to the process in the lab, so that it can tidy up, then both end."""
        inside = _children(self.pid)
        for pid in inside:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if not inside:
            super().terminate()


def enter_command(pid: int, *, rootless: bool) -> list[str]:
    """The start of a command that runs the rest in the namespaces of process pid."""
    user = ["--user", "--preserve-credentials"] if rootless else []
    spaces = ["--mount", "--uts", "--ipc", "--net", "--pid"]
    return [find_tool("nsenter"), "--target", str(pid), *user, *spaces, "--"]


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []
