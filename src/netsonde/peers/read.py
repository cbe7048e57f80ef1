"""Whose output is this, and what does it say?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from netsonde.peers.data import NO_HINTS, FileRead, Hints
from netsonde.peers.iperf3 import looks_like_iperf3, read_iperf3
from netsonde.peers.mpi_tables import looks_like_imb, looks_like_osu, read_imb, read_osu
from netsonde.peers.netperf import looks_like_netperf, read_netperf
from netsonde.peers.netpipe import looks_like_netpipe, read_netpipe
from netsonde.peers.output import UnreadableOutputError, excerpt
from netsonde.peers.sockperf import looks_like_sockperf, read_sockperf


@dataclass(frozen=True)
class Reader:
    looks_like: Callable[[str], bool]
    read: Callable[[str, Hints], FileRead]


READERS: Mapping[str, Reader] = {
    "iperf3": Reader(looks_like_iperf3, read_iperf3),
    "sockperf": Reader(looks_like_sockperf, read_sockperf),
    "netperf": Reader(looks_like_netperf, read_netperf),
    "osu": Reader(looks_like_osu, read_osu),
    "imb": Reader(looks_like_imb, read_imb),
    "netpipe": Reader(looks_like_netpipe, read_netpipe),
}
"""In the order in which they are tried: bare columns of numbers come last."""


def read_output(text: str, tool: str | None = None, hints: Hints = NO_HINTS) -> FileRead:
    """The points of one file, from the tool that is named or found out by the content.

    Raises UnreadableOutputError with one sentence where it is nobody's, or not a whole result.
    """
    name = tool or next((n for n, reader in READERS.items() if reader.looks_like(text)), None)
    if name is None:
        raise UnreadableOutputError(
            f"this is the output of none of {', '.join(READERS)} (iperf3 is read as it writes "
            f"with -J): {excerpt(text[:60])}"
        )
    return READERS[name].read(text, hints)
