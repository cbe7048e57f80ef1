"""Commands that measure what the other host's kernel answers, such as ``netsonde icmp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from netsonde.catalogue.options.commands import BLOCK, PATH
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import TESTS, names_of
from netsonde.catalogue.transport import Transport, commands
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
from netsonde.cli.sockets import precisions_of
from netsonde.errors import UsageError
from netsonde.study.spec import StudySpec

HostArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOST",
        help="Who is to answer: a name for ssh, `local`, or `lab:h1,h2`. Nothing runs there.",
    ),
]
TEST = names_of("asks_round_trip")[0]
"""All that an echo can tell."""
TestArgument = Annotated[str, typer.Argument(metavar="TEST", help=f"{TEST}, there is no other.")]


def command_of(carrier: Transport) -> Callable[..., None]:
    """What measures a transport that the other host's kernel answers, as its command."""

    @with_rows(carrier.name)
    def command(
        host: HostArgument,
        test: TestArgument,
        *,
        out: OutOption = RUNS,
        as_json: JsonOption = False,
        quiet: QuietOption = False,
        **given: Any,
    ) -> None:
        if test.lower() != TEST:
            raise UsageError(
                f"test {test!r} is not one of {carrier.title}: the other host's kernel sends back "
                f"each echo, which is {TEST}, and does nothing else"
            )
        measure_and_show(_study(carrier, host, given), out, as_json, quiet)

    return command


def _study(carrier: Transport, host: str, given: dict[str, Any]) -> StudySpec:
    block = {
        "transports": [carrier.name],
        "test": TEST,
        "sizes": TESTS[TEST].sizes_of(carrier),
        **given_of(BLOCK.values(), carrier.name, given),
        "options": given_of(SOCKETS.values(), carrier.name, given),
    }
    return study_of(
        {
            "name": f"{carrier.name}-{TEST}",
            "seed": given["seed"],
            "cap": given["time"],
            **precisions_of(given["relative_precision"]),
            "path": {
                "kind": "hosts",
                "target": host,
                **given_of(PATH.values(), carrier.name, given),
            },
            "measure": combinations(block),
            "require": required(given["at_least"], given["at_most"]),
        }
    )


def register(app: typer.Typer) -> None:
    for row in commands():
        if row.is_echoed:
            app.command(row.name, help=row.help)(command_of(row))
