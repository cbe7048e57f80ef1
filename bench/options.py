"""What an option of sockets changes that it is not about: ``python -m bench.options``.

Each option alone, and with --pairs every two that go together, over a link of 100 Mbit/s between
two hosts of a lab. A run with the options and one without are made side by side, over connections
of their own, and their throughput, round trip, synchronisation and packets for each byte are
compared by the ratio of their medians (docs/methods/options.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.option_values import about, named, pairs, settings, transports
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
STREAM_NS = 300_000_000
TRIP_BYTES = 64
TRIPS = 100
TIMEOUT_S = 20.0
MEASURES = ("throughput", "round trip", "synchronisation", "packets")


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


def sides(transport: str, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options as those of the two workers, with the defaults of a study."""
    table = OptionsTable.model_validate(options).model_dump(exclude_none=True)
    apart = table.pop("placement") == "apart"
    return worker_options(
        transport, {**({"origin_cpu": 0, "target_cpu": 1} if apart else {}), **table}
    )


def measure(
    origin: Host, target: Host, transport: str, options: dict[str, Any]
) -> dict[str, float]:
    """One run: rate in bit/s, times in ns, packets for each megabyte. Raises HostError."""
    at_origin, at_target = sides(transport, options)
    with open_pair(
        origin, target, transport, options=at_origin, target_options=at_target
    ) as session:

        def batch(**fields: Any) -> Batch:
            request = {"seed": 1, "timeout_ns": round(1e9 * TIMEOUT_S), **fields}
            return decode_batch(0, session.run(request, TIMEOUT_S + 5))

        found: dict[str, float] = {}
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


def effects(
    lab: Lab, transport: str, options: dict[str, Any], rounds: int = ROUNDS
) -> Iterator[Effect]:
    """The effects of options over one transport; which of the two comes first, changes."""
    runs: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for number in range(rounds):
        for has in (number % 2 == 0, number % 2 == 1):
            runs[has].append(measure(lab.hosts[0], lab.hosts[1], transport, options if has else {}))
    for name in MEASURES:
        if name in runs[True][0]:
            with_them, without = ([one[name] for one in runs[has]] for has in (True, False))
            ratio = ratio_interval(with_them, without)
            yield Effect(named(options), transport, name, ratio, name in about(options))


def row(effect: Effect) -> str:
    """A row of the page's table."""
    ratio = effect.ratio
    between = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return (
        f"| `{effect.options}` | {effect.transport} | {effect.measure} | "
        f"{ratio.ratio:.2f}{between} | {effect.word}{'' if effect.is_meant else ', not meant'} |"
    )


def all_effects(chosen: Iterable[dict[str, Any]], rounds: int) -> Iterator[Effect]:
    """Those of each of the options, in one lab."""
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=RATE_BIT_PER_S, name="options")) as lab:
        for options in chosen:
            for transport in transports(options):
                try:
                    yield from effects(lab, transport, options, rounds)
                except NetsondeError as error:
                    print(f"{named(options)} over {transport}: {error}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.options", description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="every two options together")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{LEAST_ROUNDS} or more")
    parser.add_argument("--only", help="options whose names hold this")
    given = parser.parse_args(arguments)
    chosen = pairs() if given.pairs else settings()
    wanted = [options for options in chosen if (given.only or "") in named(options)]
    print(
        "| options | transport | of what | with them / without | |\n| --- | --- | --- | --- | --- |"
    )
    count = dict.fromkeys(("same", "open", "changed"), 0)
    for effect in all_effects(wanted, max(LEAST_ROUNDS, given.rounds)):
        count[effect.word] += 1
        if effect.word != "same":
            print(row(effect), flush=True)
    print(", ".join(f"{number} {word}" for word, number in count.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
