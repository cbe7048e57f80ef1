"""Hosts of a Flux instance: each process is started by ``flux exec`` on the broker of its node."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from netsonde.errors import HostError
from netsonde.launch.allocation import Allocation, ask
from netsonde.launch.host import ChildProcess, Host, last_words
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.named import HOSTS, JOBS, Named
from netsonde.launch.nodes import expand
from netsonde.launch.remote import RemoteHost


class FluxHost(RemoteHost):
    """A node of the instance that we are in."""

    def __init__(self, name: str, allocation: Allocation) -> None:
        super().__init__(name)
        self._allocation = allocation

    @property
    def kind(self) -> str:
        return "flux"

    def address(self, family: str) -> str:
        """That of the node's name."""
        address_family(family)
        try:
            found = socket.getaddrinfo(self.name, None, socket_family(family), socket.SOCK_STREAM)
        except OSError as error:
            raise HostError(
                f"{self.name}: its name has no {family} address here ({error.strerror})"
            ) from error
        return str(found[0][4][0])

    def _start_shell(self, words: Sequence[str]) -> ChildProcess:
        # The attribute `hostlist` is in the order of the brokers' ranks.
        rank = self._allocation.nodes.index(self.name)
        argv = ["flux", "exec", "--rank", str(rank), "sh", "-c", *words]
        return ChildProcess(argv, explain=self._explained)

    def _explain(self, status: int, stderr_text: str) -> str | None:
        if status != 0 and "flux-exec: Error" in stderr_text:
            return f"could not be started by flux exec: {last_words(stderr_text)}"
        return None


@HOSTS.of("flux")
def _named(named: Named) -> list[Host]:
    assert named.job is not None
    return [FluxHost(named.name, named.job)]


@JOBS.of("flux")
def _job(environ: Mapping[str, str]) -> Allocation | None:
    job = environ.get("FLUX_JOB_ID")
    if not (job and environ.get("FLUX_URI")):
        return None
    return Allocation("flux", job, tuple(expand(ask(["flux", "getattr", "hostlist"]))))
