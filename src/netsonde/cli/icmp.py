"""``netsonde icmp``."""

from __future__ import annotations

from typing import Annotated

import typer

from netsonde.cli.combinations import combinations
from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    measure_and_show,
    study_of,
)
from netsonde.cli.required import AtLeastOption, AtMostOption, required
from netsonde.cli.socket_options import (
    BusyOption,
    BusyPollOption,
    CheckOption,
    CountOption,
    FromOption,
    IntervalOption,
    Ipv6Option,
    QualityOption,
    SeedOption,
    SizesOption,
    TimeOption,
    WaitOption,
)
from netsonde.cli.sockets import DEFAULT_INTERVAL, DEFAULT_SIZES, DEFAULT_TIME, intervals_of
from netsonde.errors import UsageError

TEST = "latency"


def icmp(
    host: Annotated[
        str,
        typer.Argument(
            metavar="HOST",
            help="Who is to answer: a name for ssh, `local`, or `lab:h1,h2`. Nothing runs there.",
        ),
    ],
    test: Annotated[str, typer.Argument(metavar="TEST", help=f"{TEST}, there is no other.")],
    sizes: SizesOption = None,
    count: CountOption = None,
    time: TimeOption = DEFAULT_TIME,
    interval: IntervalOption = DEFAULT_INTERVAL,
    quality: QualityOption = None,
    busy_poll: BusyPollOption = None,
    busy: BusyOption = None,
    wait: WaitOption = "block",
    cpu: Annotated[
        int | None,
        typer.Option("--cpu", metavar="A", min=0, max=4095, help="Processor of the asking end."),
    ] = None,
    origin: FromOption = "local",
    ipv6: Ipv6Option = False,
    check_data: CheckOption = False,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    seed: SeedOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure round trips of ICMP echoes, as ping does: the other host's kernel answers.

    One echo at a time. Needs `net.ipv4.ping_group_range` to include the user's group, or root.

    Example: `netsonde icmp node7 latency --sizes 64,1k`
    """
    if test.lower() != TEST:
        raise UsageError(
            f"test {test!r} is not one of ICMP: the other host's kernel sends back each echo, "
            f"which is {TEST}, and does nothing else"
        )
    block = {
        "transports": ["icmp"],
        "test": TEST,
        "sizes": sizes or DEFAULT_SIZES["udp", TEST],
        "count": count,
        "busy": busy or [],
        "check_data": check_data,
        "options": {
            "traffic_class": quality,
            "busy_poll_us": busy_poll,
            "wait": wait,
            "origin_cpu": cpu,
        },
    }
    spec = study_of(
        {
            "name": f"icmp-{TEST}",
            "seed": seed,
            "cap": time,
            **intervals_of(interval),
            "path": {
                "kind": "hosts",
                "origin": origin,
                "target": host,
                "family": "ipv6" if ipv6 else "ipv4",
            },
            "measure": combinations(block),
            "require": required(at_least, at_most),
        }
    )
    measure_and_show(spec, out, as_json, quiet)


def register(app: typer.Typer) -> None:
    app.command()(icmp)
