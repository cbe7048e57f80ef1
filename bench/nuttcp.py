"""nuttcp: one-way streams, its receiver's figures."""

from __future__ import annotations

from dataclasses import dataclass

from bench.keyed import amount, key_values, positive
from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.settings import BUFFER_BYTES, KIB

_MEGABYTE = 1 << 20  # what it calls one; its megabits are of 10**6 bits


@dataclass(frozen=True)
class NuttcpStream:
    """One run of ``nuttcp -t -fparse``; rates and bytes are the receiver's.

    lost_ratio is None for TCP, retransmits for UDP.
    """

    received_bit_per_s: float
    received_bytes: int
    lost_ratio: float | None
    retransmits: int | None


def parse_nuttcp(text: str, *, datagrams: bool) -> NuttcpStream:
    """The line that the transmitter prints. Raises UnreadableOutputError."""
    values = key_values(text)

    def some(key: str) -> float:
        return amount(values, key, "nuttcp", text)

    return NuttcpStream(
        received_bit_per_s=positive(values, "rate_Mbps", "nuttcp", text) * 1e6,
        received_bytes=round(positive(values, "megabytes", "nuttcp", text) * _MEGABYTE),
        lost_ratio=some("data_loss") / 100.0 if datagrams else None,
        retransmits=None if datagrams or "retrans" not in values else round(some("retrans")),
    )


def stream(route: Route, extent: Extent, message_bytes: int, *, datagrams: bool) -> Measured:
    """As fast as it goes; nuttcp paces datagrams to 1 Mbit/s unless it is told otherwise."""
    control, data = free_port(datagrams=False), free_port(datagrams=datagrams)
    options = " -u -R0" if datagrams else ""
    tool = Tool(
        # It forks into the background unless it is told to stay.
        server=f"nuttcp -1 -4 -P{control} --nofork --no3rdparty".split(),
        client=(
            f"nuttcp -t -4 -P{control} -p{data} -l{message_bytes} -w{BUFFER_BYTES // KIB} "
            f"-T{extent.duration_s} -fparse{options} {route.target.address('ipv4')}"
        ).split(),
        port=control,
    )
    result = parse_nuttcp(run_tool(route, tool, extent.timeout_s).output, datagrams=datagrams)
    return Measured(result.received_bit_per_s, {**vars(result), "command": tool.command})
