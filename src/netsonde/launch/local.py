"""This machine as a host: both ends can be on it."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from netsonde.errors import UsageError
from netsonde.launch.host import ChildProcess, HostKind

_LOOPBACK = {"ipv4": "127.0.0.1", "ipv6": "::1"}
_FAMILY = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


class LocalHost:
    """This machine."""

    kind: HostKind = "local"

    def __init__(self, name: str = "local") -> None:
        self.name = name

    def address(self, family: str) -> str:
        """The loopback address: the other end is on this machine too."""
        return _LOOPBACK[address_family(family)]

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> ChildProcess:
        return ChildProcess(argv, env=env)


def address_family(family: str) -> str:
    """``ipv4`` or ``ipv6``, checked."""
    if family not in _FAMILY:
        raise UsageError(f"address family {family!r} is unknown; it is ipv4 or ipv6")
    return family


def socket_family(family: str) -> socket.AddressFamily:
    """The socket constant of ``ipv4`` or ``ipv6``."""
    return _FAMILY[address_family(family)]


def source_address(family: str, destination: str) -> str | None:
    """The address that this machine would send from to reach destination (a numeric address).

    Connecting a datagram socket asks the routing table and sends nothing.
    """
    try:
        with socket.socket(socket_family(family), socket.SOCK_DGRAM) as probe:
            probe.connect((destination, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return None
