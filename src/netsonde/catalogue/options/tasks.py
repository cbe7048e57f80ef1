"""Options of messages between tasks of a virtual machine, in ``[measure.options]``."""

from __future__ import annotations

from netsonde.catalogue.option import Choice, Flag, Group, Option
from netsonde.catalogue.transport import names_with

LOCAL = "local"
"""The route on which both tasks are on one host."""
_TASKS = names_with("has_tasks")

TASKS = (
    Option(
        "encoding",
        Choice(("default", "raw", "in-place")),
        "How messages are packed: default (XDR, copied), raw (as they are, copied) or in-place (as "
        "they are, read when they are sent).",
        wire=("encoding",),
        of=_TASKS,
        flag=Flag(
            "--encoding",
            "HOW",
            "How messages are packed: `default` (XDR), `raw` or `in-place`; several with commas "
            "are measured one after the other.",
            group=Group.SENT,
        ),
        label="",
        listed=True,
    ),
    Option(
        "route",
        Choice(("normal", "direct", LOCAL)),
        "Which way messages go: normal (through the daemons of both hosts), direct (over a "
        "connection of the two tasks) or local (through one daemon: both tasks are on the origin's "
        "host).",
        wire=("route",),
        of=_TASKS,
        flag=Flag(
            "--route",
            "WAY",
            "Which way messages go: `normal`, through the daemons, `direct`, from task to task, or "
            "`local`, through the daemon of one host; `normal,direct` measures with each.",
            group=Group.SENT,
        ),
        label="",
        listed=True,
    ),
    Option(
        "timed",
        Choice(("pack", "send")),
        "What a round trip is the time of: pack (packing and unpacking as well, as a program has "
        "them) or send (sending and receiving alone).",
        wire=("timed",),
        of=_TASKS,
        flag=Flag(
            "--timed",
            "WHAT",
            "With latency and pingpong: `pack`, packing and unpacking are timed as well (usual), "
            "or `send`, they are not.",
            group=Group.SENT,
        ),
        label="timed:",
        listed=True,
    ),
)
