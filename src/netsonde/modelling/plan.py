"""Which measurements find a platform's parameters, and which are kept to hold predictions against.

Method: docs/methods/model-measure.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.test import TESTS
from netsonde.catalogue.transport import Framing, Transport, transport_row
from netsonde.errors import UsageError

MTU_BYTES = 1500
"""What a path has where nobody says how large its packets are."""
TIMESTAMP_BYTES = 12
"""TCP's option, in every segment (RFC 7323)."""
LEAST_BYTES = 64
FITTED_SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of a full packet; with the least size five, for lines with intervals."""
SINK_BUFFER = "4M"
"""So that receivers' sockets lose nothing of a burst, which would look like the switch's."""
LARGE = "2k,4k,8k,16k,64k"
"""Messages of many packets, for alpha and beta."""
FEWEST = {"bisection": 4, "converge": 3, "burst": 3}
"""Hosts from which on a test says something that two do not."""
CAPS = {"sends": "3s", "overheads": "1s", "bisection": "1500ms", "converge": "1500ms"}
USUAL_CAP = "800ms"
QUIETER = 2
"""Messages of each sender in a round, so that no usual switch loses any."""


@dataclass(frozen=True)
class Plan:
    """What is measured over what. ``packet_bytes``: payload of a full packet; ``has_kernel_times``:
    whether the kernel's stamps can be had."""

    carrier: Transport
    hosts: tuple[str, ...]
    packet_bytes: int
    has_kernel_times: bool = True

    @property
    def sizes(self) -> list[int]:
        """Of messages that a packet holds."""
        return sorted({LEAST_BYTES, *(round(s * self.packet_bytes) for s in FITTED_SHARES)})

    def has(self, test: str) -> bool:
        """Whether the transport carries a test, and the hosts are enough for it."""
        enough = len(self.hosts) >= max(FEWEST.get(test, 2), TESTS[test].fewest_hosts)
        even = not TESTS[test].in_pairs or len(self.hosts) % 2 == 0
        return test in self.carrier.tests and enough and even


def plan_of(over: str, hosts: Sequence[str], packet_bytes: int | None) -> Plan:
    """Raises UsageError for a transport that cannot be modelled, fewer than two hosts, and a packet
    that is too small to fit lines."""
    known = [name for name in ("link", "udp", "tcp", "mpi") if "sends" in transport_row(name).tests]
    if over not in known:
        raise UsageError(f"--over {over}: expected one of {', '.join(known)}")
    if len(hosts) < 2:
        raise UsageError(
            f"{', '.join(hosts) or 'no host'}: a platform is measured between two hosts or more, "
            "as 'lab:h[1-8]'"
        )
    carrier = transport_row(over)
    usual = MTU_BYTES - carrier.header_bytes
    if carrier.framing is Framing.SEGMENTS:
        usual -= TIMESTAMP_BYTES
    packet = usual if packet_bytes is None else packet_bytes
    if packet < 4 * LEAST_BYTES:
        raise UsageError(f"--packet {packet}: expected {4 * LEAST_BYTES} bytes or more")
    return Plan(carrier, tuple(hosts), packet, carrier.has_sockets)


def study_content(plan: Plan, name: str, blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The tables of a study."""
    if plan.carrier.has_ranks:
        place: dict[str, Any] = {
            "path": {"kind": "hosts"},
            "mpi": {"hosts": list(plan.hosts), "ranks": [len(plan.hosts)]},
        }
    else:
        ends = {"target": plan.hosts[-1], "hosts": list(plan.hosts)}
        place = {"path": {"kind": "hosts", **ends}}
    return {"name": name, "cap": USUAL_CAP, **place, "measure": list(blocks)}


def measured_blocks(plan: Plan) -> list[dict[str, Any]]:
    """What the parameters are fitted to."""
    found = [_block(plan, test, plan.sizes) for test in ("sends", "overheads") if plan.has(test)]
    if plan.has("latency"):
        found.append(_block(plan, "latency", plan.sizes))
    if plan.has_kernel_times:
        found.append(_block(plan, "latency", plan.sizes) | {"options": {"kernel_times": True}})
    found += [_block(plan, t, plan.sizes) for t in ("converge", "bisection") if plan.has(t)]
    if plan.carrier.framing is Framing.SEGMENTS:
        found.append(_block(plan, "pingpong", LARGE))
    if plan.has("burst"):
        found.append(burst_block(plan))
    return found


def burst_block(plan: Plan) -> dict[str, Any]:
    """What alone finds B_L."""
    return _block(plan, "burst", [plan.packet_bytes]) | {"options": {"buffer": SINK_BUFFER}}


def held_out_blocks(plan: Plan, unseen: Sequence[int]) -> list[dict[str, Any]]:
    """At sizes that the fit has not seen: each test at as many as make forty points in all."""
    return [_block(plan, test, sizes) | own for test, sizes, own in _held_out(plan, unseen)]


def _held_out(plan: Plan, unseen: Sequence[int]) -> Iterator[tuple[str, list[int], dict[str, Any]]]:
    many = len(plan.hosts) >= FEWEST["bisection"]
    wanted = {
        "latency": 8 if many else 14,
        "bisection": 4 if many else 6,
        "stream": 6 if many else 12,
        "duplex": 4 if many else 8,
        "converge": 6,
        "ring": 6,
        "incast": 6,
    }
    for test, count in wanted.items():
        if not plan.has(test):
            continue
        # Round trips of a few bytes say the same; a stream of them is the host's affair.
        among = [size for size in unseen if test in ("latency", "bisection") or size >= 200]
        own = {"count": QUIETER} if TESTS[test].has_rounds else {}
        yield test, spread(among, count), own


def unseen_sizes(plan: Plan, seen: Sequence[int]) -> list[int]:
    """Sizes of a packet, none near one that a fit has seen."""
    step = plan.packet_bytes / 40
    near = max(4.0, step / 3)
    every = (round(LEAST_BYTES + step / 2 + number * step) for number in range(40))
    inside = [size for size in every if size < plan.packet_bytes]
    return [size for size in inside if all(abs(size - other) > near for other in seen)]


def spread(values: Sequence[int], count: int) -> list[int]:
    """So many of some, at equal distances; all where there are no more."""
    if len(values) <= count:
        return list(values)
    last = len(values) - 1
    return [values[round(place * last / (count - 1))] for place in range(count)]


def _block(plan: Plan, test: str, sizes: Sequence[int] | str) -> dict[str, Any]:
    written = sizes if isinstance(sizes, str) else ",".join(map(str, sizes))
    return {
        "transports": [plan.carrier.name],
        "test": test,
        "sizes": written,
        "cap": CAPS.get(test, USUAL_CAP),
    }
