"""What happened to a stream of numbered datagrams: gaps, variation of delay, order, runs of loss.

Pure functions on arrays of one batch. Delays are the receiver's time of arrival less the sender's
time of departure, in ns; both clocks may differ by a constant, which cancels in everything here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]

JITTER_GAIN = 1.0 / 16.0
"""The share of each new difference in RFC 3550's running mean."""


def gaps_ns(times_ns: Times) -> Times:
    """The times between events, in the order of the array; one fewer than events."""
    return np.diff(times_ns)


def transit_ns(sent_ns: Times, received_ns: Times, sequence: Times) -> Times:
    """Delay of each datagram that arrived, in the order of arrival, up to the clocks' offset.

    sent_ns: departure by sequence number; received_ns and sequence: arrivals. Raises ValueError
    where an arrival has a number that was not sent.
    """
    if len(sequence) and (sequence.min() < 0 or sequence.max() >= len(sent_ns)):
        raise ValueError("a datagram arrived with a number that was not sent")
    return np.asarray(received_ns - sent_ns[sequence])


def delay_variation_ns(transit: Times) -> Times:
    """How much longer than the fastest each datagram took (PDV of RFC 5481, section 4.2)."""
    return transit - transit.min() if len(transit) else transit


def interarrival_jitter_ns(transit: Times) -> float:
    """RFC 3550's interarrival jitter after the last arrival: J += (|D| - J) / 16.

    D is the difference of the transit times of two datagrams that arrived one after the other
    (section 6.4.1). 0 where fewer than two arrived. It forgets: only the last few dozen datagrams
    have weight.
    """
    jitter = 0.0
    for difference in np.abs(np.diff(transit)).tolist():
        jitter += (difference - jitter) * JITTER_GAIN
    return jitter


def reordering_extents(sequence: Times) -> Times:
    """For each datagram that came after one with a greater number: how far back it belongs.

    The extent of RFC 4737, section 4.2.1: the distance, in arrivals, to the earliest datagram that
    has arrived before it and has a greater number. Empty where all came in order.
    """
    if not len(sequence):
        return np.empty(0, np.int64)
    greatest = np.maximum.accumulate(sequence)
    late = np.flatnonzero(sequence < greatest)
    # The running greatest only rises, so the earliest greater one is found by bisection.
    earliest = np.searchsorted(greatest, sequence[late], side="right")
    return np.asarray(late - earliest, np.int64)


def loss_runs(sequence: Times, sent: int) -> Times:
    """Lengths of the runs of datagrams in a row that never arrived (loss periods of RFC 3357)."""
    missing = np.ones(sent + 2, bool)
    missing[0] = missing[-1] = False
    missing[sequence + 1] = False
    edges = np.flatnonzero(np.diff(missing.astype(np.int8)))
    return np.asarray(edges[1::2] - edges[::2], np.int64)
