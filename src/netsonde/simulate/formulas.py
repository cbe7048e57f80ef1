"""What the model's formulas say of a point before it is simulated: those that need no trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from netsonde.catalogue.point import Simulation
from netsonde.errors import UsageError
from netsonde.model.congestion import input_efficiency
from netsonde.model.exchanges import (
    group_ns,
    least_exchange_ns,
    pairwise_ns,
    shift_ns,
    synchronous_ns,
)
from netsonde.model.platform import PacketTimes
from netsonde.model.windows import best_node_byte_per_s

FROM_TRACES = "three-states"
"""Eqs. (4.4)-(4.10) need the chances c, a and f, which only a trace gives: see figures."""
UPLINK_BYTE_PER_S = 103e6
"""What an uplink of section 6.3.2 carried, both ways together."""


def formula_value(name: str, spec: Simulation, plan: Mapping[str, Any]) -> float | None:
    """The formula's value in the unit of the figure that is compared; None for one that needs the
    simulated trace. Raises UsageError where there is no such formula, or it does not hold here."""
    if name == FROM_TRACES:
        return None
    known = FORMULAS.get(name)
    if known is None:
        raise UsageError(
            f"no formula is called {name!r}; there are {', '.join([*FORMULAS, FROM_TRACES])}"
        )
    try:
        return known(spec, plan)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"formula {name} does not hold here: {error}") from error


def _given(spec: Simulation, name: str) -> int:
    """Raises ValueError where the scenario has no such number."""
    value = getattr(spec, name)
    if not isinstance(value, int):
        raise ValueError(f"the scenario has no {name}")
    return value


def _input(spec: Simulation, _: Mapping[str, Any]) -> float:
    window, senders, buffer = (_given(spec, k) for k in ("window", "senders", "buffer_packets"))
    return 1.0 if window <= buffer else input_efficiency(window, senders, buffer)


def _exchange(spec: Simulation, plan: Mapping[str, Any]) -> float:
    """Each host's rate of data by Eqs. (5.1)-(5.4), bit/s."""
    times, hosts = packet_times(spec, plan), spec.hosts
    packets, algorithm = _given(spec, "block_packets"), str(spec.operation).split("/")[-1]
    if algorithm == "group-shuffle":
        took = group_ns(times, packets, hosts, plan["workload"]["fan_out"])
    else:
        took = _EXCHANGES.get(algorithm, least_exchange_ns)(times, packets, hosts)
    return float(8e9 * packets * (hosts - 1) * spec.payload_bytes / took)


_EXCHANGES: dict[str, Callable[[PacketTimes, int, int], float]] = {
    "shift": shift_ns,
    "pairwise": pairwise_ns,
    "pairwise-xor": lambda times, packets, ranks: pairwise_ns(times, packets, ranks, "xor"),
    "synchronous-shuffle": synchronous_ns,
}


def _hierarchy(spec: Simulation, _: Mapping[str, Any]) -> float:
    """Each host's rate where the uplinks limit a complete exchange, Eq. (6.4), bit/s."""
    return 8 * best_node_byte_per_s(_given(spec, "leaf_hosts"), spec.hosts, UPLINK_BYTE_PER_S)


def _head_of_line(_: Simulation, __: Mapping[str, Any]) -> float:
    """2 - sqrt 2: what input buffers let pass of uniform traffic on a switch of very many ports."""
    return 2.0 - math.sqrt(2.0)


def packet_times(spec: Simulation, plan: Mapping[str, Any]) -> PacketTimes:
    """The model's parameters of a full packet, from the scenario's own: L is both links' delays,
    the switch's, and the packet's time on the line, twice where the switch stores it."""
    size = spec.payload_bytes + plan["transport"].get("header_bytes", 8)
    first = plan["hosts"][0]
    kind, link = plan["host_kinds"][first["kind"]], plan["link_kinds"][first["link"]]
    names = {switch["name"]: switch["kind"] for switch in plan["switches"]}
    switch = plan["switch_kinds"][names[first["switch"]]]
    slot = spec.slot_ns

    def cost(name: str) -> float:
        table = kind.get(name, {})
        return float(table.get("base_ns", 0) + table.get("per_byte_ns", 0) * size)

    lines = slot if switch["cut_through"] else 2 * slot
    return PacketTimes(
        size,
        spec.hosts,
        cost("send_overhead"),
        max(slot, cost("send_gap")),
        2 * link.get("propagation_ns", 0) + switch["latency_ns"] + lines,
        max(slot, cost("receive_gap")),
        cost("receive_overhead"),
        cost("user_receive_overhead"),
    )


FORMULAS: dict[str, Callable[[Simulation, Mapping[str, Any]], float]] = {
    "input-buffered": _input,
    "exchange": _exchange,
    "hierarchy": _hierarchy,
    "head-of-line": _head_of_line,
}
