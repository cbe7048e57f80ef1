"""``netsonde watch``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netsonde.cli.common import CodeFileOption, PairOption
from netsonde.cli.output import RUNS, OutOption, show, warn
from netsonde.errors import UsageError
from netsonde.launch.given_code import given_code
from netsonde.units import format_count, parse_duration_ns, parse_size_bytes

if TYPE_CHECKING:
    from netsonde.study.spec import StudySpec

LEAST_EVERY_NS = 10**9


def watch(
    hosts: Annotated[
        str | None,
        typer.Argument(
            metavar="HOSTS",
            help="The other end, or several hosts: the first one with each other one, as "
            "`node[1-8]`, `lab:h1,h2`; `local` for this host alone. Else those of --study.",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What is measured in each round; else latency and a short stream of TCP and UDP.",
        ),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="DURATION", help="From the begin of a round to the next one.")
    ] = "10min",
    rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="End after so many rounds.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="DURATION", help="End after this time.")
    ] = None,
    daily_traffic: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Refuse to begin where the rounds of a day may move more."
        ),
    ] = "10T",
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Add each round to this history, and say where the level of a figure changed.",
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the figures of the last round there, as OpenMetrics: for node_exporter, a "
            ".prom file in its textfile directory.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS:PORT",
            help="Give the same over HTTP; a port alone is for this host only.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Keep the last N run directories; else all."),
    ] = None,
    code_file: CodeFileOption = None,
    pair: PairOption = None,
    out: OutOption = RUNS,
) -> None:
    """Repeat small tests between hosts at intervals, for a history and Prometheus, until Ctrl-C.

    Says before it begins how long a round takes and what it moves at most.

    Examples: `netsonde watch node7 --every 10min --history cluster.duckdb`,
    `netsonde watch node[1-8] --listen 0.0.0.0:9469`,
    `netsonde watch --study nightly.toml --every 6h --metrics /var/lib/node_exporter/netsonde.prom`
    """
    from netsonde.endpoint import parse_listen
    from netsonde.watch.request import WatchRequest, between, check_budget, usual_study
    from netsonde.watch.rounds import Watch, check_places

    if hosts is None and study is None:
        raise UsageError("name the hosts to watch, such as node7 or node[1-8], or a --study FILE")
    spec = usual_study() if study is None else _study(study)
    request = WatchRequest(
        spec if hosts is None else between(spec, _names(hosts)),
        _every_ns(every),
        out,
        rounds,
        None if time is None else parse_duration_ns(time),
        history,
        metrics,
        None if listen is None else parse_listen(listen),
        keep,
        given_code(pair, code_file),
    )
    check_budget(request, parse_size_bytes(daily_traffic))
    check_places(request)
    show(f"watching {request.in_words()}")
    made = Watch(request, sys.argv, show)
    try:
        made.run()
    finally:
        failed = f", {made.failed} of them not whole" if made.failed else ""
        warn(f"{format_count(made.rounds, 'round')} in {out}{failed}")


def _study(file: Path) -> StudySpec:
    from netsonde.study.spec import read_study

    return read_study(file)


def _names(hosts: str) -> list[str]:
    from netsonde.hosts import split_hosts

    return split_hosts(hosts)


def _every_ns(text: str) -> int:
    found = parse_duration_ns(text)
    if found < LEAST_EVERY_NS:
        raise UsageError(f"--every {text} is less than a second")
    return found
