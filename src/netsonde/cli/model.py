"""``netsonde model``: platforms, and what they imply."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption, answer
from netsonde.errors import UsageError
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_share, parse_size_bytes

if TYPE_CHECKING:
    from netsonde.platforms.answers import Answer

MOST_GAMMA_NS = 1e9
Framed = Literal["udp", "tcp"]
"""Transports whose frames can be told from a size alone."""
app = typer.Typer(no_args_is_help=True)

PlatformArgument = Annotated[
    str, typer.Argument(metavar="PLATFORM", help="A name of `netsonde model show`, or a JSON file.")
]
PlatformOption = Annotated[
    str | None,
    typer.Option("--platform", metavar="PLATFORM", help="A name of `model show`, or a JSON file."),
]
RateOption = Annotated[
    str | None, typer.Option("--rate", metavar="RATE", help="Of the line, as 1G.")
]
TreeOption = Annotated[
    str | None,
    typer.Option("--tree", metavar="SHAPE", help="Hosts at a switch, switches: `8x2`, `8x4x2`."),
]

HostsArgument = Annotated[
    str, typer.Argument(metavar="HOSTS", help="As `lab:h[1-8]`, or names for ssh: `node[01-16]`.")
]
OverOption = Annotated[
    str, typer.Option("--over", metavar="NAME", help="The transport: link, udp, tcp or mpi.")
]
AsOption = Annotated[
    str | None,
    typer.Option("--as", metavar="MODEL", help="Only as logp, loggp, plogp or hockney."),
]


@app.command()
def show(
    platform: Annotated[
        str | None,
        typer.Argument(metavar="[PLATFORM]", help="A name or a JSON file; else all names."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw its laws as a page.")
    ] = None,
    as_model: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a platform: each parameter with its origin, and what follows from all of them.

    Examples: `netsonde model show fe-326`, `netsonde model show ./mine.json --plot mine.html`,
    `netsonde model show fe-326 --as loggp`
    """
    from netsonde.platforms.answers import show_answer  # late: these need numpy

    if platform is None and (plot or as_model):
        raise UsageError("--plot and --as are of one platform; name it")
    say(show_answer(platform, as_model), as_json)
    if plot is not None and platform is not None:
        from netsonde.modelling.show import write_platform_page
        from netsonde.platforms.read import find_platform

        write_platform_page(find_platform(platform), plot)


@app.command()
def export(
    platform: PlatformArgument,
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="simgrid or loggopsim.")],
    ranks: Annotated[
        int | None, typer.Option("-p", "--ranks", metavar="N", help="Hosts; else the platform's.")
    ] = None,
) -> None:
    """Print a platform in another simulator's form: SimGrid's XML, or LogGOPSim's options.

    Example: `netsonde model export ./mine.json --to simgrid -p 16 > mine.xml`
    """
    from netsonde.platforms.export import exported
    from netsonde.platforms.read import find_platform

    typer.echo(exported(find_platform(platform), to, ranks), nl=False)


@app.command()
def measure(
    hosts: HostsArgument,
    over: OverOption = "udp",
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the platform.")] = "measured",
    rate: RateOption = None,
    packet: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Payload of a full packet; else Ethernet's.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="NAME", help="`bursts`: B_L and the buffers alone.")
    ] = None,
    as_model: AsOption = None,
    platform: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the platform here.")
    ] = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the model's parameters between hosts: each with its interval, method and run.

    Examples: `netsonde model measure 'lab:h[1-8]' --platform mine.json`,
    `netsonde model measure 'node[01-16]' --over tcp --rate 10G`
    """
    import sys

    from netsonde.cli.progress import Shown
    from netsonde.hosts import split_hosts
    from netsonde.modelling.measure import measure as measured
    from netsonde.modelling.plan import plan_of
    from netsonde.platforms.answers import measured_answer

    if only not in (None, "bursts"):
        raise UsageError(f"--only {only}: expected bursts")
    line = None if rate is None else float(parse_rate_bit_per_s(rate))
    plan = plan_of(over, split_hosts(hosts), None if packet is None else parse_size_bytes(packet))
    shown = Shown(quiet or as_json, notices=not as_json)
    fitted, run = measured(
        plan,
        out,
        sys.argv,
        shown,
        rate_bit_per_s=line,
        name=name,
        only_bursts=only is not None,
        notice=lambda text: typer.echo(f"netsonde: {text}", err=True),
    )
    found = measured_answer(fitted, run, platform, as_model)
    if as_json or not quiet:
        say(found, as_json)


@app.command()
def score(
    platform: PlatformArgument,
    hosts: HostsArgument,
    over: OverOption = "udp",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw predicted and measured as a page.")
    ] = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Hold a platform's predictions against fresh measurements of what its fit has not seen.

    HOSTS may also be the directory of a run, whose points are then held against it.

    Examples: `netsonde model score ./mine.json 'lab:h[1-8]'`,
    `netsonde model score ./mine.json runs/20260101-120000-model-score --html score.html`
    """
    import sys

    from netsonde.cli.progress import Shown
    from netsonde.modelling.score import measure_and_score
    from netsonde.modelling.show import score_document, score_lines, write_score_page
    from netsonde.platforms.read import find_platform

    known = find_platform(platform)
    shown = Shown(quiet or as_json, notices=not as_json)
    found = measure_and_score(known, hosts, over, out, sys.argv, shown)
    if as_json or not quiet:
        answer(score_document(known, found), score_lines(known, found), as_json)
    if html is not None:
        write_score_page(known, found, html)


@app.command()
def predict(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="As `alltoall/group-shuffle`; a family, as `broadcast`: all of it; `list`: names.",
        ),
    ],
    platform: PlatformOption = None,
    ranks: Annotated[
        int, typer.Option("-p", "--ranks", metavar="N", help="Number of processes.")
    ] = 2,
    size: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Of the message or vector; for scatter, gather, allgather and reduce-scatter of "
            "one process's part; for alltoall of one pair's.",
        ),
    ] = "64k",
    fan_out: Annotated[
        int | None,
        typer.Option(metavar="N", help="omega of the group shuffle; else that of three rounds."),
    ] = None,
    tree: TreeOption = None,
    segment: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of a chain; else the best one.")
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(metavar="NS", help="ns to join a byte, where the platform does not say."),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Simulate it packet by packet as well, on one switch."),
    ] = False,
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Quantiles as well, convolved from this run's single messages."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what an algorithm takes on a platform, by formula.

    Examples: `netsonde model predict alltoall/group-shuffle --platform fe-326 -p 16 --size 1M`,
    `netsonde model predict broadcast --platform hydra-myrinet -p 32 --size 12k`,
    `netsonde model predict broadcast/binomial --platform ./mine.json -p 8 --times runs/TIME-sizes`
    """
    from netsonde.platforms.answers import algorithms_answer, parse_options, predict_answer

    if algorithm == "list":
        say(algorithms_answer(), as_json)
        return
    if platform is None:
        raise UsageError("a prediction needs --platform; netsonde model show lists those there are")
    options = parse_options(fan_out, tree, segment, gamma)
    found = predict_answer(algorithm, platform, ranks, parse_size_bytes(size), options, simulate)
    if times is not None:
        from netsonde.modelling.distributions import convolve_schedule
        from netsonde.modelling.show import with_quantiles

        if "/" not in algorithm:
            raise UsageError(f"--times takes one algorithm; {algorithm!r} is a family")
        drawn = convolve_schedule(algorithm, ranks, parse_size_bytes(size), times)
        found = with_quantiles(found, drawn)
    say(found, as_json)


@app.command("what-if")
def what_if(
    platform: PlatformArgument,
    copies: Annotated[
        int | None, typer.Option(metavar="N", help="Copies of the data on the send side.")
    ] = None,
    receive_copies: Annotated[
        int | None, typer.Option(metavar="N", help="Copies of the data on the receive side.")
    ] = None,
    overhead: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="`o_s`, `o_r`, `u_r` or `all`, and a time or a factor: `o_r=8us`, `all=x0.5`.",
        ),
    ] = None,
    link_rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of all links, as 1G.")
    ] = None,
    coalescing: Annotated[
        int | None, typer.Option(metavar="N", help="Packets to an interrupt.")
    ] = None,
    hold: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="With --coalescing: how long a card waits for more packets."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the changed platform here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change copies, overheads, links or interrupts, and show what follows.

    Examples: `netsonde model what-if gedp-smp --copies 0`,
    `netsonde model what-if fe-326 --link-rate 1G --overhead all=x0.5`
    """
    from netsonde.platforms.answers import parse_change, what_if_answer

    wanted = parse_change(copies, receive_copies, overhead or [], link_rate, coalescing, hold)
    say(what_if_answer(platform, wanted, out), as_json)


@app.command("safe-window")
def safe_window(
    senders: Annotated[
        int | None, typer.Option(metavar="P", help="Senders to one receiver.")
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(metavar="NAME", help="input, output or shared.")
    ] = None,
    buffer: Annotated[
        int | None,
        typer.Option(metavar="PACKETS", help="B_L of a port; with --tree of an uplink."),
    ] = None,
    platform: PlatformOption = None,
    window: Annotated[
        int | None, typer.Option(metavar="PACKETS", help="Say what this one does.")
    ] = None,
    tree: TreeOption = None,
    program: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PATTERN=]HOSTS",
            help="With --tree: hosts of a program, as `h[1-4,9-12]` or `ring=h[5-8]`; several "
            "share the uplinks.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the largest window with which a switch loses nothing, and timeouts where it does.

    With --senders, of many senders to one receiver; with --tree, the global window of a complete
    exchange on a tree of switches, or, with --program, of programs on hosts of their own.

    Examples: `netsonde model safe-window --architecture output --buffer 95 --senders 15`,
    `netsonde model safe-window --tree 8x2 --platform fe-326`,
    `netsonde model safe-window --tree 8x2 --buffer 45 --program 'h[1-4,9-12]' --program 'h[5-8]'`
    """
    from netsonde.platforms.answers import named_platform, parse_architecture, parse_tree
    from netsonde.platforms.safety import many_to_one_answer, switch_of, tree_answer

    found = named_platform(platform)
    if (senders is None) == (tree is None):
        raise UsageError("give one of --senders (many to one) and --tree (complete exchange)")
    if tree is not None:
        if window is not None or architecture is not None:
            raise UsageError("--window and --architecture go with --senders, not with --tree")
        if program:
            say(_of_programs(platform, parse_tree(tree), buffer, program), as_json)
            return
        say(tree_answer(found, parse_tree(tree), buffer), as_json)
        return
    if program:
        raise UsageError("--program goes with --tree, whose uplinks programs share")
    kind = None if architecture is None else parse_architecture(architecture)
    assert senders is not None
    say(many_to_one_answer(switch_of(found, kind, buffer), senders, window), as_json)


def _of_programs(
    platform: str | None, shape: tuple[int, ...], buffer: int | None, texts: list[str]
) -> Answer:
    from netsonde.hosts import split_hosts
    from netsonde.platforms.answers import named_platform
    from netsonde.platforms.programs import program_of, programs_answer

    known = named_platform(platform)
    if known is not None and known.uplink is not None:
        buffer = buffer or known.uplink.buffer.packets
    if buffer is None:
        raise UsageError("windows need the uplinks' buffer: give --buffer, or such a --platform")
    programs = [program_of(text, split_hosts(text.rpartition("=")[2])) for text in texts]
    return programs_answer(shape, buffer, programs)


@app.command()
def estimate(
    events: Annotated[
        list[str],
        typer.Argument(
            metavar="EVENTS|RUN...",
            help="Of each sender, as 'P^6 N TO^2 P^2', or a run directory with those of its "
            "senders: of `netsonde link` with --reliable, or simulated.",
        ),
    ],
    window: Annotated[int | None, typer.Option(metavar="PACKETS", help="Of each sender.")] = None,
    senders: Annotated[int | None, typer.Option(metavar="P", help="Senders.")] = None,
    buffer: Annotated[
        int | None, typer.Option(metavar="PACKETS", help="B_L of the output port.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SLOTS", help="Timeout over g_r.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate chances of loss from event strings of Go-Back-N senders, and the efficiency.

    Example: `netsonde model estimate 'P^6 N TO^2 P^2 N TO P^32 N P^6'`
    """
    from netsonde.platforms.answers import Load, estimate_answer

    traces = [text for word in events for text in _traces_of(word)]
    say(estimate_answer(traces, Load(window, senders, buffer, timeout)), as_json)


@app.command()
def algorithms(
    platform: PlatformArgument,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Of `netsonde mpi OPERATION --algorithm NAME`.")
    ],
    simulate: Annotated[
        bool, typer.Option("--simulate/--no-simulate", help="By the simulator as well.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Hold what each model and the simulator foretell of algorithms against a run of them.

    Example: `netsonde model algorithms ./mine.json runs/20260101-120000-mpi-alltoall`
    """
    from netsonde.modelling.algorithms import algorithms_beside, beside_document, beside_lines
    from netsonde.platforms.read import find_platform
    from netsonde.records.rundir import open_measured

    known = find_platform(platform)
    found = algorithms_beside(known, open_measured(run), simulate=simulate)
    answer(beside_document(known, found), beside_lines(known, found), as_json)


@app.command()
def congestion(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Of `netsonde link HOSTS gather`.")],
    seeds: Annotated[int, typer.Option(metavar="N", help="Simulations of each point.")] = 9,
    as_json: JsonOption = False,
) -> None:
    """Hold gathers over a lab's switch against the model and the simulator, point by point.

    Example: `netsonde model congestion runs/20260101-120000-link-gather`
    """
    from netsonde.modelling.gathers import MOST_SEEDS, gathered
    from netsonde.modelling.gathers_shown import gathers_document, gathers_lines
    from netsonde.records.rundir import open_measured

    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError(f"--seeds {seeds}: expected 1..{MOST_SEEDS}")
    found = gathered(open_measured(run), seeds)
    answer(gathers_document(found), gathers_lines(found), as_json)


def _traces_of(word: str) -> list[str]:
    """An event string itself, or those of a run directory. Raises UsageError where it has none."""
    if not Path(word).is_dir():
        return [word]
    from netsonde.figures.frames import event_strings
    from netsonde.records.rundir import open_measured

    found = event_strings(open_measured(Path(word)))
    if not found:
        raise UsageError(f"{word} has no events of Go-Back-N: they are of link --reliable")
    return found


@app.command()
def fit(
    runs: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Run directories of one platform.")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the platform.")] = "fitted",
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of the links, where the runs do not say it.")
    ] = None,
    packet: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Payload of a full packet, where it is not the runs'."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the platform here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a platform's parameters, with intervals, to runs of netsonde.

    Example: `netsonde model fit runs/20260101-120000-sizes --rate 1G --out mine.json`
    """
    from netsonde.platforms.answers import fit_answer

    say(fit_answer(runs, name, rate, packet, out), as_json)


@app.command()
def published(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A number or name; else all of them.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a published table, and beside it what the equations give.

    Example: `netsonde model published 4.1`
    """
    from netsonde.platforms.answers import published_answer

    say(published_answer(table), as_json)


@app.command()
def check(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    gamma: Annotated[
        float | None,
        typer.Option(
            metavar="NS", help="ns to join a byte, instead of what the run's reductions show."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Hold the cost model against a run: its alpha, beta and gamma, and for every MPI operation and
    size what each algorithm's formula says, what was measured, and the ratio.

    Example: `netsonde model check runs/20260101-120000-bcast`
    """
    from netsonde.figures.compute import figures_of
    from netsonde.figures.headlines import Headlines
    from netsonde.figures.predicted import against_the_model
    from netsonde.records.rundir import open_measured
    from netsonde.report.predicted import document_of, lines_of

    if gamma is not None and not 0.0 <= gamma <= MOST_GAMMA_NS:
        raise UsageError(f"--gamma {gamma} is no time in ns; expected 0..{MOST_GAMMA_NS}")
    measured = open_measured(run)
    headlines = Headlines(measured.points, figures_of(measured))
    found = against_the_model(measured, headlines, gamma)
    if not found.held and not found.notes:
        raise UsageError(
            f"{run} has none of the operations that there are formulas for; measure some, as "
            "netsonde mpi latency bcast --sizes 64,1k,64k"
        )
    answer(document_of(found), lines_of(found), as_json)


@app.command()
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


def _transport(name: str) -> Framed:
    if name not in get_args(Framed):
        raise UsageError(f"--transport {name}: udp or tcp is expected")
    return cast(Framed, name)


@app.command()
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


def say(found: Answer, as_json: bool) -> None:
    """Its lines, or its document."""
    answer(found.document, found.lines, as_json)
