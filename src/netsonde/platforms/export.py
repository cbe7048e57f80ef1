"""A platform in the forms of other simulators."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import quoteattr

from netsonde.errors import UsageError
from netsonde.model.platform import Platform, check_ranks
from netsonde.model.views import hockney, loggp
from netsonde.platforms.answers import in_words

MOST_INT = 2**31 - 1
"""LogGOPSim reads its parameters as an int of C."""
NOT_KNOWN = "1Gf"
"""SimGrid wants hosts to have a speed, of which a platform says nothing."""


def exported(platform: Platform, to: str, ranks: int | None) -> str:
    """The text of a file. Raises UsageError for a simulator that is not known, and where the
    platform lacks what it needs."""
    if to not in _FORMS:
        raise UsageError(f"--to {to}: expected {' or '.join(_FORMS)}")
    hosts = ranks or platform.ranks or 2
    with in_words():
        check_ranks(hosts)
        return _FORMS[to](platform, hosts)


def _simgrid(platform: Platform, hosts: int) -> str:
    """One cluster, whose every link carries both ways at once. What a message costs beside its
    bytes is the links' latency, of which a way crosses two."""
    line = hockney(platform, min(hosts, platform.ranks or hosts))
    latency_us = max(0.0, line.alpha_ns) / 2e3
    name = quoteattr(platform.name)
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f"<!-- {_comment(platform)} The hosts' speed is not known: {NOT_KNOWN} stands for it. -->\n"
        '<platform version="4.1">\n'
        f'  <cluster id={name} prefix="node" suffix="" radical="0-{hosts - 1}"\n'
        f'           speed="{NOT_KNOWN}" bw="{line.bandwidth_byte_per_s:.6g}Bps"'
        f' lat="{latency_us:.6g}us" sharing_policy="SPLITDUPLEX"/>\n'
        "</platform>\n"
    )


def _loggopsim(platform: Platform, hosts: int) -> str:
    """Its options, in picoseconds: it takes whole numbers, and G of a fast line is less than a
    nanosecond. S is 0: messages are eager."""
    found = loggp(platform, ranks=min(hosts, platform.ranks or hosts))
    times = {
        "L": found.small.latency_ns,
        "o": found.small.overhead_ns,
        "g": found.small.gap_ns,
        "G": found.gap_per_byte_ns,
        "O": 0.0,
        "S": 0.0,
    }
    whole = {name: round(1e3 * time) for name, time in times.items()}
    largest = max(whole, key=lambda name: whole[name])
    if whole[largest] > MOST_INT:
        raise ValueError(
            f"{largest} is {times[largest] / 1e6:.4g} ms: LogGOPSim's whole numbers of picoseconds "
            "end at 2.1 ms"
        )
    return " ".join(f"--LogGOPS_{name} {value}" for name, value in whole.items()) + "\n"


def _comment(platform: Platform) -> str:
    return f"Of netsonde's platform {platform.name}.".replace("--", "- -")


_FORMS: dict[str, Callable[[Platform, int], str]] = {
    "simgrid": _simgrid,
    "loggopsim": _loggopsim,
}
