"""What a client of Hpcbench was asked for: defaults filled in, impossible requests refused.

A value of ``Given`` is None (or False) where its option was not given. ``settings_of`` is pure.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Literal

from netsonde.catalogue.given import flags_in, given_by, rows_of, typed, without_flags
from netsonde.catalogue.launcher import launcher_of
from netsonde.catalogue.named import Carried
from netsonde.catalogue.option import Count
from netsonde.catalogue.options.commands import PATH
from netsonde.catalogue.transport import names_with, transport_row
from netsonde.errors import UsageError
from netsonde.hpcbench.amounts import parse_rate_bit_per_s, parse_size_bytes, parse_time
from netsonde.launch.given_code import PAIR_VARIABLE

Transport = Literal["tcp", "udp", "mpi"]
Mode = Literal["round_trip", "stream", "both_ways", "ping_pong", "generator"]

PORTS: dict[str, int] = {"tcp": 5677, "udp": 5678}
TCP_MESSAGE_BYTES = 65536
MPI_MESSAGE_BYTES = 65536
"""Hpcbench's help says 1 MB; the runs that its study prints had 64 KB."""
TCP_CALL_BYTES = 8192
UDP_DATAGRAM_BYTES = 1460
ROUND_TRIP_BYTES = 64
REPETITIONS = 10
TEST_S = 5.0
MOST_EXPONENT = 32
MOST_MESSAGE_BYTES = 1 << MOST_EXPONENT
MOST_MPI_MESSAGE_BYTES = (1 << 31) - 1
"""MPI counts the bytes of a message in an int."""
MOST_CALL_BYTES = 1 << 30
MOST_DATAGRAM_BYTES = {"ipv4": 65507, "ipv6": 65527}
MOST_AMOUNT_BYTES = 1 << 40
LEAST_BUFFER_BYTES = 2
MOST_BUFFER_BYTES = 1 << 30
LEAST_TEST_S = 0.05
MOST_TEST_S = 3600.0
MOST_REPETITIONS = 1_000_000
MOST_ITERATIONS = 1 << 24
MOST_RATE_BIT_PER_S = 10**12


_POWERS = "Messages of 1, 2, 4 and so on to 2^N bytes."
_MESSAGE = "Message size; 65536 by default."
_PING_PONG = "Both ways: ping-pong; with -n both at once."
_TCP, _UDP, _MPI = map(names_with, ("has_connection", "counts_datagrams", "has_ranks"))
_SOCKETS = (*_TCP, *_UDP)
_letter = partial(typed, of=(*_SOCKETS, *_MPI))


@dataclass(frozen=True)
class Given:
    """The options as they were written. The programs share many."""

    host: str
    round_trip: bool = given_by(_letter("-a", "Round trips of 64 bytes."))
    round_trip_size: str | None = given_by(_letter("-A", "Round trips of this size.", "SIZE"))
    buffer: str | None = given_by(
        _letter("-b", "The client's socket buffers.", "SIZE", of=_SOCKETS)
    )
    server_buffer: str | None = given_by(
        _letter("-B", "The server's; as the client's where not given.", "SIZE", of=_SOCKETS)
    )
    log_system: bool = given_by(
        _letter("-c", "Log both systems to FILE.c_log and FILE.s_log; with -o.")
    )
    cork: bool = given_by(_letter("-C", "Set TCP_CORK.", of=_TCP))
    call: str | None = given_by(
        _letter("-d", "Bytes of one call; 8192 by default.", "SIZE", of=_TCP),
        _letter("-d", "Bytes of one call, the datagram's or fewer.", "SIZE", of=_UDP),
    )
    exponential: int | None = given_by(  # the exponent
        _letter("-e", _POWERS, "N", Count(1, MOST_EXPONENT), of=_TCP),
        _letter("-e", _POWERS, "N", Count(1, 30), of=_MPI),
    )
    exponential_datagrams: bool = given_by(
        _letter("-e", "Datagrams of 1, 2, 4 and so on to that of -l.", of=_UDP)
    )
    file: str | None = given_by(
        _letter("-f", "Send what is in FILE, by sendfile().", "FILE", of=_TCP)
    )
    generator: bool = given_by(
        _letter("-g", "Send to HOST, where nobody answers; bounded by -T.", of=_UDP)
    )
    both_ways: bool = given_by(
        _letter("-i", _PING_PONG, of=(*_TCP, *_MPI)), _letter("-i", "Both ways at once.", of=_UDP)
    )
    iterations: int | None = given_by(
        _letter(
            "-I", "Messages of a repetition; else by time.", "N", Count(1, MOST_ITERATIONS), of=_TCP
        )
    )
    datagram: str | None = given_by(
        _letter("-l", "Datagram size; 1460 by default.", "SIZE", of=_UDP)
    )
    message: str | None = given_by(
        _letter("-m", _MESSAGE, "SIZE", of=(*_TCP, *_MPI)),
        _letter("-m", "Send at least so much; 1 MB by default.", "SIZE", of=_UDP),
    )
    segment: str | None = given_by(_letter("-M", "Maximum segment size.", "SIZE", of=_TCP))
    ready: bool = given_by(
        _letter("-n", "Calls that do not block.", of=_TCP),
        _letter("-n", "MPI_Isend and MPI_Irecv, which do not block.", of=_MPI),
    )
    no_delay: bool = given_by(_letter("-N", "Set TCP_NODELAY.", of=_TCP))
    output: str | None = given_by(_letter("-o", "The result file.", "FILE"))
    port: int | None = given_by(
        _letter("-p", "The server's port.", "PORT", Count(1, 65535), of=_SOCKETS)
    )
    plot: bool = given_by(_letter("-P", "Write FILE.plot for gnuplot; with -o."))
    quality: int | None = given_by(
        _letter(
            "-q",
            "1 low delay, 2 throughput, 3 AF11, 4 AF13, 5 AF41, 6 AF43.",
            "CLASS",
            Count(1, 6),
            of=_SOCKETS,
        )
    )
    repetitions: int | None = given_by(
        _letter("-r", "Repetitions; 10 by default.", "N", Count(1, MOST_REPETITIONS))
    )
    time: str | None = given_by(_letter("-t", "Time of each repetition; 5 by default.", "SECONDS"))
    rate: str | None = given_by(
        _letter("-T", "Send no faster, in bit/s: `500K`, `10M`.", "RATE", of=_UDP)
    )
    verbose: bool = given_by(_letter("-v", "Say more."))
    code_file: str | None = given_by(
        _letter(
            "--code-file",
            "A file, readable for you alone, whose first line is the code that the server printed; "
            f"else {PAIR_VARIABLE} of the environment.",
            "FILE",
            of=_SOCKETS,
        )
    )
    pair: str | None = given_by(
        _letter(
            "--pairing-code",
            "The code itself, which every user of this host can then read with `ps`.",
            "CODE",
            of=_SOCKETS,
        )
    )
    family: str = given_by(PATH["family"])
    hosts: str | None = given_by(  # what host becomes
        _letter(
            "--hosts",
            "The two hosts, as `node1,node2` or `lab:h1,h2`; else this one.",
            "A,B",
            of=_MPI,
        )
    )
    machine_file: str | None = given_by(
        _letter("--machinefile", "Take the first two hosts of a file.", "FILE", of=_MPI)
    )
    mpi: str = given_by(
        _letter("--mpi", "The MPI, or its mpiexec.", "NAME|PATH", default="mpich", of=_MPI)
    )
    json: bool = given_by(_letter("--json", "Write FILE.json for programs too; with -o."))
    csv: bool = given_by(_letter("--csv", "Write FILE.csv for spreadsheets too; with -o."))


LETTERS = rows_of(Given)


@dataclass(frozen=True)
class Settings(Carried):
    """One call of a client, ready to be carried out. Sizes in bytes."""

    transport: Transport
    mode: Mode
    host: str
    sizes: tuple[int, ...]  # of a message, for UDP of a datagram; several: one row for each
    call_bytes: int | None  # of one send or receive call; None: a message is one call
    repetitions: int
    test_s: float
    iterations: int | None = None  # by hand
    amount_bytes: int = 0  # a UDP stream sends no less than this
    rate_bit_per_s: int | None = None
    buffer_bytes: int | None = None
    server_buffer_bytes: int | None = None
    segment_bytes: int | None = None
    cork: bool = False
    no_delay: bool = False
    ready: bool = False
    file: str | None = None
    quality: int | None = None
    port: int | None = None  # None: the program's usual one
    output: str | None = None
    log_system: bool = False
    plot: bool = False
    verbose: bool = False
    pair: str | None = None
    family: str = "ipv4"
    mpi: str = "mpich"
    json: bool = False
    csv: bool = False
    notices: tuple[str, ...] = ()

    @property
    def exponential(self) -> bool:
        return len(self.sizes) > 1

    @property
    def program(self) -> str:
        return f"{self.transport}test"


AS_GIVEN = {f.name for f in fields(Given)} & {f.name for f in fields(Settings)} - {"repetitions"}
"""Of both: what is carried out as it was written."""


def has_no_server(host: str) -> bool:
    """Whether the host is on this machine, so that no pairing code can be meant for it."""
    return launcher_of(host) is not None


def settings_of(transport: Transport, given: Given) -> Settings:
    """Raises UsageError, naming the options, where they do not go together."""
    notices = list(_notices(transport, given))
    given, ignored = _without_ignored(transport, given)
    notices += ignored
    _refuse_combinations(transport, given)
    _check_port(given)
    mode = _mode(transport, given)
    sizes = _sizes(transport, mode, given)
    buffer, server_buffer = _buffers(given)
    amount = MOST_AMOUNT_BYTES
    settings = Settings(
        transport=transport,
        mode=mode,
        sizes=sizes,
        call_bytes=_call_bytes(transport, mode, given),
        repetitions=1 if len(sizes) > 1 else given.repetitions or REPETITIONS,
        test_s=TEST_S
        if given.time is None
        else parse_time(given.time, "-t", LEAST_TEST_S, MOST_TEST_S),
        amount_bytes=parse_size_bytes(given.message or "1m", "-m", 1, amount)
        if transport_row(transport).counts_datagrams
        else 0,
        rate_bit_per_s=None
        if given.rate is None
        else parse_rate_bit_per_s(given.rate, "-T", 1000, MOST_RATE_BIT_PER_S),
        buffer_bytes=buffer,
        server_buffer_bytes=server_buffer,
        segment_bytes=None
        if given.segment is None
        else parse_size_bytes(given.segment, "-M", 88, 65535),
        notices=tuple(notices),
        **{name: getattr(given, name) for name in AS_GIVEN},
    )
    if transport_row(transport).counts_datagrams:
        _check_datagrams(settings, given)
    return settings


def _refuse_combinations(transport: Transport, given: Given) -> None:
    round_trip = _round_trip(given)
    present = flags_in(given)
    for one, other, why in _IMPOSSIBLE:
        first = round_trip if one == "round trip" else one
        if first not in present or other not in present or (transport, one, other) in _POSSIBLE:
            continue
        raise UsageError(f"{first} and {other} do not go together: {why}")
    for option in ("-c", "-P", "--json", "--csv"):
        if option in present and "-o" not in present:
            raise UsageError(f"{option} needs -o FILE: it writes a file beside the result file")


def _round_trip(given: Given) -> str | None:
    """The letter that asks for round trips, or None."""
    return "-A" if given.round_trip_size is not None else "-a" if given.round_trip else None


def _without_ignored(transport: Transport, given: Given) -> tuple[Given, list[str]]:
    """A test of round trips without what it does not look at, as in the original, and a sentence
    where something of it was given."""
    asks = _round_trip(given)
    if asks is None:
        return given, []
    ignored = ["-d", "-e", "-f", "-i", "-l", "-m", "-T"]
    if transport_row(transport).has_ranks:
        ignored.append("-n")  # over TCP round trips may wait for readiness
    if asks == "-A":
        ignored.append("-a")
    present = flags_in(given)
    found = [option for option in ignored if option in present]
    have = "has" if len(found) == 1 else "have"
    said = f"{asks} measures round trips of one size; {', '.join(found)} {have} no effect"
    return without_flags(given, found), [said] if found else []


def _check_port(given: Given) -> None:
    served = not given.generator and not has_no_server(given.host)
    if served and given.port is not None and given.pair is None:
        raise UsageError(
            f"-p {given.port} is the port of a server, which wants the code that it printed: "
            f"give it by --code-file FILE or {PAIR_VARIABLE}. Where ssh works, leave out -p: no "
            "server is needed"
        )


_IMPOSSIBLE = (
    ("round trip", "-g", "the generator hears no answers"),
    ("-e", "-m", "-e chooses the sizes of messages"),
    ("-f", "-i", "a file is sent one way"),
    ("-f", "-n", "sendfile blocks"),
    ("-g", "-B", "there is no server whose buffer it could be"),
    ("-g", "-e", "generated traffic has one size"),
    ("-g", "-i", "nobody sends back"),
    ("-i", "-T", "a rate is for one direction"),
)
_POSSIBLE = {
    ("udp", "-e", "-m"),  # there -m is how much is sent, not the size of a message
}


def _notices(transport: Transport, given: Given) -> tuple[str, ...]:
    """What is taken and has no effect, as the original took it."""
    found = []
    if given.iterations is not None and given.time is not None:
        found.append("-I says how many iterations; -t has no effect")
    if given.repetitions is not None and (
        given.exponential is not None or given.exponential_datagrams
    ):
        found.append("-e measures each size once; -r has no effect")
    if given.port is not None and given.pair is None and has_no_server(given.host):
        found.append(f"-p has no effect: {given.host} needs no server")
    if given.generator and given.rate is None:
        found.append("without -T the traffic is as fast as this host can send it")
    if given.cork and given.no_delay:
        found.append("-C holds small segments back in spite of -N, as Linux has it")
    if transport_row(transport).counts_datagrams and given.generator and given.log_system:
        found.append("with -g there is no server, and so no .s_log")
    return tuple(found)


def _mode(transport: Transport, given: Given) -> Mode:
    if given.round_trip or given.round_trip_size is not None:
        return "round_trip"
    if given.generator:
        return "generator"
    if given.both_ways:
        return (
            "both_ways" if transport_row(transport).counts_datagrams or given.ready else "ping_pong"
        )
    return "stream"


def _sizes(transport: Transport, mode: Mode, given: Given) -> tuple[int, ...]:
    most = _most_bytes(transport, given)
    if mode == "round_trip":
        text = given.round_trip_size
        return (ROUND_TRIP_BYTES if text is None else parse_size_bytes(text, "-A", 1, most),)
    if not transport_row(transport).counts_datagrams:
        if given.exponential is not None:
            return tuple(1 << power for power in range(given.exponential + 1))
        if given.message is None:
            return (
                TCP_MESSAGE_BYTES if transport_row(transport).has_connection else MPI_MESSAGE_BYTES,
            )
        return (parse_size_bytes(given.message, "-m", 1, most),)
    datagram = (
        UDP_DATAGRAM_BYTES
        if given.datagram is None
        else parse_size_bytes(given.datagram, "-l", 1, most)
    )
    if given.call is not None:
        call = parse_size_bytes(given.call, "-d", 1, most)
        if call > datagram:
            raise UsageError(
                f"-d {given.call} and -l {datagram} do not go together: a call sends a datagram "
                "or less"
            )
        datagram = call  # one call sends one datagram
    if given.exponential_datagrams:
        powers = [1 << power for power in range(17) if 1 << power < datagram]
        return (*powers, datagram)
    return (datagram,)


def _most_bytes(transport: Transport, given: Given) -> int:
    if transport_row(transport).counts_datagrams:
        return MOST_DATAGRAM_BYTES[given.family]
    return MOST_MESSAGE_BYTES if transport_row(transport).has_connection else MOST_MPI_MESSAGE_BYTES


def _call_bytes(transport: Transport, mode: Mode, given: Given) -> int | None:
    if not transport_row(transport).has_connection or mode == "round_trip":
        return None
    if given.call is None:
        return TCP_CALL_BYTES
    return parse_size_bytes(given.call, "-d", 1, MOST_CALL_BYTES)


def _buffers(given: Given) -> tuple[int | None, int | None]:
    """Of the client and of the server, which follows the client where it has none of its own."""
    sizes = [
        None
        if text is None
        else parse_size_bytes(text, option, LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES)
        for option, text in (("-b", given.buffer), ("-B", given.server_buffer))
    ]
    return sizes[0], sizes[0] if sizes[1] is None else sizes[1]


def _check_datagrams(settings: Settings, given: Given) -> None:
    if settings.mode != "round_trip" and (
        settings.amount_bytes > MOST_ITERATIONS * min(settings.sizes)
    ):
        option = "-e" if settings.exponential else "-l"
        raise UsageError(
            f"-m {given.message} and {option} do not go together: a repetition has at most "
            f"{MOST_ITERATIONS} datagrams, and the smallest are of {min(settings.sizes)} bytes"
        )
    buffers = {"-b": settings.buffer_bytes, "-B": settings.server_buffer_bytes}
    if given.server_buffer is None:
        del buffers["-B"]
    size_option = (
        "-A" if settings.mode == "round_trip" else "-d" if given.call is not None else "-l"
    )
    for option, buffer in buffers.items():
        if buffer is not None and max(settings.sizes) >= buffer:
            raise UsageError(
                f"{size_option} {max(settings.sizes)} and {option} {buffer} do not go together: "
                "a datagram is smaller than the socket's buffer"
            )
