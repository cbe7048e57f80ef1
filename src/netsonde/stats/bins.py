"""Histograms with a chosen number of bins of equal width or ratio.

:mod:`netsonde.stats.histogram` is the one to keep and to merge; this one is for files and plots
that want so many bins. No sample is lost: those outside are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples

BINS_LIMIT = 100_000


@dataclass(frozen=True)
class Bins:
    """``counts`` of shape (k,) between ``edges`` of shape (k + 1,), the unit of the samples.

    A bin holds low <= x < high, the last one also x = high. ``below`` and ``above`` count the rest.
    """

    edges: FloatArray
    counts: npt.NDArray[np.int64]
    below: int
    above: int

    @property
    def total(self) -> int:
        """Number of samples."""
        return int(self.counts.sum()) + self.below + self.above


def even_bins(samples: npt.ArrayLike, bins: int, width: float | None = None) -> Bins:
    """``bins`` bins of one width: from the least sample to the largest, or of ``width`` from the
    multiple of it at or below the least sample. Raises ``ValueError`` for no samples."""
    array = _checked(samples, bins)
    low, high = float(array.min()), float(array.max())
    if width is not None:
        if not width > 0 or not np.isfinite(width):
            raise ValueError(f"bins of width {width} cannot be had; expected more than 0")
        low = float(np.floor(low / width)) * width
        return _counted(array, low + width * np.arange(bins + 1, dtype=np.float64))
    return _counted(array, np.linspace(low, high if high > low else low + 1.0, bins + 1))


def log_bins(samples: npt.ArrayLike, bins: int) -> Bins:
    """``bins`` bins of one ratio, from the least sample that is more than 0 to the largest; those
    of 0 and less are below. Raises ``ValueError`` where none is more than 0."""
    array = _checked(samples, bins)
    positive = array[array > 0]
    if not positive.size:
        raise ValueError("no sample is more than 0; bins of equal ratio need one")
    low, high = float(positive.min()), float(positive.max())
    edges = np.geomspace(low, high if high > low else 2.0 * low, bins + 1)
    return _counted(array, edges.astype(np.float64))


def _checked(samples: npt.ArrayLike, bins: int) -> FloatArray:
    if not 1 <= bins <= BINS_LIMIT:
        raise ValueError(f"{bins} bins are asked for; expected 1 to {BINS_LIMIT}")
    return as_samples(samples, least=1)


def _counted(array: FloatArray, edges: FloatArray) -> Bins:
    counts, _ = np.histogram(array, edges)
    below = int(np.count_nonzero(array < edges[0]))
    above = int(np.count_nonzero(array > edges[-1]))
    return Bins(edges, counts.astype(np.int64), below, above)
