"""From the tables of a cluster to its hosts, switches and links, as sonde-switch and sonde-sim take
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from netsonde.errors import UsageError
from netsonde.lab.spec import MTU_BYTES, host_name
from netsonde.lab.tables import (
    ClusterTables,
    Host,
    Line,
    Link,
    Switch,
    SwitchKind,
    Tree,
    Uplink,
    capacity_plan,
)

USUAL_RATE_BIT_PER_S = 10**9
_NAMES = re.compile(r"[A-Za-z0-9_.\[\],/!&^ -]*")
_DIGITS = 9
"""A number of a host has so many at most: nothing that counts hosts is larger."""
_TOO_MANY = 1_000_000_000


@dataclass(frozen=True)
class Bounds:
    """How large a cluster may be, and what it is called where it is larger."""

    what: str
    most_hosts: int
    most_switches: int

    def require_hosts(self, hosts: int) -> None:
        """Raises UsageError."""
        if not 1 <= hosts <= self.most_hosts:
            raise UsageError(f"{self.what} of {hosts} hosts cannot be; give 1 to {self.most_hosts}")

    def require_switches(self, switches: int) -> None:
        """Raises UsageError."""
        if switches > self.most_switches:
            raise UsageError(
                f"{self.what} of {switches} switches cannot be; give {self.most_switches} at most"
            )


def complete_switches(
    tables: ClusterTables, bounds: Bounds
) -> tuple[list[Switch], Sequence[Uplink]]:
    """The switches with their presets filled in, and the links between them; one switch where there
    is no table of any. Raises UsageError."""
    if tables.tree is not None:
        bounds.require_hosts(tables.tree.hosts)
        bounds.require_switches(tables.tree.switch_count)
        return _of_tree(tables.tree)
    bounds.require_switches(len(tables.switch))
    return [switch.complete() for switch in tables.switch] or [Switch(name="s1")], tables.uplink


def _of_tree(tree: Tree) -> tuple[list[Switch], list[Uplink]]:
    switches: list[Switch] = []
    uplinks: list[Uplink] = []
    level_names: list[str] = []
    hosts = tree.hosts
    for level, fan in enumerate(tree.fan):
        kind = _of_level(tree.switches, level) or SwitchKind()
        count = max(1, (hosts if level == 0 else len(level_names)) // fan)
        names = [_name_in_tree(len(tree.fan), level, number) for number in range(1, count + 1)]
        known = Switch.model_construct(**dict(kind), name=names[0], hosts=None).complete()
        for number, name in enumerate(names):
            own = f"h[{number * fan + 1}-{(number + 1) * fan}]" if level == 0 else None
            switches.append(known.model_copy(update={"name": name, "hosts": own}))
        link = _of_level(tree.uplinks, level - 1) or Link()
        for number, lower in enumerate(level_names):
            uplinks.append(
                Uplink.model_construct(
                    **{**dict(link), "lower": lower, "upper": names[number // fan]},
                )
            )
        level_names = names
    return switches, uplinks


def _of_level(given: Sequence[Any], level: int) -> Any:
    if not given:
        return None
    return given[0] if len(given) == 1 else given[level]


def _name_in_tree(levels: int, level: int, number: int) -> str:
    if level == 0:
        return f"leaf{number}"
    return "root" if level == levels - 1 else f"level{level + 1}-{number}"


def places_of(tables: ClusterTables, switches: Sequence[Switch], bounds: Bounds) -> dict[int, str]:
    """Host number to the name of its switch, complete from 1 on. Raises UsageError."""
    names = [switch.name for switch in switches]
    if len(set(names)) != len(names):
        raise UsageError("two switches have the same name")
    if tables.hosts is not None:
        bounds.require_hosts(tables.hosts)
    places: dict[int, str] = {}
    for switch in switches:
        for number in host_numbers(switch.hosts, f"switch {switch.name}", bounds):
            if number in places:
                raise UsageError(f"host {host_name(number)} is at two switches")
            places[number] = switch.name
    if not places:
        if len(switches) > 1:
            raise UsageError("say which hosts are at which switch, as hosts = 'h[1-8]'")
        hosts = 2 if tables.hosts is None else tables.hosts
        places = dict.fromkeys(range(1, hosts + 1), switches[0].name)
    if sorted(places) != list(range(1, len(places) + 1)):
        raise UsageError(f"the hosts must be h1 to h{len(places)} without a gap")
    if tables.hosts not in (None, len(places)):
        raise UsageError(
            f"hosts = {tables.hosts}, but {len(places)} are at switches; give one of them"
        )
    bounds.require_hosts(len(places))
    return dict(sorted(places.items()))


def host_numbers(hosts: str | None, whose: str, bounds: Bounds) -> Iterable[int]:
    """The numbers of ``h1,h4`` or ``h[1-8]``. Raises UsageError."""
    if hosts is None:
        return []
    wrong = UsageError(f"{whose}: {hosts[:60]!r} names no hosts; write h1,h2 or h[1-8]")
    if not _NAMES.fullmatch(hosts):
        raise wrong
    # Looked at before any name is made: a range of a thousand million takes all memory there is.
    count = _names_at_most(hosts)
    if count > bounds.most_hosts:
        raise UsageError(
            f"{whose}: {hosts[:60]!r} names more hosts than {bounds.what} can have, which are "
            f"{bounds.most_hosts}"
        )
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # takes long to import

    try:
        names = list(NodeSet(hosts))
    except NodeSetException as error:
        raise wrong from error
    return sorted(_number(name, whose) for name in names)


def _number(name: str, whose: str) -> int:
    digits = name[1:]
    if not (name.startswith("h") and digits.isdecimal() and int(digits[:_DIGITS] or 0) > 0):
        raise UsageError(f"{whose}: {name!r} is no host; they are called h1, h2, ...")
    if len(digits) > _DIGITS:
        raise UsageError(f"{whose}: there is no host {name[: _DIGITS + 1]}...")
    return int(digits)


def _names_at_most(hosts: str) -> int:
    """How many names a set of them stands for at most."""
    items: list[str] = re.split(r",(?![^\[]*\])", hosts)
    return sum(_names_of_item(item) for item in items)


def _names_of_item(item: str) -> int:
    groups: list[str] = re.findall(r"\[([^\]]*)", item)
    return prod(sum(_span(part) for part in group.split(",")) for group in groups)


def _span(part: str) -> int:
    """Of one range of numbers."""
    found = re.match(r"\s*(\d+)-(\d+)", part)
    if found is None:
        return 1
    if max(map(len, found.groups())) > _DIGITS:
        return _TOO_MANY
    return max(1, int(found[2]) - int(found[1]) + 1)


def particular_hosts(tables: ClusterTables, hosts: int, bounds: Bounds) -> dict[int, Host]:
    """Host number to what is particular about it. Raises UsageError."""
    found: dict[int, Host] = {}
    for host in tables.host:
        for number in host_numbers(host.name, "host", bounds):
            if number > hosts:
                raise UsageError(f"there is no host {host_name(number)}; there are {hosts}")
            if number in found:
                raise UsageError(f"host {host_name(number)} stands in two tables")
            found[number] = host
    return found


def topology_of(
    tables: ClusterTables,
    switches: Sequence[Switch],
    uplinks: Sequence[Uplink],
    places: Mapping[int, str],
    particular: Mapping[int, Host],
) -> dict[str, Any]:
    """What sonde-switch takes. Raises UsageError."""
    usual = Line(rate=USUAL_RATE_BIT_PER_S, mtu=MTU_BYTES)
    base = tables.link.model_copy(update=dict(tables.link.over(usual)))
    by_name = {switch.name: switch for switch in switches}
    links: list[dict[str, Any]] = []
    plain = tuple(line.plan() for line in Link().directions(base))
    for number, switch in places.items():
        name = host_name(number)
        up, down = plain
        if number in particular:
            up, down = (line.plan() for line in particular[number].link.directions(base))
        links.append({"name": name, "lower": name, "upper": switch, "up": up, "down": down})
    for uplink in uplinks:
        for end in (uplink.lower, uplink.upper):
            if end not in by_name:
                raise UsageError(f"uplink: no switch is called {end!r}")
        up, down = (line.plan() for line in uplink.directions(base))
        lower_buffer = uplink.lower_buffer or by_name[uplink.lower].uplink_buffer
        links.append(
            {
                "name": f"{uplink.lower}-{uplink.upper}",
                "lower": uplink.lower,
                "upper": uplink.upper,
                "up": up,
                "down": down,
                **capacity_plan("lower_capacity", lower_buffer),
                **capacity_plan("upper_capacity", uplink.upper_buffer),
            }
        )
    return {
        "seed": tables.seed,
        "hosts": [host_name(number) for number in places],
        "switches": [switch.plan() for switch in switches],
        "links": links,
    }
