"""Which measurements find a platform's parameters, and which are kept to hold predictions against.

Method: docs/methods/model-measure.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.test import TESTS, Test, names_of
from netsonde.catalogue.transport import TRANSPORTS, Framing, Transport, transport_row
from netsonde.errors import UsageError

MTU_BYTES = 1500
"""What a path has where nobody says how large its packets are."""
TIMESTAMP_BYTES = 12
"""TCP's option, in every segment (RFC 7323)."""
LEAST_BYTES = 64
FITTED_SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of a full packet; with the least size five, for lines with intervals."""
SINK_BUFFER = "4M"
"""So that receivers' sockets lose nothing of a burst, which would look like the switch's. Senders'
keep their size: what has no room there would be dropped by the host's own queue."""
LARGE = "2k,4k,8k,16k,64k"
"""Messages of many packets, for alpha and beta."""
USUAL_CAP = "800ms"
TOGETHER_FROM = 4
"""Hosts that make many: half of them are two."""
STREAMED_BYTES = 200
COSTS = set(names_of("is_cost"))
OPERATIONS = ["bcast", "gather", "allgather"]
"""Of MPI, those whose cost is of alpha and beta alone."""
OPERATION_SIZES = 3
SCHEDULES = {"bcast": "binomial", "allgather": "ring", "alltoall": "pairwise"}
"""Of MPI, algorithms whose steps a prediction follows, where there are enough ranks for steps."""
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
        row = TESTS[test]
        enough = len(self.hosts) >= max(row.fewest_hosts, 2)
        even = not row.in_pairs or len(self.hosts) % 2 == 0
        return test in self.carrier.tests and enough and even

    @property
    def fitted(self) -> list[Test]:
        """The tests that parameters are fitted to."""
        rows = [row for row in TESTS.values() if row.fitted_cap and self.has(row.name)]
        return [row for row in rows if len(self.hosts) >= row.fitted_from]


def plan_of(over: str, hosts: Sequence[str], packet_bytes: int | None) -> Plan:
    """Raises UsageError for a transport that cannot be modelled, fewer than two hosts, and a packet
    that is too small to fit lines."""
    known = [name for name, row in TRANSPORTS.items() if set(row.tests) >= COSTS]
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
    found: list[dict[str, Any]] = []
    for row in plan.fitted:
        if row.overflows:
            found.append(burst_block(plan, row))
        elif row.is_round_trip and row.in_blocks:
            if plan.carrier.framing is Framing.SEGMENTS:
                found.append(_block(plan, row, LARGE))
        else:
            found.append(_block(plan, row, plan.sizes))
            if row.asks_round_trip and row.is_round_trip and plan.has_kernel_times:
                found.append(found[-1] | {"options": {"kernel_times": True}})
    return found


def burst_blocks(plan: Plan) -> list[dict[str, Any]]:
    """What alone finds B_L. Raises UsageError where the transport or the hosts make none."""
    found = [burst_block(plan, row) for row in plan.fitted if row.overflows]
    if not found:
        raise UsageError(
            f"bursts need three hosts or more and datagrams; {len(plan.hosts)} hosts are given, "
            f"over {plan.carrier.name}"
        )
    return found


def burst_block(plan: Plan, row: Test) -> dict[str, Any]:
    """Of full packets, with room for them at the sinks."""
    options = {"target_buffer": SINK_BUFFER} if plan.carrier.has_sockets else {}
    return _block(plan, row, [plan.packet_bytes]) | {"options": options}


def held_out_blocks(plan: Plan, unseen: Sequence[int]) -> list[dict[str, Any]]:
    """At sizes that the fit has not seen: each test at as many as make forty points in all."""
    many = len(plan.hosts) >= TOGETHER_FROM
    found = []
    for row in TESTS.values():
        count = row.held_out[many]
        if not count or not plan.has(row.name):
            continue
        # Round trips of a few bytes say the same; a stream of them is the host's affair.
        short = row.asks_round_trip or row.grows
        among = [size for size in unseen if short or size >= STREAMED_BYTES]
        own = {"count": QUIETER} if row.has_rounds else {}
        found.append(_block(plan, row, spread(among, count)) | own)
    operations = [row for row in TESTS.values() if row.is_operation and plan.has(row.name)]
    for row in operations:
        block = _block(plan, row, spread(unseen, OPERATION_SIZES))
        found.append(block | {"operations": OPERATIONS})
        found += [
            block | {"operations": [operation], "algorithm": algorithm}
            for operation, algorithm in SCHEDULES.items()
            if many
        ]
    return found


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


def _block(plan: Plan, row: Test, sizes: Sequence[int] | str) -> dict[str, Any]:
    written = sizes if isinstance(sizes, str) else ",".join(map(str, sizes))
    return {
        "transports": [plan.carrier.name],
        "test": row.name,
        "sizes": written,
        "cap": row.fitted_cap or USUAL_CAP,
    }
