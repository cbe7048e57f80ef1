"""``netsonde schedule``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from netsonde.cli.common import JsonOption
from netsonde.errors import UsageError
from netsonde.launch.schedules import ask_schedules
from netsonde.schedules.request import Options, parse_ranks, request_fields, switch_points
from netsonde.schedules.show import (
    Shown,
    check_lines,
    columns_that_fit,
    head_lines,
    list_lines,
    partner_lines,
    step_lines,
)

ROWS = 64
"""Slots, or steps of one rank, that are shown where nothing else is asked for."""
MOST_ROWS = 100_000
CHECKED_BLOCKS = 3
"""Packets in a block where a check is asked for no other: more than one shows their order."""


class Permutation(StrEnum):
    """Who is whose partner at which step of a direct exchange."""

    shift = "shift"
    xor = "xor"
    edge_colour = "edge-colour"


app = typer.Typer(
    no_args_is_help=True,
    help="Algorithms of collective operations as steps.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="As `broadcast/binomial`; or `broadcast` for the one that MPICH takes.",
    ),
]
BlocksOption = Annotated[
    int | None, typer.Option(metavar="K", min=0, help="Packets in a block; 1 where no --size is.")
]
SizeOption = Annotated[str | None, typer.Option(metavar="SIZE", help="Bytes of a block instead.")]
SizesOption = Annotated[
    str | None,
    typer.Option(metavar="SIZE,SIZE...", help="Of each rank's block, or each pair's by origin."),
]
PacketOption = Annotated[
    str | None, typer.Option(metavar="SIZE", help="A packet's payload; 1492 with --blocks.")
]
ElementOption = Annotated[
    str | None, typer.Option(metavar="SIZE", help="What a reduction does not cut.")
]
FanOutOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Partners at a time of the group shuffle.")
]
PermutationOption = Annotated[
    Permutation | None, typer.Option(help="Who is whose partner at which step.")
]
WindowOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Packets under way from a rank at most.")
]
HierarchyOption = Annotated[
    str | None,
    typer.Option(metavar="D1xD2", help="Hosts at a leaf switch x leaf switches x ..."),
]
RemapOption = Annotated[bool, typer.Option("--remap", help="Ranks spread over the switches.")]
OrderedOption = Annotated[bool, typer.Option("--ordered", help="The operation does not commute.")]
UserOption = Annotated[
    bool, typer.Option("--user-operation", help="The operation is the program's own, not MPI's.")
]
SwitchOption = Annotated[
    list[str] | None,
    typer.Option("--switch", metavar="NAME=VALUE", help="Move a switch point; repeatable."),
]
SwitchFileOption = Annotated[
    Path | None, typer.Option("--switch-file", metavar="FILE", help="Switch points in TOML.")
]


@app.command()
def show(
    name: NameArgument,
    ranks: Annotated[int, typer.Option("-p", "--ranks", metavar="N", min=1, help="Ranks.")],
    blocks: BlocksOption = None,
    size: SizeOption = None,
    sizes: SizesOption = None,
    packet: PacketOption = None,
    element: ElementOption = None,
    root: Annotated[int | None, typer.Option(metavar="RANK", min=0, help="The root.")] = None,
    rank: Annotated[
        int | None, typer.Option(metavar="RANK", min=0, help="All steps of this rank.")
    ] = None,
    fan_out: FanOutOption = None,
    permutation: PermutationOption = None,
    window: WindowOption = None,
    hierarchy: HierarchyOption = None,
    remap: RemapOption = False,
    ordered: OrderedOption = False,
    user_operation: UserOption = False,
    switch: SwitchOption = None,
    switch_file: SwitchFileOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_ROWS,
            help="Slots, or steps of a rank, to show.",
            show_default=f"{ROWS}; with --json all",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show an algorithm as steps: who sends what to whom, when, and what may go on meanwhile.

    Examples: `netsonde schedule show alltoall/synchronous-shuffle -p 16 --blocks 4`,
    `netsonde schedule show broadcast -p 16 --size 64k --rank 3`
    """
    options = Options(
        blocks=blocks,
        size=size,
        sizes=sizes,
        packet=packet,
        element=element,
        root=root,
        fan_out=fan_out,
        permutation=None if permutation is None else permutation.value,
        window=window,
        hierarchy=hierarchy,
        remap=remap,
        ordered=ordered,
        user_operation=user_operation,
        switch_points=_points(name, switch, switch_file),
    )
    request = {"verb": "show", "ranks": ranks, **request_fields(name, options)}
    rows = limit or ROWS
    columns = columns_that_fit(ranks)
    if as_json:
        request |= {"limit": limit or MOST_ROWS} | ({} if rank is None else {"rank": rank})
    elif rank is not None:
        request |= {"limit": rows, "rank": rank}
    else:
        # A slot of a rank has a send and a receive, and what a reduction does with it.
        request |= {"limit": 4 * rows, "ranks_below": columns}
    shown = Shown.of(ask_schedules(request))
    if as_json:
        typer.echo(json.dumps(shown.document(), indent=1))
    else:
        steps = partner_lines(shown, columns, rows) if rank is None else step_lines(shown, rows)
        typer.echo("\n".join([*head_lines(shown.schedule), *steps]))


@app.command()
def check(
    name: Annotated[
        str, typer.Argument(metavar="all|NAME", help="An algorithm, a family, or `all`.")
    ],
    ranks: Annotated[
        str, typer.Option("-p", "--ranks", metavar="RANKS", help="As 16, 2..64 or 2..8,16.")
    ],
    blocks: BlocksOption = None,
    size: SizeOption = None,
    packet: PacketOption = None,
    element: ElementOption = None,
    fan_out: FanOutOption = None,
    permutation: PermutationOption = None,
    window: WindowOption = None,
    hierarchy: HierarchyOption = None,
    remap: RemapOption = False,
    ordered: OrderedOption = False,
    asked_only: Annotated[
        bool, typer.Option("--asked-only", help="Only these sizes and choices, from every root.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Prove algorithms: the right data end at every rank, nothing waits for ever, claims hold.

    Each is examined from every root; then from some roots also with blocks of nothing, of less
    than a byte for each rank and of unequal sizes, and with every choice that it has. The exit code
    is 1 where a proof fails.

    Examples: `netsonde schedule check all -p 2..64`,
    `netsonde schedule check allreduce/ring -p 48 --size 1M --json`
    """
    options = Options(
        blocks=CHECKED_BLOCKS if blocks is None and size is None else blocks,
        size=size,
        packet=packet,
        element=element,
        fan_out=fan_out,
        permutation=None if permutation is None else permutation.value,
        window=window,
        hierarchy=hierarchy,
        remap=remap,
        ordered=ordered,
    )
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
    if as_json:
        typer.echo(json.dumps(records, indent=1))
    else:
        typer.echo("\n".join(list_lines(records)))


class _Judged:
    """Records of a check on their way, and whether all of them were good so far."""

    def __init__(self, records: Iterator[dict[str, Any]]) -> None:
        self._records = records
        self.good = True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for record in self._records:
            self.good = self.good and bool(record.get("good", True))
            yield record


def _points(name: str, settings: list[str] | None, file: Path | None) -> dict[str, int]:
    """The switch points that were moved; they mean something where MPICH's choice is asked for."""
    if "/" in name:
        if settings or file:
            raise UsageError(f"switch points choose an algorithm, and {name} is one already")
        return {}
    known = [
        record["name"]
        for record in ask_schedules({"verb": "list"})
        if record["record"] == "switch_point"
    ]
    return switch_points(known, os.environ, settings or [], file)


def register(main: typer.Typer) -> None:
    """Adds the commands to the command line."""
    main.add_typer(app, name="schedule")
