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

    It is loaded before the program's MPI, reads the rules that NETSONDE_RULES names, and runs its
    collective operations by them. For an MPI without the MPI 5 standard ABI it is built once.

    mpirun -x LD_PRELOAD=$(netsonde tune library ./program) -x NETSONDE_RULES=rules.json ./program
    """
    wanted = None if program is None else needs_standard_abi(program)
    typer.echo(tuned_library_for(find_mpi(mpi), wanted))
