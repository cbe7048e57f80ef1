"""Rules about rates beside what the link allows, and both ends' beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from netsonde.catalogue.transport import transport_row
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import find_point, point_in_words
from netsonde.figures.data import Figure
from netsonde.figures.headlines import fastest_of
from netsonde.figures.throughput import target_elapsed_ns
from netsonde.model.goodput import framing_that_counts, shaped_goodput_bit_per_s
from netsonde.records.data import Batch, EndData, Point
from netsonde.units import bytes_in_words, format_count, format_rate

LINK_SHARE_GOOD = 0.98
"""A stream at this share of what its headers allow is called as fast as the link."""
ENDS_TOLERANCE = 0.002
ENDS_WORRYING = 0.01
"""Less is far within the interval of any throughput."""


def link_share(seen: Seen) -> Iterator[Finding]:
    """Best one-way throughput of each transport against what the link allows after headers."""
    path = seen.run.manifest["path"]
    rate = path.get("rate_bit_per_s")
    framing = framing_that_counts(path.get("counted_frame_header_bytes"))
    mtus = {point.id: seen.run.mtu_bytes(point) for point in seen.run.points}
    streams = [h for h in seen.headlines.all if h.key.kind.is_one_way_stream]
    for transport in sorted({headline.key.transport for headline in streams}):
        headline = fastest_of(streams, transport, lambda test: test.is_one_way_stream)
        if headline is None:
            continue
        best, points = headline.figure, headline.points
        size = bytes_in_words(best.message_bytes)
        of = ", ".join(filter(None, (f"Messages of {size}", headline.condition)))
        text = f"{transport_row(transport).title} carries {format_rate(best.value)} of payload"
        if rate is None:
            yield Finding(
                "note",
                f"{text} at best.",
                f"{of}; {headline.basis_in_words()}.",
                points=points,
            )
            continue
        allowed = shaped_goodput_bit_per_s(
            transport, rate, best.message_bytes, framing=framing, mtu_bytes=mtus[points[0]]
        )
        share = best.value / allowed
        good = share >= LINK_SHARE_GOOD
        paced = _is_paced(find_point(seen.run, points[0]))
        basis = headline.basis_in_words()
        measured = _interval(best, format_rate)
        yield Finding(
            "good" if good else "note" if paced else "warning",
            f"{text}: {share:.1%} of what the {format_rate(rate)} link allows after headers.",
            f"{of}; allowed {format_rate(allowed)}, measured {measured}, {basis}.",
            ""
            if good
            else "It was paced on purpose."
            if paced
            else "Look at CPU, retransmits and buffers of this point below.",
            points,
        )


def _is_paced(point: Point) -> bool:
    return point.spec.rate_bit_per_s is not None or point.spec.chosen.pacing is not None


def faster_than_the_link(seen: Seen) -> Iterator[Finding]:
    """An emulated link is shaped by token buckets, which short messages pass unshaped."""
    path = seen.run.manifest["path"]
    rate, burst = path.get("rate_bit_per_s"), path.get("burst_bytes")
    if not rate or not burst:
        return
    points = {point.id: point for point in seen.run.points}
    above = [
        replace(figure, value=value)
        for figure in seen.figures
        if figure.name == "throughput_bit_per_s"
        and figure.point in points
        and (value := _over_one_link(points[figure.point], figure.value)) > rate
    ]
    if not above:
        return
    most = max(above, key=lambda f: f.value)
    yield Finding(
        "note",
        f"After a pause the emulated link lets {bytes_in_words(burst)} pass at once: "
        f"{format_count(len(above), 'point')} went faster than its {format_rate(rate)}.",
        f"{point_in_words(find_point(seen.run, most.point))}: {format_rate(most.value)}. Messages "
        "that are not much longer do not see the link's rate.",
        "Judge the link's rate by streams.",
        tuple(f.point for f in above),
    )


def _over_one_link(point: Point, together: float) -> float:
    """Of the flows of a pattern, which each cross the links of two hosts, what the busiest host
    sends or receives; of any other test all."""
    if not point.kind.is_pattern or not point.batches:
        return together
    batches = [_rates_of_links(batch) for batch in point.batches]
    links = {link for rates in batches for link in rates}
    medians = (np.median([rates.get(link, 0.0) for rates in batches]) for link in links)
    return max(map(float, medians), default=together)


def _rates_of_links(batch: Batch) -> dict[tuple[str, int], float]:
    """What all flows of each host and way carried over the time that they took together: rates of
    flows that begin or end apart do not add up."""
    flows: dict[tuple[str, int], list[tuple[EndData, EndData]]] = {}
    for rank, target in batch.ends.items():
        origin = batch.ends.get(rank - 1)
        if rank % 2 == 1 and origin is not None and "start_ns" in target.counters:
            for end, way in ((origin, 0), (target, 1)):
                flows.setdefault((end.host, way), []).append((end, target))
    return {link: _rate_together(found) for link, found in flows.items()}


def _rate_together(flows: Sequence[tuple[EndData, EndData]]) -> float:
    """Of flows with their ends at one host, whose clock is one, and their targets."""
    here = [end.counters for end, _ in flows if "start_ns" in end.counters]
    span_ns = max(c["end_ns"] for c in here) - min(c["start_ns"] for c in here) if here else 0
    lasted_ns = max(span_ns, *(target_elapsed_ns(target) for _, target in flows))
    received = sum(target.counters.get("bytes_received", 0) for _, target in flows)
    return 8e9 * received / lasted_ns if lasted_ns > 0 else 0.0


def ends_agree(seen: Seen) -> Iterator[Finding]:
    ratios = {
        p.id: p.checks["ends"]["ratio"]
        for p in seen.run.points
        if p.checks.get("ends", {}).get("ratio")
    }
    if not ratios:
        return
    worst = max(ratios, key=lambda point: abs(ratios[point] - 1))
    difference = abs(ratios[worst] - 1)
    if difference <= ENDS_TOLERANCE:
        yield Finding(
            "good",
            f"Both ends report the same throughput within {difference:.2%}.",
            f"{len(ratios)} stream points; the worst is "
            f"{point_in_words(find_point(seen.run, worst))}.",
        )
        return
    yield Finding(
        "warning" if difference > ENDS_WORRYING else "note",
        f"The two ends differ by {difference:.2%} in throughput at "
        f"{point_in_words(find_point(seen.run, worst))}.",
        "The receiving end's figure is the one that is reported.",
        points=(worst,),
    )


def _interval(figure: Figure, show: Callable[[float], str]) -> str:
    if figure.low is None or figure.high is None:
        return show(figure.value)
    return f"{show(figure.value)} ({show(figure.low)} to {show(figure.high)})"
