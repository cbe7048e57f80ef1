"""The two ends of a test: which hosts they are, and a session between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from netsonde.errors import UsageError
from netsonde.hosts import parse_endpoint, parse_host
from netsonde.hpcbench.options import PORTS, Settings, has_no_server
from netsonde.hpcbench.ranks import open_ranks
from netsonde.hpcbench.requests import socket_options
from netsonde.launch.generator import open_generator
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import open_pair
from netsonde.launch.session import Record


class Session(Protocol):
    """An open path for batches, and the counters of its hosts. Use it in a ``with`` statement."""

    @property
    def opened(self) -> dict[int, Record]:
        """What each end obtained, by rank."""

    @property
    def host_names(self) -> tuple[str, ...]:
        """The keys of facts(), the client's first."""

    def facts(self) -> dict[str, Record]: ...

    def snapshots(self) -> list[Record]: ...

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]: ...

    def __enter__(self) -> Session: ...

    def __exit__(self, *_: object) -> None: ...


def open_session(settings: Settings) -> Session:
    """Ready for batches. Raises UsageError or HostError."""
    if settings.carrier.has_ranks:
        return open_ranks(settings)
    origin, target = hosts_of(settings)
    origin_options, target_options = socket_options(settings)
    if settings.mode == "generator":
        port = settings.port or PORTS[settings.transport]
        return open_generator(
            origin,
            target.address(settings.family),
            port,
            settings.family,
            origin_options,
            transport=settings.transport,
        )
    return open_pair(
        origin,
        target,
        settings.transport,
        family=settings.family,
        options=origin_options,
        target_options=target_options,
    )


def hosts_of(settings: Settings) -> tuple[Host, Host]:
    """Client and server."""
    named = parse_host(_server(settings), pair=settings.pair)
    if len(named) == 2:  # lab:h1,h2 names both ends
        return named[0], named[1]
    if launcher_row(named[0]).is_closed:
        raise UsageError(
            f"-h {settings.host}: a host of the lab reaches only hosts of the same lab; "
            "name both ends, as lab:h1,h2"
        )
    return LocalHost(), named[0]


def _server(settings: Settings) -> str:
    """The host with the port of its server, where it has one."""
    if settings.pair is None or has_no_server(settings.host):
        return settings.host
    endpoint = parse_endpoint(settings.host)
    port = endpoint.port or settings.port or PORTS[settings.transport]
    return f"[{endpoint.name}]:{port}" if ":" in endpoint.name else f"{endpoint.name}:{port}"
