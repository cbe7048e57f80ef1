"""Which of a trace's counters mean what."""

from __future__ import annotations

import re

PROCESSOR_KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""That add up to a CPU's time; guests' time is in the first two."""
IDLE_KINDS = ("idle", "iowait")

_LOSSES = (
    r"interface\.(?!lo\.).+\.(?:rx|tx)_(?:dropped|errors|fifo_errors)",
    r"interface\..+\.(?:rx_frame|tx_carrier|tx_collisions)",
    r"qdisc\..+\.(?:drops|requeues)",
    r"softnet\.(?:dropped|squeezed)",
    r"snmp\.Tcp\.(?:RetransSegs|InErrs|AttemptFails|EstabResets)",
    r"netstat\.TcpExt\.(?:TCPTimeouts|TCPLostRetransmit|TCPSynRetrans|TCPSpuriousRTOs"
    r"|ListenDrops|ListenOverflows|TCPBacklogDrop|TCPRcvQDrop|TCPZeroWindowDrop|TCPMemoryPressures"
    r"|PruneCalled|RcvPruned|OfoPruned|TCPAbortOnTimeout|TCPAbortOnMemory)",
    r"snmp6?\.(?:Udp6?\.?|Udp6|UdpLite\.|UdpLite6)(?:InErrors|RcvbufErrors|SndbufErrors"
    r"|InCsumErrors|NoPorts)",
    r"snmp6?\.(?:Ip\.|Ip6)(?:InDiscards|OutDiscards|InHdrErrors|InAddrErrors|OutNoRoutes|ReasmFails"
    r"|FragFails)",
    r"infiniband\..+\.(?:port_xmit_discards|port_rcv_errors|symbol_error|link_error_recovery"
    r"|link_downed|out_of_sequence|packet_seq_err|local_ack_timeout_err|rnr_nak_retry_err"
    r"|np_cnp_sent)",
    r"frequency\.\d+\.(?:core|package)_throttled",
    r"memory\.(?:processes_killed|swapped_in_pages|swapped_out_pages|major_faults)",
)
LOSSES = re.compile("|".join(f"(?:{pattern})" for pattern in _LOSSES))
"""Packets lost or retransmitted, and what slows a host down: each is news where it moves."""

_PARTS = ("cpu.", "interrupt_cpu.", "softirq_cpu.", "softnet_cpu.", "trace.", "driver.")


def is_loss(name: str) -> bool:
    return LOSSES.fullmatch(name) is not None


def is_part_of_another(name: str) -> bool:
    """What is said elsewhere as a sum or share, or is the tracer's own."""
    return name.startswith(_PARTS)


def split_interface(name: str) -> tuple[str, str] | None:
    """``(eth0, rx_bytes)`` of ``interface.eth0.rx_bytes``, whose name may hold dots."""
    if not name.startswith("interface."):
        return None
    interface, _, what = name.removeprefix("interface.").rpartition(".")
    return (interface, what) if interface else None
