"""``netsonde schedule``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from netsonde.cli.output import JsonOption, answer
from netsonde.cli.row_options import given_of, with_rows
from netsonde.errors import UsageError
from netsonde.launch.schedules import ask_schedules
from netsonde.schedules.request import ROWS, Options, parse_ranks, request_fields, switch_points
from netsonde.schedules.show import (
    Shown,
    check_lines,
    columns_that_fit,
    head_lines,
    list_lines,
    partner_lines,
    step_lines,
)

SHOWN_ROWS = 64
"""Slots, or steps of one rank, that are shown where nothing else is asked for."""
MOST_ROWS = 100_000
CHECKED_BLOCKS = 3
"""Packets in a block where a check is asked for no other: more than one shows their order."""


app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
@with_rows("show", ROWS)
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="As `broadcast/binomial`; or `broadcast` for the one that MPICH takes.",
        ),
    ],
    ranks: Annotated[int, typer.Option("-p", "--ranks", metavar="N", min=1, help="Ranks.")],
    *,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_ROWS,
            help="Slots, or steps of a rank, to show.",
            show_default=f"{SHOWN_ROWS}; with --json all",
        ),
    ] = None,
    as_json: JsonOption = False,
    **given: Any,
) -> None:
    """Show an algorithm as steps: who sends what to whom, when, and what may go on meanwhile.

    Examples: `netsonde schedule show alltoall/synchronous-shuffle -p 16 --blocks 4`,
    `netsonde schedule show broadcast -p 16 --size 64k --rank 3`
    """
    options = Options(**given_of(ROWS, "show", given))
    options = replace(options, switch_points=_points(name, options))
    rank = options.rank
    request = {"verb": "show", "ranks": ranks, **request_fields(name, options)}
    rows = limit or SHOWN_ROWS
    columns = columns_that_fit(ranks)
    if as_json:
        request |= {"limit": limit or MOST_ROWS} | ({} if rank is None else {"rank": rank})
    elif rank is not None:
        request |= {"limit": rows, "rank": rank}
    else:
        # A slot of a rank has a send and a receive, and what a reduction does with it.
        request |= {"limit": 4 * rows, "ranks_below": columns}
    shown = Shown.of(ask_schedules(request))
    steps = partner_lines(shown, columns, rows) if rank is None else step_lines(shown, rows)
    answer(shown.document(), [*head_lines(shown.schedule), *steps], as_json)


@app.command()
@with_rows("check", ROWS)
def check(
    name: Annotated[
        str, typer.Argument(metavar="all|NAME", help="An algorithm, a family, or `all`.")
    ],
    ranks: Annotated[
        str, typer.Option("-p", "--ranks", metavar="RANKS", help="As 16, 2..64 or 2..8,16.")
    ],
    *,
    asked_only: Annotated[
        bool, typer.Option("--asked-only", help="Only these sizes and choices, from every root.")
    ] = False,
    as_json: JsonOption = False,
    **given: Any,
) -> None:
    """Prove algorithms: the right data end at every rank, nothing waits for ever, claims hold.

    Each is examined from every root; then from some roots also with blocks of nothing, of less
    than a byte for each rank and of unequal sizes, and with every choice that it has. The exit code
    is 1 where a proof fails.

    Examples: `netsonde schedule check all -p 2..64`,
    `netsonde schedule check allreduce/ring -p 48 --size 1M --json`
    """
    options = Options(**given_of(ROWS, "check", given))
    if options.blocks is None and options.size is None:
        options = replace(options, blocks=CHECKED_BLOCKS)
    request = {
        "verb": "check",
        "ranks": parse_ranks(ranks),
        "asked_only": asked_only,
        **request_fields(name, options),
    }
    judged = _Judged(ask_schedules(request))
    if as_json:
        checks = [
            {key: value for key, value in record.items() if key != "record"}
            for record in judged
            if record["record"] == "check"
        ]
        typer.echo(json.dumps({"good": judged.good, "checks": checks}, indent=1))
    else:
        for line in check_lines(judged):
            typer.echo(line)
    if not judged.good:
        raise typer.Exit(1)


@app.command(name="list")
def list_(as_json: JsonOption = False) -> None:
    """List the algorithms, and the sizes at which MPICH changes from one to another.

    Example: `netsonde schedule list`
    """
    records = list(ask_schedules({"verb": "list"}))
    answer(records, list_lines(records), as_json)


class _Judged:
    """Records of a check on their way, and whether all of them were good so far."""

    def __init__(self, records: Iterator[dict[str, Any]]) -> None:
        self._records = records
        self.good = True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for record in self._records:
            self.good = self.good and bool(record.get("good", True))
            yield record


def _points(name: str, options: Options) -> dict[str, int]:
    """The switch points that were moved; they mean something where MPICH's choice is asked for."""
    if "/" in name:
        if options.switch or options.switch_file:
            raise UsageError(f"switch points choose an algorithm, and {name} is one already")
        return {}
    known = [
        record["name"]
        for record in ask_schedules({"verb": "list"})
        if record["record"] == "switch_point"
    ]
    file = Path(options.switch_file) if options.switch_file else None
    return switch_points(known, os.environ, options.switch or [], file)
