"""``netsonde model frames`` and ``netsonde model buffer``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from netsonde.cli.model_answers import say
from netsonde.cli.output import JsonOption
from netsonde.errors import UsageError
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_share

RateOption = Annotated[
    str | None, typer.Option("--rate", metavar="RATE", help="Of the line, as 1G.")
]


def frames(
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Of a message, as 4k.")],
    transport: Annotated[str, typer.Option(metavar="NAME", help="udp or tcp.")] = "udp",
    mtu: Annotated[int, typer.Option(metavar="BYTES", min=576, max=65535)] = 1500,
    ipv6: Annotated[bool, typer.Option("--ipv6", "-6", help="Over IPv6.")] = False,
    vlan: Annotated[bool, typer.Option("--vlan", help="With a VLAN tag.")] = False,
    rate: RateOption = None,
    frame_loss: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Of the frames, as 0.1%.")
    ] = None,
    frames_received: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="At the receiver's card.")
    ] = None,
    whole: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Datagrams that the program got.")
    ] = None,
    sent: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Datagrams that were sent.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Divide a message into frames: their sizes, what a line carries, what lost ones cost.

    Examples: `netsonde model frames 4k --rate 1G`,
    `netsonde model frames 4k --frames-received 294110 --whole 89870 --sent 244061`
    """
    from netsonde.platforms.wire import Seen, Way, frames_answer

    way = Way(_transport(transport), mtu, ipv6, vlan)
    loss = None if frame_loss is None else parse_share(frame_loss, "--frame-loss")
    line = None if rate is None else parse_rate_bit_per_s(rate)
    say(frames_answer(size, way, line, Seen(loss, frames_received, whole, sent)), as_json)


def _transport(name: str) -> Literal["udp", "tcp"]:
    if name == "udp":
        return "udp"
    if name == "tcp":
        return "tcp"
    raise UsageError(f"--transport {name}: udp or tcp is expected")


def buffer(
    rate: Annotated[str, typer.Option(metavar="RATE", help="Of the path, as 1G.")],
    round_trip: Annotated[str, typer.Option(metavar="DURATION", help="Of the path, as 2.9ms.")],
    given: Annotated[
        str | None, typer.Option("--buffer", metavar="SIZE", help="Say what this one allows.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the socket buffer that does not limit TCP on a path, and what a given one allows.

    Example: `netsonde model buffer --rate 1G --round-trip 2.9ms --buffer 10k`
    """
    from netsonde.platforms.wire import buffer_answer

    found = buffer_answer(parse_rate_bit_per_s(rate), parse_duration_ns(round_trip), given)
    say(found, as_json)
