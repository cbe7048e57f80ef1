"""What an option of sockets changes that it is not about: ``python -m bench.options``.

Each option alone, and with --pairs every two that go together, over a link of 100 Mbit/s between
two hosts of a lab. Runs with the options and runs without are made side by side, over connections
of their own, and their throughput, round trip, synchronisation and packets for each byte are
compared by the ratio of their medians (docs/methods/options.md). Both ends are on one CPU,
except where an option says where they are or has them spin: left to the scheduler they are
sometimes on one and sometimes on two, and a round trip differs by five times.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.option_values import about, named, pairs, places, settings, transports
from netsonde.errors import NetsondeError
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.lab.cluster import Lab, lab_up
from netsonde.lab.spec import LabSpec
from netsonde.launch.host import Host
from netsonde.launch.pair import open_pair
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.stats.compare import RatioInterval, ratio_interval
from netsonde.study.open_sockets import worker_options
from netsonde.study.options_table import OptionsTable

RATE_BIT_PER_S = 100_000_000
ROUNDS = 9
LEAST_ROUNDS = 5
"""The fewest of which a ratio has an interval."""
MARGIN = 0.05
STREAM_BYTES = {"tcp": 65_536, "udp": 1_400}
STREAM_NS = 150_000_000
TRIP_BYTES = 64
TRIPS = 1000
TIMEOUT_S = 20.0
MEASURES = ("throughput", "round trip", "synchronisation", "packets")
AGAIN = 3
"""So many times the rounds for settings that were left open: those runs alone decide then."""
BESIDE = 4
"""So many settings share the runs without options between them."""
Found = dict[str, float]


@dataclass(frozen=True)
class Effect:
    """What options changed of one thing: the ratio of runs with them to runs without."""

    options: str
    transport: str
    measure: str
    ratio: RatioInterval
    is_meant: bool

    @property
    def word(self) -> str:
        """``changed`` by more than the margin, ``same`` within it, or not ``decided``."""
        low, high = self.ratio.low, self.ratio.high
        if low is None or high is None:
            return "open"
        if high < 1 - MARGIN or low > 1 + MARGIN:
            return "changed"
        return "same" if low >= 1 - MARGIN and high <= 1 + MARGIN else "open"

    @property
    def is_left(self) -> bool:
        """Whether more runs are wanted: it should be the same, and may be or not."""
        return self.word == "open" and not self.is_meant


def sides(transport: str, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options as those of the two workers, with the defaults of a study."""
    table = OptionsTable.model_validate(options).model_dump(exclude_none=True)
    apart = table.pop("placement") == "apart"
    return worker_options(
        transport, {**({"origin_cpu": 0, "target_cpu": 1} if apart else {}), **table}
    )


def measure(origin: Host, target: Host, transport: str, options: dict[str, Any]) -> Found:
    """One run: rate in bit/s, times in ns, packets for each megabyte. Raises HostError."""
    at_origin, at_target = sides(transport, options)
    with open_pair(
        origin, target, transport, options=at_origin, target_options=at_target
    ) as session:

        def batch(**fields: Any) -> Batch:
            request = {"seed": 1, "timeout_ns": round(1e9 * TIMEOUT_S), **fields}
            return decode_batch(0, session.run(request, TIMEOUT_S + 5))

        found: Found = {}
        if not options.get("kernel_times"):  # of round trips only
            stream = batch(
                test="stream", message_bytes=STREAM_BYTES[transport], duration_ns=STREAM_NS
            )
            found["throughput"] = stream_rates_bit_per_s(stream)[1]
            found["synchronisation"] = stream.ends[0].counters["sync_round_trip_ns"]
            sent = stream.ends[0].differences()
            device = session.opened[0]["interface"]
            bytes_sent = stream.ends[0].counters["bytes_sent"]
            found["packets"] = 1e6 * sent[f"interface.{device}.tx_packets"] / bytes_sent
        if options.get("datagrams_per_call", 1) == 1:  # datagrams by the dozen await no answer
            trips = batch(test="latency", message_bytes=TRIP_BYTES, count=TRIPS)
            found["round trip"] = float(np.median(trips.ends[0].series["round_trip_ns"]))
            found["synchronisation"] = trips.ends[0].counters["sync_round_trip_ns"]
        return found


def runs_beside(
    lab: Lab, transport: str, chosen: Sequence[dict[str, Any]], rounds: int
) -> list[list[Found]]:
    """Runs of each setting, one in a round; the first setting of a round is another each time. One
    that is refused ends with its sentence on standard error and an empty list."""
    runs: list[list[Found]] = [[] for _ in chosen]
    refused: set[int] = set()
    for number in range(rounds):
        for offset in range(len(chosen)):
            i = (number + offset) % len(chosen)
            if i not in refused:
                try:
                    runs[i].append(measure(lab.hosts[0], lab.hosts[1], transport, chosen[i]))
                except NetsondeError as error:
                    print(f"{named(chosen[i])} over {transport}: {error}", file=sys.stderr)
                    refused.add(i)
    return [[] if i in refused else found for i, found in enumerate(runs)]


def effects(
    lab: Lab, transport: str, chosen: Sequence[dict[str, Any]], rounds: int = ROUNDS
) -> list[list[Effect]]:
    """The effects of each of some settings of one place over one transport, against the runs
    without that were made between them; none of one that is refused."""
    base = places(chosen[0])
    without, *with_them = runs_beside(lab, transport, [base, *(base | o for o in chosen)], rounds)
    return [
        [
            Effect(
                named(options),
                transport,
                name,
                ratio_interval([r[name] for r in runs], [r[name] for r in without]),
                name in about(options),
            )
            for name in MEASURES
            if runs and name in runs[0]
        ]
        for options, runs in zip(chosen, with_them, strict=True)
    ]


def row(effect: Effect) -> str:
    """A row of the page's table."""
    ratio = effect.ratio
    between = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return (
        f"| `{effect.options}` | {effect.transport} | {effect.measure} | "
        f"{ratio.ratio:.2f}{between} | {effect.word}{'' if effect.is_meant else ', not meant'} |"
    )


def all_effects(chosen: Sequence[dict[str, Any]], rounds: int) -> Iterator[Effect]:
    """Those of all settings, in one lab; those of one place and transport stand together. What is
    open, though it should be the same, is measured once again, for longer."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for options in chosen:
        for transport in transports(options):
            groups[transport, str(places(options))].append(options)
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=RATE_BIT_PER_S, name="options")) as lab:
        for (transport, _), alike in groups.items():
            left = []
            for options, found in _in_groups(lab, transport, alike, rounds):
                if any(effect.is_left for effect in found):
                    left.append(options)
                else:
                    yield from found
            for _, found in _in_groups(lab, transport, left, AGAIN * rounds):
                yield from found


def _in_groups(
    lab: Lab, transport: str, chosen: Sequence[dict[str, Any]], rounds: int
) -> Iterator[tuple[dict[str, Any], list[Effect]]]:
    for first in range(0, len(chosen), BESIDE):
        beside = chosen[first : first + BESIDE]
        yield from zip(beside, effects(lab, transport, beside, rounds), strict=True)


def summary(found: Iterable[Effect]) -> None:
    """Prints what was changed or stays open, and how many were the same."""
    print(
        "| options | transport | of what | with them / without | |\n| --- | --- | --- | --- | --- |"
    )
    count = dict.fromkeys(("same", "open", "changed"), 0)
    meant = 0
    for effect in found:
        if effect.is_meant and effect.word != "same":
            meant += 1
        else:
            count[effect.word] += 1
        if effect.word == "changed" or effect.is_left:
            print(row(effect), flush=True)
    print(", ".join(f"{number} {word}" for word, number in count.items()), end="; ")
    print(f"{meant} not the same, of what the options are about")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.options", description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="every two options together")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{LEAST_ROUNDS} or more")
    parser.add_argument("--only", default="", help="options whose names hold one of these: A,B")
    given = parser.parse_args(arguments)
    chosen = pairs() if given.pairs else settings()
    parts = given.only.split(",")
    wanted = [options for options in chosen if any(part in named(options) for part in parts)]
    summary(all_effects(wanted, max(LEAST_ROUNDS, given.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
