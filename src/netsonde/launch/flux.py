"""Hosts of a Flux instance: each process is started by ``flux exec`` on the broker of its node."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from netsonde.errors import HostError
from netsonde.launch.allocation import Allocation
from netsonde.launch.host import ChildProcess, HostKind, last_words
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.remote import RemoteHost


class FluxHost(RemoteHost):
    """A node of the instance that we are in."""

    def __init__(self, name: str, allocation: Allocation) -> None:
        super().__init__(name)
        self._allocation = allocation

    @property
    def kind(self) -> HostKind:
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
