"""The points of an all-pairs study: one for each round, and those that follow up a suspicion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netsonde.catalogue.launcher import without_word
from netsonde.catalogue.point import AllPairs, Options
from netsonde.catalogue.transport import Transport, first_with
from netsonde.errors import UsageError
from netsonde.hosts import split_hosts

if TYPE_CHECKING:
    from netsonde.study.all_pairs_table import TournamentTable
    from netsonde.study.spec import StudySpec

LOOPBACK_HOSTS = 4
"""Where there is this machine only, it stands for so many."""
FEWEST_HOSTS = 4
"""Of fewer, nobody can say which of two is slow."""
ROUNDS_MOST = 4096
"""Of a run: more would take days, and their results more than a file."""
REPEATS = 3
"""Partners of a host in group testing, times log2 of the hosts."""
OPEN_NS = 150_000_000
"""What opening and closing the transports of a round takes, about."""
SYNC_NS = 150_000_000
"""What each step takes beside its time: synchronising two ends, and awaiting what is late."""
CLOCK_NS = 1_000_000
"""What it takes to read a host's clock, which is done after each batch of one-way delays."""
HEADERS_BYTES = 66
"""Of a datagram on the wire, with Ethernet's preamble and gap: 20 + 8 + 38."""


@dataclass(frozen=True)
class AllPairsPlan:
    """What an all-pairs study would do: ``rounds`` of the ``of_rounds`` that a full tournament has,
    and up to ``follow_ups`` more where something looks slow; ``most`` where measurements scatter,
    None where that changes nothing."""

    hosts: int
    rounds: int
    of_rounds: int
    meetings: int
    follow_ups: int
    most: int | None = None

    @property
    def lines(self) -> list[str]:
        """In words, for a terminal."""
        of = "" if self.rounds == self.of_rounds else f" of {self.of_rounds}"
        found = [
            f"all pairs of {self.hosts} hosts: {self.rounds}{of} rounds, {self.meetings} meetings"
        ]
        if self.follow_ups:
            found.append(f"and up to {self.follow_ups} more rounds where something looks slow")
        if self.most is not None:
            found[-1] = f"and more where something looks slow or scatters, {self.most} at most"
        return found


def many_hosts(spec: StudySpec) -> int:
    """How many hosts a study's path has for a test of many."""
    there = LOOPBACK_HOSTS if spec.path.kind == "loopback" else 0
    return max(there, len(_path_names(spec)))


def host_names(spec: StudySpec) -> list[str]:
    """The hosts of a study's path, in its order. Raises UsageError where they are too few."""
    names = _path_names(spec)
    if len(set(names)) < len(names):
        raise UsageError("[tournament]: a host is named twice")
    if len(names) < FEWEST_HOSTS:
        raise UsageError(
            f"[tournament] needs {FEWEST_HOSTS} hosts or more, and {len(names)} are given: of "
            "fewer, nobody can say which of two is slow; give --hosts 'node[1-16]' or hosts under "
            "[path]"
        )
    return names


def _path_names(spec: StudySpec) -> list[str]:
    """The hosts that are named, or those of the lab; none of loopback."""
    if spec.path.hosts:
        names = [
            without_word(name.rpartition("/")[2])
            for text in spec.path.hosts
            for name in split_hosts(text)
        ]
    elif spec.path.kind in ("auto", "lab"):
        table = spec.lab
        if table.scenario is not None:
            from netsonde.lab.scenario import (  # late, with the tables of labs
                lab_spec,
                read_scenario,
            )

            names = lab_spec(read_scenario(table.scenario)).host_names
        else:
            names = [f"h{number}" for number in range(1, table.hosts + 1)]
    else:
        names = []
    return names


def rounds_of(table: TournamentTable, hosts: int) -> int:
    """Rounds before any follow-up."""
    from netsonde.model.tournament import group_rounds, round_count

    most = round_count(hosts)
    if table.mode == "group-testing":
        return min(most, table.rounds or group_rounds(hosts, REPEATS))
    return min(most, table.rounds or most)


def is_sequential(table: TournamentTable) -> bool:
    """Whether how many rounds are measured depends on what is found: of group testing, where the
    study does not say how many."""
    return table.mode == "group-testing" and table.rounds is None and table.follow_ups > 0


def check_runnable(table: TournamentTable, hosts: int) -> None:
    """Raises UsageError where a run would be larger than anybody would wait for."""
    rounds = rounds_of(table, hosts)
    if rounds > ROUNDS_MOST:
        raise UsageError(
            f"[tournament]: {rounds} rounds of {hosts} hosts are more than the {ROUNDS_MOST} that "
            "a run may have; use mode = 'group-testing', or give rounds"
        )


def all_pairs_points(spec: StudySpec) -> Iterator[AllPairs]:
    """Each round; none without the table."""
    if spec.tournament is None:
        return
    hosts = len(host_names(spec))
    for number in range(rounds_of(spec.tournament, hosts)):
        yield tournament_round(spec, hosts, number)


def tournament_round(spec: StudySpec, hosts: int, number: int) -> AllPairs:
    """A round of the tournament, by its number."""
    return replace(_any_round(spec, hosts), tournament_seed=spec.seed or 0, round=number)


def follow_up_round(
    spec: StudySpec, pairs: Sequence[tuple[int, int]], hosts: int, phase: int
) -> AllPairs:
    """A round that is added: its pairs are given one by one."""
    return replace(_any_round(spec, hosts), pairs=tuple(pairs), refined=phase)


def steps_of(measures: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """(measure, turn) of each batch of a round: round trips are the same both ways, everything
    else is measured from either end. The datagrams of one-way delays tell the losses, too."""
    steps: list[tuple[str, int]] = []
    for measure in measures:
        if measure == "loss" and "one-way" in measures:
            continue
        steps += [(measure, 0)] if measure == "latency" else [(measure, 0), (measure, 1)]
    return tuple(steps)


def carrier_of(measure: str) -> Transport:
    """What carries a measure's messages: rates are of connections, all else is of datagrams."""
    return first_with("has_connection" if measure == "throughput" else "counts_datagrams")


def _any_round(spec: StudySpec, hosts: int) -> AllPairs:
    table = spec.tournament
    assert table is not None
    steps = steps_of(table.measures)
    return AllPairs(
        message_bytes=table.latency_size,
        cap_ns=len(steps) * (table.time + SYNC_NS),
        interval=spec.relative_precision,
        options=Options(),
        steps=steps,
        time_ns=table.time,
        loss_bytes=table.loss_size,
        loss_rate_bit_per_s=table.loss_rate,
        stream_bytes=table.stream_size,
        at_once=table.at_once,
        hosts=hosts,
    )


def round_estimate(asked: AllPairs, rate_bit_per_s: int) -> tuple[int, int]:
    """About how long a round takes, nanoseconds, and how many bytes all of its pairs send at most;
    streams as fast as one host's path goes."""
    pairs = asked.hosts // 2 if asked.pairs is None else len(asked.pairs)
    opened = {(carrier_of(measure).name, turn) for measure, turn in asked.steps}
    turns = -(-pairs // min(pairs, asked.at_once or pairs))
    steps_ns = len(asked.steps) * (asked.time_ns + SYNC_NS)
    needed_ns = turns * (steps_ns + len(opened) * OPEN_NS)
    compared = sum(measure == "one-way" for measure, _ in asked.steps)
    needed_ns += compared * 2 * pairs * CLOCK_NS
    datagrams = asked.loss_rate_bit_per_s * (1 + HEADERS_BYTES / asked.loss_bytes)
    bits_per_s = {
        "latency": 0,
        "one-way": datagrams,
        "loss": datagrams,
        "throughput": rate_bit_per_s,
    }
    sent = sum(bits_per_s[measure] for measure, _ in asked.steps) * asked.time_ns / 8e9
    return needed_ns, round(pairs * sent)


def plan_all_pairs(spec: StudySpec) -> AllPairsPlan | None:
    """What would be done before any follow-up; None without the table."""
    from netsonde.model.tournament import most_rounds, round_count

    table = spec.tournament
    if table is None:
        return None
    hosts = len(host_names(spec))
    rounds = rounds_of(table, hosts)
    return AllPairsPlan(
        hosts,
        rounds,
        round_count(hosts),
        rounds * (hosts // 2),
        table.follow_ups,
        most_rounds(rounds) if is_sequential(table) else None,
    )
