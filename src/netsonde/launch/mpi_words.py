"""What the mpiexec of each family says about the end of the ranks, in netsonde's words."""

from __future__ import annotations

import contextlib
import re
import signal

from netsonde.launch.mpi_found import INSTALL
from netsonde.launch.mpi_places import lost_in_words

_RANK_SAYS = re.compile(r"^sonde-mpi: (?:rank \d+ on )?.+$", re.MULTILINE)
_CONSEQUENCE = "the launcher is gone"
"""What ranks say whose launcher ends them because of another one."""
_LIBRARY = re.compile(r"error while loading shared libraries: ([^:]+): cannot open")
_KILLED = re.compile(r"PID (\d+) RUNNING AT (\S+)\s+=\s+EXIT CODE: (\d+)")
_ABORT = re.compile(r"^Abort\(\d+\)(?: on node \d+)?: (.*)$", re.MULTILINE)
_ABORT_CAUSE = re.compile(r"^\w+\(\d+\)\.*: +(\S.*)$", re.MULTILINE)  # MPICH's error stack
_VALUE = re.compile(r"Invalid (?:character|\S+ value).*")  # of a variable, at its start
_NO_PROGRAM = re.compile(r"execvp error on file (\S+) \(([^)]*)\)")

_TASK = re.compile(r"^srun: error: (\S+): tasks? (\d+)[\d,-]*: (.+)$", re.MULTILINE)

# Open MPI 4 (mpirun, ORTE) and 5 (prterun, PRTE) say the same in slightly other words, and break
# lines anywhere.
_NOTICED = re.compile(
    r"noticed that process rank (\d+) with PID (\d+) on node (\S+) exited on signal (\d+)"
)
_STATUS = re.compile(r"Process name: \[\S*[,@](\d+)\] Exit code: (\d+)")
_NO_EXECUTABLE = re.compile(r"could not access or execute an executable: Executable: (\S+)")
_COMPONENT = re.compile(
    r"requested component was not found.*?Host: (\S+) Framework: (\S+) Component: (\S+)"
)
_LOST_DAEMON = re.compile(
    r"(?:lost communication with a remote daemon|daemon has unexpectedly failed after launch)"
)
_NO_WAY = re.compile(r"one or more MPI processes are unable to reach each other|unable to reach")
_ROOT = re.compile(r"attempt to run as root")


def explain_end(stderr_text: str) -> str | None:
    """What mpiexec's standard error says about the end of the ranks, as the end of a sentence that
    begins with "the worker"; None where nothing in it is known."""
    if found := _LIBRARY.search(stderr_text):
        if "libmpi_abi" in found[1]:
            return (
                f"did not find {found[1]}, the library of an MPI with the MPI 5 standard ABI; "
                f"{INSTALL}"
            )
        return f"did not find {found[1]}, a library of its MPI; is it installed on every host?"
    if found := _NO_PROGRAM.search(stderr_text):
        return f"cannot be started there: {found[1]}: {found[2]}"
    said = _RANK_SAYS.findall(stderr_text)
    causes = [line for line in said if not line.endswith(_CONSEQUENCE)]
    # A rank that says why it ends is lost afterwards.
    if causes and "was lost" in causes[0] and (lost := lost_in_words(stderr_text)):
        # The launcher may know how it ended where no other rank does.
        noticed = None if "was killed" in lost else _noticed(" ".join(stderr_text.split()))
        return noticed or _with_status(lost, stderr_text)
    if causes:
        return f"ended: {causes[0].removeprefix('sonde-mpi: ')[:300]}"
    if found := _ABORT.search(stderr_text):
        stack = _ABORT_CAUSE.findall(stderr_text, found.end())
        value = _VALUE.search(stderr_text)
        words = value[0] if value else stack[-1] if stack else found[1].strip().rstrip(",")
        return f"was ended by MPI: {words[:300]}"
    if found := _KILLED.search(stderr_text):
        return f"lost a rank: process {found[1]} on {found[2]} {_how(int(found[3]))}"
    if found := _TASK.search(stderr_text):
        return f"lost rank {found[2]} on {found[1]}: srun says {found[3][:100]!r}"
    if words := _explain_openmpi(" ".join(stderr_text.split())):
        return words
    return f"ended: {said[0].removeprefix('sonde-mpi: ')[:300]}" if said else None


def _with_status(lost: str, stderr_text: str) -> str:
    """What a witness said that came too late to see how its rank ended: Hydra has waited for it."""
    for process, _, status in _KILLED.findall(stderr_text):
        silent = rf"(process {process} on \S+) ended without a word"
        lost = re.sub(silent, rf"\1 {_how(int(status))}", lost)
    return lost


def library_lines(stderr_text: str) -> str:
    """What was written by others than sonde-mpi, on one line without rules."""
    lines = [" ".join(line.split()) for line in stderr_text.splitlines()]
    kept = [s for s in lines if s.strip("-=") and not s.startswith("sonde-mpi:")]
    return " ".join(kept)


def _explain_openmpi(text: str) -> str | None:
    if found := _NO_EXECUTABLE.search(text):
        return f"cannot be started there: {found[1]} is not on every host"
    if found := _COMPONENT.search(text):
        return (
            f"was ended by MPI: {found[1]} has no component {found[3]} of Open MPI's {found[2]}; "
            "look at the variables OMPI_MCA_* and the mca-params.conf"
        )
    if noticed := _noticed(text):
        return noticed
    if _ROOT.search(text):
        return "was not started by mpirun, which refuses to run as root"
    if _NO_WAY.search(text):
        return (
            "was ended by MPI: its ranks cannot reach each other over what Open MPI may use; look "
            "at the variables OMPI_MCA_btl and OMPI_MCA_pml"
        )
    if _LOST_DAEMON.search(text):
        return "lost a host: Open MPI's daemon there has ended"
    if found := _STATUS.search(text):
        return f"lost a rank: rank {found[1]} ended with status {found[2]}"
    return None


def _noticed(text: str) -> str | None:
    """What Open MPI says of a process that a signal ended."""
    found = _NOTICED.search(text)
    if found is None:
        return None
    how = _how(int(found[4]))
    return f"lost rank {found[1]}: process {found[2]} on {found[3]} {how}"


def _how(code: int) -> str:
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(code).name}"
    return f"ended with status {code}"
