"""gamma of a platform, what joining a byte costs, from the MPI operations of runs.

Method and limits: docs/methods/communication-model.md, "Held against a run".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from netsonde.figures.compute import figures_of
from netsonde.figures.headlines import Headlines
from netsonde.figures.predicted import CARRIES, JOINS, joining_fit
from netsonde.model.fit import Fitted
from netsonde.model.platform import Cost, FitQuality, Origin
from netsonde.platforms.observed import KINDS
from netsonde.records.rundir import open_run

SOURCE = f"what {JOINS} takes longer than {CARRIES} between two ranks, over the size"


def with_reduction(fitted: Fitted, directories: Sequence[Path]) -> Fitted:
    """The same with gamma, where one of the runs shows it: of several the last. The line's start
    is no part of it."""
    for directory in reversed(directories):
        run = open_run(directory)
        fit = joining_fit(run, Headlines(run.points, figures_of(run)))
        if fit is None:
            continue
        quality = FitQuality(
            fit.n, fit.residual, fit.r_squared, {"per_byte_ns": fit.slope_interval}
        )
        origin = Origin(KINDS[run.origin], SOURCE, str(directory))
        cost = Cost(0.0, fit.slope, origin=origin, fit=quality)
        costs = {**fitted.platform.costs, "reduction": cost}
        return replace(fitted, platform=replace(fitted.platform, costs=costs))
    return fitted
