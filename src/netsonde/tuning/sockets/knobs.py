"""What can be turned for TCP between two hosts, each a row: where it is set, what it needs, and the
values that are worth a try under what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.option import by_key
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.tuning.sockets.data import Change, Known, Level
from netsonde.units import bytes_in_words

PROGRAM_OPTIONS = by_key(
    SOCKETS[key]
    for key in (
        *("buffer", "receive_buffer", "target_buffer", "no_delay", "cork", "congestion_control"),
        *("max_segment", "not_sent_low", "window_clamp", "pacing", "busy_poll_us"),
    )
)
"""What a program may set today, by key: the begin of the search."""
BUFFERS = ("buffer", "receive_buffer", "target_buffer")
BUSY_POLL_US = 50
ETHERNET_MTU = 1500
JUMBO_MTU = 9000
STEP_BYTES = 1 << 16
MOST_BUFFER_BYTES = 1 << 30
WITHOUT_RATE = (4, 16)
"""So many times what is there, where nobody knows what the path holds."""
LEAST_TIME_OUT = "5ms"
SIZES = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")

Candidates = Callable[[Known], Iterator[Change]]


@dataclass(frozen=True)
class Knob:
    """One row.

    ``candidates`` gives what is worth a try; where that is nothing, ``at_best`` says why, as the
    end of a sentence. ``settings`` are those of hosts that it turns, none where a program turns it,
    and ``needs`` in words what it takes. ``goals`` are those it can serve. ``beyond_line``: it can
    gain where the line is full. ``only_if_named``: it takes something from others, so that it is
    tried only where a finding names it. ``same_as`` is a knob that does the same for a program.
    """

    name: str
    level: Level
    words: str
    candidates: Candidates
    at_best: str
    goals: tuple[str, ...] = ("rate", "latency")
    settings: tuple[str, ...] = ()
    needs: str = ""
    beyond_line: bool = False
    only_if_named: bool = False
    same_as: str = ""


def wanted_buffers(known: Known) -> Iterator[int]:
    """Sizes to ask for with an option, ascending; the kernel makes twice of each."""
    if known.recommended_buffer_bytes is not None:
        yield from (known.recommended_buffer_bytes, 4 * known.recommended_buffer_bytes)
        return
    now = max((int(known.options[key]) for key in BUFFERS if key in known.options), default=0)
    if now:
        yield from (factor * now for factor in WITHOUT_RATE)


def _program_buffers(known: Known) -> Iterator[Change]:
    """None at all, which lets the system choose, and enough for what the path holds."""
    taken = dict.fromkeys(BUFFERS)
    if any(known.options.get(key) is not None for key in BUFFERS):
        yield Change("the system's own, which grow", taken)
    now = _least_asked(known)
    if now is None and (_largest(known) is None or _is_enough(known)):
        return
    for size in wanted_buffers(known):
        if (now is None or size > now) and size <= MOST_BUFFER_BYTES:
            yield Change(bytes_in_words(size), {**taken, "buffer": size})


def _least_asked(known: Known) -> int | None:
    sizes = [int(known.options[k]) for k in BUFFERS if known.options.get(k) is not None]
    return min(sizes, default=None)


def _largest(known: Known) -> int | None:
    """The least of the largest buffers that systems give by themselves."""
    found = [value.split() for name in SIZES for value in known.values(name)]
    return min((int(words[2]) for words in found if len(words) == 3), default=None)


def _is_enough(known: Known) -> bool:
    """Whether these have room for twice what the path holds, of which half becomes window."""
    largest, wanted = _largest(known), known.recommended_buffer_bytes
    return largest is not None and wanted is not None and largest >= 2 * wanted


def _system_buffers(known: Known) -> Iterator[Change]:
    """The largest buffers that the system gives by itself; the smallest and the first stay."""
    largest, wanted = _largest(known), known.recommended_buffer_bytes
    if largest is None or _is_enough(known):
        return
    sizes = [2 * wanted, 8 * wanted] if wanted else [factor * largest for factor in WITHOUT_RATE]
    for size in sizes:
        rounded = min(-(-size // STEP_BYTES) * STEP_BYTES, MOST_BUFFER_BYTES)
        values = {name: _with_largest(known.values(name)[0], rounded) for name in SIZES}
        yield Change(f"up to {bytes_in_words(rounded)}", host=values)


def _with_largest(triple: str, largest: int) -> str:
    least, first, _ = triple.split()
    return f"{least} {min(int(first), largest)} {largest}"


def _caps(known: Known) -> Iterator[Change]:
    """Room for the buffer that a program asks for."""
    names = ("net.core.rmem_max", "net.core.wmem_max")
    asked = max((int(known.options[k]) for k in BUFFERS if known.options.get(k)), default=0)
    caps = [int(value) for name in names for value in known.values(name)]
    if caps and asked > min(caps):
        yield Change(bytes_in_words(asked), host=dict.fromkeys(names, str(asked)))


def _controls(known: Known) -> Iterator[Change]:
    now = known.options.get("congestion_control", known.control)
    for name in known.controls:
        if name != now:
            yield Change(name, {"congestion_control": name})


def _system_controls(known: Known) -> Iterator[Change]:
    if "congestion_control" in known.options:
        return  # a program's own goes first
    setting = "net.ipv4.tcp_congestion_control"
    for name in known.controls if known.values(setting) else ():
        if name != known.control:
            yield Change(name, host={setting: name})


def _no_delay(known: Known) -> Iterator[Change]:
    if known.options.get("cork"):
        yield Change("no cork, Nagle's algorithm off", {"cork": None, "no_delay": True})
    elif known.options.get("no_delay") is False:
        yield Change("Nagle's algorithm off", {"no_delay": True})


def _busy_poll(known: Known) -> Iterator[Change]:
    if not known.options.get("busy_poll_us"):
        yield Change(f"{BUSY_POLL_US} us", {"busy_poll_us": BUSY_POLL_US})


def _dropped(key: str) -> Candidates:
    """An option that holds a program back, taken away."""

    def candidates(known: Known) -> Iterator[Change]:
        if known.options.get(key) is not None:
            yield Change("none", {key: None})

    return candidates


def _mtus(known: Known) -> Iterator[Change]:
    """The larger one of both ends, an Ethernet's usual one and the largest common one; without one
    of the route, where that has one."""
    links = [int(value) for value in known.values("mtu")]
    routes = [int(value) for value in known.values("route.mtu") if value]
    if not links:
        return
    taken = {"route.mtu": ""} if routes else {}
    now = min(links + routes)
    for size in sorted({max(links), ETHERNET_MTU, JUMBO_MTU}):
        if size > now:
            yield Change(f"{size} bytes", host={"mtu": str(size), **taken})


def _turned(setting: str, value: str, words: str, only: str | None = None) -> Candidates:
    """A value for whatever host has another one; ``only`` where one has just that."""

    def candidates(known: Known) -> Iterator[Change]:
        values = known.values(setting)
        if any(now == only if only is not None else now != value for now in values):
            yield Change(words, host={setting: value})

    return candidates


def _no_route_window(known: Known) -> Iterator[Change]:
    if any(known.values("route.window")):
        yield Change("none", host={"route.window": ""})


def _offloads(known: Known) -> Iterator[Change]:
    if any("=off" in value for value in known.values("offloads")):
        yield Change("tso, gso and gro on", host={"offloads": "tso=on gso=on gro=on"})


ROOT = "root at both ends"
ETHTOOL = f"{ROOT}, ethtool, a device that can"
KNOBS: Mapping[str, Knob] = {
    row.name: row
    for row in (
        Knob(
            "nagle",
            "socket",
            "Nagle's algorithm and corks, which hold small messages back (TCP_NODELAY, TCP_CORK)",
            _no_delay,
            "the program holds nothing back",
            beyond_line=True,
        ),
        Knob(
            "system-buffers",
            "host",
            "The largest buffers that the system gives TCP by itself",
            _system_buffers,
            "the system's buffers hold what the path does",
            goals=("rate",),
            settings=SIZES,
            needs=ROOT,
        ),
        Knob(
            "program-buffers",
            "socket",
            "Buffers that the program asks for (SO_SNDBUF, SO_RCVBUF)",
            _program_buffers,
            "the program leaves its buffers to the system, which gives enough",
            goals=("rate",),
        ),
        Knob(
            "buffer-caps",
            "host",
            "The largest buffers that a program may ask for",
            _caps,
            "no cap cuts what the program asks for",
            goals=("rate",),
            settings=("net.core.rmem_max", "net.core.wmem_max"),
            needs=ROOT,
        ),
        Knob(
            "window-scaling",
            "host",
            "Windows of more than 64 KB",
            _turned("net.ipv4.tcp_window_scaling", "1", "on", "0"),
            "it is on",
            goals=("rate",),
            settings=("net.ipv4.tcp_window_scaling",),
            needs=ROOT,
        ),
        Knob(
            "moderation",
            "host",
            "Receive buffers that grow by themselves",
            _turned("net.ipv4.tcp_moderate_rcvbuf", "1", "on", "0"),
            "it is on",
            goals=("rate",),
            settings=("net.ipv4.tcp_moderate_rcvbuf",),
            needs=ROOT,
        ),
        Knob(
            "route-window",
            "host",
            "A window that the route sets",
            _no_route_window,
            "the route sets none",
            goals=("rate",),
            settings=("route.window",),
            needs=ROOT,
        ),
        Knob(
            "window-clamp",
            "socket",
            "The largest window that the program offers (TCP_WINDOW_CLAMP)",
            _dropped("window_clamp"),
            "the program sets none",
            goals=("rate",),
        ),
        Knob(
            "control",
            "socket",
            "TCP's congestion control, for the program (TCP_CONGESTION)",
            _controls,
            "the kernel has no other",
        ),
        Knob(
            "system-control",
            "host",
            "TCP's congestion control, for all programs",
            _system_controls,
            "the kernel has no other, or the program names its own",
            settings=("net.ipv4.tcp_congestion_control",),
            needs=ROOT,
            same_as="control",
        ),
        Knob(
            "selective-acknowledgements",
            "host",
            "Acknowledgements that say what is missing",
            _turned("net.ipv4.tcp_sack", "1", "on", "0"),
            "they are on",
            goals=("rate",),
            settings=("net.ipv4.tcp_sack",),
            needs=ROOT,
        ),
        Knob(
            "least-time-out",
            "host",
            "The least retransmission timeout, 200 ms where a route says nothing else",
            _turned("route.rto_min", LEAST_TIME_OUT, LEAST_TIME_OUT),
            "it is as short",
            settings=("route.rto_min",),
            needs=ROOT,
            only_if_named=True,
        ),
        Knob(
            "remembered",
            "host",
            "What TCP remembers of earlier connections",
            _turned("net.ipv4.tcp_no_metrics_save", "1", "nothing", "0"),
            "it remembers nothing",
            goals=("rate",),
            settings=("net.ipv4.tcp_no_metrics_save",),
            needs=ROOT,
            only_if_named=True,
        ),
        Knob(
            "mtu",
            "host",
            "The MTU of both ends' devices",
            _mtus,
            "no larger one is known that the devices could have",
            goals=("rate",),
            settings=("mtu", "route.mtu"),
            needs=f"{ROOT}, a path that takes it",
            beyond_line=True,
        ),
        Knob(
            "segment",
            "socket",
            "The largest segment that the program asks for (TCP_MAXSEG)",
            _dropped("max_segment"),
            "the program asks for none",
            goals=("rate",),
            beyond_line=True,
        ),
        Knob(
            "not-sent",
            "socket",
            "How little the program lets wait unsent (TCP_NOTSENT_LOWAT)",
            _dropped("not_sent_low"),
            "the program sets none",
            goals=("rate",),
        ),
        Knob(
            "pacing",
            "socket",
            "The rate that the program lets the kernel pace (SO_MAX_PACING_RATE)",
            _dropped("pacing"),
            "the program sets none",
            goals=("rate",),
        ),
        Knob(
            "offloads",
            "host",
            "Segments cut and joined by the device or once in the kernel (TSO, GSO, GRO)",
            _offloads,
            "they are on, or the device has no such choice",
            goals=("rate",),
            settings=("offloads",),
            needs=ETHTOOL,
        ),
        Knob(
            "busy-poll",
            "socket",
            "Waiting calls that poll the device (SO_BUSY_POLL)",
            _busy_poll,
            "the program polls already",
            goals=("latency",),
            needs="CAP_NET_ADMIN",
        ),
        Knob(
            "interrupts",
            "host",
            "How long the card gathers frames before it interrupts",
            _turned("rx-usecs", "0", "0 us"),
            "the card gathers none, or has no such choice",
            goals=("latency",),
            settings=("rx-usecs",),
            needs=ETHTOOL,
            only_if_named=True,
        ),
    )
}
"""In the order in which those are tried that no finding names."""
SETTINGS_USED = tuple(dict.fromkeys(name for row in KNOBS.values() for name in row.settings))


def names_in_programs(options: Mapping[str, Any]) -> dict[str, str]:
    """How a C program sets options, by what the kernel calls them."""
    found = {}
    for key, value in options.items():
        kernel = KERNEL_NAMES.get(key)
        if kernel:
            found[kernel] = "1" if value is True else "0" if value is False else str(value)
    return found


KERNEL_NAMES = {
    "buffer": "SO_SNDBUF and SO_RCVBUF at both ends",
    "receive_buffer": "SO_RCVBUF at both ends",
    "target_buffer": "SO_SNDBUF and SO_RCVBUF at the other end",
    "no_delay": "TCP_NODELAY",
    "cork": "TCP_CORK",
    "congestion_control": "TCP_CONGESTION",
    "max_segment": "TCP_MAXSEG",
    "not_sent_low": "TCP_NOTSENT_LOWAT",
    "window_clamp": "TCP_WINDOW_CLAMP",
    "pacing": "SO_MAX_PACING_RATE (bit/s here; bytes a second in the call)",
    "busy_poll_us": "SO_BUSY_POLL",
}
