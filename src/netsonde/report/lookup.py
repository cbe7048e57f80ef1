"""Finding the figures and points that a table or plot needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netsonde.figures import Figure
from netsonde.records.data import Point, Run
from netsonde.report.quantity import size_text
from netsonde.report.theme import in_order, transport_name

THROUGHPUT_TESTS = ("stream", "duplex", "pingpong")


@dataclass(frozen=True)
class Study:
    """A run with its figures, and the questions that are asked of them again and again."""

    run: Run
    figures: Sequence[Figure]

    def figure(self, point: Point, name: str) -> Figure | None:
        """The figure of that name at a point, or None."""
        return next((f for f in self.of_point(point) if f.name == name), None)

    def of_point(self, point: Point) -> list[Figure]:
        return [f for f in self.figures if f.point == point.id]

    @property
    def transports(self) -> list[str]:
        """Those with at least one measured point, the thinnest layer first."""
        return in_order({p.transport for p in self.run.select()})

    def smallest_latency_point(self, transport: str) -> Point | None:
        """The latency point of the smallest size that has samples."""
        return next(
            (p for p in self.run.select(transport, "latency") if len(p.series("round_trip_ns"))),
            None,
        )

    def smallest_imported_latency(self, transport: str) -> Point | None:
        """The same of those whose median another tool gave, without samples."""
        return next(
            (
                p
                for p in self.run.select(transport, "latency")
                if self.figure(p, "round_trip_median_ns") is not None
            ),
            None,
        )

    def fastest_point(self, transport: str, tests: Iterable[str]) -> Point | None:
        """The point of the first of the tests that was measured, with the highest throughput."""
        for test in tests:
            rated = [
                (figure.value, point)
                for point in self.run.select(transport, test)
                if (figure := self.figure(point, "throughput_bit_per_s"))
            ]
            if rated:
                return max(rated, key=lambda pair: pair[0])[1]
        return None

    def plain_points(self, transport: str, test: str) -> list[Point]:
        """Measured points that are not one of several with different options, nor a few bytes
        beside another one."""
        points = self.run.select(transport, test)
        return [p for p in points if not p.label and "perturbed_bytes" not in p.parameters]

    def throughput_points(self) -> list[Point]:
        """Measured stream, duplex and ping-pong points, by transport, test and size."""
        return [
            p
            for t in self.transports
            for test in THROUGHPUT_TESTS
            for p in self.run.select(t, test)
        ]

    @property
    def rate_bit_per_s(self) -> float | None:
        """What the link allows before headers, where it is known."""
        rate = (self.run.manifest.get("path") or {}).get("rate_bit_per_s")
        return float(rate) if isinstance(rate, int | float) and rate > 0 else None

    @property
    def host_names(self) -> list[str]:
        """The hosts of the manifest; where it names none, those that wrote records."""
        named = list(self.run.manifest.get("hosts") or {})
        seen = {e.host: None for p in self.run.points for b in p.batches for e in b.ends.values()}
        return named or list(seen)


def point_label(point: Point) -> str:
    """``TCP latency 64``, ``MPI bcast 1k``."""
    what = point.operation or point.test
    size = "" if point.operation == "barrier" else f" {size_text(point.message_bytes)}"
    load = point.parameters.get("load_ratio")
    at = "" if load is None else f" at {load:.0%}"
    flows = f" × {point.flows}" if point.flows > 1 else ""
    options = f", {point.label}" if point.label else ""
    return f"{transport_name(point.transport)} {what.replace('_', ' ')}{size}{flows}{at}{options}"
