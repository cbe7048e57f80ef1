"""How far samples depend on each other, and how many independent ones they are worth.

Work is done on ranks or on indicators, not on values: latencies have tails so heavy that one
pre-emption of 4 ms decides the autocorrelation of the values.

Geyer's initial sequence is used rather than batch means because it has no batch length to choose
and because it notices short correlation in short series.
"""

import math

import numpy as np
import numpy.typing as npt

from netsonde.stats.arrays import FloatArray, as_samples, midranks

# Of fewer samples the estimate is noise (its standard error is about 1/sqrt(n) at each lag) and
# would take the interval from a third of all series of 6 to 8 independent runs.
LEAST_FOR_DEPENDENCE = 20
_BLOCK = 8192
_FIRST_LAGS, _MORE_LAGS = 1024, 8
_BLOCK_OF_LAGS = 4
_AT_ONCE = 1 << 17


def integrated_autocorrelation_time(centred: FloatArray, *, direct_lags: int = 16) -> float:
    """tau = 1 + 2 sum rho_k of a series whose mean is 0, in samples; 1 for a constant series.

    The sum runs over Geyer's initial monotone sequence: pairs rho_2m + rho_2m+1 as long as they
    are positive, none larger than the one before (Geyer, Practical Markov Chain Monte Carlo,
    Statistical Science 1992, section 3.3). ``direct_lags`` are computed one by one, because most
    series end there; longer ones take FFTs, for ever more lags until there are enough.
    """
    n = centred.size
    variance = _product(centred, centred)
    if n < 4 or variance <= 0.0:
        return 1.0
    total, smallest, lag = 0.0, math.inf, 0
    products: FloatArray | None = None
    while lag + 1 < n:
        if lag + 1 < direct_lags:
            pair = _product(centred[: n - lag], centred[lag:])
            pair += _product(centred[: n - lag - 1], centred[lag + 1 :])
        else:
            if products is None or lag + 1 >= products.size:
                known = _FIRST_LAGS if products is None else _MORE_LAGS * products.size
                products = _lagged_products(centred, min(known, n - 1))
            pair = float(products[lag] + products[lag + 1])
        if pair <= 0.0:
            break
        smallest = min(smallest, pair / variance)
        total += smallest
        lag += 2
    return max(2.0 * total - 1.0, 1.0 / n)


def effective_sample_size(samples: npt.ArrayLike, *, least: int = LEAST_FOR_DEPENDENCE) -> float:
    """n_eff = n / tau: how many independent samples are worth as much; 1 <= n_eff <= n.

    Series with negative autocorrelation are worth more than n; n is returned, to be on the safe
    side. So it is for fewer than ``least`` samples, whose dependence cannot be told. Source: Geyer
    1992; on ranks after Vehtari et al., Rank-Normalization, Folding, and Localization, Bayesian
    Analysis 2021, section 3. Raises ``ValueError`` for no samples.
    """
    array = as_samples(samples, least=1)
    if np.ptp(array) == 0.0:  # whose mean is rarely exact
        return float(array.size)
    ranks = midranks(array)
    return _effective(ranks - ranks.mean(), least)


def effective_at_value(
    samples: FloatArray, value: float, *, least: int = LEAST_FOR_DEPENDENCE
) -> float:
    """The effective sample size that a sample quantile has, by its value; 1 <= n_eff <= n.

    The variance of a sample quantile of a dependent series is governed by the autocorrelation of
    the indicator [x <= quantile] (Sen 1972), which is weaker than that of the values and often much
    weaker in the tail. Samples, shape (n,), equal to the quantile count half, so that clock ticks
    shared by many samples do not hide the dependence. n is returned for fewer than ``least``.
    """
    sign = (samples < value).astype(np.float64) - (samples > value)
    return _effective(sign - sign.mean(), least)


def _effective(centred: FloatArray, least: int) -> float:
    n = centred.size
    if n < least:
        return float(n)
    return float(min(n, max(1.0, n / integrated_autocorrelation_time(centred))))


def _product(a: FloatArray, b: FloatArray) -> float:
    """Their inner product, block by block: the library shares a longer one among threads, whose
    waiting for each other takes a hundred times as long where other programs have the CPUs.
    """
    total = 0.0
    for at in range(0, a.size, _BLOCK):
        total += float(a[at : at + _BLOCK] @ b[at : at + _BLOCK])
    return total


def _lagged_products(centred: FloatArray, lags: int) -> FloatArray:
    """Sums of x_t x_(t + k) for k = 0..lags, shape (lags + 1,), by FFTs of blocks.

    A block is multiplied with itself and the ``lags`` samples behind it; the spectra of the
    products are added up and go back once. Blocks that fit into the CPU's cache take a
    fifth of the time of one FFT of everything.
    """
    length = 1 << (min(_BLOCK_OF_LAGS * (lags + 1), centred.size + lags) - 1).bit_length()
    step = length - lags
    count = -(-centred.size // step)
    padded = np.zeros(count * step + lags)
    padded[: centred.size] = centred
    windows = np.lib.stride_tricks.sliding_window_view(padded, length)[::step]
    blocks = padded[: count * step].reshape(count, step)
    together = max(1, _AT_ONCE // length)
    spectrum = np.zeros(length // 2 + 1, dtype=np.complex128)
    for at in range(0, count, together):
        ahead = np.fft.rfft(windows[at : at + together], axis=1)
        own = np.fft.rfft(blocks[at : at + together], length, axis=1)
        spectrum += (own.conj() * ahead).sum(axis=0)
    return np.asarray(np.fft.irfft(spectrum, length)[: lags + 1], dtype=np.float64)
