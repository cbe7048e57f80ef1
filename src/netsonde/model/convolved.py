"""When a schedule ends, as a distribution: measured times of single messages, convolved along it.

Each message of a schedule takes a time drawn from those that were measured of messages alone; it
begins when its sender has all that it waits for, and a rank is done with a step when all of its
messages are. Drawing whole schedules again and again is the convolution that no formula gives for
sums and maxima together. Source: D. A. Grove and P. D. Coddington, Communication benchmarking and
performance modelling of MPI programs on cluster computers, J. Supercomputing 34 (2005), 201-217
(PEVPM). Times in ns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

QUANTILES = (0.1, 0.5, 0.9, 0.99)
DRAWS = 2000
MOST_MESSAGES = 100_000


@dataclass(frozen=True, slots=True)
class Message:
    """``step`` orders a rank's messages: those of a step begin when all of its earlier ones have
    ended."""

    step: int
    sender: int
    receiver: int
    size_bytes: int = 0


def completion_ns(
    messages: Sequence[Message],
    ranks: int,
    one_way_ns: npt.ArrayLike | Callable[[int], npt.NDArray[np.float64]],
    *,
    send_ns: float = 0.0,
    draws: int = DRAWS,
    seed: int = 1,
) -> npt.NDArray[np.float64]:
    """When the last rank is done, shape (draws,), of messages whose one-way times were measured as
    ``one_way_ns``, shape (n,), or what it gives for a size in bytes. ``send_ns``: for so long a
    sender is kept by each message (O_s), so that several of one step leave one after the other.

    Raises ``ValueError`` for no messages, ranks that there are not, or no times.
    """
    times_of = _by_size(messages, one_way_ns)
    if not len(messages) or len(messages) > MOST_MESSAGES:
        raise ValueError(f"{len(messages)} messages; expected 1..{MOST_MESSAGES}")
    if any(not times.size or not np.all(np.isfinite(times)) for times in times_of.values()):
        raise ValueError("no times of single messages to draw from")
    if max(max(one.sender, one.receiver) for one in messages) >= ranks:
        raise ValueError(f"a message is of a rank beyond the {ranks} that there are")
    chance = np.random.default_rng(seed)
    done = np.zeros((ranks, draws))
    for step in sorted({one.step for one in messages}):
        begun, until = done.copy(), done.copy()
        for one in (each for each in messages if each.step == step):
            arrived = begun[one.sender] + chance.choice(times_of[one.size_bytes], draws)
            begun[one.sender] += send_ns
            until[one.sender] = np.maximum(until[one.sender], begun[one.sender])
            until[one.receiver] = np.maximum(until[one.receiver], arrived)
        done = until
    return np.asarray(done.max(axis=0))


def _by_size(
    messages: Sequence[Message],
    one_way_ns: npt.ArrayLike | Callable[[int], npt.NDArray[np.float64]],
) -> dict[int, npt.NDArray[np.float64]]:
    sizes = {one.size_bytes for one in messages}
    if callable(one_way_ns):
        return {size: one_way_ns(size) for size in sizes}
    return dict.fromkeys(sizes, np.asarray(one_way_ns, np.float64))


def slowest_of_ns(
    times_ns: npt.ArrayLike, many: int, *, draws: int = DRAWS, seed: int = 1
) -> npt.NDArray[np.float64]:
    """The slowest of so many at once, each drawn on its own, shape (draws,)."""
    chance = np.random.default_rng(seed)
    return np.asarray(chance.choice(np.asarray(times_ns, np.float64), (draws, many)).max(axis=1))


def gathered_ns(
    times_ns: npt.ArrayLike,
    messages: int,
    gap_ns: float,
    *,
    draws: int = DRAWS,
    seed: int = 1,
) -> npt.NDArray[np.float64]:
    """When the last of so many messages is in, shape (draws,), that leave for one receiver at one
    instant: each takes a time of ``times_ns`` alone, and the receiver one in ``gap_ns`` at most."""
    if messages < 1:
        raise ValueError(f"{messages} messages; expected 1 or more")
    chance = np.random.default_rng(seed)
    alone = chance.choice(np.asarray(times_ns, np.float64), (draws, messages))
    arrivals = np.sort(alone, axis=1)
    # Each waits for those before it: t_i = max(a_i, t_(i-1) + g), so the last one is the greatest
    # of a_i + (n - 1 - i) g.
    behind = gap_ns * np.arange(messages - 1, -1, -1)
    return np.asarray((arrivals + behind).max(axis=1))
