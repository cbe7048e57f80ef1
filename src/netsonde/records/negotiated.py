"""What the two ends of a TCP connection agreed on when they opened it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.records.data import Point

OPTION_BITS = {"timestamps": 1, "selective": 2, "window_scaling": 4}
"""The kernel's TCPI_OPT_TIMESTAMPS, TCPI_OPT_SACK and TCPI_OPT_WSCALE."""
OPTION_SETTINGS = {
    "timestamps": "tcp_timestamps",
    "selective": "tcp_sack",
    "window_scaling": "tcp_window_scaling",
}
"""The setting under net.ipv4 that lets a host agree to each."""


def agreed(
    point: Point,
    option: str,
    hosts: Mapping[str, Mapping[str, Any]],
    connection: str = "test",
) -> bool:
    """Whether a connection uses an option of ``OPTION_BITS``, by its own kernel's TCP_INFO.

    Where no end recorded that (runs of older versions), what the settings of all of the point's
    hosts allow: an option is used only where both ends offer it, and Linux offers all of them
    unless it is told not to. ``hosts`` are facts by host.
    """
    name = f"connection.{connection}.options"
    for batch in point.batches:
        for end in batch.ends.values():
            bits = end.after.values.get(name) if end.after else None
            if bits is not None:
                return bool(bits & OPTION_BITS[option])
    setting = f"sysctl.net.ipv4.{OPTION_SETTINGS[option]}"
    names = {end.host for batch in point.batches for end in batch.ends.values()}
    return all(hosts.get(host, {}).get(setting, 1) != 0 for host in names)
