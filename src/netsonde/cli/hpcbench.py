"""``netsonde hpcbench``: the programs of Hpcbench by their own letters."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netsonde.catalogue.options.commands import PATH
from netsonde.cli.row_options import option_of
from netsonde.errors import UsageError

if TYPE_CHECKING:
    from netsonde.hpcbench.options import Settings

app = typer.Typer(
    no_args_is_help=True,
    help="The programs of Hpcbench, with its letters, files and logs.",
)
_LETTERS = {"help_option_names": ["--help"]}  # -h is the host
PAIR_VARIABLE = "NETSONDE_PAIR"

HostOption = Annotated[
    str,
    typer.Option(
        "-h",
        metavar="HOST",
        help="The other end: a host with a server (with --pairing-code), an ssh name, `local`, or "
        "`lab:h1,h2`.",
    ),
]
RoundTripOption = Annotated[bool, typer.Option("-a", help="Round trips of 64 bytes.")]
RoundTripSizeOption = Annotated[
    str | None, typer.Option("-A", metavar="SIZE", help="Round trips of this size.")
]
BufferOption = Annotated[
    str | None, typer.Option("-b", metavar="SIZE", help="The client's socket buffers.")
]
ServerBufferOption = Annotated[
    str | None,
    typer.Option("-B", metavar="SIZE", help="The server's; as the client's where not given."),
]
LogOption = Annotated[
    bool, typer.Option("-c", help="Log both systems to FILE.c_log and FILE.s_log; with -o.")
]
OutputOption = Annotated[str | None, typer.Option("-o", metavar="FILE", help="The result file.")]
PortOption = Annotated[
    int | None, typer.Option("-p", metavar="PORT", min=1, max=65535, help="The server's port.")
]
PlotOption = Annotated[bool, typer.Option("-P", help="Write FILE.plot for gnuplot; with -o.")]
QualityOption = Annotated[
    int | None,
    typer.Option(
        "-q",
        metavar="CLASS",
        min=1,
        max=6,
        help="1 low delay, 2 throughput, 3 AF11, 4 AF13, 5 AF41, 6 AF43.",
    ),
]
RepetitionsOption = Annotated[
    int | None,
    typer.Option("-r", metavar="N", min=1, max=1_000_000, help="Repetitions; 10 by default."),
]
TimeOption = Annotated[
    str | None,
    typer.Option("-t", metavar="SECONDS", help="Time of each repetition; 5 by default."),
]
VerboseOption = Annotated[bool, typer.Option("-v", help="Say more.")]
Ipv6Option = Annotated[bool, option_of(PATH["family"], "tcp")]
PairOption = Annotated[
    str | None,
    typer.Option(
        "--pairing-code",
        metavar="CODE",
        help=f"The code that the server printed; else {PAIR_VARIABLE} of the environment.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Write FILE.json for programs too; with -o.")
]
CsvOption = Annotated[
    bool, typer.Option("--csv", help="Write FILE.csv for spreadsheets too; with -o.")
]
ServerPortHelp = "TCP port to listen on; 0: any free one."


@app.command(context_settings=_LETTERS)
def tcptest(
    host: HostOption,
    round_trip: RoundTripOption = False,
    round_trip_size: RoundTripSizeOption = None,
    buffer: BufferOption = None,
    server_buffer: ServerBufferOption = None,
    log_system: LogOption = False,
    cork: Annotated[bool, typer.Option("-C", help="Set TCP_CORK.")] = False,
    call: Annotated[
        str | None,
        typer.Option("-d", metavar="SIZE", help="Bytes of one call; 8192 by default."),
    ] = None,
    exponential: Annotated[
        int | None,
        typer.Option(
            "-e", metavar="N", min=1, max=32, help="Messages of 1, 2, 4 and so on to 2^N bytes."
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option("-f", metavar="FILE", help="Send what is in FILE, by sendfile().")
    ] = None,
    both_ways: Annotated[
        bool, typer.Option("-i", help="Both ways: ping-pong; with -n both at once.")
    ] = False,
    iterations: Annotated[
        int | None,
        typer.Option(
            "-I", metavar="N", min=1, max=1 << 24, help="Messages of a repetition; else by time."
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("-m", metavar="SIZE", help="Message size; 65536 by default.")
    ] = None,
    segment: Annotated[
        str | None, typer.Option("-M", metavar="SIZE", help="Maximum segment size.")
    ] = None,
    ready: Annotated[bool, typer.Option("-n", help="Calls that do not block.")] = False,
    no_delay: Annotated[bool, typer.Option("-N", help="Set TCP_NODELAY.")] = False,
    output: OutputOption = None,
    port: PortOption = None,
    plot: PlotOption = False,
    quality: QualityOption = None,
    repetitions: RepetitionsOption = None,
    time: TimeOption = None,
    verbose: VerboseOption = False,
    pair: PairOption = None,
    ipv6: Ipv6Option = False,
    json: JsonOption = False,
    csv: CsvOption = False,
) -> None:
    """Hpcbench's test of TCP: throughput of a stream, or round trips.

    Example: `netsonde hpcbench tcptest -h node7 -r 3 -c -o out`
    """
    from netsonde.hpcbench.options import Given, settings_of

    given = Given(
        host=host,
        round_trip=round_trip,
        round_trip_size=round_trip_size,
        buffer=buffer,
        server_buffer=server_buffer,
        log_system=log_system,
        cork=cork,
        call=call,
        exponential=exponential,
        file=file,
        both_ways=both_ways,
        iterations=iterations,
        message=message,
        segment=segment,
        ready=ready,
        no_delay=no_delay,
        output=output,
        port=port,
        plot=plot,
        quality=quality,
        repetitions=repetitions,
        time=time,
        verbose=verbose,
        pair=_pair(pair, host),
        family=_family(ipv6),
        json=json,
        csv=csv,
    )
    _measure(settings_of("tcp", given))


@app.command(context_settings=_LETTERS)
def udptest(
    host: HostOption,
    round_trip: RoundTripOption = False,
    round_trip_size: RoundTripSizeOption = None,
    buffer: BufferOption = None,
    server_buffer: ServerBufferOption = None,
    log_system: LogOption = False,
    call: Annotated[
        str | None,
        typer.Option("-d", metavar="SIZE", help="Bytes of one call, the datagram's or fewer."),
    ] = None,
    exponential: Annotated[
        bool, typer.Option("-e", help="Datagrams of 1, 2, 4 and so on to that of -l.")
    ] = False,
    generator: Annotated[
        bool, typer.Option("-g", help="Send to HOST, where nobody answers; bounded by -T.")
    ] = False,
    both_ways: Annotated[bool, typer.Option("-i", help="Both ways at once.")] = False,
    datagram: Annotated[
        str | None, typer.Option("-l", metavar="SIZE", help="Datagram size; 1460 by default.")
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option("-m", metavar="SIZE", help="Send at least so much; 1 MB by default."),
    ] = None,
    output: OutputOption = None,
    port: PortOption = None,
    plot: PlotOption = False,
    quality: QualityOption = None,
    repetitions: RepetitionsOption = None,
    time: TimeOption = None,
    rate: Annotated[
        str | None,
        typer.Option("-T", metavar="RATE", help="Send no faster, in bit/s: `500K`, `10M`."),
    ] = None,
    verbose: VerboseOption = False,
    pair: PairOption = None,
    ipv6: Ipv6Option = False,
    json: JsonOption = False,
    csv: CsvOption = False,
) -> None:
    """Hpcbench's test of UDP: throughput and loss of a stream, round trips, or traffic.

    Example: `netsonde hpcbench udptest -h node7 -l 1460 -b 1m -o out`
    """
    from netsonde.hpcbench.options import Given, settings_of

    given = Given(
        host=host,
        round_trip=round_trip,
        round_trip_size=round_trip_size,
        buffer=buffer,
        server_buffer=server_buffer,
        log_system=log_system,
        call=call,
        exponential_datagrams=exponential,
        generator=generator,
        both_ways=both_ways,
        datagram=datagram,
        message=amount,
        output=output,
        port=port,
        plot=plot,
        quality=quality,
        repetitions=repetitions,
        time=time,
        rate=rate,
        verbose=verbose,
        pair=None if generator else _pair(pair, host),
        family=_family(ipv6),
        json=json,
        csv=csv,
    )
    if generator:
        _say(f"sending to {host} unasked: it and the way there may suffer; Ctrl-C ends it")
    _measure(settings_of("udp", given))


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def mpitest(
    round_trip: RoundTripOption = False,
    round_trip_size: RoundTripSizeOption = None,
    log_system: LogOption = False,
    exponential: Annotated[
        int | None,
        typer.Option(
            "-e", metavar="N", min=1, max=30, help="Messages of 1, 2, 4 and so on to 2^N bytes."
        ),
    ] = None,
    both_ways: Annotated[
        bool, typer.Option("-i", help="Both ways: ping-pong; with -n both at once.")
    ] = False,
    message: Annotated[
        str | None, typer.Option("-m", metavar="SIZE", help="Message size; 65536 by default.")
    ] = None,
    begun: Annotated[
        bool, typer.Option("-n", help="MPI_Isend and MPI_Irecv, which do not block.")
    ] = False,
    output: OutputOption = None,
    plot: PlotOption = False,
    repetitions: RepetitionsOption = None,
    time: TimeOption = None,
    verbose: VerboseOption = False,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="The two hosts, as `node1,node2` or `lab:h1,h2`; else this one."
        ),
    ] = None,
    machine_file: Annotated[
        Path | None,
        typer.Option("--machinefile", metavar="FILE", help="Take the first two hosts of a file."),
    ] = None,
    library: Annotated[
        str, typer.Option("--mpi", metavar="NAME|PATH", help="The MPI, or its mpiexec.")
    ] = "mpich",
    json: JsonOption = False,
    csv: CsvOption = False,
) -> None:
    """Hpcbench's test of MPI: throughput of a stream between two ranks, or round trips.

    Example: `netsonde hpcbench mpitest --hosts node1,node2 -i -n -o out`
    """
    from netsonde.hpcbench.options import Given, settings_of
    from netsonde.hpcbench.ranks import read_machine_file

    if hosts is not None and machine_file is not None:
        raise UsageError("--hosts and --machinefile do not go together: both name the hosts")
    given = Given(
        host=hosts or (read_machine_file(machine_file) if machine_file else "local"),
        round_trip=round_trip,
        round_trip_size=round_trip_size,
        log_system=log_system,
        exponential=exponential,
        both_ways=both_ways,
        message=message,
        ready=begun,
        output=output,
        plot=plot,
        repetitions=repetitions,
        time=time,
        verbose=verbose,
        mpi=library,
        json=json,
        csv=csv,
    )
    _measure(settings_of("mpi", given))


@app.command(context_settings=_LETTERS)
def tcpserver(
    port: Annotated[
        int, typer.Option("-p", metavar="PORT", min=0, max=65535, help=ServerPortHelp)
    ] = 5677,
    verbose: VerboseOption = False,
) -> None:
    """Be the other end of tcptest and udptest, until Ctrl-C: `netsonde serve` by another name.

    Example: `netsonde hpcbench tcpserver -p 0`
    """
    from netsonde.hpcbench.server import serve_tests

    serve_tests("tcp", port, verbose, _show)


@app.command(context_settings=_LETTERS)
def udpserver(
    port: Annotated[
        int, typer.Option("-p", metavar="PORT", min=0, max=65535, help=ServerPortHelp)
    ] = 5678,
    verbose: VerboseOption = False,
) -> None:
    """Be the other end of udptest and tcptest, until Ctrl-C: `netsonde serve` by another name.

    Example: `netsonde hpcbench udpserver`
    """
    from netsonde.hpcbench.server import serve_tests

    serve_tests("udp", port, verbose, _show)


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def sysmon(
    background: Annotated[
        bool, typer.Option("-b", help="Go to the background; with -w, -W or -o.")
    ] = False,
    kill: Annotated[bool, typer.Option("-k", help="End the one in the background.")] = False,
    write: Annotated[
        bool, typer.Option("-w", help="Write a log, HOST-STARTTIME.log, not to the screen.")
    ] = False,
    write_each: Annotated[
        bool, typer.Option("-W", help="Besides, a log for each interface: LOG.INTERFACE.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", metavar="FILE", help="The log's name; implies -w.")
    ] = None,
    interface: Annotated[
        str | None, typer.Option("-i", metavar="NAME", help="Watch one interface, not all.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("-r", metavar="N", min=1, max=1 << 31, help="Samples; 10 by default."),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option("-t", metavar="SECONDS", help="Time between samples; 2 by default."),
    ] = None,
    minutes: Annotated[
        str | None,
        typer.Option("-T", metavar="MINUTES", help="How long to watch; with -w, -W or -o."),
    ] = None,
    summary: Annotated[
        list[str] | None,
        typer.Option("--summary", metavar="LOG", help="Summarise a log; give it for each host."),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option("--day", metavar="DATE", help="With --summary: this day only."),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            help="With --summary: the time zone of days and plots: utc (usual), local, or a name.",
        ),
    ] = None,
    plot: Annotated[
        bool,
        typer.Option("--plot", help="With --summary: write LOG.plot for gnuplot beside each log."),
    ] = False,
) -> None:
    """Watch this host: processors, memory, interrupts, and the traffic of its interfaces.

    Examples: `netsonde hpcbench sysmon -r 100 -t 1 -i eth0`,
    `netsonde hpcbench sysmon -b -w -t 600 -T 10080`
    """
    from netsonde.hpcbench.monitor_options import (
        GivenMonitor,
        monitor_settings_of,
        refuse_beside_kill,
    )
    from netsonde.hpcbench.summary import parse_day, parse_zone
    from netsonde.hpcbench.sysmon import end_sysmon, run_sysmon, summarise

    given = GivenMonitor(
        background=background,
        kill=kill,
        write=write,
        write_each=write_each,
        output=output,
        interface=interface,
        samples=samples,
        interval=interval,
        minutes=minutes,
    )
    beside = (("--day", day is not None), ("--zone", zone is not None), ("--plot", plot))
    for option, wanted in beside:
        if wanted and not summary:
            raise UsageError(f"{option} goes with --summary LOG")
    if summary:
        if given != GivenMonitor():
            raise UsageError(
                "--summary goes with no option but --day, --zone and --plot: it reads logs"
            )
        table = summarise(
            summary, None if day is None else parse_day(day), plot, parse_zone(zone or "utc"), _say
        )
        typer.echo(table, nl=False)
    elif kill:
        refuse_beside_kill(given)
        end_sysmon(_show)
    else:
        run_sysmon(monitor_settings_of(given), _show, _say)


def _measure(settings: Settings) -> None:
    # Imported late: the help need not wait for the libraries.
    from netsonde.hpcbench.client import run_client

    run_client(settings, _command(settings.pair), _show, _say)


def _command(pair: str | None) -> str:
    """What was typed, without the pairing code, which is a secret."""
    words = ["netsonde", *sys.argv[1:]]
    if pair is not None:
        words = [word.replace(pair, "CODE") for word in words]
    return "".join(c if c.isprintable() else "?" for c in shlex.join(words))


def _pair(pair: str | None, host: str) -> str | None:
    from netsonde.hpcbench.options import has_no_server

    if pair is not None or has_no_server(host):
        return pair
    return os.environ.get(PAIR_VARIABLE) or None


def _family(ipv6: bool) -> str:
    return "ipv6" if ipv6 else "ipv4"


def _show(text: str) -> None:
    typer.echo(text)
    sys.stdout.flush()


def _say(text: str) -> None:
    typer.echo(f"netsonde: {text}", err=True)


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="hpcbench")
