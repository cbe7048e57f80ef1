"""``netsonde tune library``: where the library is that runs a program's collectives by rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.tuned_library import needs_standard_abi, tuned_library_for


def library(
    program: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROGRAM", help="The program that it is for: by which MPI it was linked with."
        ),
    ] = None,
    mpi: Annotated[
        str, typer.Option("--mpi", metavar="NAME|PATH", help="The MPI, or its mpiexec.")
    ] = "mpich",
) -> None:
    """Print where the library is that lets a program follow rules.

    Give it to the program's ranks as LD_PRELOAD: it is loaded before their MPI, reads the rules
    that NETSONDE_RULES names, and runs collective operations by them. For an MPI without the MPI 5
    standard ABI it is built once.

    Examples: `netsonde tune library`, `netsonde tune library ./program --mpi openmpi`
    """
    wanted = None if program is None else needs_standard_abi(program)
    typer.echo(tuned_library_for(find_mpi(mpi), wanted))
