"""A shell at a host that changes its settings and puts them back, whatever ends netsonde.

All changes go through one process there, in order. When its input ends, which the end of netsonde
brings as well, a kill too, it puts back what it was told of, the last first. So no change can come
after what puts it back.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence

from netsonde.errors import HostError
from netsonde.launch.closing import Closing
from netsonde.launch.host import ChildProcess, Host, printable
from netsonde.limits import limit_s
from netsonde.tuning.sockets.settings import shell_line

COMMAND_TIMEOUT_S = limit_s("tune-command")
ANSWER_TIMEOUT_S = limit_s("tune-answer")
PUT_BACK_TIMEOUT_S = limit_s("tune-put-back")
ANSWER_LIMIT_BYTES = 1 << 20
NEW_LINE = "\x1e"  # in the place of a line's end in what a command wrote
SCRIPT = f"""
trap '' HUP INT TERM PIPE  # which its commands inherit: only KILL ends one that hangs
PATH=$PATH:/usr/sbin:/sbin
undo=
end='
'
while IFS=' ' read -r word line; do
    case $word in
    undo) undo=$line$end$undo; echo 0 ;;
    keep) undo=; echo 0 ;;
    do)
        said=$(timeout -s KILL {COMMAND_TIMEOUT_S:.0f} sh -c "$line" </dev/null 2>&1)
        status=$?
        printf '%s ' "$status"
        printf '%s' "$said" | tr '\\n\\r' '\\036 '
        echo ;;
    esac
done
failed=0
while IFS= read -r line; do
    [ -z "$line" ] && continue
    timeout -s KILL {COMMAND_TIMEOUT_S:.0f} sh -c "$line" </dev/null >/dev/null 2>&1 || failed=1
done <<EOF
$undo
EOF
exit $failed
"""


class Caretaker(Closing):
    """The shell at one host. Raises HostError where the host does not answer."""

    def __init__(self, host: Host) -> None:
        self.name = host.name
        self._process: ChildProcess | None = host.start(["sh", "-c", SCRIPT])
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def run(self, argv: Sequence[str]) -> tuple[int, str]:
        """The status of a command there and what it wrote."""
        status, _, said = self._ask(f"do {shell_line(argv)}").partition(" ")
        return int(status), said.replace(NEW_LINE, "\n")

    def put_back_with(self, argv: Sequence[str]) -> None:
        """Has a command run at the end, before all that it was told of earlier."""
        self._ask(f"undo {shell_line(argv)}")

    def keep(self) -> None:
        """Forgets what it was to put back: the changes are wanted."""
        self._ask("keep ")

    def close(self) -> None:
        """Puts back and ends. Raises HostError where that failed. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        process.finish()
        status = process.wait(PUT_BACK_TIMEOUT_S)
        process.stop()
        self._reader.join()
        process.release()
        if status != 0:
            raise HostError(
                f"settings of {self.name} could not all be put back; run the undo file there"
            )

    def _ask(self, line: str) -> str:
        if self._process is None or "\n" in line:
            raise HostError(f"{self.name} is asked for what cannot be asked")
        try:
            self._process.write(f"{line}\n".encode(), COMMAND_TIMEOUT_S)
            content = b""
            while not content.endswith(b"\n"):
                piece = self._answers.get(timeout=ANSWER_TIMEOUT_S)
                if not piece or len(content) > ANSWER_LIMIT_BYTES:
                    raise HostError(f"the shell at {self.name} {self._ending()}")
                content += piece
        except queue.Empty:
            raise HostError(f"{self.name} did not answer in {ANSWER_TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise HostError(f"the shell at {self.name} {self._ending()}") from error
        return content.decode(errors="replace").rstrip("\n")

    def _ending(self) -> str:
        assert self._process is not None
        return printable(self._process.ending(1.0))

    def _read(self, process: ChildProcess) -> None:
        while True:
            piece = process.read()
            self._answers.put(piece)
            if not piece:
                return
