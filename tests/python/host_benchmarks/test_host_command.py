"""Clocks and sleeps of this machine, by the real worker. No length of time decides anything."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from raw_worker import RawWorker, S, series, workers
from typer.testing import CliRunner

import warm
from netsonde.cli.main import app
from netsonde.host_benchmarks import measure_work, plan
from netsonde.host_benchmarks.kernel import OFFERS
from netsonde.host_benchmarks.plan import CALL_UNITS_NS, CLOCKS

pytestmark = pytest.mark.worker

PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
SHORT = ("--only", "clocks,sleeps", "--readings", "500", "--count", "10")


def netsonde_host(*words: str) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = warm.run(["host", *words], timeout_s=60)
    return done


# The worker.


@pytest.mark.parametrize("clock", ["nothing", *CLOCKS])
def test_a_clock_is_read_as_often_as_asked(lone: RawWorker, clock: str) -> None:
    answer = lone.ask("read_clock", clock=clock, count=2500, timeout_ns=10 * S)
    values = answer[-1]["values"]
    if not values["present"]:
        assert clock == "counter"
        assert values["absent_because"]
        return
    call_ns = series(answer, "call_ns")
    assert len(call_ns) == 2500
    assert (call_ns >= 0).all()
    assert (values["steps"] > 0) == (clock != "nothing")
    if clock.startswith("monotonic"):
        assert values["steps_back"] == 0


@pytest.mark.parametrize("call", CALL_UNITS_NS)
def test_no_sleep_is_shorter_than_asked(lone: RawWorker, call: str) -> None:
    for asked_ns in (0, 1000, 10_000, 2_000_000, 100_000_000):
        if asked_ns % CALL_UNITS_NS[call]:
            continue
        count = 2 if asked_ns > 10**7 else 20
        answer = lone.ask("sleep", call=call, asked_ns=asked_ns, count=count, timeout_ns=10 * S)
        slept_ns = series(answer, "slept_ns")
        assert len(slept_ns) == count
        assert (slept_ns >= asked_ns).all()
        assert (slept_ns < 10 * S).all()


def test_sleeps_have_the_slack_that_the_worker_was_started_with(sonde_worker: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    before_ns = libc.prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    try:
        assert libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(123_456), 0, 0, 0) == 0
        with workers(sonde_worker, 1) as (worker,):
            answer = worker.ask("sleep", call="nanosleep", asked_ns=0, count=1, timeout_ns=S)
            assert answer[-1]["values"]["timer_slack_ns"] == 123_456
            # And is itself punctual again afterwards.
            worker.submit("facts")
            facts = next(r for r in worker.wait() if r["record"] == "facts")
            assert facts["values"]["timer.slack_ns"] == 1
    finally:
        libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(before_ns), 0, 0, 0)


@pytest.mark.parametrize(("call", "asked_ns"), [("usleep", 1), ("select", 1500), ("poll", 1000)])
def test_a_call_of_a_coarser_unit_is_not_rounded(lone: RawWorker, call: str, asked_ns: int) -> None:
    answer = lone.ask("sleep", call=call, asked_ns=asked_ns, count=1, timeout_ns=S)
    assert (answer[-1]["record"], answer[-1]["code"]) == ("error", "bad_request")
    assert f"but {call} counts in" in answer[-1]["message"]


def test_a_time_out_ends_readings_and_sleeps(lone: RawWorker) -> None:
    for verb, fields in (
        ("sleep", {"call": "nanosleep", "asked_ns": 10**8, "count": 10_000}),
        ("read_clock", {"clock": "process_cputime", "count": 1_000_000}),
    ):
        answer = lone.ask(verb, **fields, timeout_ns=10**6)
        assert (answer[-1]["record"], answer[-1]["code"]) == ("error", "timeout")
        assert "its limit of 0.0 s passed while" in answer[-1]["message"]
    assert lone.ask("sync")[-1]["record"] == "done"


def test_a_worker_whose_launcher_is_gone_does_not_sleep_on(lone: RawWorker) -> None:
    lone.submit("sleep", call="nanosleep", asked_ns=10**8, count=10_000, timeout_ns=1000 * S)
    lone.close()
    assert lone.process.returncode == 0


# The command.


@pytest.mark.usefixtures("sonde_worker")
def test_the_command_prints_both_tables() -> None:
    shown = netsonde_host(*SHORT, "--sleeps", "0,1us,2ms")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Clocks of local, 500 readings each" in lines
    assert "Sleeps of local, 10 of each" in lines
    assert sum(re.match(r"CLOCK_\w+ +\d+ [num]?s +\d", line) is not None for line in lines) >= 7
    assert sum(line.split(" ")[0] in CALL_UNITS_NS for line in lines) == 4 * 3 + 2


@pytest.mark.usefixtures("sonde_worker")
def test_the_document_of_the_command() -> None:
    shown = netsonde_host(*SHORT, "--sleeps", "0,10us,5ms", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    content = json.loads(shown.stdout)
    assert len(content["sleeps"]["sleeps"]) == 4 * 3 + 2
    for sleep in content["sleeps"]["sleeps"]:
        slept = sleep["slept"]
        assert sleep["asked_ns"] <= slept["min_ns"] <= slept["mean_ns"] <= slept["max_ns"]
        assert slept["min_ns"] <= slept["median_ns"] <= slept["max_ns"]
        tail = slept["p99_ns"]  # of fewer than 100 sleeps there is none
        assert tail is None or slept["median_ns"] <= tail <= slept["max_ns"]
    for clock in content["clocks"]["clocks"]:
        cost = clock["cost"]
        assert (cost is None) == (clock["absent_because"] is not None)
        if cost is not None:
            assert 0 <= cost["min_ns"] <= cost["median_ns"] <= cost["max_ns"]
            assert cost["min_ns"] <= cost["mean_ns"] <= cost["max_ns"]
            assert clock["readings"] == 500
    assert not [j for j in content["sleeps"]["judgements"] if "before the" in j["sentence"]]


@pytest.mark.usefixtures("sonde_worker")
def test_a_hosts_own_work_is_shown() -> None:
    shown = netsonde_host("--only", "noise,threads", "--noise", "100ms")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for begin in ("Disturbance of", "Context switches"):
        assert any(line.startswith(begin) for line in lines)
    assert "10000 quanta of equal work" in shown.stdout


@pytest.mark.usefixtures("sonde_worker")
def test_copies_and_hint_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """In little memory: whole caches take a minute, and the sizes are what matters least here."""
    monkeypatch.setattr(measure_work, "MOST_ARENA_BYTES", 16 * 1024**2)
    monkeypatch.setattr(measure_work, "COPIED_BYTES", 16 * 1024**2)
    monkeypatch.setattr(plan, "HINT_SUBINTERVALS", 1 << 16)
    shown = CliRunner().invoke(app, ["host", "--only", "copies,hint", "--json"])
    assert shown.exit_code == 0
    work = json.loads(shown.stdout)["work"]
    assert work["noise"] is None
    assert {copy["kind"] for copy in work["copies"]} >= {"cache to cache", "memory to memory"}
    assert len(work["hint"]) >= 2
    kinds = {(copy["size_bytes"], copy["kind"]): copy["copy_ns"] for copy in work["copies"]}
    assert all(time_ns > 0 for time_ns in kinds.values())
    assert all(hint["bounds_hold"] and min(hint["quips"]) > 0 for hint in work["hint"])


@pytest.mark.usefixtures("sonde_worker")
def test_what_the_kernel_offers_is_what_can_be_used() -> None:
    shown = netsonde_host("--only", "kernel")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "What the kernel of local offers" in lines
    found = json.loads(netsonde_host("--only", "kernel", "--json").stdout)["kernel"]
    assert set(found["offers"]) == set(OFFERS)
    # What is said is held against the same thing tried from here.
    tried = {
        "multipath_tcp": (socket.AF_INET, socket.SOCK_STREAM, 262),
        "icmp_echoes": (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
        "raw_sockets": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "packet_sockets": (socket.AF_PACKET, socket.SOCK_RAW, 0x0300),
    }
    for name, wanted in tried.items():
        try:
            socket.socket(*wanted).close()
            refused = ""
        except OSError as error:
            refused = str(error.strerror)
        assert found["offers"][name] == refused
    controls = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    assert found["congestion_controls"] == controls


@pytest.mark.usefixtures("sonde_worker")
def test_what_netsonde_moves_within_a_host() -> None:
    shown = netsonde_host("--only", "ceiling", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    found = json.loads(shown.stdout)["ceiling"]
    assert found.pop("host") == "local"
    spinning = {name for name in found if "spinning" in name}
    sure = found.keys() - spinning - {"cut_datagrams_per_s"}
    assert len(sure) == 4
    assert all(found[name] > 0 for name in sure)
    assert {found[name] is None for name in spinning} == {len(os.sched_getaffinity(0)) == 1}


@pytest.mark.usefixtures("sonde_worker")
def test_without_sleeps_there_is_one_table() -> None:
    shown = netsonde_host("--readings", "200", "--only", "clocks")
    assert shown.returncode == 0
    assert "Clocks of" in shown.stdout
    assert "Sleeps of" not in shown.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--readings", "0"], "--readings 0 is not between"),
        (["--calls", "poll", "--sleeps", "5us"], "--calls poll cannot sleep"),
        (["--count", "9", "--sleeps", "none"], "--count 9 is for sleeps"),
        (["--only", "clocks", "--calls", "poll"], "--calls poll is for sleeps, and --only clocks"),
        (["--only", "clocks", "--noise", "1s"], "--noise 1s is for noise, and --only clocks"),
        (["--only", "clocks,tides"], "--only 'tides' is none of clocks, sleeps, noise"),
        (["--noise", "11s"], "--noise 11s is not between 10 µs and 10 s"),
    ],
)
def test_bad_usage_is_one_sentence(words: list[str], sentence: str) -> None:
    shown = netsonde_host(*words)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith("netsonde: ")
    assert shown.stderr.count("\n") == 1
    assert sentence in shown.stderr


@pytest.mark.usefixtures("sonde_worker")
def test_an_interrupt_ends_the_sleeps() -> None:
    words = ["host", "--only", "clocks,sleeps", "--readings", "100", "--sleeps", "100ms"]
    command = [sys.executable, "-m", "netsonde", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any(line.startswith("(a system call)") for line in lines)
        time.sleep(0.3)  # wherever it is then: the sleeps last 50 s
        process.send_signal(signal.SIGINT)
        _, problem = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 4
    assert problem.startswith("netsonde: interrupted")
