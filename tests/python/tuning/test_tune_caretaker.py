"""What changes hosts puts everything back, however netsonde ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import netsonde
from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.tuning.sockets.caretaker import Caretaker

PUT_BACK_LIMIT_S = 20.0
KILLED = """
import sys, time
from netsonde.launch.local import LocalHost
from netsonde.tuning.sockets.caretaker import Caretaker
path = sys.argv[1]
shell = Caretaker(LocalHost())
shell.put_back_with(["sh", "-c", f"echo before >{path}"])
shell.run(["sh", "-c", f"echo changed >{path}"])
print("changed", flush=True)
shell.run(["sh", "-c", f"sleep 0.5; echo late >{path}"])
time.sleep(60)
"""


def write(path: Path, word: str) -> list[str]:
    return ["sh", "-c", f"echo {word} >>{path}"]


def test_commands_answer_with_their_status_and_words():
    with Caretaker(LocalHost()) as shell:
        assert shell.run(["printf", r"two\nlines"]) == (0, "two\nlines")
        assert shell.run(["sh", "-c", "echo no >&2; exit 3"]) == (3, "no")
        assert shell.run(["echo", "$HOME 'a b'"]) == (0, "$HOME 'a b'")
        assert shell.run(["true"]) == (0, "")


def test_the_last_change_is_put_back_first(tmp_path):
    path = tmp_path / "order"
    with Caretaker(LocalHost()) as shell:
        shell.put_back_with(write(path, "first"))
        shell.put_back_with(write(path, "second"))
        assert not path.exists()
    assert path.read_text().split() == ["second", "first"]


def test_what_is_kept_is_not_put_back(tmp_path):
    path = tmp_path / "kept"
    with Caretaker(LocalHost()) as shell:
        shell.put_back_with(write(path, "never"))
        shell.keep()
    assert not path.exists()


def test_what_cannot_be_put_back_is_said(tmp_path):
    path = tmp_path / "after"
    shell = Caretaker(LocalHost())
    shell.put_back_with(write(path, "still"))
    shell.put_back_with(["false"])
    with pytest.raises(HostError, match="could not all be put back"):
        shell.close()
    assert path.read_text() == "still\n"
    shell.close()


def test_a_kill_puts_back(tmp_path):
    """Also what a command changes that was under way then, and has nobody to answer to."""
    path = tmp_path / "setting"
    path.write_text("before\n")
    packages = str(Path(netsonde.__file__).resolve().parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": packages},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "changed\n"
        assert path.read_text() == "changed\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PUT_BACK_LIMIT_S
    while path.read_text() != "before\n" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.read_text() == "before\n"
