"""What a user sees of options, as stored copies: --help, what is refused and with which sentence,
and what the study of a command line is.

    python tests/python/stored_copies.py          say anew what is said of the kept cases, after a
                                                  change that is meant
    python tests/python/stored_copies.py --all    look for cases anew, which takes minutes

The cases are every key and option alone with values that are right and wrong, in blocks and
commands of every test, and two of them together; of those that are told the same, the first few are
kept.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
from pydantic import ValidationError
from typer.exceptions import TyperException
from typer.testing import CliRunner

import netsonde.cli.show
from netsonde.cli.main import app
from netsonde.cli.wording import problem_in_options
from netsonde.errors import NetsondeError
from netsonde.serve.requests import BadRequestError, check_request
from netsonde.study.spec import StudySpec
from netsonde.tables import first_problem

STORED = Path(__file__).parent / "stored"
KEPT = 2
"""Cases of one sentence."""
Case = tuple[str, str]
"""What was given, and what is said of it."""

# Keys of a block and of its options, each with values: the first is right somewhere.
KEYS: dict[str, list[Any]] = {
    "sizes": ["64", "0", "70k", "1q", "4..1", []],
    "operations": [["bcast"], ["isend_irecv", "ibcast"], ["no_such"], ["barrier"]],
    "root": [0, "rotate", 7, "first"],
    "pattern": ["ring:2", "pairs", "round", "ring:0"],
    "partners": [[[0, 1]], [[0, 0]], [[0, 9]]],
    "rank_pair": [[0, 1], [1, 1], "each", "slowest", "some"],
    "uneven": [True],
    "window": [8, 0],
    "reduction": ["sum", "float-sum", "product"],
    "datatype": ["float", "word"],
    "echo": ["other", "back"],
    "cache": ["flush", "rotate", "fresh", "cold"],
    "cache_bytes": ["1M", "1"],
    "align": [64, 4, 3],
    "overlap": [True],
    "polls": [4, -1],
    "size_of": ["total", "half"],
    "threads": [[2, 4], [2, 2], [0]],
    "both_timers": [True],
    "timer_overhead": ["off", "told", "gone"],
    "call": ["1k", "x"],
    "count": [100, 0, 1],
    "rate": ["10M", "fast", "1"],
    "streams": [4, 0, 65],
    "outstanding": [4, 0],
    "label": ["a", ""],
    "port": [9, 0],
    "loads": ["0,50%", "half", [3]],
    "mtu": [[1500], [100], "9k,100"],
    "background_load": [["target=80%"], "none,both=50%", "both"],
    "cap": ["1s", "soon", "0s"],
    "check_data": [True, "maybe"],
    "start": ["window", "none", "later"],
    "windows": [{"late": "2us"}, {"late": "2h"}, {"late": "3us", "late_most": "2us"}],
    "compare_clocks": ["apart", "well"],
    "clock_method": ["offset", "wtime", "sun"],
    "keep": [1000, -1],
    "perturb": [3, -1, "5k"],
    "refine": [8, 201],
    "passes": [2, 0],
    "like": ["iperf3", "netpipe", "sockperf", "osu", "skampi", "reprompi", "ping"],
    "omit": ["1s", "x"],
    "no_such_key": [1],
}
OPTIONS: dict[str, list[Any]] = {
    "buffer": ["64k", "x", -1],
    "receive_buffer": ["64k"],
    "target_buffer": ["64k"],
    "no_delay": [True, False, "no"],
    "congestion_control": ["cubic", "No"],
    "max_segment": ["1k", "x"],
    "cork": [True],
    "not_sent_low": ["16k", "x"],
    "traffic_class": ["af41", "ef9", 256],
    "busy_poll_us": [50, -1],
    "multipath": [True],
    "pacing": ["1G", "fast"],
    "sending": ["sendfile", "zerocopy", "uring", "pigeon"],
    "datagrams_per_call": [8, 129],
    "asks_before_sleep": [0, 1001],
    "segment_offload": [True],
    "kernel_times": [True],
    "authenticated": [True],
    "kernel_trace": [True],
    "wait": ["spin", "ready", "maybe"],
    "placement": ["apart", "here"],
    "origin_cpu": [1, 9999],
    "target_cpu": [1],
    "no_such_option": [1],
}
WHOLE: list[dict[str, Any]] = [
    {},
    {"mpi": {"ranks": [2, 2]}},
    {"mpi": {"ranks": "x"}},
    {"mpi": {"ppn": [2]}},
    {"mpi": {"pin": "all"}},
    {"mpi": {"pin": "0,0"}},
    {"mpi": {"pin": "some"}},
    {"mpi": {"ranks": [1]}},
    {"mpi": {"ranks": [2, 4]}},
    {"mpi": {"launches": 3}},
    {"mpi": {"mpi": "mpich,mpich"}},
    {"relative_precision": 2},
    {"relative_precisions": {"p99": 0.05}},
    {"seed": -1},
    {"path": {"kind": "hosts", "target": "node7"}},
    {"path": {"kind": "hosts", "target": "lab:h1,h2", "family": "ipv6"}},
    {"path": {"between": "node[1-2]"}},
]
TESTS = {
    "tcp": ("latency", "stream", "generate", "open_loop", "incast"),
    "udp": ("latency", "stream", "generate", "open_loop"),
    "icmp": ("latency", "stream"),
    "mpi": ("latency", "stream", "collective", "clock", "threads", "incast"),
}

FLAGS_OF_ALL = [
    *("--sizes 1..1k", "--sizes 1q", "--sizes 0", "--count 50", "--count 0"),
    *(
        "--time 1s",
        "--time soon",
        "--relative-precision 5%",
        "--relative-precision p99:5%",
        "--relative-precision well",
    ),
    *(
        "--background-load target=80%",
        "--background-load both",
        "--check-data",
        "--seed 3",
        "--seed -1",
    ),
    *("--at-least round_trip_median_ns=1us", "--at-most lost_ratio"),
]
FLAGS_OF_SOCKETS = [
    *("--perturb 3", "--refine", "--load 0,50%", "--load half", "--streams 4", "--streams 65"),
    *("--rate 10M", "--rate fast", "--like iperf3", "--like netpipe", "--like ping", "--omit 1s"),
    *("--buffer 64k", "--buffer 64k,1M", "--buffer x", "--receive-buffer 64k"),
    *("--target-buffer 64k", "--mtu 1500", "--mtu 100", "--qos ef", "--qos 1..3", "--qos x"),
    *("--busy-poll 50", "--busy-poll -1", "--wait spin", "--wait maybe", "--kernel-times"),
    *(
        "--kernel-trace",
        "--cpus 0,1",
        "--cpus 0",
        "--cpus 0,9999",
        "--from node1",
        "--pairing-code x",
        "--ipv6",
    ),
    *("--link-rate 10G", "--link-rate x"),
]
FLAGS_OF_TCP = [
    *(
        "--call 1k",
        "--nodelay",
        "--nagle",
        "--cork",
        "--congestion cubic",
        "--congestion cubic,bbr",
    ),
    *("--congestion No", "--mss 1k,536", "--mss x", "--notsent-lowat 16k", "--notsent-lowat x"),
    *("--multipath", "--sendfile", "--zerocopy", "--uring", "--forget"),
]
FLAGS_OF_UDP = ["--port 9", "--port 0", "--batch 8", "--batch 129", "--offload", "--report loss"]
FLAGS_OF_ICMP = ["--qos ef", "--busy-poll 5", "--wait spin", "--wait maybe", "--cpu 1", "--ipv6"]
FLAGS_OF_MPI = [
    *("-n 4", "-n 2,4", "-n 1", "-n x", "--hosts node1,node2", "--mpi mpich,mpich", "--launches 3"),
    *("--ppn 2", "--ppn x", "--root 0", "--root 7", "--root rotate", "--root x"),
    *(
        "--pattern ring",
        "--pattern x",
        "--rank-pair 0,1",
        "--rank-pair 0,0",
        "--rank-pair each",
        "--rank-pair slowest",
    ),
    *("--rank-pair x", "--uneven", "--outstanding 4", "--size-of total", "--size-of half"),
    *("--window 8", "--window 0", "--threads 2", "--threads x", "--reduction min"),
    *("--reduction float-sum", "--reduction x", "--overlap", "--polls 3", "--cache flush"),
    *("--cache rotate", "--cache fresh", "--cache x", "--cache-bytes 1M", "--cache-bytes x"),
    *("--align 4", "--align 3", "--perturb 3", "--refine", "--start window", "--start none"),
    *("--start later", "--start window:late=2h", "--like osu", "--like all", "--like skampi"),
    *(
        "--like ping",
        "--compare-clocks apart",
        "--compare-clocks well",
        "--clock-method offset",
        "--clock-method wtime",
    ),
    *("--clock-method sun", "--keep 100", "--keep -1", "--pin all", "--pin not-zero", "--pin some"),
    *("--pin 0,0", "--oversubscribe", "--compare-timers", "--without-timer-overhead"),
]
COMMAND_LINES: dict[str, list[str]] = {
    "tcp node7 latency": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_TCP + FLAGS_OF_UDP[:1],
    "tcp node7 stream": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_TCP,
    "tcp node7 sweep": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_TCP,
    "tcp node7 generate": ["--rate 1M"],
    "tcp node[1-3] node4 incast": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_TCP,
    "udp node7 latency": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_UDP + FLAGS_OF_TCP[:3],
    "udp node7 stream": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_UDP,
    "udp node7 generate": FLAGS_OF_ALL + FLAGS_OF_SOCKETS + FLAGS_OF_UDP,
    "icmp node7 latency": FLAGS_OF_ALL + FLAGS_OF_ICMP + ["--buffer 64k"],
    "icmp node7 stream": [],
    "mpi latency": FLAGS_OF_ALL + FLAGS_OF_MPI,
    "mpi bcast": FLAGS_OF_ALL + FLAGS_OF_MPI,
    "mpi message_rate": FLAGS_OF_ALL + FLAGS_OF_MPI,
    "mpi threads": FLAGS_OF_MPI,
    "mpi clock": FLAGS_OF_MPI,
}


def told_of_study(given: str) -> str:
    """What is said of a study that is written as JSON, as of a file and as of a command line."""
    try:
        StudySpec.model_validate(json.loads(given))
    except ValidationError as error:
        of_file, of_options = first_problem(error), problem_in_options(error)
        return f"{of_file}\n    | {of_options}"
    except NetsondeError as error:
        return str(error)
    return ""


def told_of_command(given: str) -> str:
    """The sentence that a command line is refused with, or what differs from a study's defaults."""
    found: list[str] = []

    def keep(spec: StudySpec, *_: object, **__: object) -> None:
        found.append(json.dumps(spec.model_dump(mode="json", exclude_defaults=True)))

    with mock.patch.object(netsonde.cli.show, "run_and_show", keep):
        try:
            _whole().main(shlex.split(given), prog_name="netsonde", standalone_mode=False)
        except NetsondeError as error:
            return str(error)
        except TyperException as error:
            return " ".join(error.format_message().split())
    return found[0]


def told_of_request(given: str) -> str:
    try:
        check_request(json.loads(given))
    except BadRequestError as error:
        return str(error)
    return ""


_made: list[Any] = []


def _whole() -> Any:
    if not _made:
        _made.append(typer.main.get_command(app))
    return _made[0]


def studies() -> Iterator[str]:
    changes = [("", key, value) for key, values in KEYS.items() for value in values]
    changes += [("options", key, value) for key, values in OPTIONS.items() for value in values]
    for transport, tests in TESTS.items():
        for test in tests:
            block = _block(transport, test)
            for whole in WHOLE:
                yield json.dumps({**whole, "measure": [block]})
            for change in changes:
                yield json.dumps({"measure": [_changed(block, change)]})
            firsts = [(t, k, v) for t, k, v in changes if v == {**KEYS, **OPTIONS}[k][0]]
            for one, other in combinations(firsts, 2):
                yield json.dumps({"measure": [_changed(_changed(block, one), other)]})
            for whole in WHOLE[1:]:
                for change in firsts:
                    yield json.dumps({**whole, "measure": [_changed(block, change)]})
    yield from (json.dumps(whole) for whole in WHOLE)


def _block(transport: str, test: str) -> dict[str, Any]:
    needed = {
        "generate": {"rate": "1M"},
        "open_loop": {"loads": "50%"},
        "collective": {"operations": ["bcast"]},
        "threads": {"threads": [2]},
        "clock": {"sizes": "0"},
    }
    return {"transports": [transport], "test": test, "sizes": "64", **needed.get(test, {})}


def _changed(block: dict[str, Any], change: tuple[str, str, Any]) -> dict[str, Any]:
    table, key, value = change
    if table:
        return {**block, table: {**block.get(table, {}), key: value}}
    return {**block, key: value}


def commands() -> Iterator[str]:
    for words, flags in COMMAND_LINES.items():
        yield words
        for flag in flags:
            yield f"{words} {flag}"
        for one, other in combinations(flags, 2):
            if one.split()[0] != other.split()[0]:
                yield f"{words} {one} {other}"


def requests() -> Iterator[str]:
    listen = {
        **{"verb": "listen", "request": 1, "transport": "tcp", "family": "ipv4"},
        **{"cookie": "0" * 32, "timeout_ns": 10**9},
    }
    alone = {"verb": "open", "request": 1, "role": "alone", "transport": "icmp", "family": "ipv4"}
    echo = {**alone, "address": "10.0.0.1"}
    names = (
        *("send_buffer_bytes", "receive_buffer_bytes", "no_delay", "congestion_control", "depth"),
        *("max_segment_bytes", "cork", "not_sent_low_bytes", "traffic_class", "pacing_bit_per_s"),
        *("busy_poll_us", "multipath", "sending", "datagrams_per_call", "segment_offload", "file"),
        *("kernel_times", "wait", "cpu", "no_such_option"),
    )
    for base in (listen, echo):
        for name in names:
            for value in (0, -1, 1, 87, 99, 10**13, 1.0, True, "spin", "No", "copy", None):
                yield json.dumps({**base, "options": {name: value}})


def help_pages() -> str:
    """The page of every command, and of all, at 80 columns."""
    whole = typer.main.get_command(app)  # a new one: a command keeps how it was first called
    return "".join(_pages(whole, whole, []))


def _pages(whole: Any, command: Any, words: list[str]) -> Iterator[str]:
    with mock.patch("typer.testing._get_command", return_value=whole):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).output
    lines = [line.rstrip() for line in shown.splitlines()]
    yield "\n".join([f"$ netsonde {' '.join([*words, '--help'])}", *lines, ""])
    for name, below in getattr(command, "commands", {}).items():
        yield from _pages(whole, below, [*words, name])


def kept(cases: Iterable[str], told: Callable[[str], str], most_taken: int = 0) -> Iterator[Case]:
    """The first cases of every sentence; of those that are taken, so many."""
    seen: Counter[str] = Counter()
    for given in cases:
        said = told(given)
        is_study = said.startswith("{")
        key = "taken" if is_study or not said else said
        seen[key] += 1
        if seen[key] <= (most_taken if key == "taken" else KEPT):
            yield given, said


def alone(cases: Iterable[str]) -> Iterator[str]:
    """The command lines with one option at most."""
    return (given for given in cases if given.count(" -") <= 1)


def written(cases: Iterable[Case]) -> str:
    return "".join(f"{given}\n    | {said}\n" for given, said in cases)


def read(name: str) -> list[Case]:
    """The cases of a file."""
    found: list[Case] = []
    for line in (STORED / name).read_text().splitlines():
        if line.startswith("    | "):
            given, said = found[-1]
            found[-1] = (given, f"{said}\n{line}" if said else line.removeprefix("    | "))
        else:
            found.append((line, ""))
    return found


COPIES: dict[str, tuple[Callable[[str], str], Callable[[], Iterator[Case]]]] = {
    "studies.txt": (told_of_study, lambda: kept(studies(), told_of_study)),
    "commands.txt": (told_of_command, lambda: kept(commands(), told_of_command)),
    "taken.txt": (
        told_of_command,
        lambda: (c for c in kept(alone(commands()), told_of_command, 10**6) if c[1][:1] == "{"),
    ),
    "requests.txt": (told_of_request, lambda: kept(requests(), told_of_request, 10**6)),
}
"""By file: what says the sentence, and what makes the cases."""


def replayed(name: str) -> list[Case]:
    """The kept cases with what is said of them now."""
    told = COPIES[name][0]
    return [(given, told(given)) for given, _ in read(name)]


def main() -> None:
    """Writes the copies."""
    STORED.mkdir(exist_ok=True)
    (STORED / "help.txt").write_text(help_pages())
    for name, (_, make) in COPIES.items():
        cases = make() if sys.argv[1:] == ["--all"] else replayed(name)
        (STORED / name).write_text(written(cases))


if __name__ == "__main__":
    main()
