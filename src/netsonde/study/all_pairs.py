"""The points of an all-pairs study: one for each round, and those that follow up a suspicion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netsonde.errors import UsageError
from netsonde.lab.scenario import lab_spec, read_scenario
from netsonde.launch.hosts import split_hosts
from netsonde.model.tournament import Tournament, group_rounds, round_count
from netsonde.units import format_size, format_time

if TYPE_CHECKING:
    from netsonde.study.all_pairs_table import AllPairsTable
    from netsonde.study.spec import StudySpec

FEWEST_HOSTS = 4
"""Of fewer, nobody can say which of two is slow."""
FULL_MOST = 4096
"""Hosts of a full tournament: more would take days, and their results more than a file."""
REPEATS = 3
"""Partners of a host in group testing, times log2 of the hosts."""
AROUND_NS = 150_000_000
"""What opening and closing the transports of a round take beside a step, about."""
SYNC_NS = 100_000_000
"""What synchronising two ends takes at each step, about."""


@dataclass(frozen=True)
class AllPairsPlan:
    """What an all-pairs study would do: rounds, and how long and how much, about."""

    hosts: int
    rounds: int
    of_rounds: int
    pairs: int
    time_ns: int
    probe_bytes: int

    def lines(self) -> list[str]:
        """In sentences, for a terminal."""
        of = "" if self.rounds == self.of_rounds else f" of {self.of_rounds}"
        return [
            f"all pairs of {self.hosts} hosts: {self.rounds}{of} rounds, "
            f"{self.pairs} meetings, about {format_time(self.time_ns)}",
            f"at most {format_size(self.probe_bytes)} bytes of datagrams, and streams as fast as "
            "they go",
        ]


def host_names(spec: StudySpec) -> list[str]:
    """The hosts of a study's path, in its order. Raises UsageError where they are too few."""
    if spec.path.hosts:
        names = [
            name.rpartition("/")[2].removeprefix("lab:")
            for text in spec.path.hosts
            for name in split_hosts(text)
        ]
    elif spec.path.kind in ("auto", "lab"):
        table = spec.lab
        if table.scenario is not None:
            names = lab_spec(read_scenario(table.scenario)).host_names
        else:
            names = [f"h{number}" for number in range(1, table.hosts + 1)]
    else:
        names = []
    if len(set(names)) < len(names):
        raise UsageError("all_pairs: a host is named twice")
    if len(names) < FEWEST_HOSTS:
        raise UsageError(
            f"all_pairs needs {FEWEST_HOSTS} hosts or more, and {len(names)} are given: of fewer, "
            "nobody can say which of two is slow; give --hosts 'node[1-16]' or hosts under [path]"
        )
    return names


def rounds_of(table: AllPairsTable, hosts: int) -> int:
    """Rounds before any follow-up."""
    most = round_count(hosts)
    if table.mode == "group-testing":
        return min(most, table.rounds or group_rounds(hosts, REPEATS))
    if hosts > FULL_MOST and table.rounds is None:
        raise UsageError(
            f"all_pairs: a full tournament of {hosts} hosts has {most} rounds; use mode = "
            f"'group-testing', or give rounds (full ones are for {FULL_MOST} hosts at most)"
        )
    return min(most, table.rounds or most)


def all_pairs_points(spec: StudySpec) -> Iterator[dict[str, Any]]:
    """The parameters of each round; none without the table."""
    if spec.all_pairs is None:
        return
    hosts = len(host_names(spec))
    seed = spec.seed or 0
    for number in range(rounds_of(spec.all_pairs, hosts)):
        yield {**_common(spec), "hosts": hosts, "tournament_seed": seed, "round": number}


def follow_up_parameters(
    spec: StudySpec, pairs: Sequence[tuple[int, int]], hosts: int, phase: int
) -> dict[str, Any]:
    """Of a round that is added: its pairs are given one by one."""
    return {
        **_common(spec),
        "hosts": hosts,
        "pairs": [list(pair) for pair in pairs],
        "refined": phase,
    }


def steps_of(measures: Sequence[str]) -> list[list[Any]]:
    """[measure, turn] of each batch of a round: round trips are the same both ways, everything
    else is measured from either end."""
    steps: list[list[Any]] = []
    for measure in measures:
        steps += [[measure, 0]] if measure == "latency" else [[measure, 0], [measure, 1]]
    return steps


def _common(spec: StudySpec) -> dict[str, Any]:
    table = spec.all_pairs
    assert table is not None
    steps = steps_of(table.measures)
    optional = {} if table.at_once is None else {"at_once": table.at_once}
    return {
        "message_bytes": table.latency_size,
        "cap_ns": round_time_ns(table, 1),
        "interval": spec.interval,
        "options": {},
        "steps": steps,
        "time_ns": table.time,
        "loss_bytes": table.loss_size,
        "loss_rate_bit_per_s": table.loss_rate,
        "stream_bytes": table.stream_size,
        **optional,
    }


def round_time_ns(table: AllPairsTable, pairs: int) -> int:
    """About how long a round of so many pairs takes."""
    steps = steps_of(table.measures)
    opened = {("tcp" if m == "throughput" else "udp", turn) for m, turn in steps}
    turns = -(-pairs // min(pairs, table.at_once or pairs))
    return turns * (len(steps) * (table.time + SYNC_NS) + len(opened) * AROUND_NS)


def plan_all_pairs(spec: StudySpec) -> AllPairsPlan | None:
    """What would be done; None without the table. Nothing of it is kept: 10,000 hosts have fifty
    million pairs."""
    table = spec.all_pairs
    if table is None:
        return None
    hosts = len(host_names(spec))
    rounds = rounds_of(table, hosts)
    tournament = Tournament(hosts, spec.seed or 0, rounds)
    pairs = sum(int((partners >= 0).sum()) // 2 for partners in tournament.rounds())
    paced_bytes = table.loss_rate * table.time // 8 // 10**9
    return AllPairsPlan(
        hosts=hosts,
        rounds=rounds,
        of_rounds=round_count(hosts),
        pairs=pairs,
        time_ns=rounds * round_time_ns(table, max(1, hosts // 2)),
        probe_bytes=2 * pairs * paced_bytes if "loss" in table.measures else 0,
    )
