"""``netsonde model check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netsonde.cli.output import JsonOption, answer
from netsonde.errors import UsageError

MOST_GAMMA_NS = 1e9


def check(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    gamma: Annotated[
        float | None,
        typer.Option(
            metavar="NS", help="ns to join a byte, instead of what the run's reductions show."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Hold the cost model against a run: its alpha, beta and gamma, and for every MPI operation and
    size what each algorithm's formula says, what was measured, and the ratio.

    Example: `netsonde model check runs/20260101-120000-bcast`
    """
    from netsonde.figures.compute import figures_of
    from netsonde.figures.headlines import Headlines
    from netsonde.figures.predicted import against_the_model
    from netsonde.records.rundir import open_measured
    from netsonde.report.predicted import document_of, lines_of

    if gamma is not None and not 0.0 <= gamma <= MOST_GAMMA_NS:
        raise UsageError(f"--gamma {gamma} is no time in ns; expected 0..{MOST_GAMMA_NS}")
    measured = open_measured(run)
    headlines = Headlines(measured.points, figures_of(measured))
    found = against_the_model(measured, headlines, gamma)
    if not found.held and not found.notes:
        raise UsageError(
            f"{run} has none of the operations that there are formulas for; measure some, as "
            "netsonde mpi latency bcast --sizes 64,1k,64k"
        )
    answer(document_of(found), lines_of(found), as_json)
