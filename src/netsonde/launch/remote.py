"""Hosts on which a launcher runs commands for us: ssh, Slurm's srun, Flux.

They need no netsonde. The first process on such a host, its holder, lasts until the host is
closed. It says what the host is, and where that has no sonde-worker of this version it takes a copy
of ours, checks it, and keeps it open without a name: whatever ends the holder, no file is left.
Another program of a worker has a holder of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import secrets
import shlex
import subprocess
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.binaries import USUAL_WORKER, find_worker
from netsonde.launch.closing import Closing
from netsonde.launch.host import ChildProcess, last_words
from netsonde.launch.worker import HELLO_TIMEOUT_S, Worker
from netsonde.limits import limit_s

CONNECT_TIMEOUT_S = limit_s("connect")
"""To reach a host: of ssh's connection, of a step's start."""
CONTACT_TIMEOUT_S = limit_s("contact")
"""From asking for the holder to what it says of its host."""
COPY_TIMEOUT_S = limit_s("copy")
ENDING_TIMEOUT_S = limit_s("ssh-end")
HOLDER_GRACE_S = 1.0
BINARY_LIMIT_BYTES = 64 << 20
OUTPUT_LIMIT_BYTES = 65536

NO_DIRECTORY = 97
WRONG_CHECKSUM = 98
DOES_NOT_RUN = 99
NOT_EXECUTABLE = 126

HOLDER_SCRIPT = f"""
token=$1
program=${{2:-{USUAL_WORKER}}}
uname -s -m
if command -v "$program" >/dev/null 2>&1; then "$program" --version </dev/null || :; fi
echo "$token facts"
read -r size digest || exit 0
worker=$program
if [ "$size" -gt 0 ]; then
    folder=$(mktemp -d) || exit {NO_DIRECTORY}
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    worker=$folder/$program
    head -c "$size" >"$worker" || exit {NO_DIRECTORY}
    echo "$digest  $worker" | sha256sum -c >/dev/null 2>&1 || exit {WRONG_CHECKSUM}
    chmod 500 "$worker"
    "$worker" --version </dev/null >/dev/null
    case $? in 0) ;; {NOT_EXECUTABLE}) exit {NOT_EXECUTABLE} ;; *) exit {DOES_NOT_RUN} ;; esac
    exec 9<"$worker"
    rm -rf "$folder" 2>/dev/null && worker=/proc/$$/fd/9
fi
echo "$token $worker"
while read -r _; do :; done
"""
"""It has no child while it waits: a shell would put a signal off until that ends. Nothing may be
sent behind the copy: `head` may read ahead. Where the folder cannot be removed while its file is
open (NFS), it goes at the end."""
_PLACE = re.compile(r"(sonde-[a-z]{1,30}|/[^\s'\"]{1,200})\Z")


class RemoteHost(Closing):
    """A host that a launcher starts processes on. Closing it ends its holder, and with that what
    the launcher keeps open; what runs there has ended before, or loses its input.

    May be used by several threads. Where nobody closes it, the end of this process does.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._holders: dict[str, ChildProcess] = {}
        self._workers: dict[str, str] = {}
        self._connecting = threading.Lock()  # workers may be started at the same time

    @property
    @abstractmethod
    def kind(self) -> str:
        """How processes get there."""

    @abstractmethod
    def address(self, family: str) -> str:
        """Where the other end reaches this host. Raises HostError where that is not known."""

    @abstractmethod
    def _start_shell(self, words: Sequence[str]) -> ChildProcess:
        """Starts `sh -c WORDS...` there. Raises HostError."""

    @abstractmethod
    def _explain(self, status: int, stderr_text: str) -> str | None:
        """What the launcher's exit status means, where it is no remote command's."""

    def _start_holder(self, words: Sequence[str]) -> ChildProcess:
        """Starts the host's first process; what the launcher shares is held by it."""
        return self._start_shell(words)

    def _release(self) -> None:
        """Gives back what the launcher keeps for this host, after its holder has ended."""

    def connect(self, program: str = USUAL_WORKER) -> None:
        """Reaches the host and sees to it that it has a worker. Does nothing where that is done.

        Raises HostError with one sentence, within CONTACT_TIMEOUT_S and what a copy takes.
        """
        with self._connecting:
            if self._is_held(program):
                return
            if not self._is_held(USUAL_WORKER):
                self._end_holders()
            self._hold(USUAL_WORKER, self._start_holder)
            self._hold(program, self._start_shell)

    def _is_held(self, program: str) -> bool:
        holder = self._holders.get(program)
        return holder is not None and holder.poll() is None

    def _hold(self, program: str, start: Callable[[Sequence[str]], ChildProcess]) -> None:
        if self._is_held(program):
            return
        local = find_worker(program)
        token = secrets.token_hex(8)
        self._end_holder(program)
        self._holders[program] = start([HOLDER_SCRIPT, "sh", token, program])
        try:
            self._workers[program] = self._place_worker(self._holders[program], local, token)
        except BaseException:
            self._end_holder(program)
            if program == USUAL_WORKER:
                self._release()
            raise

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> ChildProcess:
        self.connect()
        words = ["env", *(f"{k}={v}" for k, v in env.items())] if env else []
        return self._start_shell([f"exec {shlex.join([*words, *argv])}"])

    def start_worker(
        self,
        *,
        family: str = "ipv4",  # noqa: ARG002  the launcher itself may take either
        wakeup: threading.Condition | None = None,
        program: str = USUAL_WORKER,
    ) -> Worker:
        """The remote program where its version is ours, else the copy of the local one."""
        process = self.start([self._place(program)])
        return Worker(
            process,
            self.name,
            wakeup=wakeup,
            hello_timeout_s=HELLO_TIMEOUT_S + CONNECT_TIMEOUT_S,
        )

    def close(self) -> None:
        """Ends the holders. Idempotent; a later start would begin anew."""
        with self._connecting:
            self._end_holders()

    def _place(self, program: str) -> str:
        self.connect(program)
        return self._workers[program]

    def _end_holders(self) -> None:
        """That of the usual worker last: the others share its login."""
        if not self._holders:
            return
        for program in reversed([*self._holders]):
            self._end_holder(program)
        self._release()

    def _end_holder(self, program: str) -> None:
        holder = self._holders.pop(program, None)
        if holder is not None:
            holder.stop(HOLDER_GRACE_S)
            holder.release()

    def _place_worker(self, holder: ChildProcess, local: Path, token: str) -> str:
        """What a worker is started as there."""
        facts = self._said(holder, f"{token} facts", CONTACT_TIMEOUT_S, "answer")[:-1]
        wanted = _version_line(local)
        installed = len(facts) > 1 and facts[-1] == wanted
        here = f"{platform.system()} {platform.machine()}"
        # Some login shells print a greeting first, so the line may be any of the first.
        if not installed and here not in facts:
            raise HostError(
                f"{self.name}: it is {last_words((facts or [''])[0]) or 'unknown'}, and the worker "
                f"here is for {here}; install netsonde {wanted.split()[-1]} there"
            )
        content = b"" if installed else local.read_bytes()
        if len(content) > BINARY_LIMIT_BYTES:
            raise HostError(f"{local} is over the limit of {BINARY_LIMIT_BYTES} bytes to send")
        digest = hashlib.sha256(content).hexdigest()
        try:
            holder.write(f"{len(content)} {digest}\n".encode() + content, COPY_TIMEOUT_S)
        except OSError as error:
            how = holder.ending(ENDING_TIMEOUT_S)
            raise HostError(f"{self.name}: sending the worker failed: it {how}") from error
        line = self._said(holder, token, COPY_TIMEOUT_S, "take the worker")[-1]
        place = line.removeprefix(token).strip()
        if not _PLACE.match(place):
            raise HostError(f"{self.name}: the place of the worker there is unknown")
        return place

    def _said(self, holder: ChildProcess, mark: str, timeout_s: float, what: str) -> list[str]:
        """Its lines up to the one that begins with the mark. Raises HostError with the reason where
        they end, or do not come in time."""
        output = bytearray()
        with _stopping(holder, timeout_s) as late:
            while len(output) < OUTPUT_LIMIT_BYTES and (content := holder.read()):
                output += content
                lines = output.decode(errors="replace").split("\n")
                for number, line in enumerate(lines[:-1]):
                    if line.startswith(mark):
                        return lines[: number + 1]
        if late.is_set():
            raise HostError(f"{self.name}: it did not {what} within {timeout_s:.0f} s")
        raise HostError(f"{self.name}: it {holder.ending(ENDING_TIMEOUT_S)}")

    def _explained(self, status: int, stderr_text: str) -> str | None:
        """For ChildProcess: what a status of the launcher or of the holder's script means."""
        own = self._explain(status, stderr_text)
        return own or explain_script(self.name, status, stderr_text)


def explain_script(name: str, status: int, stderr_text: str) -> str | None:
    """What a status of HOLDER_SCRIPT means; None where it is none of its own."""
    words = last_words(stderr_text)
    if status == NO_DIRECTORY:
        return f"found no temporary directory to be copied to: {words}"
    if status == WRONG_CHECKSUM:
        return "arrived damaged at the other host; try again"
    if status == NOT_EXECUTABLE:
        return (
            f"may not be executed in the temporary directory of {name} ({words}); set TMPDIR "
            "there to a directory without noexec, or install netsonde there"
        )
    if status == DOES_NOT_RUN:
        return f"does not run there ({words}); install netsonde there"
    return None


@contextlib.contextmanager
def _stopping(process: ChildProcess, timeout_s: float) -> Iterator[threading.Event]:
    """Stops a process if the block lasts longer; the event says whether it did."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.stop()

    timer = threading.Timer(timeout_s, stop)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        if late.is_set():
            timer.join()


def _version_line(worker: Path) -> str:
    try:
        answer = subprocess.run(
            [str(worker), "--version"],
            capture_output=True,
            check=True,
            timeout=CONNECT_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise HostError(f"cannot run {worker} --version: {error}") from error
    return last_words(answer.stdout.decode(errors="replace"))
