"""What limits a transport that is told of memory."""

from __future__ import annotations

from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker

_NO_LIMIT = 1 << 62
"""What a provider says that takes messages of any length."""
_TOLD = (("largest_message_bytes", "max_message_bytes"), ("injected_most_bytes", "inject_bytes"))


@MAKERS.of("bounds")
def _bounds(maker: Maker) -> list[Figure]:
    point = maker.point
    figures = [
        *maker.quantiles("registration", point.series("register_ns")),
        *maker.quantiles("release", point.series("release_ns")),
    ]
    told = point.opened.get(0, {})
    batches = len(point.batches)
    return [
        *figures,
        *(
            maker.figure(name, float(told[key]), batches)
            for name, key in _TOLD
            if 0 < int(told.get(key, 0)) < _NO_LIMIT
        ),
    ]


@MAKERS.of("protection")
def _protection(maker: Maker) -> list[Figure]:
    """Bytes that got through are seen at the end that has them: read at the origin, written at the
    target."""
    point = maker.point
    attempts = point.counter("attempts")
    reached = sum(point.counter("reached", rank) for rank in (0, 1))
    counted = {"refused": point.counter("refused"), "reached": reached}
    return [
        maker.figure(f"trespass_{what}_ratio", count / attempts, attempts)
        for what, count in counted.items()
    ]
