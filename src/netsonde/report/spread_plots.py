"""How the times of MPI operations spread: bands, distributions, and the ranks behind each peak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from netsonde.extras import how_to_get, is_installed
from netsonde.ranks.repetitions import completion_times_ns, repetition_times_ns
from netsonde.records.data import Point
from netsonde.report.against import OPERATION_AND_SIZE
from netsonde.report.lookup import Study, operation_place, point_label
from netsonde.report.plot import Cell, Column, Plot, Stack, tabled
from netsonde.report.quantity import format_value, list_in_words
from netsonde.report.shapes import shares_panel
from netsonde.stats.bands import DEVIATIONS, MULTIPLES, shares_by_deviation, shares_by_multiple
from netsonde.stats.peaks import Peak, find_peaks
from netsonde.stats.quantiles import least_samples, quantile

if TYPE_CHECKING:
    from netsonde.stats.distributions import DistributionFit

DISTRIBUTIONS = "scipy"
BARS = 24
"""Points whose bands are drawn; the table has all of them."""
REJECTED = 0.05
"""A distribution that fits as badly by chance in fewer cases is not the one."""
FITTED = 24
"""Points whose distribution is sought, those of the smallest sizes: it takes some 0.1 s each."""
QUANTILES = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_COLOURS = ("good", "blue", "system", "orange", "loss", "steal")


def spread(study: Study) -> Plot | None:
    """Shares of repetitions by multiple of the shortest time, with what describes them."""
    points = _points(study)
    if not points:
        return None
    times = [completion_times_ns(p.batches) for p in points]
    bands = [shares_by_multiple(np.maximum(own, 1)) for own in times]
    shown = range(min(BARS, len(points)))
    stack = Stack(
        [point_label(points[i]).removeprefix("MPI ") for i in shown],
        [(name, _COLOURS[n], [bands[i][n] for i in shown]) for n, name in enumerate(_band_names())],
    )
    panel = shares_panel("", "share of the repetitions", stack, 120 + 26 * len(shown))
    fitted = {p.id for p in sorted(points, key=lambda p: p.message_bytes)[:FITTED]}
    rows = [
        _row(point, own, shares, point.id in fitted)
        for point, own, shares in zip(points, times, bands, strict=True)
    ]
    widest = int(np.argmin([shares[0] for shares in bands]))
    left_out = f" {BARS} of {len(points)} are drawn." if len(points) > BARS else ""
    return tabled(
        "collectives-spread",
        "MPI operations: how times spread",
        "Shares of the repetitions whose slowest rank took less than twice the shortest time, two "
        "to three times, and so on. The table adds shares by standard deviations above the mean, "
        "quantiles, "
        "the distribution that fits best with how often it fits as badly by chance (below "
        f"{REJECTED:g}: none of those tried), and the peaks of all ranks' times with the ranks "
        f"that have most of theirs there.{left_out}",
        f"Of {point_label(points[widest])}, {bands[widest][0]:.1%} took less than twice the "
        "shortest time.",
        [panel],
        _COLUMNS,
        rows,
        methods=("collectives#", "rank-clocks#"),
        wide=True,
    )


def _points(study: Study) -> list[Point]:
    """Measured operations, in the order of the list and by size."""
    found = [
        point
        for point in study.run.of_operations
        if point.batches and any(len(repetition_times_ns(b)) for b in point.batches)
    ]
    return sorted(found, key=lambda p: (operation_place(p), p.message_bytes))


def _band_names() -> list[str]:
    inner = [f"{n} to {n + 1} times" for n in range(2, MULTIPLES)]
    return ["below 2 times", *inner, f"{MULTIPLES} times or more"]


_COLUMNS = (
    *OPERATION_AND_SIZE,
    Column("repetitions", "Repetitions", "count"),
    *(
        Column(f"multiple_{n}_ratio", name, "ratio")
        for n, name in enumerate(_band_names(), start=1)
    ),
    *(
        Column(
            f"deviation_{n}_ratio",
            f"{n} to {n + 1} σ" if 0 < n < DEVIATIONS else ("below 1 σ" if not n else f"{n} σ up"),
            "ratio",
        )
        for n in range(DEVIATIONS + 1)
    ),
    *(Column(f"{name}_ns", name, "time_ns") for name in QUANTILES),
    Column("max_ns", "largest", "time_ns"),
    Column("distribution", "Best distribution"),
    Column("distribution_p", "Its p", "number"),
    Column("peaks", "Peaks and their ranks"),
)


def _row(
    point: Point, times: npt.NDArray[np.int64], multiples: Sequence[float], is_fitted: bool
) -> tuple[Cell, ...]:
    positive = times[times > 0]
    fits = _fits(positive) if is_fitted and len(positive) else ()
    stays = {rank: point.series("duration_ns", rank) for rank in sorted(point.batches[0].ends)}
    kept = {rank: own for rank, own in stays.items() if len(own)}
    peaks = find_peaks(kept) if kept else []  # none where ranks summarised their times
    return (
        point.operation,
        point.message_bytes,
        len(times),
        *multiples,
        *shares_by_deviation(times),
        *(
            quantile(times, q) if len(times) >= least_samples(q) else None
            for q in QUANTILES.values()
        ),
        float(times.max()),
        _distribution(fits) if is_fitted else "not sought",
        fits[0].p_value if fits else None,
        "; ".join(_peak(peak, len(stays)) for peak in peaks),
    )


def _fits(positive: npt.NDArray[np.int64]) -> Sequence[DistributionFit]:
    """None where the library of distributions is not there."""
    if not is_installed(DISTRIBUTIONS):
        return ()
    from netsonde.stats.distributions import fit_distributions

    return fit_distributions(positive)


def _distribution(fits: Sequence[DistributionFit]) -> str:
    if not fits:
        return "too few repetitions" if is_installed(DISTRIBUTIONS) else how_to_get(DISTRIBUTIONS)
    best = fits[0]
    return best.name if best.p_value >= REJECTED else f"none (least far: {best.name})"


def _peak(peak: Peak[int], ranks: int) -> str:
    where = f"{format_value(peak.location, 'time_ns')} ({peak.share:.0%})"
    if len(peak.members) == ranks:
        return f"{where}: all ranks"
    if not peak.members:
        return f"{where}: ranks by turns"
    return f"{where}: {'rank' if len(peak.members) == 1 else 'ranks'} {_ranges(peak.members)}"


def _ranges(ranks: Sequence[int]) -> str:
    """``0, 2–5 and 9``."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return list_in_words([str(a) if a == b else f"{a}–{b}" for a, b in runs])
