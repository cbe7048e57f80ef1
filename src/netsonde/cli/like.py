"""``--like TOOL``: a block of a study that measures as another tool does."""

from __future__ import annotations

from typing import Any

from netsonde.errors import UsageError
from netsonde.peers.mpi_techniques import MPI_TOOLS, mpi_technique
from netsonde.peers.techniques import TOOLS, netpipe_perturbation, netpipe_sizes, technique

NETPIPE_LARGEST_BYTES = 1 << 20


def measured_like(
    block: dict[str, Any], like: str | None, omit: str | None, precision: str | None
) -> dict[str, Any]:
    """The block with the tool's defaults for all that was not asked for.

    Raises UsageError for a tool that is not known, or where ``--relative-precision`` was given: it
    measures for a time and not until something is known.
    """
    made = {**block, "like": like, "omit": omit}
    if like is None:  # the study's own check says what omit goes with
        return made
    if like not in TOOLS:
        raise UsageError(f"--like {like!r} is not known; choose one of {', '.join(TOOLS)}")
    if precision is not None:
        raise UsageError(
            f"--like {like} and --relative-precision do not go together: {like} measures for "
            "a time; give --time"
        )
    known = technique(like, block["transports"][0], block["test"])
    if known is None:  # the study's own check says what the tool measures
        return made
    chosen = {name: value for name, value in block["options"].items() if value is not None}
    made["cap"] = block["cap"] or known.time
    made["sizes"] = block["sizes"] or known.sizes
    if like == "netpipe":
        made |= _along_netpipes_schedule(block)
    made["rate"] = block.get("rate") or known.rate
    made["options"] = {**known.options, **chosen}
    return made


def measured_like_mpi(block: dict[str, Any], like: str, usual_sizes: bool) -> dict[str, Any]:
    """The block of an MPI test with the tool's sizes, where none were asked for.

    Raises UsageError where the tool is not known.
    """
    if like not in MPI_TOOLS:
        raise UsageError(f"--like {like!r} is not known; choose one of {', '.join(MPI_TOOLS)}")
    known = mpi_technique(like, block["test"])
    if known is None or not usual_sizes:  # the study's own check says what the tool measures
        return {**block, "like": like}
    return {**block, "like": like, "sizes": known.sizes}


def _along_netpipes_schedule(block: dict[str, Any]) -> dict[str, Any]:
    """Sizes of NetPIPE's own schedule, where none were asked for, and how far from each its
    neighbours are. The study's ``perturb`` makes these, so that they are known as neighbours and
    are not made twice."""
    from netsonde.study.values import expand_sizes  # late, as in study_of

    try:
        sizes = (
            netpipe_sizes(1, NETPIPE_LARGEST_BYTES)
            if block["sizes"] is None
            else expand_sizes(block["sizes"])
        )
    except (UsageError, ValueError) as error:
        raise UsageError(str(error)) from error
    asked = block.get("perturb")
    return {"sizes": sizes, "perturb": netpipe_perturbation(sizes) if asked is None else asked}
