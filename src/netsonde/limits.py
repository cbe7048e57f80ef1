"""How long netsonde waits for what, all in one table: docs/reference/limits.md is made of it.

What a user sets (a cap, a budget, a timeout of a program) is not here, nor are the limits of
`netsonde serve`, which has a table of its own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """``awaited``: what may take ``seconds`` at most; ``then``: what happens after them."""

    name: str
    seconds: float
    awaited: str
    then: str


LIMITS = (
    Limit(
        "killed",
        60,
        "the end of a command one of whose processes was killed, where its points are short",
        "that is a mistake of netsonde's",
    ),
    Limit(
        "connect",
        10,
        "a connection to a host: TCP to a server, ssh's own",
        "the host counts as not reachable",
    ),
    Limit(
        "contact",
        30,
        "the first word of a host, where no other limit ends it before",
        "the host counts as not reachable",
    ),
    Limit(
        "pairing",
        20,
        "the answer of `netsonde serve` to a pairing code",
        "the command ends",
    ),
    Limit(
        "crowd",
        30,
        "a server that many come to, which sends most of them away",
        "the command ends",
    ),
    Limit(
        "place",
        300,
        "a place at `netsonde serve`, where `NETSONDE_QUEUE_WAIT` says nothing else",
        "the command ends",
    ),
    Limit(
        "send-to-server",
        30,
        "a server that takes no more of what is sent to it",
        "the session ends",
    ),
    Limit(
        "copy",
        60,
        "the worker's way to a host that has none",
        "the host counts as failed",
    ),
    Limit(
        "ssh-end",
        5,
        "the end of an ssh connection that netsonde has opened",
        "it is ended by a signal",
    ),
    Limit(
        "hello",
        15,
        "a worker's first word",
        "its host counts as failed",
    ),
    Limit(
        "take-request",
        10,
        "a worker that takes a request",
        "its host counts as failed",
    ),
    Limit(
        "worker-end",
        2,
        "the end of a worker that said its last word, and what the others say of it",
        "the first error is the cause",
    ),
    Limit(
        "late-answer",
        5,
        "the other ends, once one has met its limit",
        "those that say nothing are named as silent",
    ),
    Limit(
        "worker-stop",
        1,
        "a worker that was told to end, once more after SIGTERM",
        "SIGTERM, then SIGKILL",
    ),
    Limit(
        "facts",
        30,
        "what a host says of itself, its counters, its CPUs",
        "the point fails",
    ),
    Limit(
        "clocks",
        10,
        "the comparison of two clocks",
        "the point fails",
    ),
    Limit(
        "open-flow",
        5,
        "the connections of a flow in a pattern of several hosts",
        "the host is left out or fails",
    ),
    Limit(
        "open-echoes",
        10,
        "a socket for echoes",
        "the point fails",
    ),
    Limit(
        "close-pair",
        1,
        "both ends' closing of a connection",
        "the workers are ended",
    ),
    Limit(
        "run",
        10,
        "a run, beyond four times what it is expected to last",
        "the point fails, and the end that is silent is named",
    ),
    Limit(
        "run-of-pairs",
        10,
        "the same where all pairs of hosts are measured",
        "the point fails",
    ),
    Limit(
        "run-of-datagrams",
        60,
        "answers to datagrams, 0.2 s each, in a run at most; added to the limit of a run",
        "the point fails",
    ),
    Limit(
        "run-of-others-length",
        60,
        "a loop as long as another tool's",
        "the point fails",
    ),
    Limit(
        "load",
        15,
        "background load that begins or ends on a host",
        "the point fails",
    ),
    Limit(
        "forget",
        10,
        "a kernel that empties what it remembers of connections",
        "the point fails",
    ),
    Limit(
        "claim",
        10,
        "a host's answer to whether another measurement has it",
        "the host is measured without",
    ),
    Limit(
        "others",
        60,
        "the end of another measurement on the host, for `netsonde host`",
        "it measures beside it and says so",
    ),
    Limit(
        "mpi-start",
        30,
        "an MPI's start, to the first word of rank 0",
        "the command ends",
    ),
    Limit(
        "mpi-version",
        10,
        "an mpiexec that is asked for its version",
        "that MPI counts as not there",
    ),
    Limit(
        "mpi-pattern",
        60,
        "a few repetitions of an operation whose messages are counted",
        "the algorithm counts as one that does not end there",
    ),
    Limit(
        "called-end",
        5,
        "the end of an MPI program whose calls were counted for as long as it was given",
        "it is ended by a signal",
    ),
    Limit(
        "mpi-settings",
        20,
        "what an MPI says of its settings",
        "the names are not checked",
    ),
    Limit(
        "mpi-compiler",
        20,
        "a compiler or wrapper that is asked for its flags",
        "the build fails",
    ),
    Limit(
        "engine-build",
        900,
        "the build of a program for a library of the host, such as sonde-mpi",
        "the build fails",
    ),
    Limit(
        "tasks-daemon",
        15,
        "what the daemon of a virtual machine says when it starts, and asks of the next host",
        "the point fails",
    ),
    Limit(
        "tasks-join",
        15,
        "the hosts of a virtual machine to hear each other, and its tasks to meet",
        "the point fails, and says what may be in between",
    ),
    Limit(
        "batch",
        20,
        "a batch system that is asked for a job's nodes",
        "the command ends",
    ),
    Limit(
        "submit",
        60,
        "a batch system that is given a job",
        "the command ends",
    ),
    Limit(
        "program-start",
        30,
        "the script of a program, or ssh, to its first word",
        "the point fails",
    ),
    Limit(
        "program-end",
        10,
        "a program that was told to end",
        "it is killed with all that it started",
    ),
    Limit(
        "schedules",
        3600,
        "a check or a simulation of schedules",
        "the command ends",
    ),
    Limit(
        "lab-up",
        30,
        "a lab that comes up",
        "it is taken down",
    ),
    Limit(
        "lab-down",
        10,
        "a lab that is told to end",
        "its keeper's process is named",
    ),
    Limit(
        "lab-links",
        30,
        "the kernel's setting up of a lab's links",
        "the lab is taken down",
    ),
    Limit(
        "lab-ssh",
        30,
        "a command that starts or asks a lab's ssh server",
        "the command ends",
    ),
    Limit(
        "lab-mtu",
        10,
        "a lab's links that get their MTU back",
        "it is said",
    ),
    Limit(
        "switch-start",
        10,
        "a lab's switch that starts",
        "the lab is taken down",
    ),
    Limit(
        "switch-answer",
        30,
        "a lab's switch that is asked",
        "the command ends",
    ),
    Limit(
        "lab-watch",
        10,
        "what watches a lab's links, at its start and its end",
        "the command ends",
    ),
    Limit(
        "lab-load",
        30,
        "a lab's background traffic that is told to end",
        "it is killed",
    ),
    Limit(
        "host-facts",
        20,
        "a host's facts and what its kernel offers, for `netsonde host`",
        "the command ends",
    ),
    Limit(
        "host-clock",
        60,
        "a million readings of a clock",
        "the command ends",
    ),
    Limit(
        "host-kernel",
        30,
        "one measurement of the kernel by `netsonde host`",
        "the command ends",
    ),
    Limit(
        "host-step",
        120,
        "one step of work, memory or HINT, beyond its own length",
        "the command ends",
    ),
    Limit(
        "history",
        120,
        "another netsonde that writes into the same history",
        "the command ends",
    ),
    Limit(
        "scrape",
        5,
        "a client of the metrics endpoint, and the endpoint's own end",
        "the connection is closed",
    ),
    Limit(
        "tune-command",
        15,
        "a command that reads or changes a setting of a host, such as sysctl or ip",
        "it is ended, and the value counts as refused",
    ),
    Limit(
        "tune-answer",
        20,
        "the shell at a host that changes its settings",
        "the search ends, and what was changed is put back",
    ),
    Limit(
        "tune-put-back",
        60,
        "all settings of a host to be as they were",
        "the command says so, and where the undo file is",
    ),
)
_BY_NAME = {row.name: row for row in LIMITS}


def limit_s(name: str) -> float:
    """Seconds of a row."""
    return _BY_NAME[name].seconds
