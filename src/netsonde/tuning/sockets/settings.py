"""Settings of a host: how each is read, set, put back and written down. Pure: commands as words.

A *state* is what was read and what is put back exactly; a *value* is what is chosen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Place:
    """What commands at one end name: the device towards the other end, that end's address, and the
    command that is ethtool there, empty where there is none."""

    device: str
    peer: str
    ethtool: tuple[str, ...] = ()


class Setting(Protocol):
    """One setting. ``file``: whether it is a line of sysctl.d; else it is a command."""

    @property
    def name(self) -> str:
        """Its name in a result, which never changes its meaning."""

    @property
    def file(self) -> bool: ...

    def read(self, place: Place, /) -> list[str]:
        """The command that tells its state; empty where the place has nothing to ask."""

    def may_change(self) -> list[str]:
        """The command that ends with 0 where whoever asks may change it."""

    def state_of(self, said: str, place: Place, /) -> str | None:
        """The state in what that command wrote; None where the host has not got it."""

    def value_of(self, state: str, /) -> str:
        """What a state says in short."""

    def is_as(self, value: str, state: str, /) -> bool:
        """Whether a state has that value."""

    def change(self, place: Place, value: str, state: str, /) -> list[str]:
        """The command that gives it a value, where its state is ``state``."""

    def put_back(self, place: Place, state: str, /) -> list[str]:
        """The command that gives it the state again."""

    def line(self, value: str, /) -> str:
        """Of a setting with ``file``: its line in sysctl.d."""


class _Plain:
    """A setting whose state is its value."""

    def value_of(self, state: str) -> str:
        return state

    def is_as(self, value: str, state: str) -> bool:
        return self.value_of(state) == value


@dataclass(frozen=True)
class Sysctl(_Plain):
    """``net.ipv4.tcp_rmem`` and its like, of the network namespace that the host is."""

    name: str
    file: bool = True

    @property
    def _path(self) -> str:
        return f"/proc/sys/{self.name.replace('.', '/')}"

    def read(self, _place: Place) -> list[str]:
        return ["cat", self._path]

    def may_change(self) -> list[str]:
        """A network namespace may see what is the machine's: then nobody there may write it."""
        return ["test", "-w", self._path]

    def state_of(self, said: str, _place: Place) -> str | None:
        return " ".join(said.split()) or None

    def change(self, _place: Place, value: str, _state: str) -> list[str]:
        return ["sysctl", "-q", "-w", f"{self.name}={value}"]

    def put_back(self, place: Place, state: str) -> list[str]:
        return self.change(place, state, state)

    def line(self, value: str) -> str:
        return f"{self.name} = {value}"


class _Command(_Plain):
    """A setting that is written down as a command."""

    file = False

    def may_change(self) -> list[str]:
        return ["sh", "-c", '[ "$(id -u)" = 0 ]']

    def line(self, _value: str) -> str:
        raise LookupError("no line of sysctl.d")


_MTU = re.compile(r"\bmtu ([0-9]+)\b")


@dataclass(frozen=True)
class LinkMtu(_Command):
    """The MTU of the device towards the other end."""

    name: str = "mtu"

    def read(self, place: Place) -> list[str]:
        return ["ip", "-o", "link", "show", "dev", place.device] if place.device else []

    def state_of(self, said: str, _place: Place) -> str | None:
        found = _MTU.search(said)
        return found[1] if found else None

    def change(self, place: Place, value: str, _state: str) -> list[str]:
        return ["ip", "link", "set", "dev", place.device, "mtu", value]

    def put_back(self, place: Place, state: str) -> list[str]:
        return self.change(place, state, state)


@dataclass(frozen=True)
class RouteAttribute(_Command):
    """An attribute of the route to the other end; the value "" is none. Its state is the whole
    route, so that what is put back is what was there."""

    attribute: str

    @property
    def name(self) -> str:
        return f"route.{self.attribute}"

    def read(self, place: Place) -> list[str]:
        return ["ip", "-o", "-4", "route", "show", "match", place.peer] if place.peer else []

    def state_of(self, said: str, place: Place) -> str | None:
        routes = [" ".join(line.split()) for line in said.splitlines()]
        routes = [route for route in routes if f" dev {place.device} " in f"{route} "]
        return max(routes, key=_prefix_bits, default=None)

    def value_of(self, state: str) -> str:
        words = state.split()
        if self.attribute not in words:
            return ""
        return next(w for w in words[words.index(self.attribute) + 1 :] if w != "lock")

    def change(self, _place: Place, value: str, state: str) -> list[str]:
        words = state.split()
        if self.attribute in words:
            begin = words.index(self.attribute)
            end = begin + (3 if words[begin + 1] == "lock" else 2)
            words = [*words[:begin], *words[end:]]
        return ["ip", "route", "replace", *words, *([self.attribute, value] if value else [])]

    def put_back(self, _place: Place, state: str) -> list[str]:
        return ["ip", "route", "replace", *state.split()]


def _prefix_bits(route: str) -> int:
    """How narrow a route is; the narrowest that matches is taken."""
    destination = route.split()[0]
    if destination == "default":
        return 0
    _, slash, bits = destination.partition("/")
    return int(bits) if slash and bits.isdecimal() else 32


_FEATURES = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}


@dataclass(frozen=True)
class Offloads(_Command):
    """Who cuts and joins segments: ``tso=on gso=on gro=on``."""

    name: str = "offloads"

    def read(self, place: Place) -> list[str]:
        return [*place.ethtool, "-k", place.device] if place.ethtool and place.device else []

    def state_of(self, said: str, _place: Place) -> str | None:
        words = []
        for short, long in _FEATURES.items():
            found = re.search(rf"^\s*{long}: (on|off)\s*$", said, re.MULTILINE)  # not "[fixed]"
            if found:
                words.append(f"{short}={found[1]}")
        return " ".join(words) or None

    def is_as(self, value: str, state: str) -> bool:
        """What a device cannot change is not asked for."""
        has = dict(pair.split("=") for pair in state.split())
        wanted = dict(pair.split("=") for pair in value.split())
        return all(has[name] == wanted.get(name, has[name]) for name in has)

    def change(self, place: Place, value: str, state: str) -> list[str]:
        has = {pair.split("=")[0] for pair in state.split()}
        pairs = [pair.split("=") for pair in value.split() if pair.split("=")[0] in has]
        return [*place.ethtool, "-K", place.device, *(word for pair in pairs for word in pair)]

    def put_back(self, place: Place, state: str) -> list[str]:
        return self.change(place, state, state)


@dataclass(frozen=True)
class Coalescing(_Command):
    """How long a card gathers frames before it interrupts, microseconds."""

    name: str = "rx-usecs"

    def read(self, place: Place) -> list[str]:
        return [*place.ethtool, "-c", place.device] if place.ethtool and place.device else []

    def state_of(self, said: str, _place: Place) -> str | None:
        found = re.search(r"^rx-usecs:\s*([0-9]+)\s*$", said, re.MULTILINE)
        return found[1] if found else None

    def change(self, place: Place, value: str, _state: str) -> list[str]:
        return [*place.ethtool, "-C", place.device, "rx-usecs", value]

    def put_back(self, place: Place, state: str) -> list[str]:
        return self.change(place, state, state)


_ROWS: tuple[Setting, ...] = (
    *(
        Sysctl(f"net.{name}")
        for name in (
            "ipv4.tcp_rmem",
            "ipv4.tcp_wmem",
            "core.rmem_max",
            "core.wmem_max",
            "ipv4.tcp_moderate_rcvbuf",
            "ipv4.tcp_window_scaling",
            "ipv4.tcp_sack",
            "ipv4.tcp_congestion_control",
            "ipv4.tcp_no_metrics_save",
        )
    ),
    LinkMtu(),
    *(RouteAttribute(name) for name in ("mtu", "window", "rto_min")),
    Offloads(),
    Coalescing(),
)
SETTINGS = {setting.name: setting for setting in _ROWS}
"""By name."""


def shell_line(argv: Sequence[str]) -> str:
    """A command as a person types it."""
    return shlex.join(argv)
