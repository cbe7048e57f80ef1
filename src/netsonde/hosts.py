"""What a user writes for a host, and the hosts that it means."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from netsonde.catalogue.launcher import (
    AUTO,
    LAUNCHERS,
    batch_launchers,
    chosen_launchers,
    default_launcher,
    launcher_of,
    served,
    takes_nodes,
    ways_to_write,
)
from netsonde.errors import UsageError
from netsonde.launch.allocation import Allocation
from netsonde.launch.given_code import PAIR_VARIABLE, code_of_environment
from netsonde.launch.host import Host
from netsonde.launch.named import HOSTS, JOBS, Named
from netsonde.launch.nodes import expand

if TYPE_CHECKING:
    LauncherName = str
else:
    LauncherName = Literal[AUTO, *chosen_launchers()]

# What a host name, an address, an ssh alias or user@name is made of; never a leading dash, which
# ssh would take for an option.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@%:-]{0,254}\Z")


@dataclass(frozen=True)
class Endpoint:
    """A name or address with an optional port."""

    name: str
    port: int | None


def parse_host(text: str, pair: str | None = None, launcher: LauncherName = AUTO) -> list[Host]:
    """The hosts that a HOST argument names.

    ``local`` is this machine; ``lab:h1,h2`` hosts of the running lab (as many as are named); with
    a pairing code, NAME, NAME:PORT or [ADDRESS]:PORT is a ``netsonde serve``. Anything else is a
    name for the launcher: ``auto`` is the batch system's for nodes of the allocation that we are
    in, and ssh for others. Raises UsageError where it is none of these.
    """
    return parse_hosts([text], pair, launcher)


def parse_hosts(
    texts: Sequence[str], pair: str | None = None, launcher: LauncherName = AUTO
) -> list[Host]:
    """parse_host() of several, which looks for an allocation once. Of several, the pairing code is
    for those with a port, and so is the environment's, where none is given."""
    batch = _Batch(launcher)
    code = code_of_environment() if pair is None else pair
    alone = len(texts) == 1 and pair is not None
    codes = [code if alone or _has_port(text.strip()) else None for text in texts]
    return [
        host
        for text, code in zip(texts, codes, strict=True)
        for host in _parse_host(text.strip(), code, batch)
    ]


def _has_port(text: str) -> bool:
    return launcher_of(text) is None and parse_endpoint(text).port is not None


def _parse_host(text: str, pair: str | None, batch: _Batch) -> list[Host]:
    if row := launcher_of(text):
        if pair is not None:
            raise UsageError(
                f"a pairing code was given with {text!r}, but it is for a host that runs "
                "netsonde serve; give that host's ADDRESS:PORT or leave out the code"
            )
        return HOSTS[row.name](Named(text.removeprefix(row.word)))
    endpoint = parse_endpoint(text)
    if pair is not None:
        return HOSTS[served().name](Named(endpoint.name, code=pair, port=endpoint.port))
    if endpoint.port is not None:
        raise UsageError(
            f"host {text!r} has a port, which is for a host that runs netsonde serve (give its "
            f"code by --code-file FILE or {PAIR_VARIABLE}); the port of an ssh server belongs into "
            "the ssh configuration"
        )
    return batch.hosts(endpoint.name)


def allocation_here(environ: Mapping[str, str] | None = None) -> Allocation | None:
    """The allocation that this process is in; None outside of any. Raises HostError where the batch
    system does not say which nodes are in it."""
    environ = os.environ if environ is None else environ
    for name in batch_launchers():
        if found := JOBS[name](environ):
            return found
    return None


class _Batch:
    """Makes hosts of names by the launcher that was chosen."""

    def __init__(self, launcher: LauncherName) -> None:
        self._launcher = launcher

    @cached_property
    def _found(self) -> tuple[Allocation | None, frozenset[str]]:
        found = allocation_here()
        return found, frozenset(found.nodes if found else ())

    def hosts(self, name: str) -> list[Host]:
        if not takes_nodes(self._launcher):
            return HOSTS[self._launcher](Named(name))
        allocation, nodes = self._found
        if self._launcher != AUTO:
            self._check(name, allocation, nodes)
        if allocation is None or name not in nodes:
            return HOSTS[default_launcher().name](Named(name))
        return HOSTS[allocation.system](Named(name, allocation))

    def _check(self, name: str, allocation: Allocation | None, nodes: frozenset[str]) -> None:
        title = LAUNCHERS[self._launcher].title
        if allocation is None or allocation.system != self._launcher:
            raise UsageError(
                f"launcher {self._launcher} starts processes on the nodes of a job of {title}, and "
                "this is in none; run it inside of one, or leave the launcher out"
            )
        if name not in nodes:
            raise UsageError(
                f"host {name} is no node of {allocation.in_words}; name nodes of the job, or "
                f"choose launcher {default_launcher().name}"
            )


def split_hosts(text: str) -> list[str]:
    """The single names of ``a,b``, ``node[1-8]``, ``@rack1!node7`` or ``lab:h1,h2``.

    Raises UsageError.
    """
    row = launcher_of(text)
    word, colon, names = text.rpartition(":") if row else ("", "", text)
    lab_name, slash, names = names.rpartition("/") if colon else ("", "", names)
    prefix = word + colon + lab_name + slash
    return [prefix + name for name in expand(names)]


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
        f"{text[:80]!r} is not a host; write {ways_to_write()}, or, with a pairing code, "
        f"{served().written}"
    )


@HOSTS.of("lab")
def _lab_hosts(named: Named) -> list[Host]:
    from netsonde.lab import hosts_of  # only needed here; a lab is not on every machine

    return list(hosts_of(named.name))


if _lacking := HOSTS.missing(LAUNCHERS) + JOBS.missing(batch_launchers()):
    raise LookupError(f"no class makes the hosts of the launcher {_lacking[0]}")
