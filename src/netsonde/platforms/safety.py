"""``netsonde model safe-window``: from switch and load to windows and timeouts without loss."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from netsonde.errors import UsageError
from netsonde.model.congestion import (
    input_efficiency,
    input_efficiency_approximate,
    largest_safe_window,
    least_time_out_slots,
    loses,
    most_senders,
    recommended_time_out,
)
from netsonde.model.platform import Architecture, Platform
from netsonde.model.windows import (
    best_node_byte_per_s,
    ranks_of,
    under_way,
    uplink_loads,
)
from netsonde.platforms import show
from netsonde.platforms.answers import Answer, in_words
from netsonde.platforms.read import find_platform
from netsonde.units import format_time

_NAMED_BUFFER = re.compile(r":(uplink|port|root)-buffer=(?![\dx]+(?=[:,]|$))([^:,]+)")


@dataclass(frozen=True)
class Switch:
    """Which switch is asked about, and g_r where it is known."""

    architecture: Architecture
    buffer_packets: int
    receive_gap_ns: float | None


def switch_of(
    platform: Platform | None, architecture: Architecture | None, buffer_packets: int | None
) -> Switch:
    """The switch of a platform, with what options say otherwise. Raises UsageError where something
    is missing."""
    gap: float | None = None
    if platform is not None:
        cost = platform.costs.get("receive_gap")
        gap = None if cost is None else cost.at(platform.packet_bytes, platform.ranks or 2)
        if platform.buffer is not None:
            architecture = architecture or platform.buffer.architecture
            buffer_packets = buffer_packets or platform.buffer.packets
    if architecture is None or buffer_packets is None:
        raise UsageError(
            "a window needs the switch: give --architecture and --buffer, or a --platform that has "
            "them"
        )
    return Switch(architecture, buffer_packets, gap)


def many_to_one_answer(switch: Switch, senders: int, window: int | None) -> Answer:
    """Windows and timeouts of many senders to one receiver; what a ``window`` would do."""
    with in_words():
        safe = largest_safe_window(switch.architecture, senders, switch.buffer_packets)
        most = recommended_time_out(switch.architecture, senders, switch.buffer_packets)
        least = least_time_out_slots(switch.buffer_packets)
    document: dict[str, Any] = {
        "architecture": switch.architecture,
        "buffer_packets": switch.buffer_packets,
        "senders": senders,
        "largest_safe_window": safe,
        "time_out_slots": [most.low_slots, most.high_slots],
        "least_time_out_slots": least,
    }
    rule = "W <= B_L" if switch.architecture == "input" else "W P <= B_L"
    lines = [
        f"{senders} senders to one port, {switch.architecture}-buffered,"
        f" B_L {switch.buffer_packets} packets",
        "",
        f"{'largest window without loss':<34}{safe:>12} packets   {rule}",
    ]
    if safe == 0:
        lines += [
            "",
            *show.wrapped(
                "No window is safe: one packet of each sender is more than the port holds. Let"
                f" fewer send at a time, {switch.buffer_packets} at most."
            ),
            "",
        ]
    slots = f"{most.low_slots:.0f} to {most.high_slots:.0f} slots"
    lines.append(f"{'timeout, where packets are lost':<34}{slots:>20}")
    lines.append(f"{'and never below':<34}{f'{least:.0f} slots':>20}   2 B_L")
    if switch.receive_gap_ns is not None:
        low, high = most.in_ns(switch.receive_gap_ns)
        document["time_out_ns"] = [low, high]
        said = f"{format_time(low)} to {format_time(high)}"
        lines.append(f"{'which is, a slot being g_r':<34}{said:>26}")
    if window is not None:
        with in_words():
            more, told = _at_window(switch, senders, window)
        document |= more
        lines += ["", *told]
    return Answer(lines, document)


def _at_window(switch: Switch, senders: int, window: int) -> tuple[dict[str, Any], list[str]]:
    """What a given window does."""
    lost = loses(switch.architecture, window, senders, switch.buffer_packets)
    most = most_senders(switch.architecture, window, switch.buffer_packets)
    document: dict[str, Any] = {"window": window, "loses": lost, "most_senders": most}
    if not lost:
        return document, [f"A window of {window} packets loses nothing."]
    said = f"A window of {window} packets loses some."
    if most:
        said += f" At most {most} senders may have it."
    lines = show.wrapped(said)
    if switch.architecture == "input" and senders > 1:
        exact = input_efficiency(window, senders, switch.buffer_packets)
        about = input_efficiency_approximate(window, senders, switch.buffer_packets)
        document |= {"efficiency": exact, "efficiency_approximate": about}
        lines += show.wrapped(
            f"With Go-Back-N the port then delivers {exact:.4f} of what it could, Eq. (4.2); by its"
            f" approximate form {about:.4f}."
        )
    elif switch.architecture != "input":
        lines += show.wrapped(
            "What is then delivered depends on the chances of loss; netsonde model estimate finds"
            " them from event strings."
        )
    return document, lines


def tree_answer(
    platform: Platform | None, shape: tuple[int, ...], buffer_packets: int | None
) -> Answer:
    """The global window of a complete exchange on a tree, with what its uplink allows."""
    buffer, ceiling = buffer_packets, None
    if platform is not None and platform.uplink is not None:
        buffer = buffer or platform.uplink.buffer.packets
        ceiling = platform.uplink.ceiling_byte_per_s
    if buffer is None:
        raise UsageError(
            "a global window needs the uplink's buffer: give --buffer, or a --platform with uplinks"
        )
    with in_words():
        ranks = ranks_of(shape)
        buffers = [buffer] * (len(shape) - 1)
        loads = {c: uplink_loads(shape, buffers, control=c) for c in (True, False)}
    if not loads[True]:
        raise UsageError(
            f"a tree of {'x'.join(map(str, shape))} has no uplink that carries anything"
        )
    lines = [
        f"Complete exchange of {ranks} hosts, {'x'.join(map(str, shape))}, B_L {buffer} packets",
        "",
        f"{'uplinks above':<16}{'nu':>10}{'W_g':>8}{'W_g without control packets':>34}",
    ]
    levels = []
    for counted, bare in zip(loads[True], loads[False], strict=True):
        levels.append({**asdict(counted), "window_without_control": bare.window})
        name = f"{counted.hosts} hosts"
        lines.append(
            f"{name:<16}{counted.packets_per_step:>10.3f}{counted.window:>8}{bare.window:>34}"
        )
    window = min(load.window for load in loads[True])
    document: dict[str, Any] = {"ranks": ranks, "levels": levels, "window": window}
    if window == 0:
        lines += [
            "",
            *show.wrapped(
                "No window is safe: one packet of each host is more than the uplink holds."
            ),
        ]
    if ceiling is not None:
        best = best_node_byte_per_s(shape[0], ranks, ceiling)
        document["best_node_byte_per_s"] = best
        said = f"at a measured ceiling of {show.mega(ceiling)}, Eq. (6.4)"
        lines += ["", *show.wrapped(f"Each node gets {show.mega(best)} at most, {said}.")]
        nominal = platform.link_bit_per_s / 8 if platform is not None else None
        document["nominal_byte_per_s"] = nominal
        lines += show.wrapped(f"Its own link is nominally {show.mega(nominal)}.")
    lines += _under_way_lines(platform, ranks, window, document)
    return Answer(lines, document)


def _under_way_lines(
    platform: Platform | None, ranks: int, window: int, document: dict[str, Any]
) -> list[str]:
    """Whether the window keeps the pipeline full: ceil(L / g_s)."""
    if platform is None or not {"latency", "send_gap"} <= platform.costs.keys():
        return []
    with in_words():
        needed = under_way(
            platform.at("latency", platform.packet_bytes, ranks),
            platform.at("send_gap", platform.packet_bytes, ranks),
        )
    document["under_way"] = needed
    said = f"ceil(L / g_s) = {needed} packets are under way when all goes to plan"
    verdict = (
        "the window allows it" if needed <= window else "the window stops senders now and then"
    )
    return show.wrapped(f"{said}; {verdict}.")


def with_known_buffers(ways: str) -> str:
    """Algorithms of ``netsonde mpi``, with numbers where ``uplink-buffer``, ``port-buffer`` or
    ``root-buffer`` name a platform. Raises UsageError where it has no such buffer."""

    def packets(match: re.Match[str]) -> str:
        setting, word = match.groups()
        platform = find_platform(word)
        if setting == "uplink":
            known = platform.uplink.buffer if platform.uplink else None
        else:
            known = platform.buffer
        if known is None:
            raise UsageError(f"{setting}-buffer: platform {word[:80]} has no such buffer")
        return f":{setting}-buffer={known.packets}"

    return _NAMED_BUFFER.sub(packets, ways)
