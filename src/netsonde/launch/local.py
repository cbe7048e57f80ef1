"""This machine as a host: both ends can be on it."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from netsonde.catalogue.launcher import HERE
from netsonde.errors import HostError, UsageError
from netsonde.launch.host import ChildProcess, Host, launcher_row
from netsonde.launch.named import HOSTS, Named

_LOOPBACK = {"ipv4": "127.0.0.1", "ipv6": "::1"}
_FAMILY = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


class LocalHost:
    """This machine."""

    kind = HERE.name

    def __init__(self, name: str = HERE.word) -> None:
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


def target_address(origin: Host, target: Host, family: str) -> str:
    """Where test traffic from origin reaches target. Raises HostError."""
    if launcher_row(target).is_here and not launcher_row(origin).is_here:
        # Loopback is this machine's only for itself.
        seen = source_address(family, origin.address(family))
        if seen is None:
            raise HostError(f"this machine has no {family} address that {origin.name} could reach")
        return seen
    return target.address(family)


@HOSTS.of("local")
def _named(_: Named) -> list[Host]:
    return [LocalHost()]
