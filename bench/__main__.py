"""``python -m bench``: netsonde beside other tools."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import bench.ours
from bench import (
    answer,
    authenticated,
    fabric_wait,
    installed,
    like,
    link,
    mpi_latency,
    mpi_netpipe,
    pages,
    passed_on,
    recording,
    sampler,
    schedules,
    simulator,
    simulator_growth,
    simulator_peers,
    tracing,
    waiting,
)
from bench.alternate import Outcome, compare, present_peers
from bench.comparisons import LOOPBACK, PATHS, Comparison, comparisons
from bench.control import controls
from bench.kept import keep, read_kept, table_of
from bench.peers import PEERS, Route, look_also_in, missing_program, version
from bench.routes import open_route
from bench.settings import COMMON_SETTINGS
from bench.switch_cost import lines, switch_cost
from bench.table import Row, legend, table
from bench.verdict import certain_misses, judge
from netsonde import __version__
from netsonde.errors import InterruptedByUserError, NetsondeError, UsageError
from netsonde.lab.capacity import Filled

FORMAT = 2
SWITCH_SECONDS_A_PAIR = 2.0
OWN_SECONDS_A_PAIR = 4.0
Measure = Callable[[Route, float, random.Random], Sequence[Any]]
Lines = Callable[[Sequence[Any]], list[str]]
OWN: Mapping[str, tuple[Measure, Lines]] = {
    answer.NAME: (answer.answer, answer.lines),
    like.NAME: (like.like, like.lines),
    authenticated.NAME: (authenticated.authenticated, authenticated.lines),
    fabric_wait.NAME: (fabric_wait.fabric_wait, fabric_wait.lines),
    installed.NAME: (installed.installed, installed.lines),
    link.NAME: (link.link, link.lines),
    pages.NAME: (pages.pages, pages.lines),
    passed_on.NAME: (passed_on.passed_on, passed_on.lines),
    recording.NAME: (recording.recording, recording.lines),
    tracing.NAME: (tracing.tracing, tracing.lines),
    sampler.NAME: (sampler.sampler, sampler.lines),
    waiting.NAME: (waiting.waiting, waiting.lines),
    mpi_latency.NAME: (mpi_latency.mpi_latency, mpi_latency.lines),
    schedules.NAME: (schedules.schedules, schedules.lines),
    mpi_netpipe.NAME: (mpi_netpipe.mpi_netpipe, mpi_netpipe.lines),
    simulator.NAME: (simulator.simulator, simulator.lines),
    simulator_peers.NAME: (simulator_peers.simulator_peers, simulator_peers.lines),
    simulator_growth.NAME: (simulator_growth.simulator_growth, simulator_growth.lines),
}
"""What is measured by itself, or beside one other program: how, and what is said of it."""


def main() -> int:
    arguments = _arguments()
    look_also_in(arguments.peer_path)
    signal.signal(signal.SIGTERM, _interrupted)
    signal.signal(signal.SIGINT, _interrupted)
    try:
        if arguments.made_from is not None:
            print(table_of(read_kept(arguments.made_from), arguments.explain))
        else:
            _bench(arguments)
    except NetsondeError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _bench(arguments: argparse.Namespace) -> None:
    wanted = {path: _wanted(arguments.only, path) for path in arguments.paths}
    progress = _Progress()
    document: dict[str, Any] = {
        "format": FORMAT,
        "begun_unix_s": time.time(),
        "command": sys.argv,
        "seed": arguments.seed,
        "pairs": arguments.pairs,
        "duration_s": arguments.duration,
        "versions": {
            "netsonde": __version__,
            "python": platform.python_version(),
            **{peer: version(peer) for peer in PEERS if missing_program(peer) is None},
        },
        "paths": [],
        "comparisons": [],
    }
    rows: list[Row] = []
    draw = random.Random(arguments.seed)
    switch: list[Filled] = []
    own: list[str] = []
    try:
        for name in arguments.paths:
            _measure_path(name, wanted[name], arguments, draw, progress, document, rows)
        for name in OWN:
            if _is_wanted(name, arguments.only):
                own += _measure_own(name, arguments, draw, document)
        if "lab" in arguments.paths and arguments.only is None:
            switch = _measure_switch(arguments, document)
    finally:  # an interrupted bench keeps and shows what it has
        progress.clear()
        document["elapsed_s"] = time.time() - document["begun_unix_s"]
        written = _write(arguments.out, document)
        if arguments.keep is not None:
            written = keep(document, arguments.keep)
        said = [table(rows, arguments.explain)] if rows else []
        said += own
        said += ["\n".join(lines(switch))] if switch else []
        said += [legend()] if rows else []
        print("\n\n".join([*said, f"Every single run: {written}"]))


def _measure_path(
    name: str,
    wanted: list[Comparison],
    arguments: argparse.Namespace,
    draw: random.Random,
    progress: _Progress,
    document: dict[str, Any],
    rows: list[Row],
) -> None:
    """All comparisons on one path; a path that cannot be had is recorded with the reason."""
    entry: dict[str, Any] = {"name": name}
    document["paths"].append(entry)
    try:
        with open_route(name) as (route, path_facts):
            tools = sum(1 + len(present_peers(route, comparison)[0]) for comparison in wanted)
            progress.expect(tools * arguments.pairs)
            entry |= {
                "path": path_facts,
                "origin_cpu": route.origin_cpu,
                "target_cpu": route.target_cpu,
                "hosts": bench.ours.facts(route),
                "load_before": os.getloadavg(),
            }
            for comparison in wanted:
                row = _compare(route, comparison, arguments, draw, progress)
                rows.append(row)
                document["comparisons"].append(_entry(row))
            entry["load_after"] = os.getloadavg()
    except InterruptedByUserError:
        raise
    except NetsondeError as error:
        entry["skipped"] = str(error)
        progress.clear()
        print(f"{name}: skipped: {error}", file=sys.stderr)


def _measure_own(
    name: str, arguments: argparse.Namespace, draw: random.Random, document: dict[str, Any]
) -> list[str]:
    """netsonde beside itself, over loopback, where nothing but the two ends takes time. What is to
    be said of it, if anything was found."""
    measure, lines_of = OWN[name]
    try:
        with open_route(LOOPBACK) as (route, _):
            seconds = OWN_SECONDS_A_PAIR * arguments.pairs * arguments.duration / 2
            found = measure(route, seconds, draw)
    except InterruptedByUserError:
        raise
    except NetsondeError as error:
        document[name] = {"skipped": str(error)}
        print(f"{name}: skipped: {error}", file=sys.stderr)
        return []
    document[name] = [asdict(one) for one in found]
    return ["\n".join(lines_of(found))]


def _measure_switch(arguments: argparse.Namespace, document: dict[str, Any]) -> list[Filled]:
    try:
        found = switch_cost(SWITCH_SECONDS_A_PAIR * arguments.pairs)
    except InterruptedByUserError:
        raise
    except NetsondeError as error:
        document["switch"] = {"skipped": str(error)}
        print(f"the lab's switch: skipped: {error}", file=sys.stderr)
        return []
    document["switch"] = [asdict(filled) for filled in found]
    return found


def _compare(
    route: Route,
    comparison: Comparison,
    arguments: argparse.Namespace,
    draw: random.Random,
    progress: _Progress,
) -> Row:
    """One row: the comparison, and where a goal is missed for certain the controls that say why."""
    tell = partial(progress.step, comparison.title)
    outcome = compare(route, comparison, arguments.pairs, arguments.duration, draw, tell)
    verdicts = judge(outcome, arguments.seed)
    misses = certain_misses(verdicts)
    if not misses or comparison.spins:
        return Row(outcome, verdicts)
    progress.expect(2 * (1 + len({miss.peer for miss in misses})) * arguments.pairs)
    tell = partial(progress.step, f"{comparison.title}, why")
    done = controls(route, outcome, verdicts, arguments.pairs, draw, tell, arguments.seed)
    return Row(outcome, verdicts, done)


def _entry(row: Row) -> dict[str, Any]:
    entry = _outcome_entry(row.outcome)
    entry["verdicts"] = [asdict(verdict) for verdict in row.verdicts]
    entry["controls"] = [
        {
            **_outcome_entry(control.outcome),
            "taken_away": control.taken_away,
            "verdicts": [asdict(verdict) for verdict in control.verdicts],
        }
        for control in row.controls
    ]
    return entry


def _outcome_entry(outcome: Outcome) -> dict[str, Any]:
    comparison = outcome.comparison
    return {
        "path": outcome.route,
        "id": comparison.id,
        "peers": list(comparison.peers),
        "figures": [
            {"id": figure.id, "unit": figure.unit, "definition": figure.definition}
            for figure in comparison.figures
        ],
        "settings": {**COMMON_SETTINGS, **comparison.settings, **asdict(outcome.extent)},
        "absent": dict(outcome.absent),
        "skipped": outcome.skipped,
        "runs": outcome.runs,
    }


def _wanted(only: Sequence[str] | None, path: str) -> list[Comparison]:
    """Those that were asked for; else those of the path."""
    known = comparisons()
    if only is None:
        return [c for c in known if path in c.paths]
    every = [*(c.id for c in known), *OWN]
    unknown = sorted(set(only) - set(every))
    if unknown:
        raise UsageError(
            f"--only {','.join(unknown)}: no such comparison; they are {', '.join(every)}"
        )
    return [c for c in known if c.id in only]


def _is_wanted(name: str, only: Sequence[str] | None) -> bool:
    return only is None or name in only


def _write(path: Path | None, document: dict[str, Any]) -> Path:
    if path is None:
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(document["begun_unix_s"]))
        path = Path("build", "bench", f"{stamp}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


class _Progress:
    """One line on the terminal that is written over; nothing where there is no terminal."""

    def __init__(self) -> None:
        self._steps = 0
        self._done = 0
        self._begun = time.monotonic()
        self._shown = sys.stderr.isatty()

    def expect(self, steps: int) -> None:
        """So many more steps than was thought."""
        self._steps += steps

    def step(self, title: str) -> None:
        if self._shown:
            left = ""
            if self._done:
                each_s = (time.monotonic() - self._begun) / self._done
                left = f", {each_s * (self._steps - self._done):.0f} s left"
            print(
                f"\r\033[K{self._done}/{self._steps} {title}{left}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        self._done += 1

    def clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures with netsonde and with iperf3, nuttcp, sockperf and NetPIPE (netperf "
        "and neper where they are found) alternately, on the same path at equal settings, and "
        "compares.",
        epilog="example: python -m bench --quick --paths loopback",
    )
    parser.add_argument(
        "--pairs",
        type=_positive,
        default=5,
        help="runs of each tool per comparison (5 or more give an interval)",
    )
    parser.add_argument(
        "--duration",
        type=_positive,
        default=2,
        metavar="SECONDS",
        help="of each run, whole seconds",
    )
    parser.add_argument("--quick", action="store_true", help="one pair of one second each")
    parser.add_argument(
        "--paths", type=_paths, default=PATHS, metavar="LIST", help=f"some of {','.join(PATHS)}"
    )
    parser.add_argument(
        "--only",
        metavar="LIST",
        action="extend",
        type=lambda text: text.split(","),
        help=f"some comparisons, such as tcp-stream, or {', '.join(OWN)}",
    )
    parser.add_argument(
        "--peer-path",
        metavar="FOLDER",
        action="append",
        default=[],
        type=Path,
        help="where programs of peers are looked for first, such as netperf or a newer iperf3",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="of the order within the pairs and of the intervals"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="what each tool used under every row, not only under missed goals",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the JSON document")
    parser.add_argument(
        "--keep", metavar="NAME", help="keep the document with the sources, in bench/results"
    )
    parser.add_argument(
        "--from",
        dest="made_from",
        type=Path,
        metavar="FILE",
        help="measure nothing: make the table of this document again",
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.duration = 1, 1
    return arguments


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return value


def _paths(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not set(names) <= set(PATHS):
        raise argparse.ArgumentTypeError(f"{text}: the paths are {', '.join(PATHS)}")
    return names


def _interrupted(*_: object) -> NoReturn:
    raise InterruptedByUserError("interrupted; the comparisons that were finished are kept")


if __name__ == "__main__":
    sys.exit(main())
