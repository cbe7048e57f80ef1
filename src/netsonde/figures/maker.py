"""Figures of a point, made the same way everywhere: names, intervals, what they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.known_figures import figure_kind
from netsonde.catalogue.test import TESTS, names_of
from netsonde.figures.data import Figure
from netsonde.patterns import STREAM_PATTERNS
from netsonde.records.data import Point
from netsonde.stats.arrays import as_samples, sorting_order
from netsonde.stats.independence import effective_at_value
from netsonde.stats.means import mean_interval
from netsonde.stats.proportions import wilson_interval
from netsonde.stats.quantiles import Interval, least_samples, quantile, quantile_interval
from netsonde.stats.resolution import with_width
from netsonde.stats.warmup import find_steady_part

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class Maker:
    """Makes figures of one point. ``method`` is the place that defines one, where its row has
    several."""

    point: Point

    def figure(
        self,
        name: str,
        value: float,
        samples: int,
        low: float | None = None,
        high: float | None = None,
        effective: float | None = None,
        *,
        method: str = "",
    ) -> Figure:
        point = self.point
        return Figure(
            point.id,
            point.transport,
            point.test,
            point.operation,
            point.message_bytes,
            name,
            value,
            low,
            high,
            samples,
            effective,
            method or figure_kind(name).method,
        )

    def quantile(
        self,
        name: str,
        samples: npt.NDArray[np.generic],
        q: float,
        ordered: npt.NDArray[np.generic] | None = None,
        *,
        method: str = "",
    ) -> Figure:
        """A quantile with its interval; ``ordered`` are the samples where somebody sorted them.

        Of times that are all alike there is but one value, and nothing says how exactly the clock
        tells it: no interval."""
        if ordered is None:
            ordered = np.sort(samples)
        value = quantile(ordered, q, presorted=True)
        effective = effective_at_value(as_samples(samples), value)
        found = quantile_interval(ordered, q, n_eff=effective, presorted=True)
        interval = _resolved(found, ordered, name)
        return self.figure(
            name,
            value,
            len(samples),
            interval.low if interval else None,
            interval.high if interval else None,
            effective if interval or not found else None,
            method=method,
        )

    def mean(self, name: str, samples: npt.NDArray[np.generic], *, method: str = "") -> Figure:
        """The mean of a series in its order, with its interval; none of too few samples."""
        count = len(samples)
        plain = mean_interval(as_samples(samples))
        found = _resolved(plain, samples, name)
        low, high = (found.low, found.high) if found else (None, None)
        effective = float(count) if found or not plain else None
        value = float(samples.mean())
        return self.figure(name, value, count, low, high, effective, method=method)

    def ratio(self, name: str, part: int, whole: int, *, method: str = "") -> Figure:
        low, high = wilson_interval(part, whole)
        return self.figure(name, part / whole if whole else 0.0, whole, low, high, method=method)

    def quotient(self, name: str, over: Figure, under: Figure, factor: float = 1.0) -> Figure:
        """So many times one median over another; its interval is that of the intervals' outer ends,
        so wider than 95 %."""
        low = high = None
        if over.low and over.high and under.low and under.high:
            low, high = factor * over.low / under.high, factor * over.high / under.low
        samples = min(over.samples, under.samples)
        return self.figure(name, factor * over.value / under.value, samples, low, high)

    def times(
        self,
        prefix: str,
        samples: npt.NDArray[np.generic],
        page: str,
        orders: Mapping[str, float] = QUANTILES,
    ) -> list[Figure]:
        """Quantiles with intervals, mean, least and largest of times; the warm-up is left out of
        the quantiles and the mean, never of the extremes. ``page`` of docs/methods defines them."""
        order = sorting_order(samples)
        begin = find_steady_part(samples, order=order).begin
        steady = samples[begin:]
        ordered = as_samples(samples[order[order >= begin]])
        values = as_samples(steady)
        figures = [
            self.quantile(f"{prefix}_{name}_ns", values, q, ordered, method=f"{page}#quantiles")
            for name, q in orders.items()
            if len(values) >= least_samples(q)
        ]
        least, most, extremes = float(samples.min()), float(samples.max()), f"{page}#extremes"
        figures += [
            self.figure(f"{prefix}_min_ns", least, len(samples), method=extremes),
            self.figure(f"{prefix}_max_ns", most, len(samples), method=extremes),
            self.mean(f"{prefix}_mean_ns", steady, method=f"{page}#mean"),
        ]
        return figures

    def quantiles(
        self, prefix: str, samples: npt.NDArray[np.int64], *, method: str = ""
    ) -> list[Figure]:
        """Median and, of enough samples, p99."""
        ordered, values = as_samples(np.sort(samples)), as_samples(samples)
        return [
            self.quantile(f"{prefix}_{name}_ns", values, QUANTILES[name], ordered, method=method)
            for name in ("median", "p99")
            if len(values) >= least_samples(QUANTILES[name])
        ]


def _resolved(
    interval: Interval | None, samples: npt.NDArray[np.generic], name: str
) -> Interval | None:
    """At least as wide as the samples resolve; times are kept in whole ns."""
    return with_width(interval, samples, 1.0 if name.endswith("_ns") else 0.0)


MAKERS: Behind[Callable[[Maker], list[Figure]]] = Behind(
    TESTS,
    {
        "netsonde.figures.all_pairs": names_of("is_round"),
        "netsonde.figures.bounds": names_of("is_bounds"),
        "netsonde.figures.costs": names_of("is_of_costs", "grows", "overflows"),
        "netsonde.figures.every_pair": names_of("is_all_pairs"),
        "netsonde.figures.mpi_figures": names_of("is_operation", "compares_clocks"),
        "netsonde.figures.pattern_figures": (
            *STREAM_PATTERNS,
            *names_of("is_whole", "has_rounds", "has_victim"),
        ),
        "netsonde.figures.simulated": names_of("is_simulated"),
        "netsonde.figures.threads": names_of("has_threads"),
    },
)
"""By test, the figures of a point with batches, each function registered in its own file. Those of
compute.py, which all runs need, are there when anybody asks."""
