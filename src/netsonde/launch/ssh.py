"""Hosts reached with the system's ssh and the user's own configuration.

A host is logged in to once; further processes share that connection, over a socket in a folder of
ours. Where the user's configuration shares connections itself, that is left to it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.commands import answer_of
from netsonde.launch.host import ChildProcess, Host, last_words
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.named import HOSTS, Named
from netsonde.launch.remote import CONNECT_TIMEOUT_S, RemoteHost

SSH_FAILED = 255  # ssh's own failures; anything else is the remote command's status
SOCKET_FOLDER_LIMIT = 60
"""The longest name of a folder for the socket: its address has 108 bytes, and ssh adds 17 of its
own for a moment."""

# What ends after ssh: also where netsonde was killed, when ssh has lost its input.
_SSH_THEN_REMOVE = 'folder=$1; shift; "$@"; status=$?; rm -rf "$folder"; exit $status'

# Phrases of OpenSSH and what they mean. The order matters: the more precise one first.
_FAILURES = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the host key has changed since the last login; if that is expected, remove the old key "
        "with `ssh-keygen -R {name}`",
    ),
    (
        "Host key verification failed",
        "its host key is not known here; log in once with `ssh {name}` and accept the key",
    ),
    (
        "Could not resolve hostname",
        "its name cannot be resolved; check the name, or the HostName in the ssh configuration",
    ),
    (
        "Permission denied",
        "permission denied; netsonde cannot type passwords, so make `ssh {name}` work with a key "
        "(`ssh-copy-id {name}`)",
    ),
    (
        "Too many authentication failures",
        "too many authentication failures; name the key to use in the ssh configuration",
    ),
    ("Connection refused", "connection refused; is an ssh server running there?"),
    ("No route to host", "there is no route to it; check the address and the network"),
    ("Network is unreachable", "the network is unreachable"),
    ("timed out", "no answer in time; check the address and any firewall"),
    ("Timeout, server", "it does not answer any more; is it still up?"),
)


class SshHost(RemoteHost):
    """A host that ssh can log in to without a password.

    ``options`` are further arguments for ssh, such as ``("-F", "FILE")``.
    """

    def __init__(self, name: str, options: Sequence[str] = ()) -> None:
        super().__init__(name)
        self._options = tuple(options)
        self._folder: str | None = None  # of the socket of a shared connection

    @property
    def kind(self) -> str:
        return "ssh"

    def address(self, family: str) -> str:
        """The address of the host name that ssh itself would use, for the test's traffic."""
        address_family(family)
        host_name = self._configuration.get("hostname") or self.name
        try:
            found = socket.getaddrinfo(host_name, None, socket_family(family), socket.SOCK_STREAM)
        except OSError as error:
            raise HostError(
                f"{self.name}: ssh knows it as {host_name}, which has no {family} address here "
                f"({error.strerror}); test traffic goes to it directly, so its name must resolve"
            ) from error
        return str(found[0][4][0])

    def _start_holder(self, words: Sequence[str]) -> ChildProcess:
        if self._user_shares():
            return self._start_shell(words)
        self._folder = _socket_folder()
        if self._folder is None:
            return self._start_shell(words)
        master = ["-o", "ControlMaster=yes", "-o", "ControlPersist=no", *self._socket()]
        argv = ["sh", "-c", _SSH_THEN_REMOVE, "sh", self._folder, *self._argv(master, words)]
        return ChildProcess(argv, explain=self._explained)

    def _start_shell(self, words: Sequence[str]) -> ChildProcess:
        # A server that allows no more sessions on a connection is logged in to again, by ssh.
        shared = ["-o", "ControlMaster=no", *self._socket()] if self._folder else []
        return ChildProcess(self._argv(shared, words), explain=self._explained)

    def _release(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _socket(self) -> list[str]:
        return ["-o", f"ControlPath={self._folder}/s"]

    def _argv(self, more: Sequence[str], words: Sequence[str]) -> list[str]:
        # The user's login shell may be any; sh reads the script.
        return [
            "ssh",
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            f"ConnectTimeout={CONNECT_TIMEOUT_S}",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=3",
            *more,
            *self._options,
            "--",
            self.name,
            f"exec sh -c {shlex.join(words)}",
        ]

    def _user_shares(self) -> bool:
        return self._configuration.get("controlpath", "none") != "none"

    @cached_property
    def _configuration(self) -> dict[str, str]:
        """What ssh makes of the user's configuration for this host, by option."""
        argv = ["ssh", "-G", *self._options, "--", self.name]
        try:
            answer = answer_of(argv, CONNECT_TIMEOUT_S)
        except FileNotFoundError as error:
            raise HostError(
                f"{self.name}: it is reached by ssh, and there is no command ssh here; install the "
                "package openssh-client (openssh-clients on some systems)"
            ) from error
        except OSError as error:
            raise HostError(f"cannot start ssh: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise HostError(f"{self.name}: `ssh -G` did not answer in time") from error
        if answer.returncode != 0:
            words = last_words(answer.stderr)
            raise HostError(f"{self.name}: ssh does not accept its configuration: {words}")
        found: dict[str, str] = {}
        for line in answer.stdout.splitlines():
            key, _, value = line.partition(" ")
            found.setdefault(key, value)
        return found

    def _explain(self, status: int, stderr_text: str) -> str | None:
        return explain_ssh(self.name, status, stderr_text)


def explain_ssh(name: str, status: int, stderr_text: str) -> str | None:
    """What a status of ssh itself means; None for a remote command's."""
    if status != SSH_FAILED:
        return None
    for phrase, meaning in _FAILURES:
        if phrase in stderr_text:
            return f"could not be reached by ssh: {meaning.format(name=name)}"
    return f"could not be reached by ssh: {last_words(stderr_text) or 'ssh said no reason'}"


def _socket_folder() -> str | None:
    """A folder of ours whose name is short enough; None where none can be had."""
    for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if not place or len(place) > SOCKET_FOLDER_LIMIT - 20 or not Path(place).is_dir():
            continue
        try:
            return tempfile.mkdtemp(prefix="netsonde-", dir=place)
        except OSError:
            continue
    return None


@HOSTS.of("ssh")
def _named(named: Named) -> list[Host]:
    return [SshHost(named.name)]
