"""Quantiles of an algorithm's time, from those of single messages that a run measured.

Method: docs/methods/model-measure.md, "Distributions".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import AskedSchedule
from netsonde.errors import UsageError
from netsonde.launch.schedules import ask_schedules
from netsonde.model.convolved import MOST_MESSAGES, QUANTILES, Message, completion_ns
from netsonde.records.rundir import open_measured
from netsonde.schedules.request import Options, request_fields

Times = npt.NDArray[np.float64]
MOST_STEPS = 2 * MOST_MESSAGES
"""Each message is a step of its sender and one of its receiver."""
SAMPLES_LEAST = 30


@dataclass(frozen=True)
class Convolved:
    """``quantiles_ns``: share -> time of the whole; ``messages`` of the schedule; ``sizes_bytes``
    those whose times were drawn."""

    algorithm: str
    ranks: int
    size_bytes: int
    messages: int
    sizes_bytes: tuple[int, ...]
    quantiles_ns: Mapping[float, float]


def convolve_schedule(algorithm: str, ranks: int, size_bytes: int, directory: Path) -> Convolved:
    """Raises UsageError for an algorithm that there is not, too many messages, and a run without
    round trips."""
    singles = single_times(directory)
    messages = schedule_messages(algorithm, ranks, size_bytes)
    drawn: set[int] = set()
    try:
        found = completion_ns(messages, ranks, times_by_size(singles, drawn))
    except ValueError as error:
        raise UsageError(str(error)) from error
    quantiles = {q: float(np.quantile(found, q)) for q in QUANTILES}
    return Convolved(algorithm, ranks, size_bytes, len(messages), tuple(sorted(drawn)), quantiles)


def times_by_size(
    singles: Mapping[int, Times], drawn: set[int] | None = None
) -> Callable[[int], Times]:
    """What messages of a size take: those of the nearest size that was measured, moved along a
    line. ``drawn`` gets the sizes that were taken."""

    def times_of(size: int) -> Times:
        nearest = min(singles, key=lambda known: abs(np.log((known + 1) / (size + 1))))
        if drawn is not None:
            drawn.add(nearest)
        return singles[nearest] + _between(singles, nearest, size)

    return times_of


def single_times(directory: Path) -> dict[int, Times]:
    """Half of the round trips of each size, shape (n,), ns. Raises UsageError where there are no
    thirty of any."""
    run = open_measured(directory)
    found: dict[int, Times] = {}
    for point in run.points:
        trips = point.series("round_trip_ns")
        if point.kind.is_round_trip and len(trips) >= SAMPLES_LEAST:
            before = found.get(point.message_bytes, np.empty(0))
            found[point.message_bytes] = np.concatenate([before, trips / 2.0])
    if not found:
        raise UsageError(
            f"{directory} has no round trips of single messages; measure them, as netsonde tcp "
            "HOST sweep"
        )
    return found


def _between(singles: Mapping[int, Times], nearest: int, size: int) -> float:
    """What the line through the two nearest sizes' medians adds between a size and the nearest."""
    others = [known for known in singles if known != nearest]
    if size == nearest or not others:
        return 0.0
    other = min(others, key=lambda known: abs(known - size))
    rise = float(np.median(singles[other]) - np.median(singles[nearest]))
    return rise / (other - nearest) * (size - nearest)


def schedule_messages(algorithm: str, ranks: int, size_bytes: int) -> list[Message]:
    """The messages of an algorithm, in its slots. Raises UsageError."""
    return asked_messages(AskedSchedule(algorithm=algorithm), ranks, size_bytes)


def asked_messages(asked: AskedSchedule, ranks: int, size_bytes: int) -> list[Message]:
    """Those of one as ranks were asked for it. Raises UsageError."""
    algorithm = asked.algorithm
    shape = asked.hierarchy
    options = Options(
        size=None if algorithm.startswith("barrier/") else str(size_bytes),
        packet=None if asked.segment_bytes is None else str(asked.segment_bytes),
        fan_out=asked.fan_out,
        permutation=asked.permutation,
        window=asked.window,
        hierarchy=None if shape is None else "x".join(map(str, shape)),
        remap=bool(asked.remap),
    )
    fields = request_fields(algorithm, options)
    request = {"verb": "show", "ranks": ranks, "limit": MOST_STEPS, **fields}
    found = [
        Message(int(step["slot"]), int(step["rank"]), int(step["peer"]), int(step["bytes"]))
        for step in ask_schedules(request)
        if step.get("record") == "step" and step.get("action") == "send"
    ]
    if len(found) > MOST_MESSAGES:
        raise UsageError(
            f"{algorithm} of {ranks} ranks has more than {MOST_MESSAGES} messages; ask for fewer"
        )
    return found
