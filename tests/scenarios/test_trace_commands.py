"""netsonde trace as a user types it: over a command, for a time, in the background, killed."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import NetsondeError
from netsonde.trace.journal import TraceReader, read_trace
from netsonde.trace.place import writer_of
from netsonde.trace.series import load_trace

TIMEOUT_S = 60

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
def trace(tmp_path, monkeypatch):
    """``netsonde trace WORDS`` within this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def invoke(*words):
        done = runner.invoke(app, ["trace", *words])
        error = done.exception
        if error is None or isinstance(error, SystemExit):
            return SimpleNamespace(
                returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr
            )
        assert isinstance(error, NetsondeError), error
        said = f"{done.stderr}netsonde: {error}\n"
        return SimpleNamespace(returncode=error.exit_code, stdout=done.stdout, stderr=said)

    return invoke


def wait_for(is_so, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)


def is_answered(url):
    try:
        urllib.request.urlopen(url, timeout=TIMEOUT_S).close()
    except OSError:
        return False
    return True


def labels(folder):
    reader, problems = TraceReader(), list[str]()
    found = [m.label or m.number for m in read_trace(folder, reader, problems)]
    return found, reader, problems


def is_sampled(folder, least):
    def check():
        try:
            return len(labels(folder)[0]) >= least
        except Exception:
            return False

    return check


@pytest.mark.worker
def test_a_command_keeps_its_output_and_exit_code(netsonde_command, tmp_path):
    program = "echo out; echo err >&2; cat; sleep 0.3; exit 7"
    done = subprocess.run(
        [*netsonde_command, "trace", "--every", "100ms", "-o", "t", "--", "sh", "-c", program],
        capture_output=True,
        text=True,
        input="in\n",
        timeout=TIMEOUT_S,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 7
    assert done.stdout == "out\nin\n"
    assert "ended with 7 after" in done.stderr
    assert "itself" in done.stderr
    assert max(len(line) for line in done.stderr.splitlines() if "netsonde:" not in line) <= 80
    found, reader, problems = labels(tmp_path / "t")
    assert (found[0], found[-1]) == ("start", "end")
    assert problems == []
    assert reader.about["command"] == ["sh", "-c", program]
    assert reader.ending.reason == "the command has ended"


def test_a_command_uses_what_it_uses(trace, tmp_path):
    """Half a second of work of its own shows as such, in its own line and in the processors'."""
    burn = "import time\nend=time.process_time()+.5\nwhile time.process_time()<end: pass"
    done = trace("-o", "t", "--", sys.executable, "-c", burn)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stderr.splitlines() if line.startswith("itself"))
    words = line.split()
    assert float(words[1]) + float(words[4]) >= 0.5
    found = load_trace(tmp_path / "t")
    busy = sum(found.increments(f"cpu.all.{kind}").amounts.sum() for kind in ("user", "system"))
    assert busy >= 40  # of 100 in a second


def test_nothing_is_left_where_nothing_was_asked_for(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = trace("--", "true")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (["./no-such-program"], 127, "cannot start ./no-such-program: No such file"),
        (["/"], 126, "cannot start /: Permission denied"),
        (["sh", "-c", "kill -TERM $$"], 143, "ended with 143"),
    ],
)
def test_commands_that_fail(trace, command, status, said):
    done = trace("--", *command)
    assert done.returncode == status
    assert said in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command(netsonde_command, tmp_path, number):
    program = "trap 'echo caught; exit 5' INT TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [*netsonde_command, "trace", "--", "sh", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert out == "caught\n"
    assert process.returncode == 5
    assert "ended with 5" in err


ANOTHER_THREAD = """
import sys, threading, time
import netsonde.trace.run
from netsonde.cli.entry import main
threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
attend = netsonde.trace.run.attend
def late(*words):
    time.sleep(0.5)
    return attend(*words)
netsonde.trace.run.attend = late
main()
"""


def test_a_signal_that_another_thread_is_given_reaches_the_command(tmp_path):
    """Libraries have threads; one gets the signal where the main thread does not wait just then."""
    program = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER_THREAD, "trace", "--", "sh", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert out == "caught\n"
    assert process.returncode == 5, err


@pytest.mark.worker
def test_for_a_time_into_a_table(trace, tmp_path):
    done = trace("--every", "100ms", "--for", "500ms", "-o", "net.parquet")
    assert done.returncode == 0, done.stderr
    assert "6 samples, as long as asked" in done.stdout
    assert (tmp_path / "net.parquet").stat().st_size > 0
    found, reader, _ = labels(tmp_path / "net.parquet.trace")
    assert found[0] == "start"
    assert found[-1] == 5
    assert reader.ending.reason == "as long as asked"
    shown = trace("summary", "net.parquet")
    assert shown.returncode == 0, shown.stderr
    assert "busy %" in shown.stdout
    again = trace("--for", "1s", "-o", "net.parquet")
    assert again.returncode == 2
    assert "net.parquet exists" in again.stderr


@pytest.mark.worker
def test_ctrl_c_ends_it_with_all_it_has(netsonde_command, tmp_path):
    with subprocess.Popen(
        [*netsonde_command, "trace", "--every", "50ms", "-o", "t"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        wait_for(is_sampled(tmp_path / "t", 3), "the third sample")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    assert "told to end" in out
    found, reader, _ = labels(tmp_path / "t")
    assert found[-1] == "end"
    assert reader.ending is not None


def test_a_killed_sampler_loses_no_whole_sample(trace, tmp_path):
    """Whatever the moment of the kill, what was written is whole but for the last line."""
    folder = tmp_path / "t"
    started = trace("--every", "10ms", "--background", "-o", "t")
    assert started.returncode == 0, started.stderr
    pid = writer_of(folder)
    assert pid is not None
    wait_for(is_sampled(folder, 20), "the twentieth sample")
    before, _, _ = labels(folder)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: writer_of(folder) is None, "the end of the sampler")
    after, reader, _ = labels(folder)
    assert after[: len(before)] == before
    assert reader.ending is None
    text = trace("status", "t").stdout
    assert "cut off" in text
    table = trace("convert", "t", "-o", "t.csv")
    assert table.returncode == 0, table.stderr
    assert (tmp_path / "t.csv").read_text().count("\n") == len(after) + 1


def test_in_the_background_until_it_is_stopped(trace, tmp_path):
    """It has a session and no terminal, gives its values, and its table is made at its end."""
    done = trace("--every", "50ms", "--background", "-o", "net.csv", "--listen", "0")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "net.csv.trace"
    pid = writer_of(folder)
    assert pid is not None
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
    url = next(word for word in done.stdout.split() if word.startswith("http://127.0.0.1:"))
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        assert b"netsonde_trace_info" in answer.read()
    text = trace("status", "net.csv", "--json").stdout
    assert json.loads(text)["process"] == pid
    stopped = trace("stop", "net.csv")
    assert stopped.returncode == 0, stopped.stderr
    assert f"process {pid}" in stopped.stdout
    assert writer_of(folder) is None
    assert labels(folder)[0][-1] == "end"
    wait_for(lambda: (tmp_path / "net.csv").exists(), "the table")
    again = trace("stop", "net.csv")
    assert again.returncode == 2
    assert "no trace is being written" in again.stderr
    wait_for(lambda: not is_answered(url), "the end of the endpoint")


def test_a_port_that_is_taken_ends_the_trace_too(trace, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = trace("--background", "-o", "t", "--listen", port)
    assert done.returncode == 3
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert writer_of(tmp_path / "t") is None


@pytest.mark.worker
def test_a_host_without_any_of_it(trace, tmp_path):
    """Each part says once what is missing, and the trace goes on with what is there."""
    (tmp_path / "root" / "proc").mkdir(parents=True)
    (tmp_path / "root" / "proc" / "loadavg").write_text("1.25 0.50 0.10 1/200 12345\n")
    words = ["--root", str(tmp_path / "root"), "--every", "20ms", "--for", "200ms", "-o", "t"]
    done = trace(*words)
    assert done.returncode == 0, done.stderr
    for part in ("cpu", "interrupts", "softnet", "driver", "queues", "protocols", "pressure"):
        assert done.stderr.count(f"without {part}: ") == 1
    assert "without load" not in done.stderr
    found = load_trace(tmp_path / "t")
    assert set(found.columns["load.one_minute_milli"].values) == {1250}
    shown = trace("summary", "t")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-i", "no-such-card"], "no-such-card is no interface of this host; it has"),
        (["--every", "0s"], "--every 0s is not between 1ms and a day"),
        (["--for", "forever"], "--for: duration 'forever' is not a duration"),
        (["--for", "1s", "--every", "2s"], "shorter than one interval"),
        (["--for", "1s", "--", "true"], "--for and a command do not go together"),
        (["--parts", "cpu,nonsense"], "there is no part nonsense; there are cpu, load"),
        (["--most", "1k"], "--most 1k is less than 1M"),
        (["--listen", "port"], "is no port"),
        (["--cpu", "4000", "--for", "1s"], "CPU 4000"),
        (["-o", "t/none", "--for", "1s"], "cannot write"),
        (["--"], "there is no command behind --"),
    ],
)
def test_what_cannot_be_traced(trace, tmp_path, words, said):
    (tmp_path / "t").write_text("a file\n")
    done = trace(*words)
    assert done.returncode in (2, 3)
    assert said in done.stderr
    assert done.stderr.count("netsonde:") == 1


def test_a_full_disk_loses_samples_and_says_so(trace, tmp_path):
    """Of a host with few counters: some samples fit, the others are counted."""
    (tmp_path / "root" / "proc").mkdir(parents=True)
    (tmp_path / "root" / "proc" / "loadavg").write_text("1.25 0.50 0.10 1/200 12345\n")
    words = ["--root", str(tmp_path / "root"), "--parts", "load"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
    try:
        done = trace(*words, "--every", "5ms", "--for", "2s", "-o", "t")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "samples could not be written" in done.stderr
    found, _, problems = labels(tmp_path / "t")
    assert len(found) > 10
    assert problems == []


def test_folders_are_not_shared(trace):
    first = trace("--every", "50ms", "--for", "100ms", "-o", "t")
    assert first.returncode == 0, first.stderr
    second = trace("--every", "50ms", "--for", "100ms", "-o", "t")
    assert second.returncode == 2
    assert "t holds a trace already" in second.stderr


@pytest.mark.worker
def test_names_mean_the_same_in_every_file(trace, tmp_path):
    """What this host has, all parts: every name is a word, every unit is known."""
    done = trace("--for", "100ms", "--every", "50ms", "-o", "t")
    assert done.returncode == 0, done.stderr
    _, reader, problems = labels(Path(tmp_path / "t"))
    assert problems == []
    units = {counter.unit for counter in reader.counters}
    assert units <= {
        "count",
        "bytes",
        "us",
        "ns",
        "pages",
        "packets",
        "kHz",
        "MT/s",
        "1/1000",
        "jiffies",
    }
    names = {counter.name for counter in reader.counters}
    assert {"cpu.0.softirq", "interface.lo.rx_bytes", "snmp.Tcp.RetransSegs"} <= names
