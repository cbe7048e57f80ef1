"""An all-pairs study while it runs: what its manifest says, its checks, and its follow-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netsonde.errors import UsageError
from netsonde.figures.all_pairs_verdict import verdict_of
from netsonde.records.data import ALL_PAIRS
from netsonde.records.rundir import open_run
from netsonde.study.all_pairs import check_runnable, follow_up_parameters, host_names
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec
from netsonde.study.topology_files import read_topology

FOLLOWED_PAIRS_MOST = 64


def all_pairs_facts(spec: StudySpec) -> dict[str, Any]:
    """For the manifest: the hosts by number, what is judged how strictly, and the switches that a
    file describes. Empty without the table. Raises UsageError."""
    table = spec.all_pairs
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


def follow_ups(spec: StudySpec, directory: Path, manifest: Mapping[str, Any]) -> list[PlannedPoint]:
    """Rounds in which what looks slow meets others, once all others are done; none where nothing
    looks slow, or where they have been added already."""
    table = spec.all_pairs
    planned = manifest["points"]
    if table is None or not table.follow_ups or any("pairs" in p["parameters"] for p in planned):
        return []
    verdict = verdict_of(open_run(directory))
    if verdict is None or not verdict.suspected:
        return []
    hosts = len(verdict.hosts)
    matchings = follow_up_rounds(
        [n for n, name in enumerate(verdict.hosts) if name not in verdict.dropped],
        [(c.number, c.other) for c in verdict.suspected_pairs][:FOLLOWED_PAIRS_MOST],
        verdict.suspected_hosts,
        table.follow_ups,
        int(manifest["seed"]),
    )
    first = len(planned) + 1
    return [
        PlannedPoint(
            f"p{first + number:03d}",
            ALL_PAIRS,
            ALL_PAIRS,
            follow_up_parameters(spec, pairs, hosts, 1),
        )
        for number, pairs in enumerate(matchings)
    ]


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
