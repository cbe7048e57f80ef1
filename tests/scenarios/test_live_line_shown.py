"""The line on a terminal while something is measured: how often it is written, what stays of it,
and that it is nowhere else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from netsonde.errors import InterruptedByUserError


@dataclass
class Seen:
    """What a command wrote to its terminal: each piece with its second; and its exit code."""

    pieces: list[tuple[float, str]]
    code: int

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces)

    @property
    def lines(self) -> list[str]:
        """What was written as the line, anew each time, the last line left out."""
        return [line.split("\r")[0] for line in re.split(r"\x1b\[2K|\x1b\[\?25l", self.text)][1:]


def on_terminal(command: list[str], columns: int, interrupt_s: float | None = None) -> Seen:
    """Its standard error is the terminal, its standard output is not."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment | {"TERM": "xterm"}
    ) as process:
        os.close(theirs)
        pieces, begin = [], time.monotonic()
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:
                break
            pieces.append((time.monotonic() - begin, piece.decode()))
            if interrupt_s is not None and "median" in piece.decode():
                process.send_signal(signal.SIGINT)
                interrupt_s = None
        os.close(ours)
    return Seen(pieces, process.returncode)


LATENCY = ["tcp", "local", "latency", "--time", "1500ms", "--relative-precision", "0.0001%"]


@pytest.mark.worker
@pytest.mark.parametrize("columns", [40, 80])
def test_a_line_each_second_and_the_last_one_stays(
    columns: int, netsonde_command: list[str], tmp_path: Path
) -> None:
    seen = on_terminal([*netsonde_command, *LATENCY, "--out", str(tmp_path)], columns)
    assert seen.code == 0, seen.text
    assert 3 <= len(seen.lines) <= seen.pieces[-1][0] + 3  # one each second, at the ends as well
    assert all(len(line) < columns for line in seen.lines)
    assert re.search(r"tcp latency 64  .*median [\d.]+ .s ±[\d.]+ %", seen.lines[-2])
    last = seen.text.splitlines()[-1].split("\x1b[2K")[-1]
    shape = r"tcp latency 64  (0\.00-\d\.\d\d s  )?\d+ messages  median [\d.]+ .s ±[\d.]+ %  p99 .*"
    assert re.fullmatch(shape if columns == 80 else r"tcp latency 64  median [\d.]+ .s.*", last)


@pytest.mark.worker
def test_it_is_gone_after_an_interruption_that_says_what_is_kept(
    netsonde_command: list[str], tmp_path: Path
) -> None:
    seen = on_terminal([*netsonde_command, *LATENCY, "--out", str(tmp_path)], 80, 1.0)
    assert seen.code == InterruptedByUserError.exit_code
    after = seen.text.rpartition("\x1b[2K")[2]
    assert "left" not in after
    assert "interrupted; what was measured is kept" in after.replace("\r\n", " ")
    assert seen.text.count("\x1b[?25h") == seen.text.count("\x1b[?25l") == 1


@pytest.mark.worker
@pytest.mark.parametrize("more", [["--quiet"], ["--json"], []])
def test_it_is_on_a_terminal_only(
    more: list[str], netsonde_command: list[str], tmp_path: Path
) -> None:
    command = [*netsonde_command, *LATENCY, "--time", "100ms", "--out", str(tmp_path), *more]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    assert "left" not in piped.stdout
    if more:  # without, it is looked at above
        assert ("left" in on_terminal(command, 80).text) == (more != ["--quiet"])
