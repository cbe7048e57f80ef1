"""The command of a run again, with other options: what advice says is to be typed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from netsonde.catalogue.option import Option
from netsonde.catalogue.options.mpi import MPI
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.transport import measured_transports, transport_row
from netsonde.records.data import Run

_ALONE = ("--json", "--quiet", "-q")
_WITH_VALUE = ("--out",)


def again(run: Run, options: Mapping[str, str] | None = None, without: Sequence[str] = ()) -> str:
    """``netsonde tcp ... --buffer 725000``: the run's own command with these options in place of
    what it had, and without others; a switch has the value "". Empty where the run was not made by
    one of the single tests."""
    words = [str(word) for word in run.manifest.get("command") or ()]
    if len(words) < 3 or words[1] not in measured_transports():
        return ""
    given = dict(options or {})
    dropped = {*given, *without, *_WITH_VALUE}
    kept = _without(words[1:], dropped, {name for name, value in given.items() if not value})
    added = [word for name, value in given.items() for word in (name, value) if word]
    return "netsonde " + shlex.join([*kept, *added])


def typed(transport: str, *rows: Option) -> str:
    """The first of some options that a transport has, as its command has it; empty where it has
    none of them."""
    return next((flag.first for row in rows for flag in row.flags_of(transport)), "")


def binding(transport: str, cpus: str = "") -> str:
    """What binds ends to CPUs, ``--cpus 0,1`` or ``--cpus``: of ranks ``--pin``, and ``--cpu 0`` of
    who measures alone."""
    name = typed(transport, SOCKETS["origin_cpu"], MPI["pin"])
    own = cpus.split(",")[0] if transport_row(transport).is_echoed else cpus
    return f"{name} {own}".rstrip()


def advise(words: str, command: str) -> str:
    """Advice that ends in a command, where there is one."""
    return f"{words}: {command}" if command else f"{words}."


def _without(words: Sequence[str], dropped: set[str], switches: set[str]) -> list[str]:
    kept: list[str] = []
    skips_value = False
    for word in words:
        name, has_value, _ = word.partition("=")
        if skips_value and not word.startswith("-"):
            skips_value = False
            continue
        skips_value = False
        if word in _ALONE or word in switches:
            continue
        if name in dropped:
            skips_value = not has_value
        else:
            kept.append(word)
    return kept
