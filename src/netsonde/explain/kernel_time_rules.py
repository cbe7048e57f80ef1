"""Where round trips spend their time by the kernels' stamps, and where a kernel would not say."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import find_point, ids_of, point_in_words
from netsonde.figures.compute import find
from netsonde.records.data import Point
from netsonde.units import format_count, format_time


def kernel_times(seen: Seen) -> list[Finding]:
    """Where round trips spend their time, and where the kernel would not say."""
    asked = [p for p in seen.run.select() if p.spec.chosen.kernel_times]
    untold = [p for p in asked if find(seen.figures, "network_median_ns", p.id) is None]
    findings = [_kernel_said_nothing(untold)] if untold else []
    told = [p for p in asked if p not in untold]
    if not told:
        return findings
    parts = {
        name: find(seen.figures, f"{name}_median_ns", told[0].id)
        for name in ("network", "origin_host", "target_host")
    }
    values = {name: figure.value for name, figure in parts.items() if figure is not None}
    network, origin, target = (format_time(values[name]) for name in parts)
    claim = (
        f"Of a round trip at {point_in_words(told[0])} the network takes {network}, the origin's "
        f"host {origin} and the target's {target} (medians)."
    )
    lacking = [f for f in seen.figures if f.name == "stamped_ratio" and f.value < 1]
    worst = min(lacking, key=lambda f: f.value, default=None)
    evidence = "Every round trip has the kernel's stamps at both ends."
    if worst is not None:
        evidence = (
            f"At {point_in_words(find_point(seen.run, worst.point))} {worst.value:.2%} of "
            f"{worst.samples} round trips have the kernel's stamps at both ends; the others count "
            "only as a whole."
        )
    return [*findings, Finding("note", claim, evidence, points=ids_of(told))]


def _kernel_said_nothing(points: Sequence[Point]) -> Finding:
    point = points[0]
    refused = [rank for rank, end in point.opened.items() if end.get("kernel_times") is False]
    lacking = [
        name
        for name in ("queue", "driver", "arrival")
        for rank in (0, 1)
        if point.counter(f"unstamped_{name}", rank)
    ]
    what = "stamps messages" if refused else f"stamps the {' and '.join(dict.fromkeys(lacking))}"
    return Finding(
        "warning",
        f"At {format_count(len(points), 'point')} round trips are not divided: the kernel's "
        "times are missing.",
        f"At {point_in_words(point)} no round trip has all stamps: not at both ends the kernel and "
        f"the device's driver {what}.",
        "The round trips themselves are complete; `ethtool -T` says what a device can.",
        ids_of(points),
    )
