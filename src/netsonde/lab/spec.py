"""What a lab is made of, checked, and the addresses that follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netsonde.errors import UsageError
from netsonde.units import format_rate, format_size

MAXIMUM_HOSTS = 64
MINIMUM_RATE_BIT_PER_S = 10**6
MAXIMUM_RATE_BIT_PER_S = 100 * 10**9
MAXIMUM_BUFFER_BYTES = 1 << 30  # the kernel keeps it in 32 bits
MTU_BYTES = 1500
FRAME_HEADER_BYTES = 14  # what a token bucket counts above the IP packet: the Ethernet header
FRAME_BYTES = MTU_BYTES + FRAME_HEADER_BYTES
# What the switch counts above it, as a real line does: preamble, check sequence and gap.
LINE_EXTRA_BYTES = 24
SWITCH_FRAME_BYTES = FRAME_HEADER_BYTES + LINE_EXTRA_BYTES

# A host's own queue, as long as an Ethernet card's (1000 frames). It is the port of the switch that
# has the buffer under test; in a host a full link must slow the sender, not drop what it sends.
HOST_QUEUE_BYTES = 1000 * FRAME_BYTES

# A bucket must hold what the link could have sent while its timer is late, or the rate is missed;
# every message shorter than the bucket passes at once, so it should hold no more.
# docs/reference/lab.md has the figures that these two were chosen by.
BURST_TIME_NS = 256_000
MINIMUM_BURST_FRAMES = 2

# The link towards a host gets what the link from the other has shaped already. With a bucket of the
# same depth it would lose time of its own wherever its timer is late and never make up for it: its
# queue grows until it drops. So it may be late for longer.
PORT_DEPTH_FACTOR = 4

IPV4_NETWORK = "10.77.0.0/24"

_NAME = re.compile(r"^[a-z][a-z0-9-]{0,30}\Z")


@dataclass(frozen=True)
class LabSpec:
    """A cluster: hosts h1 ... hN, each with one link to one switch.

    rate_bit_per_s shapes both directions of each link, None leaves them as fast as they are;
    buffer_bytes is the output buffer of each port of the switch; burst_bytes is the depth of the
    token buckets, None takes one that suits the rate. Sizes count frames without check sequence.
    Where fabric is given, sonde-switch joins the hosts instead: it holds the switch's ``topology``
    and ``loop`` (both as sonde-switch takes them), the ``late_share`` that a run may have, and
    whether to ``calibrate``. host_settings is, by host name, how its processes differ:
    ``slow_down``, ``clock_offset_ns``, ``clock_drift_ppb``.
    Raises UsageError where a value is outside its limits.
    """

    hosts: int = 2
    rate_bit_per_s: int | None = 10**9
    buffer_bytes: int = 256 * 1024
    burst_bytes: int | None = None
    name: str = "lab"
    fabric: Mapping[str, Any] | None = None
    host_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name)
        if not 1 <= self.hosts <= MAXIMUM_HOSTS:
            raise UsageError(f"a lab of {self.hosts} hosts cannot be; give 1 to {MAXIMUM_HOSTS}")
        rate = self.rate_bit_per_s
        if rate is not None and not MINIMUM_RATE_BIT_PER_S <= rate <= MAXIMUM_RATE_BIT_PER_S:
            raise UsageError(
                f"the lab's rate of {format_rate(rate)} is outside its limits; give "
                f"{format_rate(MINIMUM_RATE_BIT_PER_S)} to {format_rate(MAXIMUM_RATE_BIT_PER_S)}"
            )
        _check_size("buffer", self.buffer_bytes)
        if self.burst_bytes is not None:
            _check_size("burst", self.burst_bytes)
            if rate is None:
                raise UsageError("a burst needs a rate; give the lab both or neither")

    @property
    def bucket_bytes(self) -> int:
        """The depth of the token buckets: the one given, else the one that suits the rate."""
        if self.burst_bytes is not None or self.rate_bit_per_s is None:
            return self.burst_bytes or 0
        in_time = self.rate_bit_per_s * BURST_TIME_NS // (8 * 10**9)
        return max(in_time, MINIMUM_BURST_FRAMES * FRAME_BYTES)

    @property
    def port_bucket_bytes(self) -> int:
        """The depth of the token buckets of the switch's ports."""
        return PORT_DEPTH_FACTOR * self.bucket_bytes

    @property
    def host_queue_bytes(self) -> int:
        """How much waits in a host for its link."""
        return max(HOST_QUEUE_BYTES, self.buffer_bytes)

    @property
    def host_names(self) -> list[str]:
        return [host_name(number) for number in range(1, self.hosts + 1)]


def check_name(name: str) -> str:
    """name where it can name a lab. Raises UsageError."""
    if not _NAME.match(name):
        raise UsageError(
            f"{name!r} cannot name a lab; use a letter, then letters, digits and hyphens, "
            "all lower case, 31 at most"
        )
    return name


def host_name(number: int) -> str:
    return f"h{number}"


def ipv4_address(number: int) -> str:
    return f"10.77.0.{number}"


def ipv6_address(number: int) -> str:
    return f"fd77::{number:x}"


def link_address(number: int) -> str:
    """A locally administered Ethernet address."""
    return f"02:77:00:00:00:{number:02x}"


def _check_size(what: str, size_bytes: int) -> None:
    if not FRAME_BYTES <= size_bytes <= MAXIMUM_BUFFER_BYTES:
        raise UsageError(
            f"the lab's {what} of {format_size(size_bytes)} is outside its limits; give one frame "
            f"({FRAME_BYTES} bytes) to {format_size(MAXIMUM_BUFFER_BYTES)}"
        )
