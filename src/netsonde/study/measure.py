"""One point, measured over an open session by what stands behind its test's row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netsonde.catalogue.test import TESTS
from netsonde.study.plan import PlannedPoint
from netsonde.study.series import MEASURERS, Ending, KeepBatch

if TYPE_CHECKING:
    from netsonde.launch.rounds import AnySession

_MISSING = MEASURERS.missing(name for name, row in TESTS.items() if not row.is_simulated)
if _MISSING:
    raise LookupError(f"nothing measures the test {', '.join(_MISSING)}")


def measure_point(session: AnySession, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """Measures one point; every batch's records are given to ``keep`` first.

    Raises HostError where an end fails; what was kept stays kept.
    """
    return MEASURERS[point.test](session, point, keep)
