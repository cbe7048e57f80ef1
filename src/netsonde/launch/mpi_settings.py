"""Whether a variable that was set for an MPI library is one of it, and is in effect: as the library
itself says in the job (MPI's tool information interface; of libfabric and UCX these themselves),
and Open MPI's ``ompi_info``.

A setting that nobody looked at may be misspelt; two runs that differ in nothing are then called two
settings.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsonde.errors import HostError
from netsonde.launch.commands import answer_of
from netsonde.launch.mpi_found import Mpi
from netsonde.limits import limit_s

IN_EFFECT, UNKNOWN = "mpi.in_effect.", "mpi.unknown."
"""How facts begin that a rank tells: what the library reads of a variable; the names that are most
like one that it does not know."""
SAID = "mpi.said"
"""The fact that holds what the library wrote to standard error at its start."""
MCA = "OMPI_MCA_"
TIMEOUT_S = limit_s("mpi-settings")
MOST_SAID = 600
"""Characters. MPICH's own words have up to 512, and the reason is at their end."""
_YES, _NO = ("1", "true", "yes", "on", "t", "y"), ("0", "false", "no", "off", "f", "n")
_NAMED = re.compile(r"(-?\d+) \((.*)\)\Z", re.DOTALL)
_INFO = re.compile(r"^mca:[^:]*:[^:]*:param:([^:]+):", re.MULTILINE)
_UNUSED = re.compile(r"unused environment variables?: ([^\n]*)")
_UNUSED_NAME = re.compile(r"(?<!maybe: )\b(UCX_\w+)(?: \(maybe: ([^?)]*))?")
_INVALID = re.compile(
    r"An invalid value was supplied.*?Valid values\s*:\s*(.*?)\s*-{8,}", re.DOTALL
)


@dataclass(frozen=True)
class Below:
    """A library below MPI that has variables of its own.

    own_form: it says a value in a form of its own, such as ``intra:64K,inter:64K`` for 65536, and
    ends MPI at its start for one that it cannot read.
    """

    prefix: str
    title: str
    own_form: bool


BELOW = (Below("FI_", "libfabric", False), Below("UCX_", "UCX", True))


def is_as_set(asked: str, read: str) -> bool:
    """Whether what the library reads is what it was asked for: the same text, number or truth, or
    of an enumeration the number or its name. A word that the library made a number of without a
    name for it counts: MPICH ends at its start for a word that it does not know."""
    number, name = found.groups() if (found := _NAMED.match(read)) else (read, "")
    wanted, got = asked.strip().lower(), number.strip().lower()
    if wanted in (got, name.strip().lower()):
        return True
    for words in (_YES, _NO):
        if wanted in words:
            return got in words or name.lower() in words
    try:
        return float(wanted) == float(got)
    except ValueError:
        return not name and _is_number(got) and not _is_number(wanted)


def require_in_effect(mpi: Mpi, facts: Mapping[str, Any], said: str) -> None:
    """Raises HostError, with what the library said, where a setting that was asked for by name is
    no variable of it or was not taken. facts: those of a rank."""
    unused = unused_in_ucx(said)
    for name, value in mpi.settings:
        if name in unused:
            raise HostError(
                f"{name} is no variable of the UCX of {mpi.title}, which says that it is unused"
                + (f"; the most like it is {unused[name]}" if unused[name] else "")
            )
        nearest = facts.get(UNKNOWN + name)
        if nearest is not None and not _is_known_elsewhere(mpi, name):
            like = str(nearest).split()
            raise HostError(
                f"{name} is no variable of {_owner(mpi, name)}, so it has no effect"
                + (f"; the most like it are {', '.join(like)}" if like else "")
            )
        read = facts.get(IN_EFFECT + name)
        below = _below(name)
        if not read or (below and below.own_form):  # empty: the library does not say it
            continue
        if not is_as_set(value, str(read)):
            words = library_words(said, name)
            raise HostError(
                f"{name}={value} is not in effect: {_owner(mpi, name)} reads {read!r}"
                + (f"; it says: {words}" if words else "")
            )


def unused_in_ucx(said: str) -> dict[str, str]:
    """Variables that UCX, where it is in the job, says at its start that nothing of it reads, each
    with the name that it takes to be meant, or nothing."""
    found: dict[str, str] = {}
    for words in _UNUSED.findall(said):
        found |= {name: meant for name, meant in _UNUSED_NAME.findall(words) if name not in found}
    return found


def library_words(said: str, name: str) -> str:
    """What the library wrote about a variable, on one line; its last words where none names it."""
    if found := _INVALID.search(said):
        return f"valid values are {' '.join(found[1].split())}"[:MOST_SAID]
    own = name.removeprefix(MCA)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    return "; ".join(line for line in lines if own in line)[:MOST_SAID]


def of_the_user(facts: Mapping[str, Any], mpi: Mpi) -> dict[str, Any]:
    """The facts without those of variables that netsonde itself sets: a library that lacks one of
    these is as it should be."""
    asked = set(os.environ) | {name for name, _ in mpi.settings}
    return {
        name: value
        for name, value in facts.items()
        if not name.startswith((IN_EFFECT, UNKNOWN)) or name.split(".", 2)[2] in asked
    }


def _below(name: str) -> Below | None:
    return next((below for below in BELOW if name.startswith(below.prefix)), None)


def _owner(mpi: Mpi, name: str) -> str:
    """Whose variable it is, in words."""
    below = _below(name)
    return f"the {below.title} of {mpi.title}" if below else mpi.title


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_known_elsewhere(mpi: Mpi, name: str) -> bool:
    """Open MPI's launcher, and parts that ranks did not load, have variables of their own."""
    return name.startswith(MCA) and name.removeprefix(MCA) in _open_mpi_variables(mpi.mpiexec)


@functools.cache
def _open_mpi_variables(mpiexec: Path) -> frozenset[str]:
    """All that ``ompi_info`` lists; none where it is not beside the mpiexec."""
    ending = mpiexec.name.removeprefix("mpiexec").removeprefix("mpirun")
    for name in (f"ompi_info{ending}", "ompi_info"):
        program = mpiexec.with_name(name)
        if os.access(program, os.X_OK):
            break
    else:
        return frozenset()
    try:
        asked = [str(program), "--param", "all", "all", "--level", "9", "--parsable"]
        done = answer_of(asked, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(_INFO.findall(done.stdout))
