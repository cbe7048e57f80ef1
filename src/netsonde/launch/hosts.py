"""What a user writes for a host, and the hosts that it means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from netsonde.errors import UsageError
from netsonde.launch.host import Host
from netsonde.launch.local import LocalHost
from netsonde.launch.paired import PairedHost
from netsonde.launch.ssh import SshHost

SERVE_PORT = 5959
# What a host name, an address, an ssh alias or user@name is made of; never a leading dash, which
# ssh would take for an option.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@%:-]{0,254}\Z")


@dataclass(frozen=True)
class Endpoint:
    """A name or address with an optional port."""

    name: str
    port: int | None


def parse_host(text: str, pair: str | None = None) -> list[Host]:
    """The hosts that a HOST argument names.

    ``local`` is this machine; ``lab:h1,h2`` hosts of the running lab (as many as are named); with
    a pairing code, NAME, NAME:PORT or [ADDRESS]:PORT is a ``netsonde serve``; anything else is a
    name for ssh. Raises UsageError where it is none of these.
    """
    text = text.strip()
    if text == "local" or text.startswith("lab:"):
        if pair is not None:
            raise UsageError(
                f"a pairing code was given with {text!r}, but it is for a host that runs "
                "netsonde serve; give that host's ADDRESS:PORT or leave out --pair"
            )
        if text == "local":
            return [LocalHost()]
        return _lab_hosts(text.removeprefix("lab:"))
    endpoint = parse_endpoint(text)
    if pair is not None:
        return [PairedHost(endpoint.name, endpoint.port or SERVE_PORT, pair)]
    if endpoint.port is not None:
        raise UsageError(
            f"host {text!r} has a port, which is for a host that runs netsonde serve (add --pair "
            "CODE); the port of an ssh server belongs into the ssh configuration"
        )
    return [SshHost(endpoint.name)]


def split_hosts(text: str) -> list[str]:
    """The single names of ``a,b``, ``node[1-8]`` or ``lab:h1,h2``, in the order given.

    Raises UsageError.
    """
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # takes long to import

    lab, colon, names = text.rpartition(":") if text.startswith("lab:") else ("", "", text)
    lab_name, slash, names = names.rpartition("/") if colon else ("", "", names)
    prefix = lab + colon + lab_name + slash
    found: list[str] = []
    try:
        for piece in re.split(r",(?![^\[]*\])", names):  # an address need not be a node's name
            found += [str(name) for name in NodeSet(piece)] if "[" in piece else [piece]
    except NodeSetException as error:
        raise UsageError(f"{text!r} is no set of hosts ({error}); write it like n[1-8]") from error
    return [prefix + name for name in found]


def parse_endpoint(text: str) -> Endpoint:
    """``name``, ``name:port``, ``::1``, ``[::1]`` or ``[::1]:port``. Raises UsageError."""
    name, port_text = text, None
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _bad_host(text)
        port_text = rest[1:] if rest else None
    elif text.count(":") == 1:
        name, _, port_text = text.partition(":")
    if not _NAME.match(name) and not (":" in name and _NAME.match("0" + name)):
        raise _bad_host(text)
    return Endpoint(name, None if port_text is None else _port(text, port_text))


def _port(text: str, port_text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", port_text) or not 0 < int(port_text) < 65536:
        raise UsageError(f"the port in {text!r} is not a number from 1 to 65535")
    return int(port_text)


def _bad_host(text: str) -> UsageError:
    return UsageError(
        f"{text[:80]!r} is not a host; write local, lab:h1,h2, a name for ssh, or with --pair "
        "NAME:PORT or [IPV6-ADDRESS]:PORT"
    )


def _lab_hosts(text: str) -> list[Host]:
    from netsonde.lab import hosts_of  # only needed here; a lab is not on every machine

    return list(hosts_of(text))
