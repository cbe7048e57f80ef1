"""The switches between hosts, as a person describes them: which hosts hang on which, and uplinks.

The words are those of a lab's scenario, so one file can describe both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from netsonde.study.values import Names, Rate
from netsonde.tables import Strict, checked, load_toml, read_toml_text

FILE_LIMIT_BYTES = 1 << 18
HOSTS_LIMIT = 16384
_RANGE = re.compile(r"([^\[\],]*)\[(\d{1,6})-(\d{1,6})\]([^\[\],]*)")


def _as_hosts(value: Any) -> Any:
    """``node[01-16],login``, or a list of such."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str) for part in parts):
        return value
    names = [name for part in parts for word in part.split(",") for name in _expanded(word.strip())]
    if len(names) > HOSTS_LIMIT:
        raise ValueError(f"{len(names)} hosts are named; the limit is {HOSTS_LIMIT}")
    return names


def _expanded(word: str) -> list[str]:
    found = _RANGE.fullmatch(word)
    if found is None:
        if not word or "[" in word or "]" in word:
            raise ValueError(f"{word[:60]!r} is no host; write node7, or node[01-16]")
        return [word]
    before, first, last, after = found.groups()
    if int(last) < int(first):
        raise ValueError(f"{word[:60]!r} ends before it begins")
    if int(last) - int(first) >= HOSTS_LIMIT:
        raise ValueError(f"{word[:60]!r} names more than {HOSTS_LIMIT} hosts")
    width = len(first)
    return [f"{before}{number:0{width}}{after}" for number in range(int(first), int(last) + 1)]


class SwitchPlace(Strict):
    """A switch, and the hosts that hang on it."""

    name: str = Field(min_length=1, max_length=64, description="Name of the switch.")
    hosts: Annotated[list[str], BeforeValidator(_as_hosts, json_schema_input_type=Names)] = Field(
        [], description="Hosts on the switch, such as 'node[01-16]'."
    )


class UplinkPlace(Strict):
    """A link between two switches, with the rate of each direction."""

    lower: str = Field(description="The switch below.")
    upper: str = Field(description="The switch above.")
    rate: Rate | None = Field(None, description="Rate of each direction, such as '100G'.")


class Switches(Strict):
    """All of them. Every host hangs on one switch, and uplinks join switches that are there."""

    switch: list[SwitchPlace] = Field([], max_length=1024)
    uplink: list[UplinkPlace] = Field([], max_length=4096)

    @model_validator(mode="after")
    def _possible(self) -> Switches:
        problem = problem_of_switches(self.switch, self.uplink)
        if problem is not None:
            raise ValueError(problem)
        return self


def problem_of_switches(
    switches: Sequence[SwitchPlace], uplinks: Sequence[UplinkPlace]
) -> str | None:
    """What contradicts itself, as a sentence, or None."""
    names = [switch.name for switch in switches]
    if len(set(names)) < len(names):
        return "two switches have the same name"
    places: dict[str, str] = {}
    for switch in switches:
        for host in switch.hosts:
            if host in places:
                return f"host {host} is at two switches, {places[host]} and {switch.name}"
            places[host] = switch.name
    for uplink in uplinks:
        for end in (uplink.lower, uplink.upper):
            if end not in names:
                return f"uplink: no switch is called {end!r}"
        if uplink.lower == uplink.upper:
            return f"uplink: {uplink.lower} is joined to itself"
    return None


def read_switches(path: Path) -> Switches:
    """The tables of a file. Raises UsageError with one sentence that names the place."""
    text = read_toml_text(path, FILE_LIMIT_BYTES, "larger than 256 KiB", "the switches in ")
    return checked(Switches, load_toml(text, str(path)), str(path))


def as_facts(switches: Sequence[SwitchPlace], uplinks: Sequence[UplinkPlace]) -> dict[str, Any]:
    """For a run's manifest; empty where none are described."""
    if not switches:
        return {}
    hosts = {host: switch.name for switch in switches for host in switch.hosts}
    links = [{"lower": u.lower, "upper": u.upper, "rate_bit_per_s": u.rate} for u in uplinks]
    return {"switches": {"hosts": hosts, "uplinks": links}}
