"""Every measured algorithm beside what each model and the simulator say of it, from a platform.

Method: docs/methods/model-measure.md, "Algorithms".
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netsonde.catalogue.point import Collective
from netsonde.errors import HostError, UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.data import Figure
from netsonde.model.along import MODELS, completion
from netsonde.model.convolved import QUANTILES, Message, completion_ns
from netsonde.model.foretold import Foretold
from netsonde.model.platform import Platform
from netsonde.model.score import Scored
from netsonde.modelling.distributions import asked_messages, times_by_size
from netsonde.modelling.played import played
from netsonde.modelling.ranking import Order, Ranked, order_document, order_in_words, order_of
from netsonde.platforms.simulated import simulated_plan
from netsonde.ranks.repetitions import repetition_times_ns
from netsonde.records.data import Point, Run
from netsonde.units import format_time

TIME = "completion_median_ns"
SIMULATOR = "simulator"
LEAST_SINGLES = 30
WIDTH = 80
MOST_MISPLACED = 8


@dataclass(frozen=True)
class Beside:
    """One algorithm at one size: measured, and what each model says, by its name; ``missing`` says
    why a model says nothing. Where ranks share a node nothing is foretold (``shares_node``)."""

    operation: str
    algorithm: str
    size_bytes: int
    ranks: int
    ppn: int
    measured: Figure
    foretold: Mapping[str, Foretold]
    missing: Mapping[str, str]
    quantiles: Mapping[float, tuple[float, float]]

    @property
    def shares_node(self) -> bool:
        return self.ppn > 1

    @property
    def cell(self) -> tuple[str, int, int]:
        return self.operation, self.size_bytes, self.ranks

    @property
    def bounds_ns(self) -> tuple[float, float, float]:
        """The median and its interval; where it has none, it is both ends."""
        value = self.measured.value
        low, high = self.measured.low, self.measured.high
        return value, value if low is None else low, value if high is None else high

    def error(self, model: str) -> float | None:
        """Measured over predicted, less 1."""
        found = self.foretold.get(model)
        return None if found is None else self.measured.value / found.time_ns - 1.0

    def scored(self, model: str, beyond: tuple[str, ...]) -> Scored:
        """As a row of a score. Raises KeyError where that model says nothing."""
        figure = self.measured
        return Scored(
            self.algorithm,
            model,
            self.size_bytes,
            self.ranks,
            self.foretold[model],
            figure.value,
            figure.low,
            figure.high,
            beyond,
            quantiles=self.quantiles,
        )


def is_of_schedule(point: Point) -> bool:
    """Whether one of our schedules did an operation of MPI there."""
    spec = point.spec
    return point.kind.is_operation and isinstance(spec, Collective) and spec.schedule is not None


def algorithms_beside(platform: Platform, run: Run, *, simulate: bool = True) -> list[Beside]:
    """Every point of a run that a schedule made. Raises UsageError where there is none, or a
    schedule cannot be had."""
    points = [one for one in run.points if one.measured and is_of_schedule(one)]
    found = [beside(platform, run, point, simulate=simulate) for point in points]
    if not any(found):
        raise UsageError(
            f"{run.directory} has no operation by an algorithm that was timed: netsonde mpi "
            "alltoall --algorithm pairwise"
        )
    return [one for one in found if one is not None]


def beside(platform: Platform, run: Run, point: Point, *, simulate: bool = True) -> Beside | None:
    """Of one point; None where nothing of it could be timed, as where all windows were missed.
    Raises UsageError where its schedule cannot be had."""
    spec = point.spec.of(Collective)
    assert spec.schedule is not None
    ranks, ppn = spec.ranks or 2, spec.ppn or 1
    measured = next((one for one in figures_of_point(point) if one.name == TIME), None)
    if measured is None:
        return None
    foretold, missing = dict[str, Foretold](), dict[str, str]()
    quantiles: Mapping[float, tuple[float, float]] = {}
    if ppn == 1:
        messages = asked_messages(spec.schedule, ranks, point.message_bytes)
        for name, costs in MODELS.items():
            try:
                foretold[name] = completion(messages, ranks, costs(platform, ranks))
            except ValueError as error:
                missing[name] = str(error)
        quantiles = _quantiles(platform, run, point, messages, ranks)
        if simulate:
            _simulate(platform, run, point, foretold, missing)
    algorithm = spec.schedule.algorithm
    size = point.message_bytes
    operation = point.operation or algorithm.partition("/")[0]
    return Beside(operation, algorithm, size, ranks, ppn, measured, foretold, missing, quantiles)


def order_by(model: str, found: Sequence[Beside]) -> Order:
    """How often a model has the measured order."""
    return order_of(
        Ranked(one.cell, one.algorithm, told.time_ns, *one.bounds_ns)
        for one in found
        if (told := one.foretold.get(model)) is not None
    )


def _simulate(
    platform: Platform,
    run: Run,
    point: Point,
    foretold: dict[str, Foretold],
    missing: dict[str, str],
) -> None:
    try:
        found = simulated_plan(played(platform, run, point))
    except (ValueError, UsageError, HostError) as error:
        missing[SIMULATOR] = str(error)
        return
    if found.time_ns is None:
        missing[SIMULATOR] = f"{found.lost_packets} packets were lost that nobody sends again"
    else:
        foretold[SIMULATOR] = Foretold(found.time_ns, {"simulated": found.time_ns})


def _quantiles(
    platform: Platform, run: Run, point: Point, messages: Sequence[Message], ranks: int
) -> dict[float, tuple[float, float]]:
    """Predicted by convolving the run's own single messages along the schedule, and measured."""
    singles = {
        size: times for size, times in _singles(run, point).items() if len(times) >= LEAST_SINGLES
    }
    if not singles:
        return {}
    kept = platform.at("send_gap", 1, ranks) if "send_gap" in platform.costs else 0.0
    try:
        drawn = completion_ns(messages, ranks, times_by_size(singles), send_ns=kept)
    except ValueError:
        return {}
    times = np.concatenate([repetition_times_ns(batch) for batch in point.batches])
    return {
        q: (float(np.quantile(drawn, q)), float(np.quantile(times, q)))
        for q in QUANTILES
        if len(times) * (1.0 - q) >= 1.0
    }


def _singles(run: Run, point: Point) -> dict[int, np.ndarray]:
    """Half of the round trips under the point's MPI, by size."""
    found: dict[int, list[np.ndarray]] = {}
    for one in run.points:
        trips = one.series("round_trip_ns")
        alike = one.transport == point.transport and one.spec.mpi == point.spec.mpi
        if one.kind.is_round_trip and alike and len(trips):
            found.setdefault(one.message_bytes, []).append(trips / 2.0)
    return {size: np.concatenate(parts) for size, parts in found.items()}


# What it looks like.


def beside_lines(platform: Platform, found: Sequence[Beside]) -> list[str]:
    """For a terminal of 80 columns: each algorithm with all that is foretold of it."""
    lines = [f"{'':<32}{'predicted':>10}{'error':>9}  terms"]
    for one in found:
        lines += _lines(one)
    for model in (*MODELS, SIMULATOR):
        errors = [abs(e) for one in found if (e := one.error(model)) is not None]
        if errors:
            lines.append(
                f"{model:<10} median error {np.median(errors):.1%} of {len(errors)} predictions"
            )
            order = order_by(model, found)
            lines += [f"{'':<10} {order_in_words(order)}"] if order.cells else []
    lines += _misplaced(order_by(SIMULATOR, found))
    if any(one.shares_node for one in found):
        lines += textwrap.wrap(
            f"Shared: ranks share a node; {platform.name} says what messages between nodes take, "
            "so nothing is foretold.",
            WIDTH,
        )
    return lines


def _misplaced(order: Order) -> Iterator[str]:
    for one in order.misplaced[:MOST_MISPLACED]:
        operation, size_bytes, ranks = one.cell
        yield from textwrap.wrap(
            f"{operation}, {size_bytes} bytes, {ranks} ranks: {one.first} was {one.by:.2f} times "
            f"as fast as {one.second}, and is simulated behind it",
            WIDTH,
            subsequent_indent="  ",
        )
    more = len(order.misplaced) - MOST_MISPLACED
    if more > 0:
        yield f"and {more} pairs more, see --json"


def _lines(one: Beside) -> Iterator[str]:
    measured = format_time(one.measured.value)
    yield f"{one.algorithm}, {one.size_bytes} bytes, {one.ranks} ranks: measured {measured}"
    if one.shares_node:
        yield f"  shared: {one.ppn} ranks a node"
        return
    for model in (*MODELS, SIMULATOR):
        told, error = one.foretold.get(model), one.error(model)
        if told is not None and error is not None:
            time = format_time(told.time_ns)
            yield f"  {model:<30}{time:>10}{error:>+9.1%}  {_terms(told)}".rstrip()
        elif model in one.missing:
            yield from textwrap.wrap(f"  {model}: {one.missing[model]}", WIDTH)
    if one.quantiles:
        said = ", ".join(
            f"p{100 * q:g} {format_time(a)} {format_time(b)}" for q, (a, b) in one.quantiles.items()
        )
        yield from textwrap.wrap(f"  convolved, measured: {said}", WIDTH)


def _terms(told: Foretold) -> str:
    """The two that weigh most."""
    ranked = sorted(told.terms, key=lambda name: -told.terms[name])[:2]
    shares = [f"{name} {told.terms[name] / told.time_ns:.0%}" for name in ranked]
    return "" if ranked == ["simulated"] else " ".join(shares)


def beside_document(platform: Platform, found: Sequence[Beside]) -> dict[str, Any]:
    """All of it for JSON; ``error`` is measured over predicted, less 1."""
    orders = {model: order_by(model, found) for model in (*MODELS, SIMULATOR)}
    return {
        "platform": platform.name,
        "algorithms": [_document(one) for one in found],
        "orders": {name: order_document(order) for name, order in orders.items() if order.cells},
    }


def _document(one: Beside) -> dict[str, Any]:
    return {
        "operation": one.operation,
        "algorithm": one.algorithm,
        "message_bytes": one.size_bytes,
        "ranks": one.ranks,
        "ppn": one.ppn,
        "shares_node": one.shares_node,
        "measured_ns": one.measured.value,
        "measured_low_ns": one.measured.low,
        "measured_high_ns": one.measured.high,
        "predictions": [
            {
                "model": model,
                "predicted_ns": told.time_ns,
                "error": one.error(model),
                "terms_ns": dict(told.terms),
            }
            for model, told in one.foretold.items()
        ],
        "missing": dict(one.missing),
        "quantiles": [
            {"share": q, "predicted_ns": a, "measured_ns": b} for q, (a, b) in one.quantiles.items()
        ],
    }
