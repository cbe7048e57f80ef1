"""Rules about a run as a whole: whether it is what it claims, and how its figures lie together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import STEAL_NOTABLE, busiest_cpu, steal_share
from netsonde.explain.evidence import find_point as _point
from netsonde.explain.evidence import ids_of as _ids
from netsonde.explain.evidence import point_in_words as _name
from netsonde.explain.setting_rules import shares_of_cap
from netsonde.explain.sweeps import sweep_findings
from netsonde.figures.compute import find
from netsonde.figures.data import Figure
from netsonde.figures.headlines import fastest_of
from netsonde.figures.throughput import flow_rates_bit_per_s
from netsonde.model.goodput import framing_that_counts, shaped_goodput_bit_per_s
from netsonde.patterns import PATTERNS
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_count, format_rate, format_time

LATE_FRAMES = 2
"""Frames that may be under way when counters are read: a bare acknowledgement of either
connection, or what a switch that is late still holds."""
LEAST_FRAME_BYTES = 40
LARGEST_FRAME_BYTES = 65550
"""Without Ethernet's header, and with it and all that offloads join."""
LINK_SHARE_GOOD = 0.98
"""A stream at this share of what its headers allow is called as fast as the link."""
ENDS_TOLERANCE = 0.002
ENDS_WORRYING = 0.01
"""Less is far within the interval of any throughput."""
CPU_SATURATED = 0.95


def failed_points(seen: Seen) -> list[Finding]:
    failed = [p for p in seen.run.points if p.status == "failed"]
    missing = [p for p in seen.run.points if p.status in ("planned", "partial")]
    findings = []
    if failed:
        findings.append(
            Finding(
                "bad",
                f"{len(failed)} of {len(seen.run.points)} points failed.",
                f"The first: {failed[0].error}",
                _again(seen),
                _ids(failed),
            )
        )
    if missing:
        findings.append(
            Finding(
                "warning",
                f"{len(missing)} of {len(seen.run.points)} points are not measured: the run was "
                "stopped.",
                f"{len(seen.run.points) - len(missing) - len(failed)} points are finished.",
                _again(seen),
                _ids(missing),
            )
        )
    return findings


def _again(seen: Seen) -> str:
    if seen.run.origin == "simulated":
        return f"Simulate again what is in {seen.run.directory / 'scenario.toml'}."
    return f"netsonde study resume {seen.run.directory}"


def what_this_is(seen: Seen) -> list[Finding]:
    path = seen.run.manifest["path"]
    if path.get("notice"):
        return [
            Finding(
                "warning",
                str(path["notice"]),
                "The path of this run is loopback.",
                "Run as root, or allow user namespaces, for an emulated network.",
            )
        ]
    if path.get("kind") == "imported":
        files = seen.run.manifest.get("imported") or ()
        tools = sorted({str(file.get("tool")) for file in files})
        return [
            Finding(
                "note",
                f"The figures of this run are {' and '.join(tools)}'s, not netsonde's.",
                f"{len(seen.run.points)} points of {len(files)} files. Where a figure has one of "
                "netsonde's names it means the same; else its name begins with the tool's.",
                "docs/methods/other-tools.md says what each means.",
            )
        ]
    if path.get("kind") == "lab":
        rate = path.get("rate_bit_per_s")
        parts = [str(path.get("link", "a shaped link"))]
        parts += [format_rate(rate)] if rate else []
        if path.get("buffer_bytes"):
            parts.append(f"buffer {bytes_in_words(path['buffer_bytes'])}")
        latencies = "this machine's kernel and scheduler, not a wire's"
        if "topology" in path:
            latencies = f"the delays that were set and {latencies}"
        return [
            Finding(
                "note",
                "The network of this run is emulated on one machine.",
                f"{', '.join(parts)}. Rates are the link's; latencies are {latencies}.",
            )
        ]
    return []


def link_share(seen: Seen) -> list[Finding]:
    """Best one-way throughput of each transport against what the link allows after headers."""
    path = seen.run.manifest["path"]
    rate = path.get("rate_bit_per_s")
    framing = framing_that_counts(path.get("counted_frame_header_bytes"))
    mtus = {point.id: seen.run.mtu_bytes(point) for point in seen.run.points}
    findings = []
    streams = [h for h in seen.headlines.all if h.key.test == "stream"]
    for transport in sorted({headline.key.transport for headline in streams}):
        headline = fastest_of(streams, transport, "stream")
        if headline is None:
            continue
        best, points = headline.figure, headline.points
        size = bytes_in_words(best.message_bytes)
        of = ", ".join(filter(None, (f"Messages of {size}", headline.condition)))
        text = f"{transport.upper()} carries {format_rate(best.value)} of payload"
        if rate is None:
            findings.append(
                Finding(
                    "note",
                    f"{text} at best.",
                    f"{of}; {headline.basis_in_words()}.",
                    points=points,
                )
            )
            continue
        allowed = shaped_goodput_bit_per_s(
            transport, rate, best.message_bytes, framing=framing, mtu_bytes=mtus[points[0]]
        )
        share = best.value / allowed
        good = share >= LINK_SHARE_GOOD
        paced = _is_paced(_point(seen.run, points[0]))
        basis = headline.basis_in_words()
        measured = _interval(best, format_rate)
        findings.append(
            Finding(
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
        )
    return findings


def _is_paced(point: Point) -> bool:
    options = point.parameters.get("options") or {}
    return "rate_bit_per_s" in point.parameters or "pacing" in options


def faster_than_the_link(seen: Seen) -> list[Finding]:
    """An emulated link is shaped by token buckets, which short messages pass unshaped."""
    path = seen.run.manifest["path"]
    rate, burst = path.get("rate_bit_per_s"), path.get("burst_bytes")
    if not rate or not burst:
        return []
    points = {point.id: point for point in seen.run.points}
    above = [
        replace(figure, value=value)
        for figure in seen.figures
        if figure.name == "throughput_bit_per_s"
        and figure.point in points
        and (value := _over_one_link(points[figure.point], figure.value)) > rate
    ]
    if not above:
        return []
    most = max(above, key=lambda f: f.value)
    return [
        Finding(
            "warning",
            f"{format_count(len(above), 'point')} went faster than the {format_rate(rate)} link "
            "beneath.",
            f"{_name(_point(seen.run, most.point))}: {format_rate(most.value)}. After a pause the "
            f"emulated link lets {bytes_in_words(burst)} pass at once, so messages that are not "
            "much longer do not see its rate.",
            "Judge the link's rate by streams.",
            tuple(f.point for f in above),
        )
    ]


def _over_one_link(point: Point, together: float) -> float:
    """Of the flows of a pattern, which each cross the links of two hosts, what the busiest host
    sends or receives; of any other test all."""
    if point.test not in PATTERNS or not point.batches:
        return together
    ends = point.batches[0].ends
    targets = [rank for rank in sorted(ends) if rank % 2 == 1 and "start_ns" in ends[rank].counters]
    rates = np.median([flow_rates_bit_per_s(batch) for batch in point.batches], axis=0)
    links: dict[tuple[str, int], float] = {}
    for target, rate in zip(targets, rates, strict=False):
        for end in (target - 1, target):
            if end in ends:
                link = (ends[end].host, end % 2)
                links[link] = links.get(link, 0.0) + float(rate)
    return max(links.values(), default=together)


def ends_agree(seen: Seen) -> list[Finding]:
    ratios = {
        p.id: p.checks["ends"]["ratio"]
        for p in seen.run.points
        if p.checks.get("ends", {}).get("ratio")
    }
    if not ratios:
        return []
    worst = max(ratios, key=lambda point: abs(ratios[point] - 1))
    difference = abs(ratios[worst] - 1)
    if difference <= ENDS_TOLERANCE:
        return [
            Finding(
                "good",
                f"Both ends report the same throughput within {difference:.2%}.",
                f"{len(ratios)} stream points; the worst is {_name(_point(seen.run, worst))}.",
            )
        ]
    return [
        Finding(
            "warning" if difference > ENDS_WORRYING else "note",
            f"The two ends differ by {difference:.2%} in throughput at "
            f"{_name(_point(seen.run, worst))}.",
            "The receiving end's figure is the one that is reported.",
            points=(worst,),
        )
    ]


def counters_exact(seen: Seen) -> list[Finding]:
    checked = [p for p in seen.run.points if "counters" in p.checks]
    wrong = [p for p in checked if p.checks["counters"]["exact"] is False]
    if not any(p.checks["counters"]["compared"] for p in checked):
        return []
    compared = sum(p.checks["counters"]["compared"] for p in checked)
    if not wrong:
        return [
            Finding(
                "good",
                "Interface counters equal what the tests sent and received, to the "
                "packet and the byte.",
                f"{compared} comparisons at {format_count(len(checked), 'point')}.",
            )
        ]
    late = [p for p in wrong if all(map(_is_late_frame, p.checks["counters"]["differences"]))]
    findings = []
    if beyond := [p for p in wrong if p not in late]:
        findings.append(_counters_differ(beyond, checked, is_late=False))
    if late:
        findings.append(_counters_differ(late, checked, is_late=True))
    return findings


def _is_late_frame(difference: Mapping[str, int]) -> bool:
    """Whether frames that were under way when the counters were read explain all of it: few, all
    more or all less, and none larger than frames are."""
    packets = difference["packets_counted"] - difference["packets_expected"]
    size = difference["bytes_counted"] - difference["bytes_expected"]
    if not packets or abs(packets) > LATE_FRAMES:
        return False
    return LEAST_FRAME_BYTES <= size / packets <= LARGEST_FRAME_BYTES


def _counters_differ(wrong: Sequence[Point], checked: Sequence[Point], *, is_late: bool) -> Finding:
    differences = wrong[0].checks["counters"]["differences"]
    example = next((d for d in differences if is_late or not _is_late_frame(d)), differences[0])
    what = (
        "differ by a frame or two from what the test sent: those that were under way when they "
        "were read."
        if is_late
        else "are not what the test sent."
    )
    return Finding(
        "note" if is_late else "warning",
        f"At {len(wrong)} of {len(checked)} points the interface counters {what}",
        f"{_name(wrong[0])}: h{example['rank'] + 1} {DIRECTIONS[example['direction']]} "
        f"{example['packets_counted']} packets and {example['bytes_counted']} bytes by its "
        f"interface, {example['packets_expected']} and {example['bytes_expected']} by its "
        "connections.",
        points=_ids(wrong),
        confidence="likely" if is_late else "",
    )


def lab_kept_time(seen: Seen) -> list[Finding]:
    """Whether the emulated switch released frames when its model says."""
    watched = [p for p in seen.run.points if "lab" in p.checks]
    if not watched:
        return []
    late = [p for p in watched if not p.checks["lab"]["valid"]]
    if not late:
        worst = max(watched, key=lambda p: float(p.checks["lab"]["late_share"]))
        check = worst.checks["lab"]
        return [
            Finding(
                "good",
                "The emulated switch kept time.",
                f"At most {check['late_share']:.2%} of a point's frames came out more than "
                f"{format_time(check['late_limit_ns'])} late; {check['allowed_share']:.2%} may.",
            )
        ]
    worst = max(late, key=lambda p: float(p.checks["lab"]["late_share"]))
    check = worst.checks["lab"]
    return [
        Finding(
            "bad",
            f"At {len(late)} of {len(watched)} points the emulated switch was too late: these "
            "figures are not those of the network that was asked for.",
            f"{_name(worst)}: {check['late_share']:.1%} of the frames came out more than "
            f"{format_time(check['late_limit_ns'])} late, p99 {format_time(check['late_p99_ns'])}.",
            "Lower the scenario's rates, keep this machine free of other work, or give the switch "
            "real-time priority (pace.priority).",
            _ids(late),
        )
    ]


def transport_verified(seen: Seen) -> list[Finding]:
    findings = []
    unverified = [
        p for p in seen.run.points if p.checks.get("transport", {}).get("verified") is False
    ]
    if unverified:
        check = unverified[0].checks["transport"]
        findings.append(
            Finding(
                "bad",
                f"The traffic of {format_count(len(unverified), 'point')} did not cross a network "
                "interface: these figures are not a network's.",
                f"{_name(unverified[0])}: {check['payload_bytes']} payload bytes were sent, the "
                f"busiest interface counted {check['interface_bytes']}.",
                "For MPI, switch shared memory off or run the ranks on different hosts.",
                _ids(unverified),
            )
        )
    missing = [p for p in seen.run.points if _check(p, "samples").get("equal") is False]
    if missing:
        check = missing[0].checks["samples"]
        findings.append(
            Finding(
                "bad",
                f"{format_count(len(missing), 'point')} lacked samples.",
                f"{_name(missing[0])}: {check['messages']} messages, {check['samples']} samples.",
                points=_ids(missing),
            )
        )
    return findings


def data_intact(seen: Seen) -> list[Finding]:
    wrong = [p for p in seen.run.points if _check(p, "data").get("intact") is False]
    if not wrong:
        return []
    check = wrong[0].checks["data"]
    return [
        Finding(
            "bad",
            f"{format_count(len(wrong), 'point')} moved wrong data.",
            f"{_name(wrong[0])}: {check['corrupt']} messages or repetitions, first seen on rank "
            f"{check['ranks'][0]}.",
            "Measure it again with another MPI, card or cable: no figure of these points counts.",
            _ids(wrong),
        )
    ]


def saturated(seen: Seen) -> list[Finding]:
    found: dict[str, tuple[Point, float, str]] = {}
    for point in seen.run.points:
        if point.test not in ("stream", "duplex"):
            continue
        for rank in (0, 1):
            cpu, busy = busiest_cpu(point, rank)
            if busy >= CPU_SATURATED:
                found[point.id] = (point, busy, cpu)
    if not found:
        return []
    point, busy, cpu = max(found.values(), key=lambda item: item[1])
    return [
        Finding(
            "note",
            f"A processor was saturated at {format_count(len(found), 'throughput point')}: there "
            "the processor, not the link, may set the limit.",
            f"{_name(point)}: processor {cpu} was {busy:.0%} busy.",
            points=tuple(found),
        )
    ]


def disturbed(seen: Seen) -> list[Finding]:
    worst = max(((steal_share(p), p.id) for p in seen.run.points if p.batches), default=(0.0, ""))
    if worst[0] < STEAL_NOTABLE:
        return []
    return [
        Finding(
            "warning",
            "Other virtual machines took processor time during the run.",
            f"Steal was up to {worst[0]:.1%} of all processor time, at "
            f"{_name(_point(seen.run, worst[1]))}.",
            "Repeat on a quiet or a physical machine.",
            (worst[1],),
        )
    ]


def wide_intervals(seen: Seen) -> list[Finding]:
    capped = [p for p in seen.run.points if p.ended_by == "time" and p.test != "generate"]
    if not capped:
        return []
    share = capped[0].parameters["interval"]
    asked = [item for p in capped for item in p.parameters.get("intervals", {}).items()]
    others = {f"{name} to {wanted:.1%}" for name, wanted in asked}
    goals = ", ".join([f"the median was known to {share:.1%}", *sorted(others)])
    lasted = [share for share in shares_of_cap(capped).values() if share]
    near = f" They lasted {min(lasted):.0%} to {max(lasted):.0%} of it." if lasted else ""
    return [
        Finding(
            "note",
            f"{len(capped)} of {len(seen.run.points)} points reached their time cap "
            f"before {goals}.",
            f"Their intervals are wider than asked and are shown.{near}",
            "Give more time with --time, or cap in the study.",
            _ids(capped),
        )
    ]


def kernel_times(seen: Seen) -> list[Finding]:
    """Where round trips spend their time, and where the kernel would not say."""
    asked = [p for p in seen.run.select() if p.parameters.get("options", {}).get("kernel_times")]
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
        f"Of a round trip at {_name(told[0])} the network takes {network}, the origin's host "
        f"{origin} and the target's {target} (medians)."
    )
    lacking = [f for f in seen.figures if f.name == "stamped_ratio" and f.value < 1]
    worst = min(lacking, key=lambda f: f.value, default=None)
    evidence = "Every round trip has the kernel's stamps at both ends."
    if worst is not None:
        evidence = (
            f"At {_name(_point(seen.run, worst.point))} {worst.value:.2%} of {worst.samples} round "
            "trips have the kernel's stamps at both ends; the others count only as a whole."
        )
    return [*findings, Finding("note", claim, evidence, points=_ids(told))]


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
        f"At {_name(point)} no round trip has all stamps: not at both ends the kernel and the "
        f"device's driver {what}.",
        "The round trips themselves are complete; `ethtool -T` says what a device can.",
        _ids(points),
    )


def sweeps(seen: Seen) -> list[Finding]:
    return sweep_findings(seen.run, seen.figures)


DIRECTIONS = {"tx": "sent", "rx": "received"}


def _check(point: Point, name: str) -> dict[str, Any]:
    check: dict[str, Any] = point.checks.get(name, {})
    return check


def _interval(figure: Figure, show: Callable[[float], str]) -> str:
    if figure.low is None or figure.high is None:
        return show(figure.value)
    return f"{show(figure.value)} ({show(figure.low)} to {show(figure.high)})"
