"""The programs of Hpcbench as a user types them, between two workers of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from marked import Marked

import warm
from netsonde.hpcbench.summary import read_traffic


class Hpcbench:
    """Runs the commands in a folder of their own, which is their home, too."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command = [*command, "hpcbench"]
        self.folder = folder
        self.marked = Marked(folder)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = self.marked.start(
            [*self.command, *arguments], cwd=self.folder
        )
        return process

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        done = warm.run(
            ["hpcbench", *arguments], folder=self.folder, environment=self.marked.environment()
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows of a result file by the names of the columns."""
        lines = (self.folder / name).read_text().splitlines()
        heading = next(line for line in lines if line.split()[0] == "#No")
        rows = [line.split() for line in lines if not line.lstrip().startswith("#")]
        return [dict(zip(heading.split(), row, strict=True)) for row in rows]

    def tables(self, name: str) -> dict[str, list[list[str]]]:
        """The tables of a system log by their titles."""
        found = {}
        for text in (self.folder / name).read_text().split("\n\n\n")[1:]:
            title, *lines = text.splitlines()
            found[title.removeprefix("# ")] = [line.split() for line in lines]
        return found


@pytest.fixture
def hpcbench(netsonde_command, tmp_path, monkeypatch) -> Hpcbench:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NETSONDE_PAIR", raising=False)
    return Hpcbench(netsonde_command, tmp_path)


def test_a_stream_of_tcp_with_all_its_files(hpcbench):
    output, _ = hpcbench.run(
        *("tcptest", "-h", "local", "-r", "3", "-t", "0.2", "-m", "10k", "-d", "4k"),
        *("--json", "--csv", "-cPo", "out"),
    )
    lines = output.splitlines()
    assert lines[1] == "TCP stream to the server, messages of 10240 bytes, blocking"
    rate = re.compile(r" \(\d\) : \d+\.\d{6} Mbps of payload \(client\)")
    assert [bool(rate.fullmatch(line)) for line in lines[2:5]] == [True] * 3
    assert lines[5].split() == [
        *("of", "3", "repetitions", "mean", "median", "least", "most", "deviation")
    ]
    assert [" by the client " in lines[6], " by the server " in lines[7]] == [True, True]
    assert lines[8:] == [
        "Test done.",
        'Result file: "out"',
        'Log of the client: "out.c_log"',
        'Log of the server: "out.s_log"',
        'For gnuplot: "out.plot"',
        'For programs: "out.json"',
        'For programs: "out.csv"',
    ]
    assert [f"#{line}" for line in lines[5:8]] == (
        (hpcbench.folder / "out").read_text().splitlines()[-3:]
    )
    document = json.loads((hpcbench.folder / "out.json").read_text())
    assert (document["complete"], len(document["rows"])) == (True, 3)
    assert [len(document["system_logs"][end]) for end in ("client", "server")] == [5, 5]
    assert (hpcbench.folder / "out.csv").read_text().count("\n") == 4
    rows = hpcbench.rows("out")
    assert [row["#No"] for row in rows] == ["1", "2", "3"]
    for row, line in zip(rows, lines[2:5], strict=True):
        assert int(row["Bytes"]) == 10240 * int(row["Iterations"])
        assert row["C_Mbps"] in line
        expected = int(row["Bytes"]) * 8e-6 / float(row["C_s"])
        assert float(row["C_Mbps"]) == pytest.approx(expected, rel=1e-3)
    assert len({row["Iterations"] for row in rows}) == 1
    for log in ("out.c_log", "out.s_log"):
        tables = hpcbench.tables(log)
        heading, *periods = tables["interface lo"]
        assert [period[0] for period in periods] == ["0", "1", "2", "3", "4"]
        sent = heading.index("SentByte")
        for period, row in zip(periods[1:4], rows, strict=True):
            assert int(period[sent]) > int(row["Bytes"])
            assert float(period[1]) > float(row["C_s"]) - 0.001
        assert "CPU 0" in tables
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "out.plot"], cwd=hpcbench.folder, timeout=60, check=True)
        assert (hpcbench.folder / "out.svg").stat().st_size > 1000
    hpcbench.marked.expect_nothing_left()


def test_ping_pong_and_both_ways_at_once(hpcbench):
    for output, letters in (("a", ["-i"]), ("b", ["-i", "-n"])):
        arguments = ("-r", "2", "-t", "0.2", "-N", "-m", "32k")
        hpcbench.run("tcptest", "-h", "local", *arguments, "-o", output, *letters)
    for row in hpcbench.rows("a"):
        assert int(row["Bytes"]) == 2 * 32768 * int(row["Iterations"])
    for row in hpcbench.rows("b"):
        assert row["OutBytes"] == row["BackBytes"] == str(32768 * int(row["Iterations"]))


def test_iterations_by_hand_are_obeyed_exactly(hpcbench):
    _, errors = hpcbench.run(
        *("tcptest", "-h", "local", "-I", "37", "-t", "3", "-r", "2", "-o", "out", "-f", __file__),
        *("-m", "1k"),
    )
    assert [row["Iterations"] for row in hpcbench.rows("out")] == ["37", "37"]
    assert "-t has no effect" in errors


def test_exponential_sizes_have_a_row_each(hpcbench):
    hpcbench.run("tcptest", "-h", "local", "-e", "6", "-t", "0.1", "-N", "-P", "-o", "out")
    sizes = [row["Message"] for row in hpcbench.rows("out")]
    assert sizes == [str(2**power) for power in range(7)]
    hpcbench.run("udptest", "-h", "local", "-e", "-l", "40", "-m", "1k", "-t", "0.1", "-o", "udp")
    assert [row["Datagram"] for row in hpcbench.rows("udp")] == [
        "1",
        "2",
        "4",
        "8",
        "16",
        "32",
        "40",
    ]


@pytest.mark.parametrize("program", ["tcptest", "udptest"])
def test_round_trips(hpcbench, program):
    output, _ = hpcbench.run(program, "-h", "local", "-A", "100", "-r", "2", "-t", "0.1", "-o", "o")
    assert re.search(
        r"^ \(2\) : \d+\.\d{3} us round trip, the mean \(client\)$", output, re.MULTILINE
    )
    for row in hpcbench.rows("o"):
        assert row["Message"] == "100"
        assert float(row["Min_us"]) <= float(row["Median_us"]) <= float(row["Max_us"])


def test_a_stream_of_udp_accounts_for_every_datagram(hpcbench):
    hpcbench.run("udptest", "-h", "local", "-r", "2", "-t", "0.1", "-l", "1000", "-c", "-o", "out")
    hpcbench.run("udptest", "-h", "local", "-r", "1", "-t", "0.1", "-i", "-o", "both")
    for row in hpcbench.rows("out"):
        assert int(row["SentDgrams"]) == int(row["RecvDgrams"]) + int(row["Lost"])
        assert int(row["SentBytes"]) == 1000 * int(row["SentDgrams"])
        assert int(row["SentBytes"]) >= 1 << 20
    (row,) = hpcbench.rows("both")
    assert int(row["C_Sent"]) >= int(row["S_Recv"]) > 0
    assert int(row["S_Sent"]) >= int(row["C_Recv"]) > 0


def test_a_paced_stream_goes_on_until_the_amount_is_sent(hpcbench):
    _, errors = hpcbench.run(
        *("udptest", "-h", "local", "-r", "2", "-t", "0.1", "-T", "20M", "-m", "1m", "-o", "out")
    )
    # Every repetition is made once, until both are reached, and each of them is a row.
    assert [row["SentDgrams"] for row in hpcbench.rows("out")] == ["719", "719"]
    for row in hpcbench.rows("out"):
        assert float(row["C_s"]) >= 718 * 1460 * 8 / 20e6
    assert errors.count("goes on until all are sent") == 1


def test_the_generator_needs_nobody(hpcbench):
    _, errors = hpcbench.run(
        *("udptest", "-h", "127.0.0.1", "-g", "-T", "5M", "-t", "0.2", "-r", "2", "-c", "-o", "out")
    )
    assert "unasked" in errors
    assert [row["Datagram"] for row in hpcbench.rows("out")] == ["1460", "1460"]
    assert not (hpcbench.folder / "out.s_log").exists()
    assert len(hpcbench.tables("out.c_log")["interface lo"]) == 1 + 4


def test_a_generator_without_a_rate_is_as_fast_as_the_host(hpcbench):
    _, errors = hpcbench.run(
        *("udptest", "-h", "127.0.0.1", "-g", "-t", "0.2", "-r", "1", "-l", "1000", "-o", "out")
    )
    assert "without -T the traffic is as fast as this host can send it" in errors
    (row,) = hpcbench.rows("out")
    assert int(row["SentDgrams"]) > 1
    assert ", as fast as it goes" in (hpcbench.folder / "out").read_text()


def test_an_interrupted_generator_keeps_what_it_sent(hpcbench):
    """Its only repetition, cut short: to the sentence that says so belongs a row."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(60)
        process = hpcbench.start(
            *("udptest", "-h", "127.0.0.1", "-p", str(receiver.getsockname()[1]), "-g"),
            *("-T", "1M", "-t", "600", "-r", "1", "--json", "-o", "out"),
        )
        for _ in range(20):
            receiver.recv(2000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 4, errors
    (row,) = hpcbench.rows("out")
    assert int(row["SentDgrams"]) >= 20
    assert float(row["C_s"]) < 600
    assert re.search(
        r"interrupted; repetition 1 was cut short after .* s; 1 repetition is in out", errors
    )
    assert "# repetition 1 was cut short" in (hpcbench.folder / "out").read_text()
    document = json.loads((hpcbench.folder / "out.json").read_text())
    assert (document["complete"], len(document["rows"])) == (False, 1)
    hpcbench.marked.expect_nothing_left()


def test_an_interrupt_before_anything_was_measured_says_so(hpcbench):
    process = hpcbench.start("tcptest", "-h", "local", "-I", "16777216", "-r", "1", "-o", "out")
    out = hpcbench.folder / "out"
    wait_for(lambda: out.exists() and "#No" in out.read_text())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 4, errors
    assert errors.endswith("netsonde: interrupted; nothing was measured by then\n")
    assert hpcbench.rows("out") == []


def test_a_files_content_is_what_is_sent(hpcbench):
    """The client's worker has the file open and reads of it; what arrives of it, the engine's
    tests know."""
    content = hpcbench.folder / "content"
    content.write_bytes(os.urandom(1 << 20))
    process = hpcbench.start(
        *("tcptest", "-h", "local", "-f", "content", "-I", "16777216", "-m", "100k", "-r", "1")
    )

    def opened():
        found = []
        for pid in hpcbench.marked.processes():
            with contextlib.suppress(OSError):
                found += [fd.readlink() for fd in Path(f"/proc/{pid}/fd").iterdir()]
        return content in found

    wait_for(opened)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    _, errors = hpcbench.run("tcptest", "-h", "local", "-f", "content", "-m", "2m", code=2)
    assert "content is not a file of at least 2097152 bytes" in errors
    hpcbench.run("tcptest", "-h", "local", "-f", "content", "-I", "50", "-m", "100k", "-o", "o")
    assert {row["Bytes"] for row in hpcbench.rows("o")} == {str(50 * 102400)}
    hpcbench.marked.expect_nothing_left()


def test_a_buffer_below_the_least_is_named(hpcbench):
    _, errors = hpcbench.run(
        *("tcptest", "-h", "local", "-b", "100", "-r", "1", "-I", "5", "-m", "1k", "-o", "out")
    )
    sentence = "the client's system raised the send buffer from 100 to 4608 bytes"
    assert sentence in errors
    assert f"# {sentence}" in (hpcbench.folder / "out").read_text()


def test_buffers_that_the_system_cuts_are_named(hpcbench):
    _, errors = hpcbench.run(
        *(
            "tcptest",
            "-h",
            "local",
            "-b",
            "1000m",
            "-B",
            "100k",
            "-r",
            "1",
            "-t",
            "0.1",
            "-o",
            "out",
        )
    )
    text = (hpcbench.folder / "out").read_text()
    if "client's system cut" not in errors:
        pytest.skip("this system allows buffers of a gigabyte")
    assert "# the client's system cut the send buffer from 1048576000 to" in text
    assert "server's system" not in errors
    assert re.search(r"server has: .*send buffer 102400, receive buffer 102400,", text)


def test_earlier_results_are_kept(hpcbench):
    arguments = ("tcptest", "-h", "local", "-I", "10", "-r", "1", "-o", "out")
    hpcbench.run(*arguments)
    first = (hpcbench.folder / "out").read_text()
    _, errors = hpcbench.run(*arguments)
    assert "the earlier files are now out.1*" in errors
    assert (hpcbench.folder / "out.1").read_text() == first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tcptest"], "-h"),
        (["tcptest", "-h", "local", "-e", "33"], "-e"),
        (["tcptest", "-h", "local", "-m", "1x"], "-m '1x'"),
        (["tcptest", "-h", "local", "-q", "7"], "-q"),
        (["tcptest", "-h", "local", "-l", "100"], "-l"),
        (["tcptest", "-h", "local", "-f", "nowhere"], "-f nowhere"),
        (["tcptest", "-h", "local", "-o", "no/where"], "-o no/where"),
        (["tcptest", "-h", "local", "--pairing-code", "ns1-abc"], "pairing code"),
        (["tcptest", "-h", "127.0.0.1", "-p", "3000"], "-p 3000 is the port of a server"),
        (["tcpserver", "-p", "65536"], "-p"),
        (["sysmon", "-b", "-w", "-i", "nope0"], "-i 'nope0'"),
        (["sysmon", "-k"], "no sysmon"),
        (["sysmon", "--day", "2004-08-08"], "--day"),
        (["sysmon", "--plot"], "--plot goes with --summary"),
        (["sysmon", "--summary", "x", "-w", "--plot"], "--summary goes with no option but"),
        (["sysmon", "--summary", "nowhere"], "nowhere"),
    ],
)
def test_bad_usage_is_refused(hpcbench, arguments, words):
    output, errors = hpcbench.run(*arguments, code=2)
    assert output == ""
    assert errors.startswith("netsonde: ")
    assert words in errors.splitlines()[-1]
    assert not list(hpcbench.folder.glob("out*"))


def wait_for(what, patience_s=30.0):
    end = time.monotonic() + patience_s
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
    return found


def test_what_was_measured_before_an_interrupt_is_in_the_files(hpcbench):
    process = hpcbench.start(
        "tcptest", "-h", "local", "-I", "1000", "-r", "100000", "-c", "-o", "out"
    )
    out = hpcbench.folder / "out"
    wait_for(lambda: out.exists() and out.read_text().count("\n") > 20)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 4, errors
    assert len(hpcbench.rows("out")) > 3
    assert "the test broke off" in (hpcbench.folder / "out.c_log").read_text()
    hpcbench.marked.expect_nothing_left()


def test_a_killed_worker_is_a_sentence(hpcbench):
    process = hpcbench.start("tcptest", "-h", "local", "-I", "1000", "-r", "100000", "-o", "out")
    out = hpcbench.folder / "out"
    wait_for(lambda: out.exists() and out.read_text().count("\n") > 20)
    workers = [
        pid
        for pid in hpcbench.marked.processes()
        if b"sonde-worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    hpcbench.marked.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert errors.startswith("netsonde: ")
    assert len(hpcbench.rows("out")) > 3
    hpcbench.marked.expect_nothing_left()


@contextlib.contextmanager
def server(hpcbench: Hpcbench, program: str) -> Iterator[tuple[str, str]]:
    """The port and the code of a server; it ends in order."""
    process = hpcbench.start(program, "-p", "0", "-v")
    said = ""
    assert process.stdout is not None
    while " -p " not in said:
        text = process.stdout.readline()
        assert text, "the server ended"
        said += text
    try:
        yield re.findall(r"port (\d+)", said)[0], re.findall(r"NETSONDE_PAIR=(\S+)", said)[0]
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
        assert "session of" in errors


@pytest.mark.parametrize(
    "program", ["tcpserver", pytest.param("udpserver", marks=pytest.mark.soak)]
)
def test_a_server_serves_test_after_test_of_either_kind(hpcbench, program, monkeypatch):
    with server(hpcbench, program) as (port, code):
        common = ("-r", "1", "-t", "0.1", "-c", "-o", "out")
        _, errors = hpcbench.run(
            *("tcptest", "-h", "127.0.0.1", "-p", port, "--pairing-code", code, "-b", "50k"),
            *common,
        )
        # A busy machine is named: that is true, and no matter here.
        said = [line for line in errors.splitlines() if "was not idle" not in line]
        assert said == []
        text = (hpcbench.folder / "out").read_text()
        assert code not in text
        assert "--pairing-code CODE" in text
        assert (hpcbench.folder / "out.s_log").exists()
        monkeypatch.setenv("NETSONDE_PAIR", code)
        hpcbench.run("udptest", "-h", f"127.0.0.1:{port}", *common)
        hpcbench.run("tcptest", "-h", "local", "-r", "1", "-t", "0.1")  # no server, no code
        wrong = code[:-1] + ("0" if code[-1] != "0" else "1")
        _, errors = hpcbench.run(
            "tcptest", "-h", "127.0.0.1", "-p", port, "--pairing-code", wrong, code=2
        )
        assert "typing error" in errors
    hpcbench.marked.expect_nothing_left()


def test_the_monitor_on_the_screen(hpcbench):
    output, _ = hpcbench.run("sysmon", "-r", "3", "-t", "0.1", "-i", "lo")
    _, heading, *lines = output.splitlines()
    assert heading.split()[0] == "No"
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert {line.split()[-3] for line in lines} == {"lo"}
    assert max(map(len, (heading, *lines))) <= 80


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 4)])
def test_a_monitor_that_is_ended_leaves_whole_files(hpcbench, number, code):
    process = hpcbench.start("sysmon", "-W", "-o", "x.log", "-t", "0.1", "-r", "100000")
    log = hpcbench.folder / "x.log"
    wait_for(lambda: log.exists() and " net lo " in log.read_text())
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == code, errors
    assert output == 'Log: "x.log"\n'
    assert log.read_text().endswith(f"samples: {number.name}\n")
    assert (hpcbench.folder / "x.log.lo").read_text().endswith(f"samples: {number.name}\n")
    read_traffic("x.log", log.read_text().splitlines(keepends=True))
    hpcbench.marked.expect_nothing_left()


def test_a_monitor_in_the_background(hpcbench):
    """It has no terminal and another session, is one of its kind, and ends where it is told to."""
    started = ("sysmon", "-b", "-o", "x.log", "-t", "0.1", "-T", "60")
    output, _ = hpcbench.run(*started)
    pid = int(re.findall(r"process (\d+)", output)[0])
    try:
        assert os.getsid(pid) not in (pid, os.getsid(0))
        assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)
        os.kill(pid, signal.SIGHUP)
        log = hpcbench.folder / "x.log"
        lines = log.read_text().count("\n")
        wait_for(lambda: log.read_text().count("\n") > lines)
        _, errors = hpcbench.run(*started, code=2)
        assert f"process {pid}" in errors
    finally:
        hpcbench.run("sysmon", "-k")
    assert log.read_text().endswith("samples: SIGTERM\n")
    hpcbench.run("sysmon", "-k", code=2)
    output, _ = hpcbench.run("sysmon", "--summary", "x.log", "--plot")
    assert "RecvMiB" in output
    assert "no samples, no plot" in output or (hpcbench.folder / "x.log.plot").exists()
    hpcbench.marked.expect_nothing_left()


def test_a_full_disk_does_not_end_a_monitor_in_the_background(hpcbench):
    """What does not fit is counted and said; no line is torn, and it goes on when there is room."""
    output, _ = hpcbench.run("sysmon", "-b", "-o", "x.log", "-t", "0.1", "-T", "60")
    pid = int(re.findall(r"process (\d+)", output)[0])
    (record,) = (hpcbench.folder / "state" / "netsonde").glob("sysmon-*.pid")
    log = hpcbench.folder / "x.log"
    try:
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        wait_for(lambda: " net lo " in log.read_text())
        # To the process this is as a full disk; its record was made large enough at once.
        limit = max(log.stat().st_size + 5000, record.stat().st_size)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, most))
        wait_for(lambda: "cannot write" in record.read_text())
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        wait_for(lambda: "samples are missing here" in log.read_text())
    finally:
        _, errors = hpcbench.run("sysmon", "-k", code=3)
    assert re.search(r"it said: \d+ samples are not in \S+x\.log: ", errors), errors
    assert log.read_text().endswith("samples: SIGTERM\n")
    read_traffic("x.log", log.read_text().splitlines(keepends=True))
    _, errors = hpcbench.run("sysmon", "-k", code=2)
    assert "the last one said" in errors
    hpcbench.marked.expect_nothing_left()
