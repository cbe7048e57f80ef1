"""A user's own program on a host: what is read of it, and that it ends with all that it started."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from launch_fakes import open_descriptors

from netsonde.errors import HostError
from netsonde.launch.host import ChildProcess
from netsonde.launch.local import LocalHost
from netsonde.launch.program import (
    OUTPUT_KEPT_BYTES,
    TAIL_KEPT_CHARACTERS,
    open_program,
    read_figures,
    run_program,
)
from netsonde.records.decode import decode_batch

SCHEMA = Path(__file__).resolve().parents[2] / "schema" / "record.schema.json"


def run(*command: str, timeout_s: float = 20.0, **environment: str):
    return run_program(LocalHost(), command, environment, timeout_s)


def python(code: str, timeout_s: float = 20.0):
    return run(sys.executable, "-c", code, timeout_s=timeout_s)


def is_gone(pid: int, patience_s: float = 5.0) -> bool:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_status_time_and_output():
    ended = python("import sys,time; print('one'); time.sleep(0.3); sys.stderr.write('two')")
    assert (ended.status, ended.timed_out) == (0, False)
    assert ended.output.split() == ["one", "two"]
    assert ended.output_bytes == len("one\ntwo")
    assert 0.3e9 <= ended.elapsed_ns < 10e9


class SlowToHear(ChildProcess):
    """Its first word is heard a fifth of a second after it came."""

    heard = False

    def read(self) -> bytes:
        content = super().read()
        if not self.heard:
            time.sleep(0.2)
        self.heard = True
        return content


class BusyHere(LocalHost):
    def start(self, argv, *, env=None):
        return SlowToHear(argv, env=env)


def test_a_busy_reader_makes_no_program_shorter():
    command = [sys.executable, "-c", "import time; time.sleep(0.3)"]
    assert run_program(BusyHere(), command, {}, 20.0).elapsed_ns >= 0.3e9


def test_no_shell_reads_the_command():
    words = ["$HOME; echo *", "a  b", "'\"\\", "two\nlines", ""]
    code = "import json,sys; print(json.dumps(sys.argv[1:]))"
    assert json.loads(run(sys.executable, "-c", code, *words).output) == words


def test_the_environment_is_added_to():
    code = "import os; print(os.environ['MINE'], 'PATH' in os.environ)"
    assert run(sys.executable, "-c", code, MINE="a b").output == "a b True\n"


def test_nothing_is_on_its_input():
    assert python("import sys; print(repr(sys.stdin.read()))").output == "''\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 11)", 128 + signal.SIGSEGV)],
)
def test_how_it_ended(code, status):
    assert python(code).status == status


def test_a_program_that_is_not_there():
    ended = run("/nowhere/program")
    assert ended.status == 127
    assert "/nowhere/program" in ended.output


FORKS = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(600)
with open({file!r}, "w") as f:
    f.write(f"{{os.getpid()}} {{child}}")
print("before", flush=True)
{then}
"""


def test_a_late_program_is_killed_with_its_children(tmp_path):
    file = tmp_path / "pids"
    ended = python(FORKS.format(file=str(file), then="time.sleep(600)"), timeout_s=1.0)
    assert ended.timed_out
    assert ended.status == 128 + signal.SIGKILL
    assert ended.output == "before\n"
    pids = [int(word) for word in file.read_text().split()]
    assert len(pids) == 2
    assert all(is_gone(pid) for pid in pids)


def test_a_child_that_stays_keeps_nobody_waiting(tmp_path):
    """It holds the output open, and is ended with the program."""
    file = tmp_path / "pids"
    begin = time.monotonic()
    ended = python(FORKS.format(file=str(file), then="os._exit(0)"))
    assert time.monotonic() - begin < 15
    assert (ended.status, ended.output) == (0, "before\n")
    assert is_gone(int(file.read_text().split()[1]))


def test_it_ends_with_netsonde(tmp_path):
    file = tmp_path / "pids"
    code = FORKS.format(file=str(file), then="time.sleep(600)")
    runner = (
        "import sys; from netsonde.launch.local import LocalHost; "
        "from netsonde.launch.program import run_program; "
        "run_program(LocalHost(), sys.argv[1:], {}, 600)"
    )
    process = subprocess.Popen([sys.executable, "-c", runner, sys.executable, "-c", code])
    deadline = time.monotonic() + 20
    while not (file.exists() and len(file.read_text().split()) == 2):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert all(is_gone(int(pid)) for pid in file.read_text().split())


def test_only_the_end_of_long_output_is_kept():
    ended = python("print('x' * 5_000_000); print('rate 7')")
    assert ended.output_bytes == 5_000_000 + 1 + len("rate 7\n")
    assert OUTPUT_KEPT_BYTES - 100 < len(ended.output) <= OUTPUT_KEPT_BYTES
    assert read_figures(ended.output, {"rate": "^rate ([0-9]+)"}) == {"rate": 7.0}


def test_output_that_looks_like_the_last_word_does_not_end_it():
    ended = python("print('\\n0123456789abcdef 0'); import time; time.sleep(0.2); print('more')")
    assert ended.output.endswith("more\n")


class GreetingHost(LocalHost):
    """A login shell may say something before anything of ours runs."""

    def start(self, argv, *, env=None):
        return ChildProcess(["/bin/sh", "-c", 'echo Welcome; exec "$@"', "sh", *argv], env=env)


class ClosedHost(LocalHost):
    def start(self, argv, *, env=None):
        del argv
        return ChildProcess(["/bin/sh", "-c", "echo no shell for you >&2; exit 9"], env=env)


class DroppedHost(LocalHost):
    """The connection is lost in the middle."""

    def start(self, argv, *, env=None):
        token = argv[4]
        return ChildProcess(["/bin/sh", "-c", f"echo {token}; echo half; exit 1"], env=env)


def test_a_greeting_is_not_of_the_program():
    ended = run_program(GreetingHost(), ["echo", "hello"], {}, 20)
    assert ended.output == "hello\n"


def test_a_host_where_nothing_runs_is_said():
    with pytest.raises(HostError, match=r"^local: no program can be run .* 9: no shell for you$"):
        run_program(ClosedHost(), ["true"], {}, 20)


class DeafHost(LocalHost):
    """Its shell hears no word to start."""

    def start(self, argv, *, env=None):
        return ChildProcess(["/bin/sh", "-c", f"exec <&-; echo {argv[4]}; sleep 0.2"], env=env)


@pytest.mark.parametrize("host", [DroppedHost(), DeafHost()])
def test_a_lost_connection_is_said(host):
    with pytest.raises(HostError, match=r"^local: the connection to true was lost"):
        run_program(host, ["true"], {}, 20)


def test_nothing_is_left_open():
    run("true")
    before = open_descriptors()
    for _ in range(3):
        run("true")
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (" Mop/s total     =                  1234.56\n", {"mops": 1234.56}),
        ("Mop/s total = 1\nMop/s total = 2e3\n", {"mops": 2000.0}),
        ("Mop/s total = 5\nMop/s total = 1.2.3\n", {"mops": 5.0}),
        ("nothing", {}),
        ("x" * 5000 + "Mop/s total = 5", {}),
    ],
)
def test_figures_of_an_output(output, found):
    assert read_figures(output, {"mops": "Mop/s total *= *([0-9.e]+)"}) == found


def test_no_number_is_no_figure():
    assert read_figures("rate inf\nrate fast\nrate \n", {"rate": "rate (.*)"}) == {}


@pytest.mark.usefixtures("sonde_worker")
def test_records_are_those_of_the_schema():
    long = "print('y' * 9000); print('rate 2.5')"
    with open_program(LocalHost(), "ipv4") as session:
        records = session.run(
            {
                "command": [sys.executable, "-c", long],
                "environment": {},
                "figures": {"rate": "rate ([0-9.]+)", "other": "(no)"},
            },
            20,
        )
        assert session.facts().keys() == session.hosts
    schema = json.loads(SCHEMA.read_text())
    for record in records:
        jsonschema.validate(record, schema)
    (end,) = decode_batch(0, records).ends.values()
    assert end.rank == 0
    assert end.before.time_ns < end.after.time_ns
    assert end.after.time_ns - end.before.time_ns >= end.done["elapsed_ns"]
    assert end.difference("system.processes") >= 1
    assert end.done["figure.rate"] == 2.5
    assert "figure.other" not in end.done
    assert end.done["exit_status"] == 0
    assert len(str(end.done["output_tail"])) == TAIL_KEPT_CHARACTERS


@pytest.mark.usefixtures("sonde_worker")
def test_a_failed_program_is_a_record_and_no_failure_of_the_session():
    fields = {"command": ["false"], "environment": {}, "figures": {}}
    with open_program(LocalHost(), "ipv4") as session:
        for _ in range(2):
            (end,) = decode_batch(0, session.run(fields, 20)).ends.values()
            assert end.done["exit_status"] == 1
            assert end.done["timed_out"] is False
        late = session.run({**fields, "command": ["sleep", "600"]}, 0.3)
        assert late[-1]["values"]["timed_out"] is True
    with pytest.raises(HostError, match="closed"):
        session.run(fields, 20)
