"""Rules about a run as a whole: whether it is what it claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of, point_in_words
from netsonde.figures.flow_figures import UNAUTHENTIC
from netsonde.records.carried import NODE, carried_by, carried_in_words
from netsonde.records.data import Point
from netsonde.units import bytes_in_words, format_count, format_rate, format_time


def failed_points(seen: Seen) -> Iterator[Finding]:
    failed = [p for p in seen.run.points if p.status == "failed"]
    missing = [p for p in seen.run.points if p.status in ("planned", "partial")]
    if failed:
        yield Finding(
            "bad",
            f"{len(failed)} of {len(seen.run.points)} points failed.",
            f"The first: {failed[0].error}",
            _again(seen),
            ids_of(failed),
        )
    if missing:
        yield Finding(
            "warning",
            f"{len(missing)} of {len(seen.run.points)} points are not measured: the run was "
            "stopped.",
            f"{len(seen.run.points) - len(missing) - len(failed)} points are finished.",
            _again(seen),
            ids_of(missing),
        )


def _again(seen: Seen) -> str:
    if seen.run.origin == "simulated":
        return f"Simulate again what is in {seen.run.directory / 'scenario.toml'}."
    return f"netsonde study resume {seen.run.directory}"


def what_this_is(seen: Seen) -> Iterator[Finding]:
    path = seen.run.manifest["path"]
    if path.get("notice"):
        yield Finding(
            "warning",
            str(path["notice"]),
            "The path of this run is loopback.",
            "Run as root, or allow user namespaces, for an emulated network.",
        )
        return
    if path.get("kind") == NODE:
        yield from _on_one_node(seen)
        return
    if path.get("kind") == "imported":
        files = seen.run.manifest.get("imported") or ()
        tools = sorted({str(file.get("tool")) for file in files})
        yield Finding(
            "note",
            f"The figures of this run are {' and '.join(tools)}'s, not netsonde's.",
            f"{len(seen.run.points)} points of {len(files)} files. Where a figure has one of "
            "netsonde's names it means the same; else its name begins with the tool's.",
            "What each means: netsonde man other-tools",
        )
        return
    if path.get("kind") == "lab":
        rate = path.get("rate_bit_per_s")
        parts = [str(path.get("link", "a shaped link"))]
        parts += [format_rate(rate)] if rate else []
        if path.get("buffer_bytes"):
            parts.append(f"buffer {bytes_in_words(path['buffer_bytes'])}")
        latencies = "this machine's kernel and scheduler, not a wire's"
        if "topology" in path:
            latencies = f"the delays that were set and {latencies}"
        yield Finding(
            "note",
            "The network of this run is emulated on one machine.",
            f"{', '.join(parts)}. Rates are the link's; latencies are {latencies}.",
        )
        return
    return


def _on_one_node(seen: Seen) -> Iterator[Finding]:
    """What carried MPI's messages, with the counters that show it."""
    points = [p for p in seen.run.points if "interface" in p.checks.get("carried", {})]
    checks = [p.checks["carried"] for p in points]
    if not checks:
        return
    most = max(checks, key=lambda check: int(check["least_bytes"]))
    words = carried_in_words(carried_by(points))
    yield Finding(
        "note",
        f"MPI's messages went over {words}: no network is in these figures.",
        f"Of {most['least_bytes']} bytes that were sent at least, {most['interface']}, the busiest "
        f"interface, counted {most['interface_bytes']}.",
        "--within loopback measures TCP within the node, --hosts a network.",
    )


def lab_kept_time(seen: Seen) -> Iterator[Finding]:
    """Whether the emulated switch released frames when its model says."""
    watched = [p for p in seen.run.points if "lab" in p.checks]
    if not watched:
        return
    late = [p for p in watched if not p.checks["lab"]["valid"]]
    if not late:
        worst = max(watched, key=lambda p: float(p.checks["lab"]["late_share"]))
        check = worst.checks["lab"]
        yield Finding(
            "good",
            "The emulated switch kept time.",
            f"At most {check['late_share']:.2%} of a point's frames came out more than "
            f"{format_time(check['late_limit_ns'])} late; {check['allowed_share']:.2%} may.",
        )
        return
    worst = max(late, key=lambda p: float(p.checks["lab"]["late_share"]))
    check = worst.checks["lab"]
    yield Finding(
        "bad",
        f"At {len(late)} of {len(watched)} points the emulated switch was too late: these "
        "figures are not those of the network that was asked for.",
        f"{point_in_words(worst)}: {check['late_share']:.1%} of the frames came out more than "
        f"{format_time(check['late_limit_ns'])} late, p99 {format_time(check['late_p99_ns'])}.",
        "Lower the scenario's rates, keep this machine free of other work, or give the switch "
        "real-time priority (pace.priority).",
        ids_of(late),
    )


def beside_others(seen: Seen) -> Iterator[Finding]:
    """Whether another measurement of netsonde's had one of the hosts at the same time."""
    disturbed = [p for p in seen.run.points if _others_of(p)]
    if not disturbed:
        return
    who = dict.fromkeys(f"{host}: {other}" for p in disturbed for host, other in _others_of(p))
    first, *more = who
    yield Finding(
        "warning",
        f"{format_count(len(disturbed), 'point')} of {len(seen.run.points)} measured while "
        "another measurement had one of the hosts: neither has the figures of hosts that are free.",
        f"{first}{f' and {len(more)} more' if more else ''}.",
        "Measure again; a longer --wait-for-others awaits the end of the other one.",
        ids_of(disturbed),
    )


def _others_of(point: Point) -> list[tuple[str, str]]:
    """(host, who was there) of a point."""
    return [
        (host, str(told[name]))
        for host, told in point.checks.get("exclusion", {}).items()
        for name in ("beside", "meanwhile")
        if told.get(name)
    ]


HANDSHAKE_NS = 1_000_000
REFUSAL_NS = 100_000
"""About what a connection takes of a CPU of the host that serves: a handshake of TLS, or none."""
DISTURBED_SHARE = 0.01


def strangers_met(seen: Seen) -> Iterator[Finding]:
    """Whether the host that serves had others' connections on its hands meanwhile."""
    met = {p.id: _strangers(p) for p in seen.run.points if p.batches}
    points = [p for p in seen.run.points if any(met.get(p.id, ()))]
    if not points:
        return
    worst = max(points, key=lambda p: met[p.id].share)
    found = met[worst.id]
    is_much = found.share >= DISTURBED_SHARE
    yield Finding(
        "warning" if is_much else "note",
        f"At {format_count(len(points), 'point')} others connected to the host that serves while "
        "it was measured.",
        f"{point_in_words(worst)}: {found.handled} handshakes and {found.refused} connections that "
        f"were turned away, about {found.share:.2%} of a CPU's time there.",
        "Measure again, or give netsonde serve an address (--bind) or a list of hosts that may "
        "come (from, in --limits)."
        if is_much
        else "",
        ids_of(points),
    )


class _Met(NamedTuple):
    """``share`` is what they took of a CPU, about, while the point was measured."""

    handled: int
    refused: int
    share: float


def _strangers(point: Point) -> _Met:
    ends = [end.counters for batch in point.batches for end in batch.ends.values()]
    handled, refused = (
        sum(counters.get(f"pairings_{what}", 0) for counters in ends)
        for what in ("handled", "refused")
    )
    told = [c for c in ends if "pairings_handled" in c]
    took_ns = sum(max(0, c.get("end_ns", 0) - c.get("start_ns", 0)) for c in told)
    return _Met(
        handled,
        refused,
        min(1.0, (handled * HANDSHAKE_NS + refused * REFUSAL_NS) / max(took_ns, 1)),
    )


def transport_verified(seen: Seen) -> Iterator[Finding]:
    unverified = [
        p for p in seen.run.points if p.checks.get("transport", {}).get("verified") is False
    ]
    if unverified:
        check = unverified[0].checks["transport"]
        yield Finding(
            "bad",
            f"The traffic of {format_count(len(unverified), 'point')} did not cross a network "
            "interface: these figures are not a network's.",
            f"{point_in_words(unverified[0])}: {check['payload_bytes']} payload bytes were "
            f"sent, the busiest interface counted {check['interface_bytes']}.",
            "For MPI, switch shared memory off or run the ranks on different hosts.",
            ids_of(unverified),
        )
    missing = [p for p in seen.run.points if _check(p, "samples").get("equal") is False]
    if missing:
        check = missing[0].checks["samples"]
        yield Finding(
            "bad",
            f"{format_count(len(missing), 'point')} lacked samples.",
            f"{point_in_words(missing[0])}: {check['messages']} messages, "
            f"{check['samples']} samples.",
            points=ids_of(missing),
        )


def data_intact(seen: Seen) -> Iterator[Finding]:
    wrong = [p for p in seen.run.points if _check(p, "data").get("intact") is False]
    if not wrong:
        return
    check = wrong[0].checks["data"]
    yield Finding(
        "bad",
        f"{format_count(len(wrong), 'point')} moved wrong data.",
        f"{point_in_words(wrong[0])}: {check['corrupt']} messages or repetitions, first seen "
        f"on rank {check['ranks'][0]}.",
        "Measure it again with another MPI, card or cable: no figure of these points counts.",
        ids_of(wrong),
    )


def all_authentic(seen: Seen) -> Iterator[Finding]:
    """Datagrams that another than the other end sent, into the middle of a measurement."""
    found = [
        (count, p)
        for p in seen.run.points
        if (count := p.counter(UNAUTHENTIC, 0) + p.counter(UNAUTHENTIC, 1))
    ]
    if not found:
        return
    count, worst = max(found, key=lambda item: item[0])
    yield Finding(
        "warning",
        f"Datagrams that the other end did not send came at {format_count(len(found), 'point')}; "
        "they were told apart, and none counts as received.",
        f"{point_in_words(worst)}: {format_count(count, 'datagram')} without the other end's tag; "
        f"{worst.counter('messages_received', 1)} with it were received.",
        "Find out who stands between the hosts: something that repeats or alters packets, or "
        "somebody who means to. What it took of the path is in the figures all the same.",
        ids_of(p for _, p in found),
        place="network",
    )


def _check(point: Point, name: str) -> dict[str, Any]:
    check: dict[str, Any] = point.checks.get(name, {})
    return check
