"""An all-pairs study while it runs: what its manifest says, its checks, and its follow-ups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.catalogue.point import AllPairs
from netsonde.errors import UsageError
from netsonde.figures.all_pairs_verdict import verdict_of
from netsonde.model.group_testing import rounds_of_look, rounds_to_screen
from netsonde.records.data import ALL_PAIRS
from netsonde.records.rundir import open_run
from netsonde.study.all_pairs import (
    check_runnable,
    follow_up_round,
    host_names,
    is_sequential,
    rounds_of,
    tournament_round,
)
from netsonde.study.plan import PlannedPoint, numbered
from netsonde.study.spec import StudySpec
from netsonde.study.topology_files import read_topology

FOLLOWED_PAIRS_MOST = 64


def all_pairs_facts(spec: StudySpec) -> dict[str, Any]:
    """For the manifest: the hosts by number, what is judged how strictly, and the switches that a
    file describes. Empty without the table. Raises UsageError."""
    table = spec.tournament
    if table is None:
        return {}
    if table.topology is not None:
        switches, source = read_topology(Path(table.topology)), table.topology
    elif spec.switch:
        switches, source = _below(spec), "the study"
    else:
        switches, source = {}, ""
    names = host_names(spec)
    check_runnable(table, len(names))
    unknown = [name for name in names if switches and not _is_below(name, switches)]
    if unknown and len(unknown) == len(names):
        raise UsageError(
            f"{source} has none of the hosts of this study, of which the first is {names[0]}"
        )
    return {
        ALL_PAIRS: {
            "hosts": names,
            "switches": switches,
            "switches_from": source,
            "infer": table.infer,
            "margin": table.margin,
            "loss_margin": table.loss_margin,
            "false_alarms": table.false_alarms,
            "follow_ups": table.follow_ups,
            "sequential": is_sequential(table),
        }
    }


def _is_below(name: str, switches: dict[str, list[str]]) -> bool:
    return any(name in hosts for hosts in switches.values())


def _below(spec: StudySpec) -> dict[str, list[str]]:
    """The hosts below each switch of the study's own tables, over all levels."""
    below = {switch.name: list(switch.hosts) for switch in spec.switch}
    for _ in spec.switch:  # as deep as a tree of so many can be
        for uplink in spec.uplink:
            missing = [h for h in below[uplink.lower] if h not in below[uplink.upper]]
            below[uplink.upper] += missing
    return below


def follow_ups(
    spec: StudySpec, directory: Path, planned: Sequence[PlannedPoint], seed: int
) -> list[PlannedPoint]:
    """Rounds to add once all others are done. Of group testing, more matchings of all hosts where
    measurements scatter; then those in which what looks slow meets others. None where nothing looks
    slow, or where it has been looked often enough."""
    table = spec.tournament
    if table is None or not table.follow_ups:
        return []
    done = [point.spec.of(AllPairs) for point in planned if point.kind.is_round]
    look = 1 + max((p.refined or 0 for p in done), default=0)
    if look > 1 and not is_sequential(table):
        return []
    verdict = verdict_of(open_run(directory))
    if verdict is None:
        return []
    rounds = [p.round for p in done if p.round is not None]
    hosts, first = len(verdict.hosts), rounds_of(table, len(verdict.hosts))
    measures = tuple(verdict.sights.values())
    added: list[AllPairs] = []
    if is_sequential(table) and len(rounds) == first and look == 1:
        wanted = rounds_to_screen(measures, hosts, first)
        added = [tournament_round(spec, hosts, number) for number in range(first, wanted)]
    if not added and verdict.suspected:
        count = table.follow_ups
        if is_sequential(table):
            count = rounds_of_look(measures, look, count, len(done), first)
        matchings = follow_up_rounds(
            [n for n, name in enumerate(verdict.hosts) if name not in verdict.dropped],
            [(c.number, c.other) for c in verdict.suspected_pairs][:FOLLOWED_PAIRS_MOST],
            verdict.suspected_hosts,
            count,
            seed + look - 1,
        )
        added = [follow_up_round(spec, pairs, hosts, look) for pairs in matchings]
    return numbered(((ALL_PAIRS, ALL_PAIRS, own) for own in added), len(planned))


def follow_up_rounds(
    hosts: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    suspects: Sequence[int],
    rounds: int,
    seed: int,
) -> list[list[tuple[int, int]]]:
    """So many random matchings of the hosts, in which each suspected pair meets as often as they
    allow, and no suspected host meets another one.

    Everybody takes part, so that the network is as busy as before and the usual is measured anew.
    """
    chance = np.random.default_rng((seed, 1))
    found = []
    waiting = list(pairs)
    for _ in range(rounds):
        free = set(hosts)
        matched: list[tuple[int, int]] = []
        later = []
        for pair in waiting:
            if free >= set(pair) and pair[0] != pair[1]:
                matched.append(pair)
                free -= set(pair)
            else:
                later.append(pair)
        waiting = later + matched  # those that had to wait come first in the next round
        doubtful = [host for host in suspects if host in free]
        sound = [int(h) for h in chance.permutation(sorted(free - set(doubtful)))]
        while doubtful and sound:
            matched.append((doubtful.pop(), sound.pop()))
        rest = doubtful + sound
        matched += list(zip(rest[::2], rest[1::2], strict=False))
        found.append([(a, b) if chance.random() < 0.5 else (b, a) for a, b in matched])
    return found
