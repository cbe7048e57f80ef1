"""``netsonde icmp``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from netsonde.catalogue.options.commands import BLOCK, PATH
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.cli.combinations import combinations
from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    measure_and_show,
    study_of,
)
from netsonde.cli.required import required
from netsonde.cli.row_options import given_of, with_rows
from netsonde.cli.sockets import DEFAULT_SIZES, precisions_of
from netsonde.errors import UsageError

TEST = "latency"


@with_rows("icmp")
def icmp(
    host: Annotated[
        str,
        typer.Argument(
            metavar="HOST",
            help="Who is to answer: a name for ssh, `local`, or `lab:h1,h2`. Nothing runs there.",
        ),
    ],
    test: Annotated[str, typer.Argument(metavar="TEST", help=f"{TEST}, there is no other.")],
    *,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **given: Any,
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
        "sizes": DEFAULT_SIZES["udp", TEST],
        **given_of(BLOCK.values(), "icmp", given),
        "options": given_of(SOCKETS.values(), "icmp", given),
    }
    spec = study_of(
        {
            "name": f"icmp-{TEST}",
            "seed": given["seed"],
            "cap": given["time"],
            **precisions_of(given["relative_precision"]),
            "path": {
                "kind": "hosts",
                "target": host,
                **given_of(PATH.values(), "icmp", given),
            },
            "measure": combinations(block),
            "require": required(given["at_least"], given["at_most"]),
        }
    )
    measure_and_show(spec, out, as_json, quiet)


def register(app: typer.Typer) -> None:
    app.command()(icmp)
