"""Hosts reached with the system's ssh and the user's own configuration.

The remote host needs no netsonde: where it has no sonde-worker of this version, the local one is
sent along into a temporary directory and removed at the end.
"""

from __future__ import annotations

import hashlib
import platform
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.launch.host import ChildProcess, HostKind, last_words
from netsonde.launch.local import address_family, socket_family
from netsonde.launch.worker import HELLO_TIMEOUT_S, Worker

CONNECT_TIMEOUT_S = 10
PROBE_TIMEOUT_S = 30.0
COPY_TIMEOUT_S = 60.0
BINARY_LIMIT_BYTES = 64 << 20
OUTPUT_LIMIT_BYTES = 65536

SSH_FAILED = 255  # ssh's own failures; anything else is the remote command's status
NO_DIRECTORY = 97
WRONG_CHECKSUM = 98
NOT_EXECUTABLE = 126

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
)


class SshHost:
    """A host that ssh can log in to without a password.

    ``options`` are further arguments for ssh, such as ``("-F", "FILE")``.
    """

    kind: HostKind = "ssh"

    def __init__(self, name: str, options: Sequence[str] = ()) -> None:
        self.name = name
        self._options = tuple(options)
        self._remote_has_worker: bool | None = None
        self._probing = threading.Lock()  # workers may be started at the same time

    def address(self, family: str) -> str:
        """The address of the host name that ssh itself would use, for the test's traffic."""
        address_family(family)
        host_name = self._configured_host_name()
        try:
            found = socket.getaddrinfo(host_name, None, socket_family(family), socket.SOCK_STREAM)
        except OSError as error:
            raise HostError(
                f"{self.name}: ssh knows it as {host_name}, which has no {family} address here "
                f"({error.strerror}); test traffic goes to it directly, so its name must resolve"
            ) from error
        return str(found[0][4][0])

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> ChildProcess:
        words = ["env", *(f"{k}={v}" for k, v in env.items())] if env else []
        return self._start_shell(f"exec {shlex.join([*words, *argv])}")

    def start_worker(
        self,
        *,
        family: str = "ipv4",  # noqa: ARG002  ssh itself may take either
        wakeup: threading.Condition | None = None,
    ) -> Worker:
        """The remote sonde-worker where its version is ours, else a copy of the local one."""
        local = find_worker("sonde-worker")
        with self._probing:
            if self._remote_has_worker is None:
                self._remote_has_worker = self._probe(local)
        if self._remote_has_worker:
            return Worker(
                self.start(["sonde-worker"]),
                self.name,
                wakeup=wakeup,
                hello_timeout_s=HELLO_TIMEOUT_S + CONNECT_TIMEOUT_S,
            )
        return self._start_copy(local, wakeup)

    def _start_copy(self, local: Path, wakeup: threading.Condition | None) -> Worker:
        content = local.read_bytes()
        if len(content) > BINARY_LIMIT_BYTES:
            raise HostError(f"{local} is over the limit of {BINARY_LIMIT_BYTES} bytes to send")
        process = self._start_shell(copy_script(content))
        try:
            process.write(content, COPY_TIMEOUT_S)
        except OSError as error:
            how = process.ending(PROBE_TIMEOUT_S)
            process.stop()
            process.release()
            raise HostError(f"{self.name}: sending the worker failed: it {how}") from error
        return Worker(
            process, self.name, wakeup=wakeup, hello_timeout_s=HELLO_TIMEOUT_S + CONNECT_TIMEOUT_S
        )

    def _probe(self, local: Path) -> bool:
        """Whether the remote host has this version of the worker; checks that ours can run there.

        Raises HostError where ssh fails or the machine is another kind than this.
        """
        wanted = _version_line(local)
        script = (
            "uname -s -m; if command -v sonde-worker >/dev/null 2>&1; "
            "then sonde-worker --version </dev/null || true; fi"
        )
        with self._start_shell(script) as process:
            process.finish()
            output = self._read_all(process)
            status = process.wait(PROBE_TIMEOUT_S)
            if status != 0:
                raise HostError(f"{self.name}: it {process.ending(PROBE_TIMEOUT_S)}")
        lines = output.splitlines() or [""]
        if len(lines) > 1 and lines[-1] == wanted:
            return True
        here = f"{platform.system()} {platform.machine()}"
        # Some login shells print a greeting first, so the line may be any of the first.
        if here not in lines:
            raise HostError(
                f"{self.name}: it is {last_words(lines[0]) or 'unknown'}, and the worker here is "
                f"for {here}; install netsonde {wanted.split()[-1]} there"
            )
        return False

    def _read_all(self, process: ChildProcess) -> str:
        """All output, bounded in size and time."""
        watchdog = threading.Timer(PROBE_TIMEOUT_S, process.stop)
        watchdog.start()
        started = time.monotonic()
        try:
            output = bytearray()
            while len(output) < OUTPUT_LIMIT_BYTES and (content := process.read()):
                output += content
        finally:
            watchdog.cancel()
            watchdog.join()
        if time.monotonic() - started >= PROBE_TIMEOUT_S:
            raise HostError(f"{self.name}: ssh did not answer within {PROBE_TIMEOUT_S:.0f} s")
        return output.decode(errors="replace")

    def _start_shell(self, script: str) -> ChildProcess:
        # The user's login shell may be any; sh reads the script.
        argv = ["ssh", *self._ssh_options(), "--", self.name, f"exec sh -c {shlex.quote(script)}"]
        return ChildProcess(argv, explain=self._explain)

    def _ssh_options(self) -> list[str]:
        return [
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            f"ConnectTimeout={CONNECT_TIMEOUT_S}",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=3",
            *self._options,
        ]

    def _configured_host_name(self) -> str:
        argv = ["ssh", "-G", *self._options, "--", self.name]
        try:
            answer = subprocess.run(
                argv,
                capture_output=True,
                timeout=CONNECT_TIMEOUT_S,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except OSError as error:
            raise HostError(f"cannot start ssh: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise HostError(f"{self.name}: `ssh -G` did not answer in time") from error
        if answer.returncode != 0:
            words = last_words(answer.stderr.decode(errors="replace"))
            raise HostError(f"{self.name}: ssh does not accept its configuration: {words}")
        for line in answer.stdout.decode(errors="replace").splitlines():
            key, _, value = line.partition(" ")
            if key == "hostname" and value:
                return value
        return self.name

    def _explain(self, status: int, stderr_text: str) -> str | None:
        return explain_ssh(self.name, status, stderr_text)


def explain_ssh(name: str, status: int, stderr_text: str) -> str | None:
    """What a status of ssh or of copy_script means, or None where nothing better is known."""
    words = last_words(stderr_text)
    if status == SSH_FAILED:
        for phrase, meaning in _FAILURES:
            if phrase in stderr_text:
                return f"could not be reached by ssh: {meaning.format(name=name)}"
        return f"could not be reached by ssh: {words or 'ssh said no reason'}"
    if status == NO_DIRECTORY:
        return f"found no temporary directory to be copied to: {words}"
    if status == WRONG_CHECKSUM:
        return "arrived damaged at the other host; try again"
    if status == NOT_EXECUTABLE:
        return (
            f"may not be executed in the temporary directory of {name} ({words}); set TMPDIR "
            "there to a directory without noexec, or install netsonde there"
        )
    return None


def copy_script(content: bytes) -> str:
    """A shell script that takes content from its input, checks it, and runs it.

    What follows on the input is the program's. The copy is removed however the script ends. Nothing
    may be written behind content before the program answers: `head` may read ahead.
    """
    digest = hashlib.sha256(content).hexdigest()
    return "; ".join(
        (
            f"d=$(mktemp -d) || exit {NO_DIRECTORY}",
            "trap 'rm -rf \"$d\"' EXIT",
            "trap 'exit 129' HUP",
            "trap 'exit 130' INT",
            "trap 'exit 143' TERM",
            f'head -c {len(content)} > "$d/sonde-worker" || exit {NO_DIRECTORY}',
            f'echo "{digest}  $d/sonde-worker" | sha256sum -c >/dev/null 2>&1'
            f" || exit {WRONG_CHECKSUM}",
            'chmod 700 "$d/sonde-worker"',
            '"$d/sonde-worker"',
            "exit $?",
        )
    )


def _version_line(worker: Path) -> str:
    try:
        answer = subprocess.run(
            [str(worker), "--version"],
            capture_output=True,
            check=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise HostError(f"cannot run {worker} --version: {error}") from error
    return last_words(answer.stdout.decode(errors="replace"))
