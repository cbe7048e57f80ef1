"""When a point has been measured for long enough, and well enough.

The stopping rule follows Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems
(SC15), rule 5: repeat until the interval of the reported statistic is within the asked share of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netsonde.catalogue.point import PointSpec
from netsonde.stats.stopping import Need, needs_more

TICK_NS = 4_000_000
"""Of a kernel's timer, where it is slow: what happens by timers happens within one."""
BUSY_PERIOD_NS = 10_000_000
"""Of other work on a host: it takes its share once in it."""
PERIODS_LEAST = 20
"""So many periods of whatever may bear on it a point lasts."""
ORDERS = {"p90": 0.9, "p99": 0.99, "p999": 0.999}


def least_ns(asked: PointSpec) -> int:
    """How long the repetitions of a point last at least, all together, where it ends because enough
    is known: so many periods of the slowest thing that it is about, and no longer than its cap."""
    periods = [TICK_NS, 1000 * (asked.chosen.busy_poll_us or 0)]
    if asked.chosen.busy is not None:
        periods.append(BUSY_PERIOD_NS)
    return int(min(PERIODS_LEAST * max(periods), asked.cap_ns))


def further_needed(samples: np.ndarray[Any, np.dtype[Any]], asked: PointSpec) -> Need:
    """What the median and each quantile that was asked for still need of samples; these are those
    after the warm-up, shape (n,), any unit."""
    needs = [needs_more(samples, asked.interval)]
    needs += [
        needs_more(samples, share, order=ORDERS[name])
        for name, share in (asked.intervals or {}).items()
    ]
    return max(needs, key=lambda need: (not need.enough, need.suggested_further_samples))
