"""A scenario that is to be simulated: the lab's tables of a cluster, and ``[simulation]``."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netsonde.errors import UsageError
from netsonde.lab.scenario import Scenario, read_text
from netsonde.simulate.sweep import Change, with_changes
from netsonde.simulate.tables import MOST_MESSAGES, Simulation
from netsonde.tables import checked, first_problem, load_toml, presets_of

TRACE_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True)
class SimulationScenario:
    """What a file says: ``tables`` as written, and where they came from."""

    source: str
    text: str
    tables: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.tables.get("name", "simulation"))

    def with_changes(self, changes: Mapping[str, Change]) -> Parsed:
        """Checked, with keys of it set to other values. Raises UsageError."""
        return parse(with_changes(deepcopy(dict(self.tables)), changes), self.source)


@dataclass(frozen=True)
class Parsed:
    """A checked scenario: what a lab is made of, and what only a simulation has."""

    cluster: Scenario
    simulation: Simulation


def parse(tables: Mapping[str, Any], source: str) -> Parsed:
    """Raises UsageError with one sentence that names the place."""
    cluster = {key: value for key, value in tables.items() if key != "simulation"}
    own = tables.get("simulation")
    if own is None:
        raise UsageError(
            f"{source} has no [simulation] table; it can be emulated, but says no workload"
        )
    if not isinstance(own, dict):
        raise UsageError(f"{source}: simulation is a table, [simulation]")
    parsed = checked(Scenario, cluster, source)
    try:
        simulation = Simulation.model_validate(_with_messages(own, source))
    except ValidationError as error:
        raise UsageError(f"{source}: {_in_simulation(first_problem(error))}") from error
    return Parsed(parsed, simulation)


def _in_simulation(problem: str) -> str:
    """The sentence, with the table that its place is in."""
    known = problem.removeprefix("unknown key ")
    place = f"simulation.{known}"
    return f"unknown key {place}" if known != problem else place


def read_simulation(name: str) -> SimulationScenario:
    """The scenario in a file, or the preset of that name. Raises UsageError."""
    text, source = read_text(name, simulation_presets())
    tables = load_toml(text, source)
    workload = tables.get("simulation", {})
    if isinstance(workload, dict) and isinstance(workload.get("workload"), dict):
        file = workload["workload"].get("file")
        if isinstance(file, str) and not Path(file).is_absolute():
            workload["workload"]["file"] = str(Path(name).parent / file)
    return SimulationScenario(source, text, tables)


@cache
def simulation_presets() -> dict[str, str]:
    """The scenarios that come with netsonde, by name."""
    return presets_of("netsonde.simulate", but="hosts.toml")


def _with_messages(own: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """The table, with the messages of a trace's file in place of the file."""
    workload = own.get("workload")
    file = workload.get("file") if isinstance(workload, dict) else None
    if not isinstance(workload, dict) or not isinstance(file, str) or "messages" in workload:
        return own
    messages = list(_messages(Path(file), source))
    rest = {key: value for key, value in workload.items() if key != "file"}
    return {**own, "workload": {**rest, "messages": messages}}


def _messages(path: Path, source: str) -> Iterator[list[Any]]:
    """Lines ``at_ns,source,target,bytes``; a first line of words is a heading."""
    try:
        if path.stat().st_size > TRACE_LIMIT_BYTES:
            raise UsageError(
                f"{source}: {path} has more than {TRACE_LIMIT_BYTES >> 20} MiB, which is the most"
            )
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if number > MOST_MESSAGES + 1:
                    raise UsageError(f"{source}: {path} has more than {MOST_MESSAGES} messages")
                if not row or (number == 1 and row[0].strip() == "at_ns"):
                    continue
                if len(row) != 4 or not (row[0].isdecimal() and row[3].strip().isdecimal()):
                    raise UsageError(
                        f"{source}: line {number} of {path} is no message; write it like "
                        "1000,h1,h2,1492: nanoseconds, from, to, bytes"
                    )
                yield [int(row[0][:18]), row[1].strip(), row[2].strip(), int(row[3].strip()[:18])]
    except UnicodeDecodeError as error:
        raise UsageError(f"{source}: {path} holds bytes that are no UTF-8 text") from error
    except csv.Error as error:
        raise UsageError(f"{source}: {path} is not CSV: {error}") from error
    except OSError as error:
        raise UsageError(f"{source}: cannot read {path}: {error.strerror}") from error
