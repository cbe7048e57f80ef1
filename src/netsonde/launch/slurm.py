"""Hosts of a Slurm allocation: each process is a step of the job, started by srun.

A step shares the CPUs with all others (``--overlap``), so it never waits for one to end; and
what waits all the same is ended by a timeout. srun's own settings in the environment (labels,
buffering, tasks) would change what it does, so it gets none of them.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping, Sequence
from functools import cached_property

from netsonde.errors import HostError, UsageError
from netsonde.launch.allocation import Allocation, ask
from netsonde.launch.host import ChildProcess, Host, how_it_ended, last_words
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.named import HOSTS, JOBS, Named
from netsonde.launch.nodes import expand
from netsonde.launch.remote import CONNECT_TIMEOUT_S, RemoteHost, explain_script

ARGUMENT_LIMIT_BYTES = 120_000
"""Linux takes arguments of 128 KiB."""
# What of Slurm's environment srun must have to find its controller; --jobid says the rest.
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS", "SLURM_CLUSTER_NAME")
_PREFIXES = ("SLURM_", "SRUN_", "SLURMD_", "PMI_", "PMIX_")

# Phrases of srun and what they mean, as ends of a sentence. The more precise one first.
_ENDED = "the allocation has ended: {job}"
_FAILURES = (
    ("DUE TO TIME LIMIT", "was ended: {job} has reached its time limit"),
    ("DUE TO NODE FAILURE", "was ended: Slurm has lost the node"),
    ("DUE TO PREEMPTION", "was ended: {job} had to make room for another job"),
    ("Job has been cancelled", f"was ended: {_ENDED}"),
    ("Invalid job id", f"could not be started by srun: {_ENDED}"),
    ("Expired or invalid job", f"could not be started by srun: {_ENDED}"),
    ("already completing or completed", f"could not be started by srun: {_ENDED}"),
    (
        "Requested node configuration is not available",
        "could not be started by srun: the node is not in {job}, or Slurm has set it down",
    ),
    ("Unable to contact slurm controller", "could not be started: Slurm's controller is silent"),
    ("Node failure", "was ended: Slurm has lost the node"),
    ("CANCELLED AT", "was ended: {job}, or this step of it, was cancelled"),
    ("Unable to create step", "could not be started by srun: {words}"),
    ("Task launch for", "could not be started by srun: {words}"),
)
_NOISE = re.compile(
    r"^srun: (Force Terminated|Job step|launch/slurm|cluster configuration lacks).*$", re.MULTILINE
)
_TASK = re.compile(r"^srun: error: \S+: task \d+: (Exited with|Killed|[A-Z]).*$", re.MULTILINE)


class SlurmHost(RemoteHost):
    """A node of the allocation that we are in."""

    def __init__(self, name: str, allocation: Allocation) -> None:
        super().__init__(name)
        self._allocation = allocation

    @property
    def kind(self) -> str:
        return "slurm"

    def address(self, family: str) -> str:
        """That of the node's name, or of what Slurm reaches the node by where that has none."""
        found = self._addresses(address_family(family), self.name)
        if not any(map(_is_elsewhere, found)):
            found = [*self._addresses(family, self._node_address), *found]
        if not found:
            raise HostError(
                f"{self.name}: neither its name nor {self._node_address!r}, by which Slurm reaches "
                f"it, has an {family} address here"
            )
        # A node's own name may stand for its loopback, which is no address for others.
        return next(filter(_is_elsewhere, found), found[0])

    def _start_shell(self, words: Sequence[str]) -> ChildProcess:
        argv = [
            "srun",
            f"--jobid={self._allocation.job}",
            "--overlap",
            "--nodes=1",
            "--ntasks=1",
            f"--nodelist={self.name}",
            f"--immediate={CONNECT_TIMEOUT_S}",
            "--job-name=netsonde",
            "--mpi=none",
            "--input=all",
            "--cpu-bind=none",  # of one task, all CPUs of the job
            "--quit-on-interrupt",
            *("sh", "-c", *words),
        ]
        return ChildProcess(argv, without=_srun_settings(), explain=self._explained)

    def start_ranks(
        self, places: Sequence[str], plugin: str, argv: Sequence[str], env: Mapping[str, str]
    ) -> ChildProcess:
        """Starts argv as one MPI program, a rank on each of ``places``, which are nodes of the job,
        in their order; ``plugin`` is that of srun --mpi. Only rank 0 gets the input. Raises
        UsageError where the list of nodes would be longer than an argument may be."""
        nodes = ",".join(places)
        if len(nodes) > ARGUMENT_LIMIT_BYTES:
            raise UsageError(
                f"{len(places)} ranks make a list of nodes of {len(nodes)} bytes for srun; "
                f"{ARGUMENT_LIMIT_BYTES} can be given: ask for fewer, or leave out @srun"
            )
        words = [
            "srun",
            f"--jobid={self._allocation.job}",
            *("--overlap", "--overcommit"),
            f"--nodes={len(set(places))}",
            f"--ntasks={len(places)}",
            # As it stands, whatever order Slurm has its nodes in.
            "--distribution=arbitrary",
            f"--nodelist={nodes}",
            f"--immediate={CONNECT_TIMEOUT_S}",
            "--job-name=netsonde",
            f"--mpi={plugin}",
            "--input=0",
            "--cpu-bind=none",
            "--kill-on-bad-exit=1",
            "--quit-on-interrupt",
            *argv,
        ]
        return ChildProcess(words, env=env, without=_srun_settings(), explain=self._explained)

    def _explain(self, status: int, stderr_text: str) -> str | None:
        text = _NOISE.sub("", stderr_text)
        job = self._allocation.in_words
        for phrase, meaning in _FAILURES:
            if phrase in text:
                return meaning.format(job=job, words=last_words(text))
        own = explain_script(self.name, status, _TASK.sub("", text))
        # srun gives a task's end as a shell does: 128 and the signal's number.
        ended = _TASK.search(text)
        if own is None and ended and status != 0:
            return how_it_ended(128 - status if status > 128 else status, _TASK.sub("", text))
        return own

    @staticmethod
    def _addresses(family: str, name: str) -> list[str]:
        try:
            found = socket.getaddrinfo(name, None, socket_family(family), socket.SOCK_STREAM)
        except OSError:
            return []
        return [str(entry[4][0]) for entry in found]

    @cached_property
    def _node_address(self) -> str:
        shown = ask(["scontrol", "--oneliner", "show", "node", self.name])
        found = re.search(r"(?:^|\s)NodeAddr=(\S+)", shown)
        return found[1] if found else self.name


def _is_elsewhere(address: str) -> bool:
    return not ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _srun_settings(environ: Mapping[str, str] | None = None) -> list[str]:
    names = os.environ if environ is None else environ
    return [name for name in names if name.startswith(_PREFIXES) and name not in _KEPT]


@HOSTS.of("slurm")
def _named(named: Named) -> list[Host]:
    assert named.job is not None
    return [SlurmHost(named.name, named.job)]


@JOBS.of("slurm")
def _job(environ: Mapping[str, str]) -> Allocation | None:
    job, nodes = environ.get("SLURM_JOB_ID"), environ.get("SLURM_JOB_NODELIST")
    return Allocation("slurm", job, tuple(expand(nodes))) if job and nodes else None
