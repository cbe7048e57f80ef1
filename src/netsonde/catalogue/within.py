"""How ranks of one node reach each other: what can be asked for, and what carried their messages.

What carried them is told from counters after each point; where they do not tell, it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Within:
    """One row of what ``--within`` asks for. ``keeps_on``: settings keep the MPI on TCP over the
    node's own loopback; else the MPI chooses for itself."""

    name: str
    keeps_on: bool = False


@dataclass(frozen=True)
class Carried:
    """One row of what carried messages: ``title`` ends the sentence "MPI over ...".

    ``is_network_stack``: packets of the kernel carried them, so that what a socket does beside is
    like it.
    """

    name: str
    title: str
    is_network_stack: bool = False


WITHINS = {row.name: row for row in (Within("memory"), Within("loopback", keeps_on=True))}
MEMORY, LOOPBACK = WITHINS["memory"], WITHINS["loopback"]

CARRIED = {
    row.name: row
    for row in (
        Carried("memory", "shared memory of one node"),
        Carried("inside", "what no interface of the node counts"),
        Carried("loopback", "TCP over loopback", is_network_stack=True),
        Carried("unknown", "something that counters do not tell"),
    )
}
